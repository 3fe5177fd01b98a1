//! An endpoint on a socket of the application's: QUIC and STUN share one UDP port, as after hole
//! punching (RFC 9443 tells them apart by their first byte).
//!
//! ```text
//! cargo run --release -p paceline --example own_socket
//! ```

use paceline::{
    ArrivedDatagrams, DatagramBatch, DatagramSocket, Endpoint, EndpointConfig, VarInt, tls,
};
use std::error::Error;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;

/// A UDP socket whose STUN messages go to the application and all else to the endpoint.
#[derive(Debug)]
struct SharedPort {
    socket: UdpSocket,
    stun: mpsc::Sender<(SocketAddr, Vec<u8>)>,
}

impl DatagramSocket for SharedPort {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// One datagram a call, since `max_batch` is left at 1. No codepoint is set: the path has no
    /// ECN, which QUIC notices.
    fn try_send(&self, batch: &DatagramBatch<'_>) -> io::Result<()> {
        let sent = self.socket.try_send_to(batch.contents, batch.destination);
        sent.map(drop)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<()> {
        // An error comes again, from the next attempt to send.
        self.socket.poll_send_ready(cx).map(drop)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<ArrivedDatagrams>> {
        loop {
            let mut datagram = ReadBuf::new(buffer);
            let source = ready!(self.socket.poll_recv_from(cx, &mut datagram))?;
            let contents = datagram.filled();
            match contents.first() {
                // Dropped if the application does not keep up: nobody may fill its memory.
                Some(0..=3) => drop(self.stun.try_send((source, contents.to_vec()))),
                _ => return Poll::Ready(Ok(ArrivedDatagrams::one(contents.len(), source))),
            }
        }
    }
}

/// Sends a megabyte over QUIC and a STUN message, to one port; returns how many bytes came, and
/// what came of STUN.
pub(crate) async fn share_a_port() -> Result<(usize, Vec<u8>), Box<dyn Error>> {
    let (stun, mut requests) = mpsc::channel(64);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = socket.local_addr()?;
    let certificate = tls::SelfSigned::generate(["localhost"])?;
    let server = Endpoint::with_socket(
        EndpointConfig::default(),
        Some(certificate.server().config()?),
        Arc::new(SharedPort { socket, stun }),
    )?;
    tokio::spawn(async move {
        let connection = server.accept().await?.await.ok()?;
        let mut stream = connection.open_uni().await.ok()?;
        stream.write_all(&vec![7; 1_000_000]).await.ok()?;
        stream.finish().ok()?;
        Some(connection.closed().await)
    });

    // A binding request (RFC 8489 section 5): type 1, no attributes, the magic cookie, and an ID.
    let mut request = vec![0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42];
    request.extend([7; 12]);
    let puncher = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    puncher.send_to(&request, address).await?;

    let client = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into())?;
    let config = tls::client_with_fingerprint(certificate.fingerprint).config()?;
    let connection = client.connect_with(config, address, "localhost")?.await?;
    let received = connection.accept_uni().await?.read_to_end(1 << 20).await?;
    connection.close(VarInt::from_u32(0), b"done");
    client.wait_idle().await;
    let (source, message) = requests.recv().await.ok_or("the socket has been dropped")?;
    assert_eq!(source, puncher.local_addr()?);
    Ok((received.len(), message))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (bytes, message) = share_a_port().await?;
    let stun = message.len();
    let lines = format!("{bytes} bytes over QUIC\n{stun} bytes of STUN on the same port\n");
    match io::stdout().write_all(lines.as_bytes()) {
        // Whoever read this has gone.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
