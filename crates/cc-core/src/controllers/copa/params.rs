//! What can be tuned.

use crate::params::tuning;
use core::ops::RangeInclusive;
use core::time::Duration;
use units::Gain;

tuning! {
    /// The constants that a connection may choose for itself.
    pub(super) struct Tuning, PARAMS;
    /// δ. At 0.001 a thousand packets stand in the queue, at 10 a tenth of one.
    delta: gain(Gain::new(1, 2), Gain::new(1, 1_000)..=Gain::new(10, 1)),
        "delta in default mode: 1 over the packets kept in the queue",
        "Copa (NSDI 2018) section 2.2";
    mode_switching: switch(true), "competitive mode against flows that fill the queue",
        "Copa (NSDI 2018) section 2.2";
    competitive_increase: gain(Gain::ONE, Gain::ZERO..=Gain::new(100, 1)),
        "increase of 1/delta, in packets, per round trip without loss in competitive mode",
        "none: genericCC markoviancc.cc, update_delta";
    competitive_decrease: gain(Gain::new(1, 2), Gain::new(1, 10)..=Gain::new(95, 100)),
        "factor on 1/delta after a loss in competitive mode",
        "none: genericCC markoviancc.cc, update_delta";
    rtt_min_window: duration(Duration::from_secs(10), Duration::from_millis(100)..=TEN_MINUTES),
        "window of RTTmin, the RTT without a queue",
        "Copa (NSDI 2018) section 2.1";
    standing_window: gain(Gain::new(1, 2), Gain::new(1, 20)..=Gain::new(5, 1)),
        "window of the standing RTT, in smoothed RTTs",
        "Copa (NSDI 2018) section 2.1";
    empty_rounds: count(5, ROUNDS),
        "round trips without a nearly empty queue before competitive mode",
        "Copa (NSDI 2018) section 2.2";
    max_rounds: count(4, ROUNDS), "window of RTTmax, in round trips",
        "Copa (NSDI 2018) section 2.2";
    empty_threshold: gain(Gain::percent(10), Gain::ZERO..=Gain::ONE),
        "share of RTTmax - RTTmin up to which the queue is nearly empty",
        "Copa (NSDI 2018) section 2.2";
    empty_packets: gain(Gain::new(2, 1), Gain::ZERO..=Gain::new(10, 1)),
        "a flow's own packets up to which the queue is nearly empty",
        "none: a queue is made of packets; 0 is the paper's";
    velocity_rounds: count(3, 0..=1_000_000),
        "round trips in one direction before the velocity doubles",
        "Copa (NSDI 2018) section 2.1, step 4";
    velocity_stop: switch(true),
        "reset the velocity at the cwnd that last filled the path",
        "none: 3 round trips are little where a round trip is long; off is the paper's";
    pacing_gain: gain(Gain::new(2, 1), Gain::ONE..=Gain::new(10, 1)),
        "pacing rate as a multiple of cwnd per standing RTT", "Copa (NSDI 2018) section 2.1";
    loss_limit: gain(Gain::percent(10), Gain::ZERO..=Gain::ONE),
        "loss rate over two round trips above which cwnd is reduced",
        "none: genericCC estimators.hh says 10 % of ReduceOnLoss, its code 30 %";
    loss_reduction: gain(Gain::new(7, 10), Gain::new(1, 10)..=Gain::ONE),
        "factor on cwnd of such a reduction", "none: genericCC markoviancc.cc, onACK";
}

impl Tuning {
    /// 1 ÷ δ of the default mode, in packets.
    pub(super) fn inverse_delta(&self) -> Gain {
        Gain::new(Gain::ONE.millionths(), self.delta.millionths())
    }

    /// What loss leaves of 1 ÷ δ at least: "in competitive mode δ ≤ 0.5" (§2.2). A flow that aims
    /// at more than two packets in the queue reduces that where the queue is shorter; one that aims
    /// at fewer does not get more by loss.
    pub(super) fn min_inverse_delta(&self) -> Gain {
        self.inverse_delta().min(Gain::new(2, 1))
    }
}

const ROUNDS: RangeInclusive<u64> = 1..=MODE_PERIODS as u64 - 1;
const TEN_MINUTES: Duration = Duration::from_secs(600);
/// Round trips that the detector remembers, the present one among them.
pub(super) const MODE_PERIODS: usize = 32;
