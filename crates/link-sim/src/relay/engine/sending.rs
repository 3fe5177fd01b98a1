//! From the links out of the sockets.

use super::state::Engine;
use crate::packet::{Delivery, Packet};
use crate::relay::batch_socket::{BatchSocket, MAX_MESSAGES, Outgoing};
use crate::relay::capture::{CapturedDatagram, Side};
use crate::relay::config::Direction;
use crate::relay::datagram::Datagram;
use crate::relay::send_batch::{SendCall, next_call};
use core::iter;
use units::{Rng, Timestamp};

impl Engine {
    /// Sends what has reached the far end of a link.
    pub(super) fn deliver(&mut self, direction: Direction) {
        loop {
            let now = self.clock.now();
            let mut due = std::mem::take(&mut self.due);
            let link = &mut self.active_link(direction).link;
            due.extend(iter::from_fn(|| link.poll_output(now)).take(MAX_DUE));
            for delivery in &mut due {
                apply_damage(&mut self.damage, &mut delivery.packet);
            }
            self.send(direction, &due);
            let is_last = due.len() < MAX_DUE;
            for delivery in due.drain(..) {
                self.pool.give_back(delivery.packet.payload.data);
            }
            self.due = due;
            if is_last {
                return;
            }
        }
    }

    fn send(&mut self, direction: Direction, mut due: &[Delivery<Datagram>]) {
        while let Some(first) = due.first() {
            let client = first.packet.payload.client;
            let max_segments = self.max_segments(direction, client);
            let call = next_call(due, direction, max_segments);
            let (now, later) = due.split_at(call.datagrams());
            let begin = self.clock.now();
            let sent = match call {
                SendCall::Segments(_) => self.send_segments(direction, now),
                SendCall::Each(_) => self.send_each(direction, now),
            };
            if sent == 0 && self.max_segments(direction, client) < max_segments {
                // The device does not know segments, which is known from here on.
                continue;
            }
            self.note(direction, begin, &now[..sent]);
            due = match &now[sent..] {
                [] => later,
                // The rest of the call was not tried.
                [_refused, ..] => {
                    self.stats.unsent += 1;
                    &due[sent + 1..]
                }
            };
        }
    }

    fn max_segments(&self, direction: Direction, client: u64) -> usize {
        let socket = match direction {
            Direction::ToServer => self.clients.get(client).map(|client| &client.socket),
            Direction::ToClient => Some(&self.listener),
        };
        socket.map_or(1, BatchSocket::max_segments)
    }

    /// Answers how many were sent: all or none.
    fn send_segments(&mut self, direction: Direction, due: &[Delivery<Datagram>]) -> usize {
        self.segments.clear();
        for delivery in due {
            self.segments
                .extend_from_slice(&delivery.packet.payload.data);
        }
        let Datagram { client, data } = &due[0].packet.payload;
        let Some(client) = self.clients.get_mut(*client) else {
            return 0;
        };
        let (socket, to) = match direction {
            Direction::ToServer => (&mut client.socket, self.server),
            Direction::ToClient => (&mut self.listener, client.address),
        };
        let sent = socket.send_segments(to, due[0].packet.ecn, &self.segments, data.len());
        sent.map_or(0, |()| due.len())
    }

    /// Answers how many were sent before the first that was refused.
    fn send_each(&mut self, direction: Direction, due: &[Delivery<Datagram>]) -> usize {
        let nothing = Outgoing {
            to: self.server,
            data: &[],
        };
        let mut outgoing = [nothing; MAX_MESSAGES];
        let mut count = 0;
        for (slot, delivery) in outgoing.iter_mut().zip(due) {
            let Datagram { client, data } = &delivery.packet.payload;
            let Some(client) = self.clients.get(*client) else {
                break;
            };
            let to = match direction {
                Direction::ToServer => self.server,
                Direction::ToClient => client.address,
            };
            *slot = Outgoing { to, data };
            count += 1;
        }
        let socket = match direction {
            Direction::ToServer => {
                let client = self.clients.get_mut(due[0].packet.payload.client);
                client.map(|client| &mut client.socket)
            }
            Direction::ToClient => Some(&mut self.listener),
        };
        socket.map_or(0, |socket| {
            socket.send_each(due[0].packet.ecn, &outgoing[..count])
        })
    }

    /// Notes how late these were, which one system call has sent.
    fn note(&mut self, direction: Direction, begin: Timestamp, sent: &[Delivery<Datagram>]) {
        let now = self.clock.now();
        for delivery in sent {
            self.stats.lateness.record(now.since(delivery.due), 1);
        }
        let Some(capture) = &mut self.capture else {
            return;
        };
        for delivery in sent {
            let Datagram { client, data } = &delivery.packet.payload;
            let Some(client) = self.clients.get(*client) else {
                continue;
            };
            let (side, from, to) = match direction {
                Direction::ToServer => (Side::Server, client.local, self.server),
                Direction::ToClient => (Side::Client, client.listener, client.address),
            };
            capture.record(&CapturedDatagram {
                side,
                // Before the call: what it brings about comes later than this.
                at: begin,
                from,
                to,
                ecn: delivery.packet.ecn,
                data,
            });
        }
    }
}

/// Flips one bit of the payload of a packet that the link has damaged, anywhere. An empty one has
/// nothing to be damaged.
fn apply_damage(rng: &mut Rng, packet: &mut Packet<Datagram>) {
    let data = &mut packet.payload.data;
    if packet.corrupted && !data.is_empty() {
        let bit = rng.below(8 * data.len() as u64);
        data[(bit / 8) as usize] ^= 1 << (bit % 8);
    }
}

/// Datagrams of one direction that are sent before the clock is read for the next ones.
const MAX_DUE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    fn packet(length: usize, corrupted: bool) -> Packet<Datagram> {
        let datagram = Datagram {
            client: 0,
            data: vec![0; length],
        };
        Packet {
            corrupted,
            ..Packet::new(Bytes::new(100), datagram)
        }
    }

    fn damage(seed: u64, length: usize) -> Vec<Vec<u8>> {
        let mut rng = Rng::new(seed);
        let mut packets = vec![packet(length, true); 20];
        for packet in &mut packets {
            apply_damage(&mut rng, packet);
        }
        packets
            .into_iter()
            .map(|packet| packet.payload.data)
            .collect()
    }

    #[test]
    fn one_bit_of_a_damaged_packet_is_another_anywhere_and_the_same_for_the_same_seed() {
        let damaged = damage(1, 100);
        let flipped = |data: &Vec<u8>| data.iter().map(|byte| byte.count_ones()).sum::<u32>();
        assert!(damaged.iter().all(|data| flipped(data) == 1));
        assert!(damaged.iter().any(|data| data != &damaged[0]));
        assert_eq!(damaged, damage(1, 100));
        assert_ne!(damaged, damage(2, 100));
    }

    #[test]
    fn an_intact_packet_and_an_empty_one_stay_as_they_are() {
        let mut rng = Rng::new(1);
        for mut packet in [packet(10, false), packet(0, true)] {
            let before = packet.clone();
            apply_damage(&mut rng, &mut packet);
            assert_eq!(packet, before);
        }
    }
}
