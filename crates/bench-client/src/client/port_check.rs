//! Whether the server's host says that nothing listens there.
//!
//! QUIC takes no notice of ICMP errors, which anyone can forge, and waits for a timeout. A socket
//! of its own, connected to the server, is told of them by the kernel where the host sends any. It
//! sends empty datagrams, and only while the server is silent.

use paceline::Connection;
use std::future::pending;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::{sleep, timeout};

/// Returns once the host of `server` has refused a datagram, from which nothing had come on
/// `connection` for a while. Never where there is no address to ask.
pub(super) async fn refused(server: Option<SocketAddr>, connection: Option<&Connection>) {
    let Some(server) = server else {
        return pending().await;
    };
    let heard = || connection.map(|connection| connection.stats().udp_rx.datagrams);
    let Ok(socket) = connected(server).await else {
        return pending().await;
    };
    loop {
        let before = heard();
        sleep(SILENCE).await;
        if before.is_some() && heard() != before {
            continue;
        }
        // The kernel says it at the next call, whichever that is.
        let sent = socket.send(&[]).await;
        let answer = match timeout(SILENCE, socket.recv(&mut [0])).await {
            Ok(answer) => sent.and(answer),
            Err(_) => sent,
        };
        match answer {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => return,
            _ => {}
        }
    }
}

async fn connected(server: SocketAddr) -> std::io::Result<UdpSocket> {
    let socket = UdpSocket::bind(unspecified(server)).await?;
    socket.connect(server).await?;
    Ok(socket)
}

/// Any address of the target's family, any port.
pub(super) fn unspecified(target: SocketAddr) -> SocketAddr {
    match target {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

/// Most servers have answered by then, and none of them gets a datagram too many. An answer that
/// takes longer is told of after the next question.
const SILENCE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_refused_once_nothing_listens_there() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            let listener = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let address = listener.local_addr().unwrap();
            let open = timeout(SILENCE * 2, refused(Some(address), None)).await;
            assert!(open.is_err(), "it listens");
            drop(listener);
            let closed = timeout(Duration::from_secs(20), refused(Some(address), None)).await;
            assert!(closed.is_ok(), "it is closed");
            assert!(timeout(SILENCE, refused(None, None)).await.is_err());
        });
    }
}
