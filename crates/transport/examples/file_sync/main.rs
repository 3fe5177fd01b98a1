//! A directory's files, fetched so that whatever is interrupted goes on where it was.
//!
//! ```text
//! cargo run -p paceline --example file_sync -- serve DIRECTORY
//! cargo run -p paceline --example file_sync -- fetch --into COPY
//! cargo run -p paceline --example file_sync -- fetch --into COPY --path film.mkv --max-rate 20mbit
//! ```
//!
//! Each file is a stream; [`protocol`] has the messages, [`paths`] what may be named, [`server`],
//! [`session`] the connection and its replacement, [`download`] one file, [`sync`] all of them.
//!
//! - Ctrl-C pauses. What has arrived of a file is in `NAME.part`; the next run asks for the rest.
//! - A file has its name once its SHA-256 is that of the server's file, not before.
//! - Small files come first, and before them what `--first` names. The server's streams have
//!   priorities by which it sends.
//! - When the connection is lost, the next one sends its requests with 0-RTT. They only read, so a
//!   replay does no harm.

#[path = "../shared/causes.rs"]
pub(crate) mod causes;
pub(crate) mod download;
pub(crate) mod paths;
pub(crate) mod protocol;
pub(crate) mod server;
pub(crate) mod session;
pub(crate) mod sync;

use causes::failure;
use clap::{Args, Parser, Subcommand, value_parser};
use indicatif::{ProgressBar, ProgressStyle};
use paceline::units::Bandwidth;
use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use server::Server;
use session::Session;
use sync::{Plan, sync};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Copies a directory over QUIC.
#[derive(Debug, Parser)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(Serve),
    Fetch(Fetch),
}

/// Lets clients read a directory
#[derive(Debug, Args)]
struct Serve {
    /// What is served; symbolic links that lead out of it are not followed
    directory: PathBuf,
    /// UDP address to listen at
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:4434")]
    listen: SocketAddr,
    /// Most that a client gets, such as 20mbit
    #[arg(long, value_name = "RATE")]
    max_rate: Option<Bandwidth>,
    /// Where the certificate's fingerprint is written
    #[arg(long, value_name = "FILE", default_value = "file_sync.fingerprint")]
    fingerprint: PathBuf,
}

/// Fetches a file, or all below a directory
#[derive(Debug, Args)]
struct Fetch {
    /// The server's UDP address
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:4434")]
    server: SocketAddr,
    /// Where the files go
    #[arg(long, value_name = "DIRECTORY")]
    into: PathBuf,
    /// A file or directory of the server's; everything without it
    #[arg(long, value_name = "PATH", default_value = "")]
    path: String,
    /// Paths that begin so are fetched before all others
    #[arg(long, value_name = "PREFIX")]
    first: Option<String>,
    /// Files that are fetched at the same time, 1 to 64
    #[arg(long, value_name = "COUNT", default_value_t = 4)]
    #[arg(value_parser = value_parser!(u8).range(1..=64))]
    concurrency: u8,
    /// Most that the server is to send, such as 20mbit
    #[arg(long, value_name = "RATE")]
    max_rate: Option<Bandwidth>,
    /// The file with the fingerprint of the server's certificate
    #[arg(long, value_name = "FILE", default_value = "file_sync.fingerprint")]
    fingerprint: PathBuf,
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = run(CommandLine::parse(), tokio::signal::ctrl_c()).await;
    match done.and_then(|line| say(&line)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure("error", &*error),
    }
}

/// Does what the command line says until it is done or interrupted; returns the last line to print.
pub(crate) async fn run(line: CommandLine, interrupted: impl Interrupted) -> Result<String> {
    match line.command {
        Command::Serve(args) => serve(args, interrupted).await,
        Command::Fetch(args) => fetch(args, interrupted).await,
    }
}

/// Ctrl-C, or what stands for it.
pub(crate) trait Interrupted: Future<Output = io::Result<()>> {}

impl<F: Future<Output = io::Result<()>>> Interrupted for F {}

async fn serve(args: Serve, interrupted: impl Interrupted) -> Result<String> {
    let server = Server::new(&args.directory, args.listen, args.max_rate)?;
    std::fs::write(&args.fingerprint, server.fingerprint())?;
    say(&format!("listening on {}", server.local_addr()?))?;
    tokio::select! {
        () = server.run() => {}
        interrupted = interrupted => interrupted?,
    }
    server.shut_down().await;
    Ok("no connection is left".to_owned())
}

async fn fetch(args: Fetch, interrupted: impl Interrupted) -> Result<String> {
    let pinned = std::fs::read_to_string(&args.fingerprint)
        .map_err(|error| format!("{}: {error}; start the server", args.fingerprint.display()))?;
    let session = Session::new(args.server, pinned.trim(), args.max_rate)?;
    let plan = Plan {
        path: args.path,
        into: args.into,
        first: args.first,
        concurrency: args.concurrency.into(),
    };
    let style = "{bytes}/{total_bytes} {bar:30} {binary_bytes_per_sec} {eta}";
    let bar = ProgressBar::no_length().with_style(ProgressStyle::with_template(style)?);
    let line = tokio::select! {
        summary = sync(&session, &plan, &bar) => summary?.to_string(),
        interrupted = interrupted => {
            interrupted?;
            "paused; the same command goes on from here".to_owned()
        }
    };
    bar.finish_and_clear();
    session.close().await;
    Ok(line)
}

fn say(line: &str) -> Result<()> {
    match writeln!(io::stdout(), "{line}") {
        // Whoever read this has gone.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
