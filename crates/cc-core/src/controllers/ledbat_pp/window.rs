//! The congestion window and how an ACK moves it (§4.1 to §4.3).

use super::params::Tuning;
use crate::parts::cwnd::{MaxFlightSize, min_window};
use crate::parts::remainder::Remainder;
use core::time::Duration;
use units::Bytes;

/// A window in bytes, with the remainders of its changes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) cwnd: Bytes,
    /// Never below it: two packets, QUIC's minimum and MIN_CWND (RFC 6817 §2.5).
    pub(super) min_cwnd: Bytes,
    pub(super) max_flight_size: MaxFlightSize,
    /// Each formula has a remainder of its own, as their denominators differ.
    slow_start: Remainder,
    growth: Remainder,
    decrease: Remainder,
}

/// An ACK of a sender to which 1 ÷ `gain_divisor` is the GAIN.
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowAck {
    pub(super) acked: Bytes,
    pub(super) mss: Bytes,
    pub(super) gain_divisor: u64,
    /// What the queues add to the round-trip time.
    pub(super) queueing: Duration,
    /// Whether the window was filled, so that it may grow.
    pub(super) is_full: bool,
}

impl Window {
    pub(super) fn new(cwnd: Bytes, mss: Bytes) -> Self {
        let min_cwnd = min_window(mss);
        let cwnd = cwnd.max(min_cwnd);
        Self {
            cwnd,
            min_cwnd,
            max_flight_size: MaxFlightSize::new(cwnd),
            slow_start: Remainder::default(),
            growth: Remainder::default(),
            decrease: Remainder::default(),
        }
    }

    /// Slow start: the window grows by GAIN × what was acknowledged, up to `threshold` (§4.3).
    pub(super) fn slow_start(&mut self, ack: &WindowAck, threshold: Bytes) {
        if ack.is_full {
            let acked = u128::from(ack.acked.get());
            let growth = self.slow_start.divide(acked, ack.gain_divisor);
            let growth = Bytes::new(growth);
            let grown = self.max_flight_size.slow_start(self.cwnd, growth);
            self.cwnd = grown.min(threshold).max(self.cwnd);
        }
    }

    /// Congestion avoidance. In a round trip W grows by GAIN packets up to the target, and by
    /// max(GAIN − Constant · W · (delay ÷ TARGET − 1), −W ÷ 2) beyond it (§4.1, §4.2); an ACK for a
    /// share of the window moves it by that share.
    pub(super) fn avoid(&mut self, ack: &WindowAck, tuning: &Tuning) {
        let growth = self.growth_of(ack);
        let decrease = self.decrease_of(ack, tuning);
        if growth >= decrease {
            let growth = if ack.is_full {
                growth - decrease
            } else {
                Bytes::ZERO
            };
            self.cwnd = self.cwnd.saturating_add(growth);
        } else {
            let decrease = (decrease - growth).min(ack.acked / 2);
            self.reduce_to(self.cwnd.saturating_sub(decrease));
        }
    }

    /// Half, for loss or a mark (RFC 6817 §2.4.2).
    pub(super) fn halve(&mut self) {
        self.reduce_to(self.cwnd / 2);
    }

    /// Falls to `cwnd`, or to the minimum.
    pub(super) fn reduce_to(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd.max(self.min_cwnd);
        self.max_flight_size.on_reduced();
    }

    /// Packets are now of this size.
    pub(super) fn on_mtu(&mut self, mss: Bytes) {
        self.min_cwnd = min_window(mss);
        self.cwnd = self.cwnd.max(self.min_cwnd);
    }

    fn growth_of(&mut self, ack: &WindowAck) -> Bytes {
        let product = u128::from(ack.mss.get()) * u128::from(ack.acked.get());
        let divisor = self.cwnd.get().saturating_mul(ack.gain_divisor);
        Bytes::new(self.growth.divide(product, divisor))
    }

    fn decrease_of(&mut self, ack: &WindowAck, tuning: &Tuning) -> Bytes {
        let excess = units::duration::nanos(ack.queueing.saturating_sub(tuning.target));
        let product = u128::from(ack.acked.get()) * u128::from(excess);
        let product = product.saturating_mul(tuning.decrease.millionths().into());
        // At most 100 ms: 10¹⁴ in all.
        let target = units::duration::nanos(tuning.target) * MILLION;
        Bytes::new(self.decrease.divide(product, target))
    }
}

const MILLION: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::ledbat_pp::params::PARAMS;
    use crate::params::Params;

    const MSS: Bytes = Bytes::new(1_000);

    /// An ACK for one packet at GAIN 1/4.
    fn ack(queueing_millis: u64) -> WindowAck {
        WindowAck {
            acked: MSS,
            mss: MSS,
            gain_divisor: 4,
            queueing: Duration::from_millis(queueing_millis),
            is_full: true,
        }
    }

    /// The window of 100 packets after as many ACKs for a packet each.
    fn after_a_window(ack: &WindowAck) -> u64 {
        let tuning = Tuning::new(&Params::defaults(&PARAMS));
        let mut window = Window::new(MSS * 100, MSS);
        for _ in 0..100 {
            window.avoid(ack, &tuning);
        }
        window.cwnd.get()
    }

    #[test]
    fn up_to_the_target_a_window_brings_a_quarter_of_a_packet() {
        assert_eq!(after_a_window(&ack(0)), 100_249);
        assert_eq!(after_a_window(&ack(60)), 100_249);
        let idle = WindowAck {
            is_full: false,
            ..ack(0)
        };
        assert_eq!(after_a_window(&idle), 100_000);
    }

    #[test]
    fn beyond_the_target_it_shrinks_with_the_excess_by_half_at_most() {
        // 66 ms are a tenth too much: 10 % of the window, less the quarter of a packet, which is
        // 263 bytes because the window shrinks meanwhile.
        assert_eq!(after_a_window(&ack(66)), 90_262);
        assert_eq!(after_a_window(&ack(90)), 50_344);
        assert_eq!(after_a_window(&ack(600)), 50_000);
    }

    #[test]
    fn a_window_that_is_not_filled_gives_way_all_the_same() {
        let idle = WindowAck {
            is_full: false,
            ..ack(600)
        };
        assert_eq!(after_a_window(&idle), 50_000);
    }

    #[test]
    fn it_never_falls_below_two_packets() {
        let mut window = Window::new(MSS * 3, MSS);
        window.halve();
        assert_eq!(window.cwnd, MSS * 2);
        window.on_mtu(MSS * 2);
        assert_eq!(window.cwnd, MSS * 4);
    }

    #[test]
    fn what_congestion_avoidance_left_is_no_part_of_slow_start() {
        let tuning = Tuning::new(&Params::defaults(&PARAMS));
        let mut window = Window::new(MSS * 300, MSS);
        // 1,000,000 ÷ (300,000 · 4) is no byte yet.
        window.avoid(&ack(0), &tuning);
        window.slow_start(&ack(0), Bytes::MAX);
        assert_eq!(window.cwnd.get(), 300_250);
    }

    #[test]
    fn slow_start_grows_by_the_gain_up_to_its_threshold() {
        let mut window = Window::new(MSS * 2, MSS);
        window.slow_start(&ack(0), Bytes::MAX);
        assert_eq!(window.cwnd.get(), 2_250);
        window.slow_start(&ack(0), Bytes::new(2_300));
        assert_eq!(window.cwnd.get(), 2_300);
        let idle = WindowAck {
            is_full: false,
            ..ack(0)
        };
        window.slow_start(&idle, Bytes::MAX);
        assert_eq!(window.cwnd.get(), 2_300);
    }

    #[test]
    fn slow_start_goes_no_further_than_twice_what_has_flown_since_a_reduction() {
        let mut window = Window::new(MSS * 10, MSS);
        window.reduce_to(Bytes::ZERO);
        window.max_flight_size.on_sent(MSS * 2);
        let ack = WindowAck {
            acked: MSS * 10,
            gain_divisor: 1,
            ..ack(0)
        };
        window.slow_start(&ack, Bytes::MAX);
        assert_eq!(window.cwnd, MSS * 4);
    }

    #[test]
    fn slow_start_never_shrinks_a_window_that_larger_packets_have_put_above_its_threshold() {
        let mut window = Window::new(MSS * 2, MSS);
        window.on_mtu(MSS * 2);
        window.slow_start(&ack(0), MSS * 3);
        assert_eq!(window.cwnd, MSS * 4);
    }
}
