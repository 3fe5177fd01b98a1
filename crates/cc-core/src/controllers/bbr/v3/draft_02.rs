//! BBR version 2 (draft-cardwell-iccrg-bbr-congestion-control-02): an older revision
//! of [the machine](super).
//!
//! What the machine calls `bw_shortterm`, `inflight_shortterm` and `inflight_longterm` is `bw_lo`,
//! `inflight_lo` and `inflight_hi` in -02. `docs/bbr2.md` lists the differences and their effects.

use super::machine::Bbr;
use super::packet_conservation::PacketConservation;
use super::params::DRAFT_02;
use super::revision::{Plateau, Revision, Rules, UpEnd};

use crate::registry::ControllerSpec;
use alloc::boxed::Box;
use units::Bandwidth;

/// BBRv2 in the registry.
pub(crate) const SPEC: ControllerSpec = ControllerSpec {
    name: Draft02::NAME,
    aliases: &[],
    summary: "BBR version 2 (draft-cardwell-iccrg-bbr-congestion-control-02)",
    params: DRAFT_02,
    build: |params, setup| Box::new(Bbr::<Draft02>::new(params, false, setup)),
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
