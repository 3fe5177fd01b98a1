//! From the sockets into the links.

use super::state::Engine;
use crate::packet::Packet;
use crate::relay::batch_socket::Incoming;
use crate::relay::capture::{CapturedDatagram, Side};
use crate::relay::clients::{Client, Clients};
use crate::relay::datagram::Datagram;
use crate::relay::poller::{Poller, Source};
use crate::relay::pool::Pool;
use crate::relay::refusal::explain_refusal;
use crate::relay::stats::RelayStats;
use std::io;
use std::net::SocketAddr;
use units::{Bytes, Timestamp};

impl Engine {
    /// Gives one batch from the clients to the link, and answers how many datagrams it was. A
    /// datagram came when the kernel says it did.
    pub(super) fn receive_requests(&mut self, poller: &mut Poller) -> usize {
        let mut count = 0;
        let (clock, buffers) = (&self.clock, &mut self.buffers);
        self.listener.receive(clock, buffers, |incoming| {
            count += 1;
            let now = incoming.at;
            let number = match self.clients.number(now, &incoming.from) {
                Some(number) => Ok(number),
                None => add_client(
                    &mut self.clients,
                    poller,
                    now,
                    incoming.from,
                    self.listen_addr,
                ),
            };
            let number = match number {
                Ok(number) => number,
                Err(error) => return count_unserved(&mut self.stats, error),
            };
            let client = self.clients.get(number).expect("it was added");
            if let Some(capture) = &mut self.capture {
                let (from, to) = (client.address, client.listener);
                capture.record(&captured(Side::Client, from, to, &incoming));
            }
            let packet = packet(&mut self.pool, client, number, &incoming);
            self.link.link.handle_packet(now, packet);
        });
        count
    }

    /// Reads one batch from the server to the client with this number, and answers how many
    /// datagrams it was.
    pub(super) fn receive_answers(&mut self, number: u64) -> usize {
        let mut last = None;
        let Some(client) = self.clients.get(number) else {
            return 0;
        };
        let before = self.answers.len();
        let (clock, buffers) = (&self.clock, &mut self.buffers);
        client.socket.receive(clock, buffers, |incoming| {
            last = Some(incoming.at);
            if let Some(capture) = &mut self.capture {
                let (from, to) = (self.server, client.local);
                capture.record(&captured(Side::Server, from, to, &incoming));
            }
            let packet = packet(&mut self.pool, client, number, &incoming);
            self.answers.push((incoming.at, packet));
        });
        if let Some(now) = last {
            self.clients.touch(now, number);
        }
        self.answers.len() - before
    }

    /// Gives what was read from the server to the return link, in the order in which it came,
    /// whoever it is for.
    pub(super) fn enter_return_link(&mut self) {
        self.answers.sort_by_key(|(at, _)| *at);
        for (at, packet) in self.answers.drain(..) {
            self.return_link.link.handle_packet(at, packet);
        }
    }
}

/// Opens a socket for the client at `from`, and waits for what comes back.
fn add_client(
    clients: &mut Clients,
    poller: &mut Poller,
    now: Timestamp,
    from: SocketAddr,
    listen_addr: SocketAddr,
) -> io::Result<u64> {
    let number = clients.add(now, from, listen_addr)?;
    let client = clients.get(number).expect("it was added");
    match poller.add(Source::Client(number), &client.socket) {
        Ok(()) => Ok(number),
        Err(error) => {
            clients.forget(number);
            Err(error)
        }
    }
}

fn count_unserved(stats: &mut RelayStats, error: io::Error) {
    if error.kind() == io::ErrorKind::QuotaExceeded {
        stats.refused += 1;
        return;
    }
    stats.unserved += 1;
    stats
        .socket_error
        .get_or_insert_with(|| explain_refusal(error).to_string());
}

/// A datagram to or from `client`, as a link counts it.
fn packet(
    pool: &mut Pool,
    client: &Client,
    number: u64,
    incoming: &Incoming<'_>,
) -> Packet<Datagram> {
    let data = pool.copy(incoming.data);
    let size = Bytes::new(data.len() as u64) + client.overhead;
    let datagram = Datagram {
        client: number,
        data,
    };
    Packet::new(size, datagram)
        .ecn(incoming.ecn)
        .flow(client.flow)
}

fn captured<'a>(
    side: Side,
    from: SocketAddr,
    to: SocketAddr,
    incoming: &Incoming<'a>,
) -> CapturedDatagram<'a> {
    CapturedDatagram {
        side,
        at: incoming.at,
        from,
        to,
        ecn: incoming.ecn,
        data: incoming.data,
    }
}
