//! Sends a message to the example `server` and prints what comes back.
//!
//! ```text
//! cargo run -p paceline --example client -- --server 127.0.0.1:4433 "how are you"
//! ```
//!
//! The server is recognized by the certificate's fingerprint that it has written to a file. For a
//! server with a certificate of an authority it is `tls::client_with_ca`.

#[path = "shared/causes.rs"]
pub(crate) mod causes;

use causes::{failure, with_causes};
use clap::Parser;
use paceline::{ConnectionError, Endpoint, tls};
use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Sends a message and prints the answer.
#[derive(Debug, Parser)]
struct Args {
    /// What is sent
    message: String,
    /// The server's UDP address
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:4433")]
    server: SocketAddr,
    /// The file with the fingerprint of the server's certificate
    #[arg(long, value_name = "FILE", default_value = "server.fingerprint")]
    fingerprint: PathBuf,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure("error", &*error),
    }
}

async fn run(args: Args) -> Result<()> {
    let fingerprint = std::fs::read_to_string(&args.fingerprint)
        .map_err(|error| format!("{}: {error}; start the server", args.fingerprint.display()))?;
    let echo = tokio::select! {
        echo = echo(args.server, &fingerprint, args.message.as_bytes()) => echo?,
        // Dropping the connection closes it.
        interrupted = tokio::signal::ctrl_c() => return Ok(interrupted?),
    };
    match writeln!(io::stdout(), "{}", String::from_utf8_lossy(&echo)) {
        // Whoever read this has gone.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// What the server makes of `message`.
pub(crate) async fn echo(server: SocketAddr, pinned: &str, message: &[u8]) -> Result<Vec<u8>> {
    let pinned = pinned.trim().parse::<tls::Fingerprint>();
    let pinned = pinned.map_err(|error| {
        format!("{error}; name the file that the server has written with --fingerprint")
    })?;
    let config = tls::client_with_fingerprint(pinned);
    let config = config.alpn(&[b"echo"]).config()?;

    // Of the server's kind, any port.
    let local = match server {
        SocketAddr::V4(_) => "0.0.0.0:0",
        SocketAddr::V6(_) => "[::]:0",
    };
    let endpoint = Endpoint::client(local.parse()?)?;
    let connecting = endpoint.connect_with(config, server, "localhost")?;
    let connection = connecting.await.map_err(|error| match error {
        ConnectionError::TimedOut => format!("{server} does not answer; is the server running?"),
        error => format!(
            "{server}: no connection ({error}); check that --server and --fingerprint are of the \
             same server"
        ),
    })?;

    let (mut send, mut recv) = connection.open_bi().await?;
    // Both at once: a server that waits for its answer to be read takes no more meanwhile.
    let sending = async {
        send.write_all(message).await?;
        send.finish()?;
        Ok::<_, Box<dyn Error + Send + Sync>>(())
    };
    let receiving = async { Ok(recv.read_to_end(message.len()).await?) };
    let exchanged = tokio::try_join!(sending, receiving);
    let ((), echo) = exchanged.map_err(|error| {
        let why = with_causes(&*error);
        format!("{server}: {why}; see what its server says, and send it again")
    })?;

    connection.close(0_u32.into(), b"done");
    // Otherwise the server would learn of the end by its idle timeout.
    endpoint.wait_idle().await;
    Ok(echo)
}
