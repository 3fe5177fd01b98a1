//! s2n-quic with rustls as an endpoint of the interop runner. It has no 0-RTT, with rustls it has
//! no resumption (`s2n-quic-rustls` 0.91 reads and writes nothing after the handshake), and its
//! clients can neither move nor ask for new keys; its crate for HTTP/3 is not published.

use interop_endpoints::{HQ, NAME, Result, Task, path, run};
use s2n_quic::client::Connect;
use s2n_quic::provider::endpoint_limits::{ConnectionAttempt, Limiter, Outcome};
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::tls::rustls as tls;
use s2n_quic::stream::BidirectionalStream;
use s2n_quic::{Client, Connection, Server};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::sleep;

fn main() -> ExitCode {
    run(&CLIENT, &SERVER, fetch, serve)
}

async fn fetch(task: Task) -> Result<()> {
    let server = task.server()?;
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let mut limits = Limits::new();
    if let Some(bytes) = task.window {
        limits = limits
            .with_data_window(bytes.into())?
            .with_bidirectional_local_data_window(bytes.into())?;
    }
    let client = Client::builder()
        .with_tls(tls::Client::from(task.client_tls(HQ)?))?
        .with_limits(limits)?
        .with_io(any)?
        .start()?;
    for requests in task.by_connection() {
        let connect = Connect::new(server).with_server_name(NAME);
        let mut connection = client.connect(connect).await?;
        let mut fetching = JoinSet::new();
        for url in requests {
            let stream = connection.open_bidirectional_stream().await?;
            fetching.spawn(fetch_hq(stream, path(url).to_owned(), task.download(url)?));
        }
        while let Some(fetched) = fetching.join_next().await {
            fetched??;
        }
        connection.close(0_u32.into());
    }
    // Not `wait_idle`, which waits for the server's part of closing, too.
    sleep(CLOSING).await;
    Ok(())
}

async fn fetch_hq(mut stream: BidirectionalStream, path: String, file: PathBuf) -> Result<()> {
    stream.send(format!("GET {path}\r\n").into()).await?;
    stream.finish()?;
    let mut file = BufWriter::new(File::create(file)?);
    while let Some(chunk) = stream.receive().await? {
        file.write_all(&chunk)?;
    }
    Ok(file.flush()?)
}

async fn serve(task: Task) -> Result<()> {
    let is_retry = task.case == "retry";
    let mut server = Server::builder()
        .with_tls(tls::Server::from(task.server_tls(false)?))?
        .with_endpoint_limits(Retrying { is_retry })?
        .with_io(SocketAddr::from((Ipv6Addr::UNSPECIFIED, task.port)))?
        .start()?;
    let task = Arc::new(task);
    while let Some(connection) = server.accept().await {
        tokio::spawn(serve_hq(connection, Arc::clone(&task)));
    }
    Ok(())
}

async fn serve_hq(mut connection: Connection, task: Arc<Task>) {
    // Ends with the connection.
    while let Ok(Some(mut stream)) = connection.accept_bidirectional_stream().await {
        let task = Arc::clone(&task);
        tokio::spawn(async move {
            let mut request = Vec::new();
            while let Some(chunk) = stream.receive().await? {
                request.extend(chunk);
            }
            stream.send(task.answer(&request)?.into()).await?;
            stream.finish()?;
            Result::Ok(())
        });
    }
}

/// Has every client prove its address, or none.
#[derive(Debug)]
struct Retrying {
    is_retry: bool,
}

impl Limiter for Retrying {
    fn on_connection_attempt(&mut self, _: &ConnectionAttempt<'_>) -> Outcome {
        match self.is_retry {
            true => Outcome::retry(),
            false => Outcome::allow(),
        }
    }
}

const CLIENT: [&str; 2] = ["chacha20", "ecn"];
const SERVER: [&str; 3] = ["chacha20", "keyupdate", "ecn"];
/// For the packet that closes the connection.
const CLOSING: Duration = Duration::from_millis(100);
