//! Every constant of BBR version 1: what it is, why it is that number, where it is from.
//!
//! Names with `bbr_` are constants of Linux 5.x, `net/ipv4/tcp_bbr.c`.

use super::bandwidth::MAX_BW_ROUNDS;
use crate::controllers::bbr::ranges::{COUNT, DOWNWARD, INTERVAL, SHARE, TIME, UP_TO_HALF, UPWARD};
use crate::params::tuning;
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain};

tuning! {
    /// The constants that a connection may choose for itself; the defaults are the kernel's but
    /// where it says otherwise.
    pub(crate) struct Tuning, PARAMS;
    /// `bbr_high_gain`, for pacing and window in Startup: 2 ÷ ln 2, the least gain with which a
    /// paced sender doubles each round trip and sends in each what unpaced slow start would.
    high_gain: gain(Gain::new(2_885, 1_000), UPWARD), "pacing and window gain in Startup",
        "Linux 5.x tcp_bbr.c, bbr_high_gain";
    /// `bbr_drain_gain`: the inverse of `high_gain` drains in a round the queue of the last.
    drain_gain: gain(Gain::new(1_000, 2_885), DOWNWARD), "pacing gain in Drain",
        "Linux 5.x tcp_bbr.c, bbr_drain_gain";
    /// The first of `bbr_pacing_gain`: a quarter more than the path is known to deliver.
    up_gain: gain(Gain::new(5, 4), UPWARD), "pacing gain of the phase that probes for bandwidth",
        "Linux 5.x tcp_bbr.c, bbr_pacing_gain";
    /// The second of `bbr_pacing_gain`: drains the queue of a round trip of `up_gain`.
    down_gain: gain(Gain::new(3, 4), DOWNWARD),
        "pacing gain of the phase that drains a probe's queue",
        "Linux 5.x tcp_bbr.c, bbr_pacing_gain";
    /// `bbr_cwnd_gain`: twice the BDP tolerates delayed and stretched ACKs.
    cwnd_gain: gain(Gain::new(2, 1), UPWARD), "cwnd in ProbeBW, in BDPs",
        "Linux 5.x tcp_bbr.c, bbr_cwnd_gain";
    /// `bbr_pacing_margin_percent`: pacing a little below the estimate drains what it overstates.
    pacing_margin: gain(Gain::percent(1), UP_TO_HALF),
        "share by which pacing stays below the estimated bandwidth",
        "Linux 5.x tcp_bbr.c, bbr_pacing_margin_percent";
    /// `bbr_bw_rtts`: a cycle of eight phases and two round trips to spare.
    bw_rounds: count(10, 1..=MAX_BW_ROUNDS),
        "round trips of the max bandwidth filter",
        "Linux 5.x tcp_bbr.c, bbr_bw_rtts";
    /// `bbr_min_rtt_win_sec`, window of the minimum round-trip time and interval of ProbeRTT in
    /// one.
    probe_rtt_interval: duration(Duration::from_secs(10), INTERVAL),
        "time without an RTT as low as min RTT before ProbeRTT",
        "Linux 5.x tcp_bbr.c, bbr_min_rtt_win_sec";
    /// `bbr_probe_rtt_mode_ms`: costs a fiftieth of the interval; zero is no ProbeRTT at all.
    probe_rtt_duration: duration(Duration::from_millis(200), TIME),
        "minimum time in ProbeRTT after draining; 0ms turns ProbeRTT off",
        "Linux 5.x tcp_bbr.c, bbr_probe_rtt_mode_ms";
    /// `bbr_cwnd_min_target`: two packets under way to a receiver that acknowledges every other
    /// one, and the acknowledgements of two.
    min_pipe_packets: count(4, COUNT),
        "minimum cwnd outside of recovery, and cwnd in ProbeRTT, in packets",
        "Linux 5.x tcp_bbr.c, bbr_cwnd_min_target";
    /// Whether a round of packet conservation may count as flat in Startup, as in the kernel.
    flat_while_conserving: switch(false),
        "count a Startup round in packet conservation as one without growth, as the kernel does",
        "ours, docs/bbr1.md; Linux 5.x tcp_bbr.c, bbr_check_full_bw_reached";
    /// Share of what was in flight whose loss in one flat round with a queue ends Startup; all of
    /// it is never reached.
    full_loss_thresh: gain(Gain::ONE, SHARE),
        "loss rate that ends Startup in a round without growth and with a queue; 100%: never, as \
         the kernel",
        "ours, docs/bbr1.md; Linux 5.x tcp_bbr.c, bbr_check_full_bw_reached, has none";
    /// Whether policers are detected.
    lt_bw: switch(true), "detect policers and send at their rate",
        "Linux 5.x tcp_bbr.c, bbr_lt_bw_sampling";
    /// `bbr_lt_loss_thresh`, but as a share of what was sent, not of what was delivered.
    lt_loss_thresh: gain(Gain::percent(20), UP_TO_HALF),
        "loss rate from which an interval shows a policer",
        "Linux 5.x tcp_bbr.c, bbr_lt_loss_thresh; docs/bbr1.md";
    /// `bbr_lt_intvl_min_rtts`: round trips of an interval at least.
    lt_interval_rounds: count(4, COUNT),
        "minimum round trips of an interval that may show a policer",
        "Linux 5.x tcp_bbr.c, bbr_lt_intvl_min_rtts";
    /// `bbr_lt_bw_max_rtts`: round trips for which a policer's rate is used, six cycles.
    lt_bw_rounds: count(48, COUNT), "round trips for which a detected policer's rate is used",
        "Linux 5.x tcp_bbr.c, bbr_lt_bw_max_rtts";
    /// `bbr_extra_acked_gain`: what ACKs hold back is added to the window once; zero is never.
    extra_acked_gain: gain(Gain::ONE, Gain::ZERO..=Gain::new(10, 1)),
        "share of the estimated ACK aggregation that is added to cwnd",
        "Linux 5.x tcp_bbr.c, bbr_extra_acked_gain";
    /// `bbr_extra_acked_win_rtts`: it is remembered for this many round trips, and up to twice as
    /// many.
    extra_acked_rounds: count(5, COUNT),
        "round trips of the ACK aggregation filter; it keeps one to two times as many",
        "Linux 5.x tcp_bbr.c, bbr_extra_acked_win_rtts";
}

/// `bbr_extra_acked_max_us`: aggregation adds no more to the window than this time's worth.
pub(super) const MAX_EXTRA_ACKED_TIME: Duration = Duration::from_millis(100);

/// Halves of the memory for aggregation; one of them is always complete.
pub(super) const EXTRA_ACKED_PERIODS: usize = 2;

/// Round-trip time assumed for the first flight (`bbr_init_pacing_rate_from_rtt`).
pub(super) const INITIAL_RTT: Duration = Duration::from_millis(1);

/// Bursts in flight beyond the BDP: one in the sender's queue, one in its offload engine, one at
/// the receiver's (`bbr_quantization_budget`).
pub(super) const BUDGET_QUANTA: u64 = 3;

/// What a probing phase adds to its window, in packets, so that it shows with a small BDP
/// (`bbr_quantization_budget`).
pub(super) const UP_EXTRA_PACKETS: u64 = 2;

/// A burst is what the pacing rate carries in this part of a second (`sk_pacing_shift` of 10).
pub(super) const QUANTA_PER_SECOND: u64 = 1 << 10;

/// `bbr_min_tso_rate`: below it packets leave one by one.
pub(super) const MIN_TSO_RATE: Bandwidth = Bandwidth::from_bits_per_sec(1_200_000);

/// Most bytes of a burst: what an offload call takes, less headers (`bbr_tso_segs_goal`).
pub(super) const MAX_QUANTUM: Bytes = Bytes::new(65_535 - 320);

/// Most packets of a burst (`bbr_tso_segs_goal`).
pub(super) const MAX_QUANTUM_PACKETS: u64 = 127;
