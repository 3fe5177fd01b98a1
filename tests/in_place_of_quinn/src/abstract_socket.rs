//! A socket of the application's with quinn's traits, around one of the runtime's.

use crate::support::{ANY, Certificate, limited};
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, TokioRuntime, UdpPoller};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};

/// Takes one datagram at a time, loses one of ten, and is full each seventh time.
#[derive(Debug)]
struct Lossy {
    socket: Arc<dyn AsyncUdpSocket>,
    datagrams: AtomicU32,
}

impl Lossy {
    fn bind() -> Arc<Self> {
        let socket = UdpSocket::bind(ANY).unwrap();
        Arc::new(Self {
            socket: TokioRuntime.wrap_udp_socket(socket).unwrap(),
            datagrams: AtomicU32::new(0),
        })
    }
}

impl AsyncUdpSocket for Lossy {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.socket).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let number = self.datagrams.fetch_add(1, Ordering::Relaxed);
        if number % 7 == 6 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if number % 10 == 9 {
            return Ok(());
        }
        self.socket.try_send(transmit)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.socket.poll_recv(cx, bufs, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

#[tokio::test]
async fn an_endpoint_sends_and_receives_through_it_and_moves_to_another() {
    limited(async {
        let certificate = Certificate::new();
        let (own, runtime) = (Lossy::bind(), Arc::new(TokioRuntime));
        let address = own.local_addr().unwrap();
        let config = EndpointConfig::default;
        let server = Some(certificate.server(&[]));
        let server =
            Endpoint::new_with_abstract_socket(config(), server, own.clone(), runtime.clone());
        let server = server.unwrap();
        assert_eq!(server.local_addr().unwrap(), address);
        let dialing = Lossy::bind();
        let mut client =
            Endpoint::new_with_abstract_socket(config(), None, dialing, runtime).unwrap();
        client.set_default_client_config(certificate.client(&[]));
        let connecting = client.connect(address, "127.0.0.1").unwrap();
        let (connection, accepted) = tokio::join!(connecting, async {
            server.accept().await.unwrap().await.unwrap()
        });
        let connection = connection.unwrap();
        let sender = tokio::spawn(async move {
            let mut stream = accepted.open_uni().await.unwrap();
            stream.write_all(&vec![7; 300_000]).await.unwrap();
            stream.finish().unwrap();
            stream.stopped().await.unwrap();
        });
        let next = Lossy::bind();
        let moved = next.local_addr().unwrap();
        client.rebind_abstract(next).unwrap();
        assert_eq!(client.local_addr().unwrap(), moved);
        let mut stream = connection.accept_uni().await.unwrap();
        let received = stream.read_to_end(1 << 20).await.unwrap();
        assert_eq!(received.len(), 300_000);
        sender.await.unwrap();
        assert!(own.datagrams.load(Ordering::Relaxed) > 200);
    })
    .await;
}
