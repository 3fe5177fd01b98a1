//! Facts made by hand, and a controller driven by them as a [`Flow`](crate::Flow) would by those of
//! a connection.

use super::flow_driver::States;
use crate::controller::{Controller, PathState, Setup};
use crate::events::{LostPacket, PacketStamp};
use crate::sampler::RateSample;
use alloc::vec::Vec;
use core::time::Duration;
use units::{Bandwidth, Bytes, Timestamp};

pub(crate) const MSS: Bytes = Bytes::new(1_200);
pub(crate) const RTT: Duration = Duration::from_millis(100);

/// A sample that says nothing.
pub(crate) fn sample() -> RateSample {
    RateSample {
        delivery_rate: None,
        delivered: Bytes::ZERO,
        interval: Duration::ZERO,
        is_app_limited: false,
        newly_acked: Bytes::ZERO,
        newly_lost: Bytes::ZERO,
        lost: Bytes::ZERO,
        tx_in_flight: Bytes::ZERO,
        prior_delivered: Bytes::ZERO,
        newest_sent_at: Timestamp::ZERO,
        rtt: None,
        ce_marked: 0,
    }
}

/// A connection that has sent nothing.
pub(crate) fn path() -> PathState {
    PathState::new(Timestamp::ZERO, MSS)
}

pub(crate) fn mbit(mbit: u64) -> Bandwidth {
    Bandwidth::from_bits_per_sec(mbit * 1_000_000)
}

pub(crate) const fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// A lost packet of 1,000 bytes that left at `millis`, which is its number, too.
pub(crate) fn lost(millis: u64) -> LostPacket {
    LostPacket {
        stamp: PacketStamp {
            sequence: millis,
            sent_at: at(millis),
            first_sent_at: at(0),
            delivered: Bytes::ZERO,
            delivered_at: at(0),
            lost: Bytes::ZERO,
            tx_in_flight: Bytes::ZERO,
            is_app_limited: false,
            is_back_to_back: false,
        },
        bytes: Bytes::new(1_000),
        starts_range: true,
    }
}

/// A controller and the connection it believes in: packets of [`MSS`] and a round trip of [`RTT`].
#[derive(Debug)]
pub(crate) struct ControllerDriver<C> {
    pub(crate) bbr: C,
    pub(crate) path: PathState,
    pub(crate) entered: States,
    /// Packets lost so far.
    sequence: u64,
}

impl<C: Controller> ControllerDriver<C> {
    /// A new connection of seed 1 under what `build` makes of its setup.
    pub(crate) fn build(build: impl FnOnce(&Setup) -> C) -> Self {
        Self {
            bbr: build(&Setup::new(Timestamp::ZERO, MSS, 1)),
            path: path(),
            entered: States::default(),
            sequence: 0,
        }
    }

    pub(crate) fn state(&self) -> &'static str {
        self.bbr.snapshot().state
    }

    /// One ACK that ends a round: a round trip later, of all that `rate` delivers in it.
    pub(crate) fn round(&mut self, rate: Bandwidth) {
        self.round_with(rate, |_| {});
    }

    /// The same with a sample that `change` has changed.
    pub(crate) fn round_with(&mut self, rate: Bandwidth, change: impl FnOnce(&mut RateSample)) {
        let delivered = rate * RTT;
        let mut told = RateSample {
            delivery_rate: Some(rate),
            delivered,
            interval: RTT,
            newly_acked: delivered,
            tx_in_flight: delivered,
            prior_delivered: self.path.delivered,
            newest_sent_at: self.path.now + Duration::from_nanos(1),
            rtt: Some(RTT),
            ..sample()
        };
        change(&mut told);
        self.path.now += RTT;
        self.path.delivered += told.newly_acked;
        self.path.latest_rtt = told.rtt;
        self.path.srtt = told.rtt;
        self.bbr.on_ack(&self.path, &told, &mut self.entered);
    }

    /// One ACK that ends no round.
    pub(crate) fn acks_within_the_round(&mut self, rate: Bandwidth) {
        self.round_with(rate, |told| told.prior_delivered = Bytes::ZERO);
    }

    /// Loses `count` packets of one flight at once, each a range of its own.
    pub(crate) fn lose(&mut self, count: u64, tx_in_flight: Bytes) -> Vec<LostPacket> {
        let flight = PacketStamp {
            sequence: 0,
            sent_at: self.path.now,
            first_sent_at: self.path.now,
            delivered: self.path.delivered,
            delivered_at: self.path.now,
            lost: self.path.lost,
            tx_in_flight,
            is_app_limited: false,
            is_back_to_back: false,
        };
        self.path.now += Duration::from_micros(1);
        let lose_one = |_| {
            self.sequence += 1;
            self.path.lost += MSS;
            let packet = LostPacket {
                stamp: PacketStamp {
                    sequence: self.sequence,
                    ..flight
                },
                bytes: MSS,
                starts_range: true,
            };
            self.bbr.on_lost(&self.path, &packet, &mut self.entered);
            packet
        };
        (0..count).map(lose_one).collect()
    }

    /// These lost packets arrive after all, one after the other.
    pub(crate) fn find(&mut self, packets: &[LostPacket]) {
        for packet in packets {
            self.path.lost = self.path.lost.saturating_sub(packet.bytes);
            self.path.delivered += packet.bytes;
            self.bbr
                .on_spurious_loss(&self.path, packet, &mut self.entered);
        }
    }
}
