//! BBR version 3 (draft-ietf-ccwg-bbr-06): the newest revision of [the machine](super).

use super::loss_recovery::LossRecovery;
use super::machine::Bbr;
use super::params::Tuning;
use super::revision::{Plateau, Revision, Rules, UpEnd};
use super::tunable;
use crate::registry::{ControllerSpec, ParamSpec, Params, Range, Value};
use alloc::boxed::Box;
use core::time::Duration;
use units::{Bandwidth, Gain};

/// BBRv3 in the registry.
pub(crate) const SPEC: ControllerSpec = ControllerSpec {
    name: Draft06::NAME,
    aliases: &["bbr"],
    summary: "BBR version 3 (draft-ietf-ccwg-bbr-06)",
    params: PARAMS,
    build: |params, setup| Box::new(Bbr::<Draft06>::new(tuning(params), setup)),
};

/// draft-ietf-ccwg-bbr-06.
#[derive(Debug)]
pub(crate) struct Draft06;

impl Revision for Draft06 {
    const NAME: &'static str = "bbr3";
    const RULES: Rules = Rules {
        plateau: Plateau::Sample,
        bounds_startup: true,
        drain_rounds: Some(3),
        up_ends: UpEnd::Plateau,
        acks_end_probes: false,
        loss_begins_round: true,
        deducts_losses: false,
        offload_quanta: 1,
        single_packets_below: Bandwidth::ZERO,
    };
    type Recovery = LossRecovery;
}

fn tuning(params: &Params) -> Tuning {
    Tuning::new(params).with_ambient_loss(params.switch("ambient_loss"))
}

macro_rules! section {
    ($number:literal) => {
        concat!("draft-ietf-ccwg-bbr-06 section ", $number)
    };
}

pub(crate) const PARAMS: &[ParamSpec] = &[
    tunable::STARTUP_PACING_GAIN.defaults_to(Value::Gain(Gain::new(277, 100)), section!("2.5")),
    tunable::DRAIN_PACING_GAIN.defaults_to(Value::Gain(Gain::new(1, 2)), section!("2.5")),
    tunable::DOWN_PACING_GAIN.defaults_to(Value::Gain(Gain::new(9, 10)), section!("5.3.3.1")),
    tunable::UP_PACING_GAIN.defaults_to(Value::Gain(Gain::new(5, 4)), section!("5.3.3.5")),
    tunable::CWND_GAIN.defaults_to(Value::Gain(Gain::new(2, 1)), section!("2.6")),
    tunable::UP_CWND_GAIN.defaults_to(Value::Gain(Gain::new(9, 4)), section!("5.3.3.5")),
    tunable::PROBE_RTT_CWND_GAIN.defaults_to(Value::Gain(Gain::new(1, 2)), section!("2.16.2")),
    tunable::PACING_MARGIN.defaults_to(Value::Gain(Gain::percent(1)), section!("2.5")),
    tunable::LOSS_THRESH.defaults_to(Value::Gain(Gain::percent(2)), section!("2.8")),
    tunable::BETA.defaults_to(Value::Gain(Gain::new(7, 10)), section!("2.8")),
    tunable::HEADROOM.defaults_to(Value::Gain(Gain::percent(15)), section!("2.8")),
    tunable::STARTUP_LOSS_RANGES.defaults_to(Value::Count(6), section!("5.3.1.3")),
    tunable::MIN_PIPE_PACKETS.defaults_to(Value::Count(4), section!("2.8")),
    tunable::MIN_RTT_WINDOW
        .defaults_to(Value::Duration(Duration::from_secs(10)), section!("2.16.1")),
    tunable::PROBE_RTT_INTERVAL
        .defaults_to(Value::Duration(Duration::from_secs(5)), section!("2.16.2")),
    tunable::PROBE_RTT_DURATION.defaults_to(
        Value::Duration(Duration::from_millis(200)),
        section!("2.16.2"),
    ),
    tunable::PROBE_WAIT_MIN.defaults_to(
        Value::Duration(Duration::from_secs(2)),
        section!("5.3.3.8.2"),
    ),
    tunable::PROBE_WAIT_MAX.defaults_to(
        Value::Duration(Duration::from_secs(3)),
        section!("5.3.3.8.2"),
    ),
    tunable::PROBE_WAIT_ROUNDS.defaults_to(Value::Count(63), section!("5.3.3.8.2")),
    tunable::EXTRA_ACKED_ROUNDS.defaults_to(Value::Count(10), section!("2.12")),
    ParamSpec {
        name: "ambient_loss",
        default: Value::Switch(false),
        range: Range::Any,
        summary: "tell the path's own loss from congestion's, and make it good",
        source: "ours, docs/bbr-ambient-loss.md section The rule",
    },
];
