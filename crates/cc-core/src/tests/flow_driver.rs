//! A flow under any controller, with its packets in flight: the transport's side of a [`Flow`], for
//! unit tests and, by path, for those in `tests`.

use super::api::{
    AckedPacket, Controller, Event, Feedback, Flow, LostPacket, Observer, Registry, Setup,
};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;
use units::{Bytes, Timestamp};

pub(crate) const MSS: Bytes = Bytes::new(1_000);
pub(crate) const MS: Duration = Duration::from_millis(1);

/// A flow with its packets in flight, told what happens to them.
pub(crate) struct FlowDriver {
    pub(crate) flow: Flow,
    pub(crate) now: Timestamp,
    pub(crate) flying: VecDeque<AckedPacket>,
    pub(crate) states: States,
    mss: Bytes,
}

/// States entered.
#[derive(Debug, Default)]
pub(crate) struct States(pub(crate) Vec<&'static str>);

impl Observer for States {
    fn on_event(&mut self, event: &Event) {
        if let Event::StateChanged { to, .. } = event {
            self.0.push(to);
        }
    }
}

impl FlowDriver {
    pub(crate) fn new(controller: &str) -> Self {
        Self::of(controller, &Setup::new(Timestamp::ZERO, MSS, 1))
    }

    pub(crate) fn of(controller: &str, setup: &Setup) -> Self {
        let choice = Registry::standard().choose(controller);
        let choice = choice.expect("the controller is registered");
        Self::under(choice.build(setup), setup)
    }

    pub(crate) fn under(controller: Box<dyn Controller>, setup: &Setup) -> Self {
        Self {
            flow: Flow::new(controller, setup),
            now: setup.now,
            flying: VecDeque::new(),
            states: States::default(),
            mss: setup.mss,
        }
    }

    pub(crate) fn cwnd(&self) -> Bytes {
        self.flow.control().cwnd
    }

    pub(crate) fn packets(&self) -> u64 {
        self.cwnd().packets_floor(self.mss)
    }

    pub(crate) fn state(&self) -> &'static str {
        self.flow.snapshot().state
    }

    pub(crate) fn send(&mut self, packets: u64) {
        for _ in 0..packets {
            self.send_one(self.mss);
        }
    }

    pub(crate) fn send_one(&mut self, bytes: Bytes) {
        let stamp = self.flow.on_sent(self.now, bytes);
        self.flying.push_back(AckedPacket { stamp, bytes });
    }

    /// Sends what the window allows; how many packets that is.
    pub(crate) fn fill(&mut self) -> u64 {
        let inflight = self.mss * self.flying.len() as u64;
        let packets = self.cwnd().saturating_sub(inflight).packets_floor(self.mss);
        self.send(packets);
        packets
    }

    /// One ACK for the oldest packets.
    pub(crate) fn ack(&mut self, packets: usize) {
        self.ack_marked(packets, 0);
    }

    /// One ACK for the oldest packets, so many of which arrived marked.
    pub(crate) fn ack_marked(&mut self, packets: usize, ce_marked: u64) {
        let acked: Vec<_> = self.flying.drain(..packets).collect();
        let newest = acked.last().map(|packet| packet.stamp.sent_at);
        self.tell(&Feedback {
            acked: &acked,
            rtt: newest.map(|sent_at| self.now.since(sent_at)),
            ce_marked,
            ..Feedback::at(self.now)
        });
    }

    /// The oldest packets are lost.
    pub(crate) fn lose(&mut self, packets: usize) -> Vec<LostPacket> {
        let lost: Vec<_> = self
            .flying
            .drain(..packets)
            .map(|packet| lost(&packet))
            .collect();
        self.tell(&Feedback {
            lost: &lost,
            ..Feedback::at(self.now)
        });
        lost
    }

    pub(crate) fn tell(&mut self, feedback: &Feedback<'_>) {
        self.flow.on_feedback(feedback, &mut self.states);
    }

    /// The oldest packet arrives marked.
    pub(crate) fn mark(&mut self) {
        let acked: Vec<_> = self.flying.drain(..1).collect();
        self.tell(&Feedback {
            acked: &acked,
            ce_marked: 1,
            ..Feedback::at(self.now)
        });
    }

    pub(crate) fn arrive_late(&mut self, packets: &[LostPacket]) {
        for packet in packets {
            self.flow
                .on_spurious_loss(self.now, packet, &mut self.states);
        }
    }

    /// All that flies is lost, and nothing was delivered for long.
    pub(crate) fn collapse(&mut self) {
        self.lose(self.flying.len());
        self.tell(&Feedback {
            is_persistent_congestion: true,
            ..Feedback::at(self.now)
        });
    }

    /// A window leaves at once and is `rtt` old; nothing is told of it yet.
    pub(crate) fn fly(&mut self, rtt: Duration) {
        self.fill();
        self.now += rtt;
    }

    /// A window leaves at once; `rtt` later an ACK comes for every two packets.
    pub(crate) fn round(&mut self, rtt: Duration) {
        self.fill();
        self.finish_round(rtt);
    }

    /// What is in flight is acknowledged `rtt` later.
    pub(crate) fn finish_round(&mut self, rtt: Duration) {
        self.now += rtt;
        while !self.flying.is_empty() {
            self.ack(self.flying.len().min(2));
        }
    }

    /// Loses the first of a full window and goes on until recovery is over; the window then is
    /// what it was reduced to, and the next ACK may let it grow.
    pub(crate) fn congest(&mut self, rtt: Duration) {
        self.fly(rtt);
        self.lose(1);
        self.ack(self.flying.len());
        assert_eq!(self.state(), "Recovery");
    }
}

/// The loss of a packet in a range of its own.
pub(crate) fn lost(packet: &AckedPacket) -> LostPacket {
    LostPacket {
        stamp: packet.stamp,
        bytes: packet.bytes,
        starts_range: true,
    }
}
