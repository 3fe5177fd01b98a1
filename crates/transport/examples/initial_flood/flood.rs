//! Valid Initial packets, and a thread that sends them from many addresses.
#![expect(clippy::disallowed_methods, reason = "a sender at a rate of its own")]

use super::Result;
use paceline::{EndpointConfig, tls};
use rustls::RootCertStore;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// First packets of clients, each with a connection ID of its own.
pub(super) struct Initials(Vec<Vec<u8>>);

impl Initials {
    /// As many as `count`, made by quinn-proto.
    pub(super) fn make(count: usize) -> Result<Self> {
        // Whom it trusts does not matter before the server has answered.
        let certificate = tls::SelfSigned::generate(["localhost"])?;
        let mut roots = RootCertStore::empty();
        roots.add(certificate.cert)?;
        let config = quinn_proto::ClientConfig::with_root_certificates(Arc::new(roots))?;
        let mut endpoint =
            quinn_proto::Endpoint::new(Arc::new(EndpointConfig::default()), None, false, None);
        let now = Instant::now();
        let remote = SocketAddr::from((Ipv4Addr::LOCALHOST, 443));
        let mut initials = Vec::with_capacity(count);
        let mut packet = Vec::new();
        for _ in 0..count {
            let (handle, mut conn) = endpoint.connect(now, config.clone(), remote, "localhost")?;
            packet.clear();
            if conn.poll_transmit(now, 1, &mut packet).is_none() {
                return Err("a client has no first packet".into());
            }
            initials.push(packet.clone());
            endpoint.handle_event(handle, quinn_proto::EndpointEvent::drained());
        }
        Ok(Self(initials))
    }

    /// Sends `rate` of them a second for so long; returns how many.
    pub(super) fn send(&self, server: SocketAddr, rate: u32, time: Duration) -> Result<u64> {
        let sockets: Vec<UdpSocket> = (0..ADDRESSES)
            .map(|host| {
                let socket = UdpSocket::bind((Ipv4Addr::new(127, 0, 7, host), 0))?;
                socket.set_nonblocking(true)?;
                socket.connect(server)?;
                Ok(socket)
            })
            .collect::<std::io::Result<_>>()?;
        let start = Instant::now();
        let (mut due, mut sent) = (0_u64, 0_u64);
        loop {
            let elapsed = start.elapsed().min(time);
            let target = (elapsed.as_secs_f64() * f64::from(rate)) as u64;
            // What this thread was too late for is not made up for in one burst.
            due = due.max(target.saturating_sub(u64::from(rate) / 100));
            while due < target {
                let initial = &self.0[due as usize % self.0.len()];
                let socket = &sockets[due as usize % sockets.len()];
                // The server's socket may be full; that is what a flood does.
                sent += u64::from(socket.send(initial).is_ok());
                due += 1;
            }
            if elapsed == time {
                return Ok(sent);
            }
            thread::sleep(Duration::from_micros(500));
        }
    }
}

const ADDRESSES: u8 = 255;
