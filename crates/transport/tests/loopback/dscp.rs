//! What becomes of a connection's Differentiated Services codepoint.

use super::support::{NAME, any, client_config, server_config, within_a_minute};
use paceline::tls::SelfSigned;
use paceline::{
    ArrivedDatagrams, DatagramBatch, DatagramSocket, Dscp, Endpoint, EndpointConfig,
    TransportConfig,
};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

/// A UDP socket that keeps the codepoints it was asked for, each once in a row.
#[derive(Debug)]
struct Recording {
    socket: UdpSocket,
    asked: Mutex<Vec<Dscp>>,
}

impl DatagramSocket for Recording {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn try_send(&self, batch: &DatagramBatch<'_>) -> io::Result<()> {
        let mut asked = self.asked.lock().unwrap();
        if asked.last() != Some(&batch.dscp) {
            asked.push(batch.dscp);
        }
        drop(asked);
        let sent = self.socket.try_send_to(batch.contents, batch.destination);
        sent.map(drop)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.socket.poll_send_ready(cx).map(drop)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<ArrivedDatagrams>> {
        let mut datagram = ReadBuf::new(buffer);
        let source = ready!(self.socket.poll_recv_from(cx, &mut datagram))?;
        Poll::Ready(Ok(ArrivedDatagrams::one(datagram.filled().len(), source)))
    }
}

#[tokio::test]
async fn a_connection_has_its_own_dscp_and_may_change_it() {
    within_a_minute(async {
        let certificate = SelfSigned::generate([NAME]).unwrap();
        let recording = Arc::new(Recording {
            socket: UdpSocket::bind(any()).await.unwrap(),
            asked: Mutex::default(),
        });
        let mut transport = TransportConfig::default();
        transport.dscp("af41".parse().unwrap());
        let server = Endpoint::with_socket(
            EndpointConfig::default(),
            Some(server_config(&certificate, &transport)),
            Arc::clone(&recording) as Arc<dyn DatagramSocket>,
        );
        let server = server.unwrap();
        let mut client = Endpoint::client(any()).unwrap();
        client.set_default_client_config(client_config(&certificate, &TransportConfig::default()));
        let connecting = client.connect(server.local_addr().unwrap(), NAME).unwrap();
        let accepting = async { server.accept().await.unwrap().await };
        let (receiving, sending) = tokio::join!(connecting, accepting);
        let (receiving, sending) = (receiving.unwrap(), sending.unwrap());
        sending.set_dscp("le".parse().unwrap());
        let mut stream = sending.open_uni().await.unwrap();
        stream.write_all(&[7; 10_000]).await.unwrap();
        stream.finish().unwrap();
        let mut stream = receiving.accept_uni().await.unwrap();
        assert_eq!(stream.read_to_end(10_000).await.unwrap().len(), 10_000);
        let asked: Vec<_> = {
            let asked = recording.asked.lock().unwrap();
            asked.iter().map(Dscp::to_string).collect()
        };
        assert_eq!(asked, ["af41", "le"]);
    })
    .await;
}

/// A client's first packet, at a socket that tells its traffic class.
#[tokio::test]
#[cfg(target_os = "linux")]
async fn the_kernel_sends_it_beside_the_ecn_codepoint() {
    use nix::sys::socket::sockopt::IpRecvTos;
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};
    use std::os::fd::AsRawFd as _;

    within_a_minute(async {
        let certificate = SelfSigned::generate([NAME]).unwrap();
        let socket = UdpSocket::bind(any()).await.unwrap();
        setsockopt(&socket, IpRecvTos, &true).unwrap();
        let mut transport = TransportConfig::default();
        transport.dscp("ef".parse().unwrap());
        let mut client = Endpoint::client(any()).unwrap();
        client.set_default_client_config(client_config(&certificate, &transport));
        let connecting = client.connect(socket.local_addr().unwrap(), NAME).unwrap();
        let receive = socket.async_io(tokio::io::Interest::READABLE, || {
            let (mut memory, mut space) = ([0; 2_000], nix::cmsg_space!(i32));
            let mut contents = [io::IoSliceMut::new(&mut memory)];
            let received = recvmsg::<SockaddrStorage>(
                socket.as_raw_fd(),
                &mut contents,
                Some(&mut space),
                MsgFlags::empty(),
            )?;
            match received.cmsgs()?.next() {
                Some(ControlMessageOwned::Ipv4Tos(tos)) => Ok(tos),
                other => panic!("no traffic class but {other:?}"),
            }
        });
        let tos = receive.await.unwrap();
        drop(connecting);
        // EF and ECT(0).
        assert_eq!(tos, 46 << 2 | 0b10);
    })
    .await;
}
