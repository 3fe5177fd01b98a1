//! HTTP/3 over this transport: the examples' server and client, errors and cancellation as an
//! application meets them, `h3-quinn`, and other people's programs where they are installed.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod cancellation;
mod datagrams;
mod errors;
mod files;
mod peers;
mod programs;

#[path = "../../../crates/transport/examples/h3_client.rs"]
#[expect(dead_code, reason = "a test has no use for `main`")]
mod h3_client;
#[path = "../../../crates/transport/examples/h3_server.rs"]
#[expect(dead_code, reason = "a test has no use for `main`")]
mod h3_server;

use aws_lc_rs::digest::{Digest, SHA256, digest};
use bytes::{Buf, Bytes};
use h3::error::{ConnectionError, StreamError};
use h3::quic::BidiStream;
use h3::{client, quic, server};
use http::{Request, Response};
use paceline::tls::SelfSigned;
use paceline::{Connection, Endpoint, TransportConfig, h3 as ours, tls};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::task::JoinHandle;
use units::Rng;

type Requests = client::SendRequest<ours::OpenStreams, Bytes>;
type Server = server::Connection<ours::Connection, Bytes>;
type ServerStream = server::RequestStream<ours::BidiStream<Bytes>, Bytes>;
type ClientStream = client::RequestStream<ours::BidiStream<Bytes>, Bytes>;

/// A client and a server that have a connection. What drives the client's runs by itself.
struct Pair {
    requests: Requests,
    /// Why the client's connection is over.
    closed: JoinHandle<ConnectionError>,
    server: Server,
    /// The QUIC connections, the client's first.
    quic: [Connection; 2],
}

impl Pair {
    async fn new() -> Self {
        Self::with(TransportConfig::default()).await
    }

    /// Both sides with the same configuration of QUIC.
    async fn with(config: TransportConfig) -> Self {
        let quic = connected(config).await;
        let (server, client) = tokio::join!(
            server::Connection::new(ours::Connection::new(quic[1].clone())),
            client::new(ours::Connection::new(quic[0].clone())),
        );
        let (mut driver, requests) = client.unwrap();
        Self {
            requests,
            closed: tokio::spawn(async move { driver.wait_idle().await }),
            server: server.unwrap(),
            quic,
        }
    }

    /// A request without a body, on both sides.
    async fn request(&mut self) -> (ClientStream, ServerStream) {
        let request = Request::get("https://localhost/").body(()).unwrap();
        let client = self.requests.send_request(request).await.unwrap();
        (client, self.accept().await)
    }

    /// The next request on the server's side.
    async fn accept(&mut self) -> ServerStream {
        let request = self.server.accept().await.unwrap().unwrap();
        request.resolve_request().await.unwrap().1
    }

    /// A whole exchange, which shows that the connection is alive.
    async fn exchange(&mut self) {
        let (mut client, mut server) = self.request().await;
        server.send_response(Response::new(())).await.unwrap();
        server.finish().await.unwrap();
        client.finish().await.unwrap();
        client.recv_response().await.unwrap();
        assert!(client.recv_data().await.unwrap().is_none());
    }
}

/// Two ends of a QUIC connection, the client's first.
async fn connected(config: TransportConfig) -> [Connection; 2] {
    let config = std::sync::Arc::new(config);
    let certificate = SelfSigned::generate([NAME]).unwrap();
    let tls = certificate.server().alpn(&[ours::ALPN]);
    let mut server = tls.config().unwrap();
    server.transport_config(config.clone());
    let server = Endpoint::server(server, any()).unwrap();
    let tls = tls::client_with_fingerprint(certificate.fingerprint).alpn(&[ours::ALPN]);
    let mut client = tls.config().unwrap();
    client.transport_config(config);
    let address = server.local_addr().unwrap();
    let connect = Endpoint::client(any()).unwrap();
    let connecting = connect.connect_with(client, address, NAME).unwrap();
    let accept = async { server.accept().await.unwrap().await };
    let (client, server) = tokio::join!(connecting, accept);
    [client.unwrap(), server.unwrap()]
}

async fn connect(certificate: &SelfSigned, server: SocketAddr) -> ours::Connection {
    let tls = tls::client_with_fingerprint(certificate.fingerprint).alpn(&[ours::ALPN]);
    let endpoint = Endpoint::client(any()).unwrap();
    let connecting = endpoint.connect_with(tls.config().unwrap(), server, NAME);
    ours::Connection::new(connecting.unwrap().await.unwrap())
}

/// Becomes a client's connection that is driven by itself.
async fn drive(connection: ours::Connection) -> Requests {
    let (mut driver, requests) = client::new(connection).await.unwrap();
    tokio::spawn(async move { driver.wait_idle().await });
    requests
}

/// Sends every request's body back, until the connection is over.
async fn echo<C>(connection: C) -> ConnectionError
where
    C: quic::Connection<Bytes>,
    C::BidiStream: Send + 'static,
{
    let mut server = match server::builder().build(connection).await {
        Ok(server) => server,
        Err(error) => return error,
    };
    loop {
        let request = match server.accept().await {
            Ok(request) => request.unwrap(),
            Err(error) => return error,
        };
        let (_, mut stream) = request.resolve_request().await.unwrap();
        tokio::spawn(async move {
            stream.send_response(Response::new(())).await?;
            while let Some(mut chunk) = stream.recv_data().await? {
                let chunk = chunk.copy_to_bytes(chunk.remaining());
                stream.send_data(chunk).await?;
            }
            stream.finish().await
        });
    }
}

/// Has `body` sent back by [`echo`].
async fn ask<O>(requests: &mut client::SendRequest<O, Bytes>, body: Bytes) -> Vec<u8>
where
    O: quic::OpenStreams<Bytes>,
    O::BidiStream: BidiStream<Bytes>,
{
    let request = Request::post("https://localhost/").body(()).unwrap();
    let stream = requests.send_request(request).await.unwrap();
    let (mut send, mut recv) = stream.split();
    let write = async {
        for at in (0..body.len()).step_by(CHUNK) {
            let chunk = body.slice(at..body.len().min(at + CHUNK));
            send.send_data(chunk).await.unwrap();
        }
        send.finish().await.unwrap();
    };
    let read = async {
        assert_eq!(recv.recv_response().await.unwrap().status(), 200);
        let mut received = Vec::new();
        while let Some(mut chunk) = recv.recv_data().await.unwrap() {
            received.extend_from_slice(&chunk.copy_to_bytes(chunk.remaining()));
        }
        received
    };
    tokio::join!(write, read).1
}

/// The peer's code of a stream that it gave up.
fn code_of<T>(result: Result<T, StreamError>) -> u64 {
    match result {
        Err(StreamError::RemoteTerminate { code, .. }) => code.value(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("the peer has not given the stream up"),
    }
}

/// Bytes of no pattern, the same in each run.
fn noise(len: usize) -> Bytes {
    let mut rng = Rng::new(1);
    let words = std::iter::repeat_with(|| rng.next_u64().to_le_bytes());
    words.flatten().take(len).collect()
}

fn sha256(data: &[u8]) -> Digest {
    digest(&SHA256, data)
}

/// Within a minute, or it hangs.
async fn limited<F: Future>(future: F) -> F::Output {
    let limited = tokio::time::timeout(Duration::from_secs(60), future);
    limited.await.expect("it hangs")
}

fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

const NAME: &str = "localhost";
const CHUNK: usize = 16 << 10;
