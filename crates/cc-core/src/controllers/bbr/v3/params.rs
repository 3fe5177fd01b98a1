//! The constants: what each is, why it is that number, where the drafts say so.
//!
//! Sections in comments are those of draft-ietf-ccwg-bbr-06.

use crate::controllers::bbr::ranges::{COUNT, DOWNWARD, INTERVAL, SHARE, TIME, UP_TO_HALF, UPWARD};
use crate::params::{ParamSpec, tuning};
use core::time::Duration;
use units::Gain;

/// Declares each parameter once, with its default and the section that says so in -02 and in -06.
macro_rules! drafts {
    ($(
        $(#[$doc:meta])*
        $name:ident: $kind:ident($range:expr), $summary:literal,
            [$default_02:expr, $section_02:literal], [$default_06:expr, $section_06:literal];
    )*) => {
        tuning! {
            /// The constants that a connection may choose for itself.
            pub(super) struct Tuning, DRAFT_06;
            $(
                $(#[$doc])*
                $name: $kind($default_06, $range), $summary,
                    concat!("draft-ietf-ccwg-bbr-06 section ", $section_06);
            )*
        }

        /// The same as -02 has it. It writes the headroom as the share that is kept, 0.85 (§2.8).
        pub(super) const DRAFT_02: &[ParamSpec] = &[$(
            ParamSpec::$kind(stringify!($name), $default_02, $range)
                .summary($summary)
                .source(concat!(
                    "draft-cardwell-iccrg-bbr-congestion-control-02 section ",
                    $section_02
                )),
        )*];
    };
}

drafts! {
    /// StartupPacingGain: 4·ln 2, the least gain that lets the sending rate double each round
    /// while the delivery rate lags a round behind (§2.5).
    startup_pacing_gain: gain(UPWARD), "pacing gain in Startup",
        [Gain::new(277, 100), "2.6"], [Gain::new(277, 100), "2.5"];
    /// DrainPacingGain: the inverse of the window gain of Startup drains its queue, of up to one
    /// BDP, within a round trip (§2.5).
    drain_pacing_gain: gain(DOWNWARD), "pacing gain in Drain",
        [Gain::new(1, 2), "4.3.2"], [Gain::new(1, 2), "2.5"];
    /// Pacing in ProbeBW_DOWN: the counterpart of 1.25 in ProbeBW_UP, the least that still lets
    /// flows converge on equal rates (§5.3.3.1).
    down_pacing_gain: gain(DOWNWARD), "pacing gain in ProbeBW_DOWN",
        [Gain::new(9, 10), "4.3.3.1"], [Gain::new(9, 10), "5.3.3.1"];
    /// Pacing in ProbeBW_UP: a quarter more than the path is known to deliver (§5.3.3.5).
    up_pacing_gain: gain(UPWARD), "pacing gain in ProbeBW_UP",
        [Gain::new(5, 4), "4.3.3.4"], [Gain::new(5, 4), "5.3.3.5"];
    /// DefaultCwndGain: twice the BDP, so that a round's delayed and bunched ACKs do not stall the
    /// sender, and the rate may double in Startup (§2.6).
    cwnd_gain: gain(UPWARD), "cwnd gain, in BDPs, except in ProbeBW_UP and ProbeRTT",
        [Gain::new(2, 1), "4.6.1"], [Gain::new(2, 1), "2.6"];
    /// Window gain in ProbeBW_UP: a quarter of a BDP above the default, so that the window is not
    /// what limits the probe (§5.3.3.5).
    up_cwnd_gain: gain(UPWARD), "cwnd gain, in BDPs, in ProbeBW_UP",
        [Gain::new(2, 1), "4.6.1"], [Gain::new(9, 4), "5.3.3.5"];
    /// ProbeRTTCwndGain: half a BDP empties the queue at half the cost of an empty pipe (§2.16.2).
    probe_rtt_cwnd_gain: gain(SHARE), "cwnd gain, in BDPs, in ProbeRTT",
        [Gain::new(1, 2), "2.14.2"], [Gain::new(1, 2), "2.16.2"];
    /// PacingMarginPercent: pacing a little below the estimated rate drains what the estimate
    /// overstates (§5.6.2).
    pacing_margin: gain(UP_TO_HALF), "share by which pacing stays below the estimated bandwidth",
        [Gain::percent(1), "2.5"], [Gain::percent(1), "2.5"];
    /// LossThresh: the share of a round's flight that may be lost while probing (§2.8).
    loss_thresh: gain(UP_TO_HALF), "loss rate tolerated while probing",
        [Gain::percent(2), "2.8"], [Gain::percent(2), "2.8"];
    /// Beta: the lowest factor by which a bound falls for a round with loss; CUBIC's (§2.8).
    beta: gain(DOWNWARD), "lowest factor of a reduction for a round with loss",
        [Gain::new(7, 10), "2.8"], [Gain::new(7, 10), "2.8"];
    /// Headroom: the share of the long-term bound left to others while cruising (§2.8).
    headroom: gain(Gain::ZERO..=Gain::new(9, 10)),
        "share of inflight_longterm left free while cruising",
        [Gain::percent(15), "2.8"], [Gain::percent(15), "2.8"];
    /// BBRStartupFullLossCnt: separate ranges lost in a round before its loss counts as
    /// congestion and not as one burst (§5.3.1.3).
    startup_loss_ranges: count(COUNT), "separate loss ranges in a round that end Startup",
        [3, "4.3.1.3"], [6, "5.3.1.3"];
    /// MinPipeCwnd in packets: two under way to a receiver that acknowledges every other packet,
    /// and the acknowledgements of two (§2.8).
    min_pipe_packets: count(COUNT), "minimum cwnd, in packets",
        [4, "2.8"], [4, "2.8"];
    /// MinRTTFilterLen: spans two ProbeRTT intervals, so that one failed attempt to drain the
    /// queue does not raise the estimate (§2.16.1).
    min_rtt_window: duration(INTERVAL), "window of the min RTT filter",
        [Duration::from_secs(10), "2.14.1"], [Duration::from_secs(10), "2.16.1"];
    /// ProbeRTTInterval: the draft asks all flows to use the same, so that they drain together
    /// (§2.16.2, §5.3.4.2).
    probe_rtt_interval: duration(INTERVAL),
        "time without a new min RTT before ProbeRTT",
        [Duration::from_secs(5), "2.14.2"], [Duration::from_secs(5), "2.16.2"];
    /// ProbeRTTDuration: long enough for flows of different round-trip times to overlap (§5.3.4.2).
    probe_rtt_duration: duration(TIME), "minimum time in ProbeRTT after draining",
        [Duration::from_millis(200), "2.14.2"], [Duration::from_millis(200), "2.16.2"];
    /// Minimum time between two probes for bandwidth: leaves a Reno flow of 30 ms its 25 Mbit/s
    /// (§5.3.3.8.3).
    probe_wait_min: duration(TIME), "minimum time between two probes for bandwidth",
        [Duration::from_secs(2), "4.3.3.5.2"], [Duration::from_secs(2), "5.3.3.8.2"];
    /// Maximum time between two probes for bandwidth, what a person notices (§5.3.3.8.3).
    probe_wait_max: duration(TIME), "maximum time between two probes for bandwidth",
        [Duration::from_secs(3), "4.3.3.5.2"], [Duration::from_secs(3), "5.3.3.8.2"];
    /// Most round trips between two probes: more would let 1 % loss decay the rate for good, less
    /// would crowd out Reno (§5.3.3.8.3).
    probe_wait_rounds: count(COUNT), "maximum round trips between two probes for bandwidth",
        [63, "4.3.3.5.3"], [63, "5.3.3.8.2"];
    /// ExtraAckedFilterLen: rounds over which the maximum aggregation is remembered (§2.12).
    extra_acked_rounds: count(1..=MAX_EXTRA_ACKED_ROUNDS as u64),
        "round trips of the ACK aggregation filter",
        [10, "2.12"], [10, "2.12"];
}

/// Upper bound of `extra_acked_rounds`: the size of the filter is fixed.
pub(super) const MAX_EXTRA_ACKED_ROUNDS: usize = 32;

/// MaxBwFilterLen: the present ProbeBW cycle and the one before, so that the window holds at least
/// one whole probe (§2.11).
pub(super) const MAX_BW_CYCLES: usize = 2;

/// Doublings of the growth of `inflight_longterm`, so that its step cannot overflow (§5.3.3.9).
pub(super) const MAX_UP_ROUNDS: u32 = 30;

/// What is added to the window in ProbeBW_UP, in packets: a quarter of a very small BDP is less
/// than a packet and would not show (§5.6.4.2).
pub(super) const UP_EXTRA_PACKETS: u64 = 2;

/// Round-trip time assumed for the first flight, before any is known (§5.6.2).
pub(super) const INITIAL_RTT: Duration = Duration::from_millis(1);
