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
        "weight of the newest round trip in the average share of marks",
        "draft-briscoe-iccrg-prague-congestion-control-04 section 2.3.2; \
            RFC 8257 section 4.2";
    initial_alpha: gain(Gain::ONE, Gain::ZERO..=Gain::ONE),
        "average share of marks with which the first mark is answered",
        "draft-briscoe-iccrg-prague-congestion-control-04 section 2.3.2; \
            RFC 8257 section 3.3";
    virtual_rtt: duration(Duration::from_millis(25), Duration::ZERO..=Duration::from_millis(100)),
        "round-trip time that a flow with a shorter one behaves as if it had",
        "draft-briscoe-iccrg-prague-congestion-control-04 section 2.4.4 (RTT_VIRT_MIN)";
    rtt_transition: count(500, 0..=1_000_000),
        "round trips after slow start from which on virtual_rtt holds",
        "draft-briscoe-iccrg-prague-congestion-control-04 section 2.4.4 (D)";
    /// Growth is Reno's packet per round trip, so what is left has to be Reno's half: with 0.7
    /// and that growth a flow would take 1.4 times Reno's share.
    beta: gain(Gain::new(1, 2), BETAS), "share of the window that is left after a loss",
        "draft-briscoe-iccrg-prague-congestion-control-04 section 2.4.1; \
            RFC 5681 section 3.1";
    undo: switch(true),
        "whether a loss's reduction is taken back when all its packets arrive after all",
        "L4STeam/linux tcp_prague.c, prague_cwnd_undo";
    burst: duration(Duration::from_micros(250), Duration::ZERO..=Duration::from_millis(10)),
        "what leaves at once, as time at the pacing rate; a packet at least",
        "draft-briscoe-iccrg-prague-congestion-control-04 section 2.5.2";
    pacing_gain_slow_start: gain(Gain::new(2, 1), GAINS),
        "pacing rate over window per round trip while the window doubles",
        "draft-briscoe-iccrg-prague-congestion-control-04 section 2.5.1";
    pacing_gain_avoidance: gain(Gain::ONE, GAINS),
        "pacing rate over window per round trip otherwise",
        "draft-briscoe-iccrg-prague-congestion-control-04 section 2.5.1";
}
