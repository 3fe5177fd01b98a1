//! Brutal: holds one goodput, whatever the path loses.
//!
//! ```text
//!  ack rate = acknowledged ÷ (acknowledged + lost), of the last 5 s, at least 0.8
//!  pacing rate = rate ÷ ack rate          cwnd = 2 × pacing rate × srtt
//! ```
//!
//! It is what apernet/hysteria calls Brutal (`core/internal/congestion/brutal`, 2024). Loss makes
//! it send more, so that what arrives stays at `rate`; nothing makes it send less. That is no
//! congestion control: on a network that others share it takes bandwidth from them, and several
//! such senders on a link that cannot carry them all lose most of what they send. It is here for
//! measurements, and because users ask for it.

use crate::control::{Control, send_quantum};
use crate::controller::{Controller, PathState, Setup};
use crate::events::LostPacket;
use crate::observer::{Observer, Snapshot};
use crate::params::{Params, tuning};
use crate::parts::cwnd::min_window;
use crate::parts::fixed_rate::{RATE, RATES};
use crate::registry::ControllerSpec;
use crate::sampler::RateSample;
use alloc::boxed::Box;
use core::time::Duration;
use units::{Bytes, Gain, Timestamp};

pub(crate) const SPEC: ControllerSpec = ControllerSpec {
    name: "brutal",
    aliases: &[],
    summary: "Brutal (hysteria): a fixed goodput whatever the loss; unfit for shared networks",
    params: PARAMS,
    build: |params, setup| Box::new(Brutal::new(params, setup)),
};

#[derive(Debug)]
struct Brutal {
    tuning: Tuning,
    tally: Tally,
    control: Control,
}

tuning! {
    struct Tuning, PARAMS;
    /// The goodput to hold.
    rate: bandwidth(RATE, RATES), "target goodput, headers included",
        "none: the user has to know the path";
    min_ack_rate: gain(Gain::new(8, 10), Gain::new(1, 10)..=Gain::ONE),
        "lowest ACK rate that is compensated",
        "apernet/hysteria brutal.go, minAckRate";
    min_packets: count(50, 1..=100_000),
        "minimum packets in the last 5 s for an estimate of the ACK rate",
        "apernet/hysteria brutal.go, minSampleCount";
    cwnd_gain: gain(Gain::new(2, 1), Gain::ONE..=Gain::new(10, 1)),
        "cwnd as a multiple of pacing rate times RTT",
        "apernet/hysteria brutal.go, congestionWindowMultiplier";
}

impl Brutal {
    fn new(params: &Params, setup: &Setup) -> Self {
        let mut brutal = Self {
            tuning: Tuning::new(params),
            tally: Tally::default(),
            control: Control::unpaced(setup.initial_cwnd),
        };
        brutal.decide(setup.now, setup.srtt, setup.mss);
        brutal
    }

    /// Share of what was sent that arrives; one until enough is known, and never below the floor,
    /// which bounds how far loss raises the rate.
    fn ack_rate(&self, now: Timestamp, mss: Bytes) -> Gain {
        let Slot { acked, lost, .. } = self.tally.total(now);
        let known = acked.saturating_add(lost);
        if known < mss * self.tuning.min_packets.max(1) {
            return Gain::ONE;
        }
        let millionths = u128::from(acked.get()) * u128::from(MILLION) / u128::from(known.get());
        Gain::from_millionths(millionths as u64).max(self.tuning.min_ack_rate)
    }

    /// The window stays the initial one until there is a round-trip time.
    fn decide(&mut self, now: Timestamp, srtt: Option<Duration>, mss: Bytes) {
        let ack_rate = self.ack_rate(now, mss);
        let pacing_rate = self.tuning.rate * Gain::new(MILLION, ack_rate.millionths());
        let cwnd = match srtt {
            None => self.control.cwnd,
            Some(srtt) => pacing_rate * srtt * self.tuning.cwnd_gain,
        };
        self.control = Control {
            cwnd: cwnd.max(min_window(mss)),
            pacing_rate,
            send_quantum: send_quantum(pacing_rate, mss * 2),
        };
    }
}

impl Controller for Brutal {
    fn on_lost(&mut self, path: &PathState, packet: &LostPacket, _: &mut dyn Observer) {
        self.tally.now(path.now).lost += packet.bytes;
        self.decide(path.now, path.srtt, path.mss);
    }

    fn on_ack(&mut self, path: &PathState, sample: &RateSample, _: &mut dyn Observer) {
        self.tally.now(path.now).acked += sample.newly_acked;
        self.decide(path.now, path.srtt, path.mss);
    }

    /// A lost packet has arrived: it is deducted from the newest second with losses.
    fn on_spurious_loss(&mut self, path: &PathState, packet: &LostPacket, _: &mut dyn Observer) {
        self.tally.take_back(path.now, packet.bytes);
        self.decide(path.now, path.srtt, path.mss);
    }

    fn on_mtu(&mut self, path: &PathState) {
        self.decide(path.now, path.srtt, path.mss);
    }

    fn control(&self) -> Control {
        self.control
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::new(SPEC.name, "Brutal", self.control)
    }
}

/// What became of packets in each of the last seconds.
#[derive(Debug, Default)]
struct Tally {
    slots: [Slot; SLOTS],
}

/// One second of the connection's clock.
#[derive(Debug, Default, Clone, Copy)]
struct Slot {
    second: u64,
    acked: Bytes,
    lost: Bytes,
}

impl Tally {
    /// The slot of the second that `now` is in.
    fn now(&mut self, now: Timestamp) -> &mut Slot {
        let second = second_of(now);
        let slot = &mut self.slots[(second % SLOTS as u64) as usize];
        if slot.second != second {
            *slot = Slot {
                second,
                ..Slot::default()
            };
        }
        slot
    }

    /// What the last [`SLOTS`] seconds add up to, the current one included.
    fn total(&self, now: Timestamp) -> Slot {
        let second = second_of(now);
        let recent = |slot: &&Slot| slot.second + SLOTS as u64 > second;
        let slots = self.slots.iter().filter(recent);
        slots.fold(Slot::default(), |sum, slot| Slot {
            second,
            acked: sum.acked.saturating_add(slot.acked),
            lost: sum.lost.saturating_add(slot.lost),
        })
    }

    /// Counts lost bytes as acknowledged after all.
    fn take_back(&mut self, now: Timestamp, bytes: Bytes) {
        let lossy = self.slots.iter_mut().filter(|slot| !slot.lost.is_zero());
        if let Some(slot) = lossy.max_by_key(|slot| slot.second) {
            slot.lost = slot.lost.saturating_sub(bytes);
        }
        self.now(now).acked += bytes;
    }
}

fn second_of(now: Timestamp) -> u64 {
    now.as_nanos() / 1_000_000_000
}

/// Seconds over which the ack rate is taken (`pktInfoSlotCount`).
const SLOTS: usize = 5;
const MILLION: u64 = 1_000_000;

#[cfg(test)]
mod tests;
