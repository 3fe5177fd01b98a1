//! Pacing of controllers that have a window and no rate: the only place that derives a rate from a
//! window.

use crate::control::{Control, MIN_RATE};
use crate::params::tuning;
use core::ops::RangeInclusive;
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain};

tuning! {
    /// Spreads a window over a round trip, a little faster than it drains.
    ///
    /// RFC 9002 §7.7 asks for pacing or bursts of at most the initial window, and proposes
    /// rate = N × window ÷ smoothed RTT with a small N.
    pub(crate) struct CwndPacing, PARAMS;
    pacing: switch(true), "pace packets over the round trip",
        "RFC 9002 section 7.7";
    /// The window doubles within the round trip over which it is spread: with less, the sender
    /// would fall behind it and growth would stop being exponential. Linux has the same 200 %.
    pacing_gain_slow_start: gain(Gain::new(2, 1), GAINS),
        "pacing rate as a multiple of cwnd per RTT in slow start",
        "RFC 9002 section 7.7 (N greater than 1); tcp_pacing_ss_ratio of Linux";
    /// A window that is filled a little early makes up for an RTT that varies.
    pacing_gain_avoidance: gain(Gain::new(5, 4), GAINS),
        "pacing rate as a multiple of cwnd per RTT after slow start", "RFC 9002 section 7.7";
}

impl CwndPacing {
    /// Always on, with one factor: what a specification prescribes.
    pub(crate) fn constant(gain: Gain) -> Self {
        Self {
            pacing: true,
            pacing_gain_slow_start: gain,
            pacing_gain_avoidance: gain,
        }
    }

    /// The factor between window ÷ RTT and the pacing rate; `None` when unpaced.
    pub(crate) fn gain(&self, doubles: bool) -> Option<Gain> {
        let gain = if doubles {
            self.pacing_gain_slow_start
        } else {
            self.pacing_gain_avoidance
        };
        self.pacing.then_some(gain)
    }

    /// The decision for a window. `doubles` is whether it doubles each round trip, as in slow
    /// start.
    ///
    /// Until a round-trip time is known there is no rate: the initial window may leave at once.
    pub(crate) fn control(
        &self,
        cwnd: Bytes,
        srtt: Option<Duration>,
        mss: Bytes,
        doubles: bool,
    ) -> Control {
        self.control_at(self.rate(cwnd, srtt, doubles), cwnd, mss)
    }

    /// The rate of a window; `None` when unpaced, and while no round-trip time is known.
    pub(crate) fn rate(
        &self,
        cwnd: Bytes,
        srtt: Option<Duration>,
        doubles: bool,
    ) -> Option<Bandwidth> {
        let (gain, srtt) = (self.gain(doubles)?, srtt?);
        Some((Bandwidth::from_transfer(cwnd, srtt) * gain).max(MIN_RATE))
    }

    /// The decision for a window whose [rate](Self::rate) is known.
    pub(crate) fn control_at(&self, rate: Option<Bandwidth>, cwnd: Bytes, mss: Bytes) -> Control {
        match rate {
            Some(pacing_rate) => Control {
                cwnd,
                pacing_rate,
                send_quantum: send_quantum(pacing_rate, cwnd, mss),
            },
            None if self.pacing => Control {
                send_quantum: cwnd,
                ..Control::unpaced(cwnd)
            },
            None => Control::unpaced(cwnd),
        }
    }
}

impl Control {
    /// Sends `cwnd` over a smoothed round trip, a quarter faster than it drains, as RFC 9002 §7.7
    /// proposes, in bursts of at least two packets of `mss`; at once while no round trip is known.
    pub fn paced(cwnd: Bytes, srtt: Option<Duration>, mss: Bytes) -> Self {
        CwndPacing::constant(Gain::new(5, 4)).control(cwnd, srtt, mss, false)
    }
}

pub(crate) const GAINS: RangeInclusive<Gain> = Gain::ONE..=Gain::new(10, 1);

/// Bytes that may leave back to back: what the rate carries in a millisecond, so that a sender
/// whose timer has that grain keeps its rate, within two bounds.
///
/// - At least ten packets, the burst that RFC 9002 §7.7 allows, because every wake-up costs a
///   system call; but at most a quarter of the window, or two packets, because below 1 Mbit/s ten
///   packets are the whole window and overflow short queues.
/// - At most 256 KiB: four segmentation-offload calls of 64 KB. At 10 Gbit/s that is 0.2 ms, of
///   which a sender that is woken at half may sleep 0.1 ms; less would have it spin.
fn send_quantum(rate: Bandwidth, cwnd: Bytes, mss: Bytes) -> Bytes {
    let least = (mss * BURST_PACKETS).min(cwnd / 4).max(mss * 2);
    rate.bytes_in(QUANTUM_TIME).min(MAX_QUANTUM).max(least)
}

const BURST_PACKETS: u64 = 10;
const QUANTUM_TIME: Duration = Duration::from_millis(1);
const MAX_QUANTUM: Bytes = Bytes::new(256 * 1024);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;

    const MSS: Bytes = Bytes::new(1_200);

    fn pacing() -> CwndPacing {
        CwndPacing::new(&Params::defaults(PARAMS))
    }

    #[test]
    fn the_rate_is_a_multiple_of_window_over_round_trip() {
        let rate = |doubles| {
            let srtt = Some(Duration::from_millis(40));
            let control = pacing().control(Bytes::new(100_000), srtt, MSS, doubles);
            control.pacing_rate.bytes_per_sec()
        };
        assert_eq!((rate(true), rate(false)), (5_000_000, 3_125_000));
    }

    #[test]
    fn the_initial_window_leaves_at_once_and_no_more() {
        let control = pacing().control(MSS * 10, None, MSS, true);
        assert_eq!(control.pacing_rate, Bandwidth::MAX);
        assert_eq!(control.send_quantum, MSS * 10);
    }

    #[test]
    fn a_quantum_is_a_millisecond_within_its_bounds() {
        let quantum = |bits, cwnd| {
            let rate = Bandwidth::from_bits_per_sec(bits);
            send_quantum(rate, Bytes::new(cwnd), MSS).get()
        };
        assert_eq!(quantum(400_000, 6_000), 2_400);
        assert_eq!(quantum(10_000_000, 1_000_000), 12_000);
        assert_eq!(quantum(800_000_000, 10_000_000), 100_000);
        assert_eq!(quantum(10_000_000_000, 10_000_000), 262_144);
    }
}
