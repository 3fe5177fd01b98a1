//! The checks find every kind of broken link. These tests prove the simulator.

use super::*;
use crate::packet::Ecn;
use std::collections::VecDeque;
use units::Bytes;

type Content = Tagged<u64>;

/// What a link does to its third packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Counts it as dropped, and as a copy that is delivered.
    DropsAndDelivers,
    /// Delivers it and, counted as a copy, delivers it again.
    DeliversTwice,
    /// Counts it as dropped and keeps it inside.
    Hoards,
    /// Throws it away and counts it as inside.
    ThrowsAwayInSecret,
    /// Throws it away and does not count it at all.
    Forgets,
    /// Delivers it before the second one.
    LetsOvertake,
    /// Delivers it together with the second one.
    Hurries,
    /// Delivers it at an earlier time than the second one's.
    TurnsBackTime,
    /// Delivers one that entered another link instead.
    Swaps,
    /// Marks it although its sender does not react to marks.
    Marks,
}

/// A packet each millisecond, one after the other, but for its fault.
#[derive(Debug)]
struct Broken {
    fault: Fault,
    line: VecDeque<Delivery<Content>>,
    hoard: Vec<Packet<Content>>,
    stats: LinkStats,
}

impl Broken {
    fn new(fault: Fault) -> Self {
        Self {
            fault,
            line: VecDeque::new(),
            hoard: Vec::new(),
            stats: LinkStats::default(),
        }
    }

    fn hold(&mut self, due: u64, packet: Packet<Content>) {
        self.stats.held += packet.size;
        let due = Timestamp::from_millis(due);
        self.line.push_back(Delivery { due, packet });
    }

    fn misbehave(&mut self, packet: Packet<Content>) {
        let size = packet.size;
        match self.fault {
            Fault::None => self.hold(3, packet),
            Fault::DropsAndDelivers => {
                self.stats.dropped.loss += size;
                self.stats.duplicated += size;
                self.hold(3, packet.clone());
            }
            Fault::DeliversTwice => {
                self.stats.duplicated += size;
                self.hold(3, packet.clone());
                self.hold(4, packet);
            }
            Fault::Hoards => {
                self.stats.dropped.loss += size;
                self.hoard.push(packet);
            }
            Fault::ThrowsAwayInSecret => self.stats.held += size,
            Fault::Forgets => {}
            Fault::LetsOvertake => {
                self.hold(3, packet);
                self.line.swap(1, 2);
                (self.line[1].due, self.line[2].due) = (self.line[2].due, self.line[1].due);
            }
            Fault::Hurries => self.hold(2, packet),
            Fault::TurnsBackTime => self.hold(1, packet),
            Fault::Marks => self.hold(3, packet.ecn(Ecn::Ce)),
            Fault::Swaps => {
                let (_, envelope) = packet.payload;
                let other = Checks::new(&LinkSpec::default());
                let stray = other.conservation().enter(packet.ecn);
                self.hold(3, Packet::new(size, (stray, envelope)));
            }
        }
    }
}

impl Checkable<Content> for Broken {
    fn handle_packet(&mut self, _: Timestamp, packet: Packet<Content>) {
        self.stats.arrived += packet.size;
        match self.stats.arrived.packets {
            3 => self.misbehave(packet),
            due => self.hold(due, packet),
        }
    }

    fn poll_output(&mut self, _: Timestamp) -> Option<Delivery<Content>> {
        let delivery = self.line.pop_front()?;
        self.stats.held -= delivery.packet.size;
        self.stats.delivered += delivery.packet.size;
        Some(delivery)
    }

    fn stats(&self) -> &LinkStats {
        &self.stats
    }

    fn keeps_order(&self) -> bool {
        true
    }
}

/// Sends three packets through a link with this fault that claims to be what `spec` says.
fn run(fault: Fault, spec: &str) -> Result<(), String> {
    let mut pipe = CheckedLink::new(Broken::new(fault), &spec.parse().unwrap());
    for number in 0..3 {
        if number == 2 && fault != Fault::LetsOvertake {
            while pipe.collect(Timestamp::MAX)?.is_some() {}
        }
        let envelope = Envelope {
            route: 0,
            hop: 0,
            payload: number,
        };
        let packet = Packet::new(Bytes::new(1_250), envelope);
        pipe.enter(Timestamp::ZERO, packet);
    }
    while pipe.collect(Timestamp::MAX)?.is_some() {}
    Ok(())
}

#[test]
fn every_broken_promise_is_found() {
    // 1250 bytes take 1 ms.
    let link = "rate 10mbit queue 5p";
    assert_eq!(run(Fault::None, link), Ok(()));
    for (fault, promise) in [
        (Fault::DropsAndDelivers, "was delivered and dropped"),
        (Fault::DeliversTwice, "more than once"),
        (Fault::Hoards, "appeared or vanished"),
        (Fault::ThrowsAwayInSecret, "appeared or vanished"),
        (Fault::Forgets, "appeared or vanished"),
        (Fault::LetsOvertake, "came out after"),
        (Fault::Hurries, "after the last one at"),
        (Fault::TurnsBackTime, "came out late"),
        (Fault::Swaps, "of another link"),
        (Fault::Marks, "came out as Ce"),
    ] {
        let found = run(fault, link).expect_err("a broken promise");
        assert!(found.contains(promise), "{fault:?}: {found}");
    }
}

#[test]
fn a_link_that_duplicates_may_give_a_packet_two_ends() {
    for fault in [Fault::DeliversTwice, Fault::DropsAndDelivers] {
        assert_eq!(run(fault, "duplicate 1%"), Ok(()), "{fault:?}");
    }
}
