//! quinn as an endpoint of the interop runner: HTTP/0.9, and HTTP/3 by h3-quinn.

use bytes::{Buf, Bytes};
use interop_endpoints::{H3, HQ, LONGEST_REQUEST, LOST, MIDST, NAME, Result, Task, path, run};
use quinn::crypto::rustls::{HandshakeData, QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig, VarInt};
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

fn main() -> ExitCode {
    run(&CLIENT, &SERVER, fetch, serve)
}

async fn fetch(task: Task) -> Result<()> {
    let protocol = if task.case == "http3" { H3 } else { HQ };
    let tls = Arc::new(task.client_tls(protocol)?);
    let tls = QuicClientConfig::with_initial(tls, first_suite()?)?;
    let mut config = ClientConfig::new(Arc::new(tls));
    let mut transport = TransportConfig::default();
    if let Some(bytes) = task.window {
        let bytes = VarInt::from_u32(bytes);
        transport.receive_window(bytes).stream_receive_window(bytes);
    }
    config.transport_config(Arc::new(transport));
    let server = task.server()?;
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let mut endpoint = Endpoint::client(any)?;
    endpoint.set_default_client_config(config);
    for requests in task.by_connection() {
        let connecting = endpoint.connect(server, NAME)?;
        let connection = if task.case == "zerortt" {
            match connecting.into_0rtt() {
                Ok((connection, _)) => connection,
                Err(connecting) => connecting.await?,
            }
        } else {
            connecting.await?
        };
        let mut fetching = JoinSet::new();
        if task.case == "http3" {
            fetch_h3(&connection, &task, requests).await?;
        } else if task.case == "datagrams" {
            fetch_datagrams(&connection, &task, requests).await?;
        } else {
            for url in requests {
                let (connection, file) = (connection.clone(), task.download(url)?);
                fetching.spawn(fetch_hq(connection, path(url).to_owned(), file));
            }
        }
        if ["keyupdate", "connectionmigration"].contains(&task.case.as_str()) {
            while connection.stats().udp_rx.datagrams < MIDST {
                sleep(Duration::from_millis(1)).await;
            }
            match task.case.as_str() {
                "keyupdate" => connection.force_key_update(),
                _ => endpoint.rebind(UdpSocket::bind(any)?)?,
            }
        }
        while let Some(fetched) = fetching.join_next().await {
            fetched??;
        }
        if ["resumption", "zerortt"].contains(&task.case.as_str()) {
            sleep(TICKET).await;
        }
        connection.close(0_u32.into(), b"");
    }
    endpoint.wait_idle().await;
    Ok(())
}

/// That of Initial packets, which are AES-128's also where no other packets are (RFC 9001 §5.2).
fn first_suite() -> Result<rustls::quic::Suite> {
    let suite = TLS13_AES_128_GCM_SHA256
        .tls13()
        .and_then(|suite| suite.quic_suite());
    suite.ok_or_else(|| "rustls has no suite for Initial packets".into())
}

async fn fetch_hq(connection: Connection, path: String, file: PathBuf) -> Result<()> {
    let (mut send, mut recv) = connection.open_bi().await?;
    send.write_all(format!("GET {path}\r\n").as_bytes()).await?;
    send.finish()?;
    let mut file = BufWriter::new(File::create(file)?);
    while let Some(chunk) = recv.read_chunk(CHUNK, true).await? {
        file.write_all(&chunk.bytes)?;
    }
    Ok(file.flush()?)
}

/// One after the other; what is lost is asked for again.
async fn fetch_datagrams(connection: &Connection, task: &Task, urls: &[String]) -> Result<()> {
    for url in urls {
        let request = Bytes::from(format!("GET {}\r\n", path(url)));
        let content = loop {
            connection.send_datagram(request.clone())?;
            if let Ok(content) = timeout(LOST, connection.read_datagram()).await {
                break content?;
            }
        };
        std::fs::write(task.download(url)?, content)?;
    }
    Ok(())
}

async fn fetch_h3(connection: &Connection, task: &Task, urls: &[String]) -> Result<()> {
    let quic = h3_quinn::Connection::new(connection.clone());
    let (mut driver, mut sender) = h3::client::new(quic).await?;
    let closed = tokio::spawn(async move { driver.wait_idle().await });
    for url in urls {
        let request = http::Request::get(url).body(())?;
        let mut stream = sender.send_request(request).await?;
        stream.finish().await?;
        let answer = stream.recv_response().await?;
        if !answer.status().is_success() {
            return Err(format!("{url}: {}", answer.status()).into());
        }
        let mut file = BufWriter::new(File::create(task.download(url)?)?);
        while let Some(mut data) = stream.recv_data().await? {
            file.write_all(&data.copy_to_bytes(data.remaining()))?;
        }
        file.flush()?;
    }
    drop(sender);
    closed.await?;
    Ok(())
}

async fn serve(task: Task) -> Result<()> {
    let tls = Arc::new(task.server_tls(true)?);
    let tls = QuicServerConfig::with_initial(tls, first_suite()?)?;
    let config = ServerConfig::with_crypto(Arc::new(tls));
    let address = SocketAddr::from((Ipv6Addr::UNSPECIFIED, task.port));
    let endpoint = Endpoint::server(config, address)?;
    let task = Arc::new(task);
    while let Some(incoming) = endpoint.accept().await {
        if task.case == "retry" && !incoming.remote_address_validated() {
            incoming.retry()?;
            continue;
        }
        let (mut connecting, task) = (incoming.accept()?, Arc::clone(&task));
        tokio::spawn(async move {
            // There is a protocol when the whole of the client's hello has come.
            let Ok(data) = connecting.handshake_data().await else {
                return;
            };
            let data = data.downcast::<HandshakeData>().ok();
            let protocol = data.and_then(|data| data.protocol);
            // What came in 0-RTT packets is answered at once: the requests are all GET.
            let Ok((connection, _)) = connecting.into_0rtt() else {
                return;
            };
            let served = if protocol.as_deref() == Some(H3) {
                serve_h3(connection, task).await
            } else {
                tokio::spawn(serve_datagrams(connection.clone(), Arc::clone(&task)));
                serve_hq(connection, task).await
            };
            if let Err(error) = served {
                eprintln!("connection: {error}");
            }
        });
    }
    Ok(())
}

async fn serve_hq(connection: Connection, task: Arc<Task>) -> Result<()> {
    // Ends with the connection.
    while let Ok((mut send, mut recv)) = connection.accept_bi().await {
        let task = Arc::clone(&task);
        tokio::spawn(async move {
            let content = task.answer(&recv.read_to_end(LONGEST_REQUEST).await?)?;
            send.write_all(&content).await?;
            send.finish()?;
            Result::Ok(())
        });
    }
    Ok(())
}

/// Ends with the connection.
async fn serve_datagrams(connection: Connection, task: Arc<Task>) {
    while let Ok(request) = connection.read_datagram().await {
        if let Ok(content) = task.answer(&request) {
            // A file that is too large is not answered.
            let _ = connection.send_datagram(content.into());
        }
    }
}

async fn serve_h3(connection: Connection, task: Arc<Task>) -> Result<()> {
    let quic = h3_quinn::Connection::new(connection);
    let mut h3 = h3::server::Connection::<_, Bytes>::new(quic).await?;
    while let Some(resolver) = h3.accept().await? {
        let task = Arc::clone(&task);
        tokio::spawn(async move {
            let (request, mut stream) = resolver.resolve_request().await?;
            let file = task.named(request.uri().path());
            let status = if file.is_some() { 200 } else { 404 };
            let answer = http::Response::builder().status(status).body(())?;
            stream.send_response(answer).await?;
            if let Some(file) = file {
                stream.send_data(std::fs::read(file)?.into()).await?;
            }
            stream.finish().await?;
            Result::Ok(())
        });
    }
    Ok(())
}

const CLIENT: [&str; 8] = [
    "datagrams",
    "chacha20",
    "keyupdate",
    "resumption",
    "zerortt",
    "http3",
    "ecn",
    "connectionmigration",
];
/// It has no address besides the one that clients know, which `connectionmigration` wants.
const SERVER: [&str; 7] = [
    "datagrams",
    "chacha20",
    "keyupdate",
    "resumption",
    "zerortt",
    "http3",
    "ecn",
];
/// Of a file, in bytes.
const CHUNK: usize = 1 << 16;
/// Far more than a ticket takes; an age above a second is rounded right by rustls.
const TICKET: Duration = Duration::from_millis(1_020);
