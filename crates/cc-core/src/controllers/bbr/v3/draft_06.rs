//! BBR version 3 (draft-ietf-ccwg-bbr-06): the newest revision of [the machine](super).

use super::loss_recovery::LossRecovery;
use super::machine::Bbr;
use super::params::DRAFT_06;
use super::revision::{Plateau, Revision, Rules, UpEnd};

use crate::params::{ParamSpec, joined};
use crate::registry::ControllerSpec;
use alloc::boxed::Box;
use units::Bandwidth;

/// BBRv3 in the registry.
pub(crate) const SPEC: ControllerSpec = ControllerSpec {
    name: Draft06::NAME,
    aliases: &["bbr"],
    summary: "BBR version 3 (draft-ietf-ccwg-bbr-06)",
    params: &PARAMS,
    build: |params, setup| {
        let adapts_down = params.switch(ADAPTS_DOWN.name);
        Box::new(Bbr::<Draft06>::new(params, adapts_down, setup))
    },
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

const PARAMS: [ParamSpec; DRAFT_06.len() + 1] = joined(DRAFT_06, &[ADAPTS_DOWN]);

const ADAPTS_DOWN: ParamSpec = ParamSpec::switch("adapts_down", false)
    .summary("adapt to a lower bandwidth also if ProbeRTT cuts every bandwidth probe short")
    .source("ours, docs/bbr.md section A rate that is never forgotten");
