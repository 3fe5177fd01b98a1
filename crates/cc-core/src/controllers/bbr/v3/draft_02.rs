//! BBR version 2 (draft-cardwell-iccrg-bbr-congestion-control-02): an older revision
//! of [the machine](super).
//!
//! What that calls `bw_shortterm`, `inflight_shortterm` and `inflight_longterm` is `bw_lo`,
//! `inflight_lo` and `inflight_hi` here. `docs/bbr2.md` lists what differs, and what it does.

use super::machine::Bbr;
use super::packet_conservation::PacketConservation;
use super::params::Tuning;
use super::revision::{Plateau, Revision, Rules, UpEnd};
use super::tunable;
use crate::registry::{ControllerSpec, ParamSpec, Value};
use alloc::boxed::Box;
use core::time::Duration;
use units::{Bandwidth, Gain};

/// BBRv2 in the registry.
pub(crate) const SPEC: ControllerSpec = ControllerSpec {
    name: Draft02::NAME,
    aliases: &[],
    summary: "BBR version 2 (draft-cardwell-iccrg-bbr-congestion-control-02)",
    params: PARAMS,
    build: |params, setup| Box::new(Bbr::<Draft02>::new(Tuning::new(params), setup)),
};

/// draft-cardwell-iccrg-bbr-congestion-control-02.
#[derive(Debug)]
pub(crate) struct Draft02;

impl Revision for Draft02 {
    const NAME: &'static str = "bbr2";
    const RULES: Rules = Rules {
        plateau: Plateau::MaxBw,
        bounds_startup: false,
        drain_rounds: None,
        up_ends: UpEnd::Queue,
        acks_end_probes: true,
        loss_begins_round: false,
        deducts_losses: true,
        offload_quanta: 3,
        single_packets_below: Bandwidth::from_bits_per_sec(1_200_000),
    };
    type Recovery = PacketConservation;
}

macro_rules! section {
    ($number:literal) => {
        concat!(
            "draft-cardwell-iccrg-bbr-congestion-control-02 section ",
            $number
        )
    };
}

/// The draft writes the headroom as the share that is kept, 0.85 (section 2.8).
pub(crate) const PARAMS: &[ParamSpec] = &[
    tunable::STARTUP_PACING_GAIN.defaults_to(Value::Gain(Gain::new(277, 100)), section!("2.6")),
    tunable::DRAIN_PACING_GAIN.defaults_to(Value::Gain(Gain::new(1, 2)), section!("4.3.2")),
    tunable::DOWN_PACING_GAIN.defaults_to(Value::Gain(Gain::new(9, 10)), section!("4.3.3.1")),
    tunable::UP_PACING_GAIN.defaults_to(Value::Gain(Gain::new(5, 4)), section!("4.3.3.4")),
    tunable::CWND_GAIN.defaults_to(Value::Gain(Gain::new(2, 1)), section!("4.6.1")),
    tunable::UP_CWND_GAIN.defaults_to(Value::Gain(Gain::new(2, 1)), section!("4.6.1")),
    tunable::PROBE_RTT_CWND_GAIN.defaults_to(Value::Gain(Gain::new(1, 2)), section!("2.14.2")),
    tunable::PACING_MARGIN.defaults_to(Value::Gain(Gain::percent(1)), section!("2.5")),
    tunable::LOSS_THRESH.defaults_to(Value::Gain(Gain::percent(2)), section!("2.8")),
    tunable::BETA.defaults_to(Value::Gain(Gain::new(7, 10)), section!("2.8")),
    tunable::HEADROOM.defaults_to(Value::Gain(Gain::percent(15)), section!("2.8")),
    tunable::STARTUP_LOSS_RANGES.defaults_to(Value::Count(3), section!("4.3.1.3")),
    tunable::MIN_PIPE_PACKETS.defaults_to(Value::Count(4), section!("2.8")),
    tunable::MIN_RTT_WINDOW
        .defaults_to(Value::Duration(Duration::from_secs(10)), section!("2.14.1")),
    tunable::PROBE_RTT_INTERVAL
        .defaults_to(Value::Duration(Duration::from_secs(5)), section!("2.14.2")),
    tunable::PROBE_RTT_DURATION.defaults_to(
        Value::Duration(Duration::from_millis(200)),
        section!("2.14.2"),
    ),
    tunable::PROBE_WAIT_MIN.defaults_to(
        Value::Duration(Duration::from_secs(2)),
        section!("4.3.3.5.2"),
    ),
    tunable::PROBE_WAIT_MAX.defaults_to(
        Value::Duration(Duration::from_secs(3)),
        section!("4.3.3.5.2"),
    ),
    tunable::PROBE_WAIT_ROUNDS.defaults_to(Value::Count(63), section!("4.3.3.5.3")),
    tunable::EXTRA_ACKED_ROUNDS.defaults_to(Value::Count(10), section!("2.12")),
];
