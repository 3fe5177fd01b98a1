//! Two sets of books on the packets of one sender, and what must agree in them: what the network
//! did with the datagrams, and what congestion control learned of the packets in them.

use link_sim::Ecn;
use paceline::testing::{Fact, PacketId};
use std::collections::{BTreeMap, VecDeque};
use std::ops::AddAssign;
use std::time::Duration;
use units::{Bytes, Timestamp};

/// Of all packets that one end sends.
#[derive(Debug, Default)]
pub(super) struct Books {
    packets: BTreeMap<PacketId, Packet>,
    /// Packets that have left, whose datagram has not been seen yet.
    leaving: VecDeque<PacketId>,
    /// The packets in each datagram that the network was given.
    datagrams: BTreeMap<Vec<u8>, Vec<PacketId>>,
    /// In flight by network path.
    in_flight: BTreeMap<u64, Bytes>,
    /// Of an ACK that is being handled.
    proto: Option<Proto>,
    /// When the newest of the packets declared lost had left.
    newest_lost_at: Option<Timestamp>,
    pub(super) counts: Counts,
    /// Since when quinn-proto is to know of each loss at once, and the peer to have all keys.
    pub(super) confirmed_at: Option<Timestamp>,
    /// Whether it has had one path only: it counts in flight from anew on each.
    pub(super) has_moved: bool,
}

/// What quinn-proto has in flight after an ACK.
#[derive(Debug)]
struct Proto {
    in_flight: Bytes,
    /// When the newest of the packets had left that were declared lost before.
    newest_lost_at: Option<Timestamp>,
    /// What we have declared lost since.
    lost_since: Bytes,
}

/// Packets by what became of them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) sent: u64,
    pub(super) acked: u64,
    pub(super) lost: u64,
    pub(super) late: u64,
    pub(super) discarded: u64,
    pub(super) marked: u64,
    /// Datagrams without a packet that congestion control knows.
    pub(super) strays: u64,
    /// ACKs after which quinn-proto's count of bytes in flight was compared.
    pub(super) compared: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.acked += other.acked;
        self.lost += other.lost;
        self.late += other.late;
        self.discarded += other.discarded;
        self.marked += other.marked;
        self.strays += other.strays;
        self.compared += other.compared;
    }
}

#[derive(Debug)]
struct Packet {
    sent_at: Timestamp,
    bytes: Bytes,
    path: u64,
    is_in_flight: bool,
    state: State,
    delivery: Option<Delivery>,
}

/// What the network did with it first.
#[derive(Debug, Clone, Copy)]
struct Delivery {
    at: Timestamp,
    is_marked: bool,
    /// Packets with greater numbers that came before.
    overtaken_by: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Or not counted there.
    InFlight,
    Acked,
    Lost(Timestamp),
    Late,
    Discarded,
}

impl Books {
    /// A datagram leaves with packets of which congestion control has been told.
    pub(super) fn on_leaves(&mut self, at: Timestamp, payload: &[u8]) {
        if self.leaving.is_empty() {
            self.counts.strays += 1;
            return;
        }
        let mut packets = Vec::new();
        let mut length = 0;
        while length < payload.len() as u64 {
            let id = self.leaving.pop_front().expect("all packets were told");
            let packet = &self.packets[&id];
            assert_eq!(packet.sent_at, at, "{id:?}");
            length += packet.bytes.get();
            packets.push(id);
        }
        assert_eq!(length, payload.len() as u64, "{packets:?}");
        self.datagrams.insert(payload.to_vec(), packets);
    }

    /// A datagram of this sender's arrives.
    pub(super) fn on_arrives(&mut self, at: Timestamp, payload: &[u8], ecn: Ecn) {
        let Some(ids) = self.datagrams.get(payload) else {
            return;
        };
        for id in ids {
            let newer = self.packets.range(
                PacketId {
                    number: id.number + 1,
                    ..*id
                }..,
            );
            let newer = newer.take_while(|(other, _)| other.space == id.space);
            let overtaken_by = newer.filter(|(_, other)| other.delivery.is_some()).count() as u64;
            let packet = self.packets.get_mut(id).expect("it has left");
            packet.delivery.get_or_insert(Delivery {
                at,
                is_marked: ecn == Ecn::Ce,
                overtaken_by,
            });
        }
    }

    pub(super) fn on_fact(&mut self, now: Timestamp, fact: &Fact) {
        match *fact {
            Fact::Sent {
                packet,
                bytes,
                is_in_flight,
                path,
            } => self.on_sent(now, packet, bytes, is_in_flight, path),
            Fact::Acked(id) => {
                self.counts.acked += 1;
                self.leave_flight(id, State::Acked);
                self.assert_delivered(now, id);
            }
            Fact::Lost(id) => {
                self.counts.lost += 1;
                self.leave_flight(id, State::Lost(now));
                self.on_lost(id);
            }
            Fact::Late(id) => {
                self.counts.late += 1;
                self.assert_delivered(now, id);
                let packet = self.packets.get_mut(&id).expect("it has left");
                assert!(matches!(packet.state, State::Lost(_)), "{id:?} {packet:?}");
                packet.state = State::Late;
            }
            Fact::Discarded(id) => {
                self.counts.discarded += 1;
                self.leave_flight(id, State::Discarded);
            }
            Fact::Marked(packets) => self.counts.marked += packets,
            Fact::ProtoInFlight(bytes) => {
                self.proto = Some(Proto {
                    in_flight: bytes,
                    newest_lost_at: self.newest_lost_at,
                    lost_since: Bytes::ZERO,
                });
            }
            Fact::Settled {
                path,
                in_flight,
                kept,
            } => self.on_settled(now, path, in_flight, kept),
        }
    }

    fn on_sent(
        &mut self,
        now: Timestamp,
        id: PacketId,
        bytes: Bytes,
        is_in_flight: bool,
        path: u64,
    ) {
        self.counts.sent += 1;
        let packet = Packet {
            sent_at: now,
            bytes,
            path,
            is_in_flight,
            state: State::InFlight,
            delivery: None,
        };
        let former = self.packets.insert(id, packet);
        // After a Retry, numbers of the Initial space go on; no number is used twice.
        assert!(former.is_none(), "{id:?} was sent before: {former:?}");
        if is_in_flight {
            *self.in_flight.entry(path).or_default() += bytes;
        }
        self.leaving.push_back(id);
    }

    fn leave_flight(&mut self, id: PacketId, state: State) {
        let packet = self.packets.get_mut(&id).expect("it has left");
        let is_in_flight = packet.is_in_flight && packet.state == State::InFlight;
        assert!(is_in_flight, "{id:?} {state:?}: {packet:?}");
        packet.state = state;
        *self.in_flight.entry(packet.path).or_default() -= packet.bytes;
    }

    fn on_lost(&mut self, id: PacketId) {
        let packet = &self.packets[&id];
        if let Some(proto) = &mut self.proto {
            proto.lost_since += packet.bytes;
        }
        self.newest_lost_at = self.newest_lost_at.max(Some(packet.sent_at));
    }

    fn assert_delivered(&self, now: Timestamp, id: PacketId) {
        let packet = &self.packets[&id];
        let is_there = packet.delivery.is_some_and(|delivery| delivery.at < now);
        assert!(is_there, "{id:?} at {now}: {packet:?}");
    }

    fn on_settled(&mut self, now: Timestamp, path: u64, in_flight: Bytes, kept: Bytes) {
        let expected = self.in_flight.get(&path).copied().unwrap_or_default();
        assert_eq!((in_flight, kept), (expected, expected), "at {now}");
        let proto = self.proto.take();
        if let Some(proto) = proto.filter(|_| self.confirmed_at.is_some() && !self.has_moved) {
            self.counts.compared += 1;
            self.compare(now, in_flight + proto.lost_since, &proto);
        }
    }

    /// quinn-proto has in flight what we have, and what we have declared lost of a batch of which
    /// the rest is in flight.
    fn compare(&self, now: Timestamp, ours: Bytes, proto: &Proto) {
        let batch = self.packets.values().filter(|packet| {
            let is_lost = matches!(packet.state, State::Lost(_) | State::Late);
            is_lost && Some(packet.sent_at) == proto.newest_lost_at
        });
        let batch: Bytes = batch.map(|packet| packet.bytes).sum();
        let theirs = proto.in_flight;
        assert!(
            (ours..=ours + batch).contains(&theirs),
            "at {now}: quinn-proto has {theirs} in flight, we have {ours}, of the last batch \
             {batch} are lost"
        );
    }

    /// Nothing is under way any more.
    pub(super) fn assert_closed(&self) {
        assert!(self.leaving.is_empty());
        for (id, packet) in &self.packets {
            let is_there = packet.delivery.is_some();
            match packet.state {
                State::InFlight => assert!(!packet.is_in_flight, "{id:?}: {packet:?}"),
                State::Acked | State::Late => assert!(is_there, "{id:?}: {packet:?}"),
                State::Lost(_) | State::Discarded => {}
            }
        }
    }

    /// Of the packets declared lost, those that arrived within `time` of that are known to have,
    /// which `time` is short enough for. `peers` says which ACKs arrived.
    pub(super) fn assert_late_are_known(&self, time: Duration, peers: &Self) {
        let confirmed_at = self.confirmed_at.expect("the handshake is over");
        for (id, packet) in &self.packets {
            let (State::Lost(at), Some(delivery)) = (packet.state, packet.delivery) else {
                continue;
            };
            // The peer's quinn-proto takes it for a duplicate.
            let is_dropped = delivery.overtaken_by >= MAX_OVERTAKEN;
            let is_known = packet.sent_at >= confirmed_at
                && !is_dropped
                && delivery.at < at + time
                && peers.have_all_arrived(delivery.at);
            assert!(!is_known, "{id:?}: {packet:?}");
        }
    }

    /// Whether what this sender acknowledged then, has arrived. What it acknowledges for the first
    /// time in a packet that is lost, it may never again (RFC 9000 §13.2.4).
    fn have_all_arrived(&self, then: Timestamp) -> bool {
        let mut packets = self.packets.values();
        packets.all(|packet| {
            let is_then = packet.sent_at >= then && packet.sent_at <= then + MAX_ACK_DELAY;
            !is_then || packet.delivery.is_some()
        })
    }

    /// In flight, of application data, acknowledged and marked by the network.
    pub(super) fn marked_and_acked(&self) -> u64 {
        let marked = self.packets.iter().filter(|(id, packet)| {
            let is_acked = matches!(packet.state, State::Acked | State::Late);
            let is_marked = packet.delivery.is_some_and(|delivery| delivery.is_marked);
            id.space == 2 && packet.is_in_flight && is_acked && is_marked
        });
        marked.count() as u64
    }

    /// Of application data, whether in flight or not, delivered with a mark.
    pub(super) fn marked_and_delivered(&self) -> u64 {
        let marked = self.packets.iter().filter(|(id, packet)| {
            id.space == 2 && packet.delivery.is_some_and(|delivery| delivery.is_marked)
        });
        marked.count() as u64
    }
}

/// Packets that may overtake one before quinn-proto's receiver takes it for a duplicate.
const MAX_OVERTAKEN: u64 = 128;

/// The default of RFC 9000 §18.2.
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
