//! What congestion control learns of each packet, for qlog and for tests that compare it with what
//! happened.

use super::datagram_fates::DatagramFates;
use crate::datagrams::DatagramOutcome;
use crate::tap::Space;
use std::fmt;
use units::{Bytes, Timestamp};

/// A packet of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId {
    /// Its packet number space: 0 Initial, 1 Handshake, 2 application data.
    pub space: usize,
    /// Its number there.
    pub number: u64,
}

/// Something that congestion control has learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// A packet has left on the network path in use.
    Sent {
        /// Which.
        packet: PacketId,
        /// Its length.
        bytes: Bytes,
        /// Whether it counts in flight.
        is_in_flight: bool,
        /// The network path, counted from 0.
        path: u64,
    },
    /// A packet in flight was acknowledged.
    Acked(PacketId),
    /// A packet in flight was declared lost.
    Lost(PacketId),
    /// A packet declared lost was acknowledged.
    Late(PacketId),
    /// A packet in flight was forgotten with its keys, or with 0-RTT.
    Discarded(PacketId),
    /// An ACK reported so many more packets marked CE.
    Marked(u64),
    /// All that an event has brought is taken into account.
    Settled {
        /// The network path in use.
        path: u64,
        /// What cc-core counts in flight there.
        in_flight: Bytes,
        /// The packets that are kept as in flight there.
        kept: Bytes,
    },
    /// quinn-proto has removed what an ACK acknowledges, and counts so many bytes in flight. What
    /// congestion control learns of that ACK follows.
    ProtoInFlight(Bytes),
}

/// Called with each fact and its time.
pub(crate) type Watch = Box<dyn FnMut(Timestamp, &Fact) + Send>;

/// Passes facts on to those who ask for them.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) fates: DatagramFates,
    /// What qlog is to write of packets; `None` where there is no qlog. It holds what one batch or
    /// one datagram has brought: the driver takes it after each.
    #[cfg(feature = "qlog")]
    pub(super) noted: Option<Vec<Fact>>,
    #[cfg(feature = "testing")]
    watch: Option<Watch>,
}

impl Facts {
    #[cfg(feature = "testing")]
    pub(super) fn set_watch(&mut self, watch: Watch) {
        self.watch = Some(watch);
    }

    #[inline]
    pub(super) fn note(&mut self, now: Timestamp, fact: impl Fn() -> Fact) {
        if !self.fates.is_empty() {
            self.note_fate(now, &fact());
        }
        #[cfg(feature = "qlog")]
        if let Some(noted) = &mut self.noted {
            noted.push(fact());
        }
        #[cfg(feature = "testing")]
        if let Some(watch) = &mut self.watch {
            watch(now, &fact());
        }
    }
}

impl Facts {
    fn note_fate(&mut self, now: Timestamp, fact: &Fact) {
        let (packet, outcome) = match fact {
            Fact::Acked(packet) => (packet, DatagramOutcome::Acknowledged),
            Fact::Lost(packet) | Fact::Discarded(packet) => (packet, DatagramOutcome::Lost),
            _ => return,
        };
        if packet.space == Space::Data as usize {
            self.fates.on_outcome(now, packet.number, outcome);
        }
    }
}

impl fmt::Debug for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Facts")
    }
}
