//! A server that sends each stream's bytes back: the plainest one that ends well.
//!
//! ```text
//! cargo run -p paceline --example server -- --listen 127.0.0.1:4433
//! ```
//!
//! It makes a certificate and writes its SHA-256 fingerprint to a file, by which the example
//! `client` recognizes it. A server with a name takes its chain from an authority instead, see
//! `tls::server`. Ctrl-C ends it: it takes no new connections, gives those that it has five
//! seconds, and tells the rest that it goes.

#[path = "shared/causes.rs"]
mod causes;

use causes::failure;
use clap::Parser;
use paceline::{Connection, ConnectionError, Endpoint, Incoming, RecvStream, SendStream, tls};
use std::error::Error;
use std::future::Future;
use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Sends back what it receives.
#[derive(Debug, Parser)]
struct Args {
    /// UDP address to listen at
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:4433")]
    listen: SocketAddr,
    /// Where the certificate's fingerprint is written
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
    let (endpoint, fingerprint) = listen(args.listen)?;
    std::fs::write(&args.fingerprint, fingerprint).map_err(|error| {
        let file = args.fingerprint.display();
        format!("{file}: {error}; name a file that can be written with --fingerprint")
    })?;
    let interrupt = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
    match serve(endpoint, interrupt, &mut io::stdout()).await {
        // Whoever read this has gone.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

/// An endpoint, and the fingerprint of its certificate as hexadecimal digits.
pub(crate) fn listen(address: SocketAddr) -> Result<(Endpoint, String)> {
    let certificate = tls::SelfSigned::generate(["localhost"])?;
    let fingerprint = certificate.fingerprint.to_string();
    // A client that speaks another protocol is refused in the handshake.
    let config = certificate.server().alpn(&[b"echo"]).config()?;
    let endpoint = Endpoint::server(config, address)
        .map_err(|error| format!("{address}: {error}; name another address with --listen"))?;
    Ok((endpoint, fingerprint))
}

/// Serves every client until `stop` resolves, then ends in good order.
pub(crate) async fn serve(
    endpoint: Endpoint,
    stop: impl Future<Output = ()>,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "listening on {}", endpoint.local_addr()?)?;
    let mut connections = JoinSet::new();
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            attempt = endpoint.accept() => match attempt {
                Some(attempt) => drop(connections.spawn(serve_connection(attempt))),
                None => break,
            },
            Some(ended) = connections.join_next() => match ended {
                Ok(Ok(line)) => writeln!(out, "{line}")?,
                Ok(Err(error)) => writeln!(out, "handshake failed: {error}")?,
                Err(error) => writeln!(out, "a task has ended: {error}")?,
            },
        }
    }
    endpoint.drain();
    if timeout(GRACE, endpoint.wait_idle()).await.is_err() {
        endpoint.close(0_u32.into(), b"the server is shutting down");
        endpoint.wait_idle().await;
    }
    writeln!(out, "no connection is left")
}

/// Serves one client to its end, and says how that was.
async fn serve_connection(attempt: Incoming) -> std::result::Result<String, ConnectionError> {
    let connection: Connection = attempt.await?;
    let end = loop {
        match connection.accept_bi().await {
            // A stream that fails concerns the client alone, which has caused that.
            Ok((send, recv)) => drop(tokio::spawn(echo(send, recv))),
            Err(end) => break end,
        }
    };
    let (client, stats) = (connection.remote_address(), connection.stats());
    let bytes = stats.udp_rx.bytes;
    Ok(format!("{client}: {bytes} bytes received, then {end}"))
}

/// At the client's pace: what it does not read is not read from it.
async fn echo(mut send: SendStream, mut recv: RecvStream) -> Result<()> {
    tokio::io::copy(&mut recv, &mut send).await?;
    Ok(send.finish()?)
}

/// What connections that are open get to end by themselves.
const GRACE: Duration = Duration::from_secs(5);
