//! libp2p's QUIC transport, which reads and writes by `futures_io`.

use crate::support::{MEGABYTE, limited, noise};
use crate::witness;
use futures_util::{AsyncReadExt, AsyncWriteExt};
use libp2p_core::multiaddr::{Multiaddr, Protocol};
use libp2p_core::muxing::StreamMuxerExt;
use libp2p_core::transport::{DialOpts, ListenerId, PortUse, TransportEvent};
use libp2p_core::{Endpoint, Transport};
use libp2p_identity::{Keypair, PeerId};
use libp2p_quic::{Config, Connection, tokio::Transport as Quic};
use std::future::poll_fn;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;

#[tokio::test]
async fn a_peer_of_libp2ps_reads_back_what_it_sends() {
    limited(async {
        let (listening_key, dialing_key) =
            (Keypair::generate_ed25519(), Keypair::generate_ed25519());
        let mut listening = Quic::new(Config::new(&listening_key));
        let any = "/ip4/127.0.0.1/udp/0/quic-v1".parse().unwrap();
        listening.listen_on(ListenerId::next(), any).unwrap();
        let address = listen_address(&mut listening).await;
        let answering = tokio::spawn(async move {
            let (peer, mut connection) = accept(&mut listening).await;
            let mut stream = poll_fn(|cx| connection.poll_inbound_unpin(cx))
                .await
                .unwrap();
            let mut question = vec![0; MEGABYTE];
            stream.read_exact(&mut question).await.unwrap();
            stream.write_all(&question).await.unwrap();
            stream.close().await.unwrap();
            // The other end has it all when it goes.
            let _ = poll_fn(|cx| connection.poll_inbound_unpin(cx)).await;
            peer
        });
        let mut dialing = Quic::new(Config::new(&dialing_key));
        let dial = DialOpts {
            role: Endpoint::Dialer,
            port_use: PortUse::New,
        };
        let (peer, mut connection) = dialing.dial(address.clone(), dial).unwrap().await.unwrap();
        assert_eq!(peer, listening_key.public().to_peer_id());
        let mut stream = poll_fn(|cx| connection.poll_outbound_unpin(cx))
            .await
            .unwrap();
        stream.write_all(&noise(MEGABYTE)).await.unwrap();
        stream.close().await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        assert!(answer == noise(MEGABYTE), "other bytes came back");
        drop((stream, connection));
        let peer = answering.await.unwrap();
        assert_eq!(peer, dialing_key.public().to_peer_id());
        witness::assert_has_client_of(socket_address(&address));
    })
    .await;
}

async fn listen_address(transport: &mut Quic) -> Multiaddr {
    loop {
        let event = poll_fn(|cx| Pin::new(&mut *transport).poll(cx)).await;
        if let TransportEvent::NewAddress { listen_addr, .. } = event {
            return listen_addr;
        }
    }
}

async fn accept(transport: &mut Quic) -> (PeerId, Connection) {
    loop {
        let event = poll_fn(|cx| Pin::new(&mut *transport).poll(cx)).await;
        if let TransportEvent::Incoming { upgrade, .. } = event {
            return upgrade.await.unwrap();
        }
    }
}

fn socket_address(address: &Multiaddr) -> SocketAddr {
    let port = address.iter().find_map(|protocol| match protocol {
        Protocol::Udp(port) => Some(port),
        _ => None,
    });
    (Ipv4Addr::LOCALHOST, port.unwrap()).into()
}
