//! What can be tuned.

use crate::params::tuning;
use crate::parts::cwnd_pacing::GAINS;
use crate::parts::loss_based::BETAS;
use core::time::Duration;
use units::Gain;

tuning! {
    /// The constants that a connection may choose for itself.
    pub(super) struct Tuning, PARAMS;
    alpha_gain: gain(Gain::new(1, 16), Gain::new(1, 1_000)..=Gain::ONE),
        "gain of alpha, the moving average of the marked share",
        "draft-briscoe-iccrg-prague-congestion-control-04 section 2.3.2; \
         RFC 8257 section 4.2";
    initial_alpha: gain(Gain::ONE, Gain::ZERO..=Gain::ONE),
        "alpha at the first mark",
        "draft-briscoe-iccrg-prague-congestion-control-04 section 2.3.2; \
         RFC 8257 section 3.3";
    virtual_rtt: duration(Duration::from_millis(25), Duration::ZERO..=Duration::from_millis(100)),
        "virtual RTT: flows with a shorter RTT behave as if they had this one",
        "draft-briscoe-iccrg-prague-congestion-control-04 section 2.4.4 (RTT_VIRT_MIN)";
    rtt_transition: count(500, 0..=1_000_000),
        "round trips after slow start before virtual_rtt applies",
        "draft-briscoe-iccrg-prague-congestion-control-04 section 2.4.4 (D)";
    /// Growth is Reno's packet per round trip, so what is left has to be Reno's half: with 0.7
    /// and that growth a flow would take 1.4 times Reno's share.
    beta: gain(Gain::new(1, 2), BETAS), "factor on cwnd after a loss",
        "draft-briscoe-iccrg-prague-congestion-control-04 section 2.4.1; \
         RFC 5681 section 3.1";
    beta_ecn: gain(Gain::new(8, 10), BETAS),
        "factor on cwnd after a mark of a classic queue; in slow start beta",
        "RFC 8511 section 3.1";
    classic_ecn: switch(true),
        "detect a classic queue that marks ECT(1), and respond to its marks with beta_ecn",
        "ours; RFC 9331 section 4.3";
    undo: switch(true),
        "undo a reduction if all its lost packets arrive late",
        "L4STeam/linux tcp_prague.c, prague_cwnd_undo";
    burst: duration(Duration::from_micros(250), Duration::ZERO..=Duration::from_millis(10)),
        "send quantum, as time at the pacing rate; at least a packet",
        "draft-briscoe-iccrg-prague-congestion-control-04 section 2.5.2";
    pacing_gain_slow_start: gain(Gain::new(2, 1), GAINS),
        "pacing rate as a multiple of cwnd per RTT in slow start",
        "draft-briscoe-iccrg-prague-congestion-control-04 section 2.5.1";
    pacing_gain_avoidance: gain(Gain::ONE, GAINS),
        "pacing rate as a multiple of cwnd per RTT after slow start",
        "draft-briscoe-iccrg-prague-congestion-control-04 section 2.5.1";
}
