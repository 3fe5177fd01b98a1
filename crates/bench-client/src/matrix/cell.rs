//! One cell: its plan, and what becomes of it.

use super::fnv::fnv_1a;
use crate::ab::{AbSetup, AbVariant, Backend};
use crate::emulated::Links;
use bench_kit::plan::Direction;
use bench_report::result::{
    AbResult, MatrixCell, MatrixCompetition, MatrixDirection, MatrixVariant, SCHEMA_VERSION,
};
use cc_core::Registry;
use serde::Serialize;
use std::num::NonZero;
use std::time::Duration;
use units::Rng;

/// Everything that decides what a cell measures.
#[derive(Debug)]
pub(crate) struct CellPlan {
    pub(crate) index: u32,
    /// The value of each axis, in their order.
    pub(crate) at: Vec<(String, String)>,
    /// The matrix's name and seed.
    pub(crate) matrix: String,
    pub(crate) matrix_seed: u64,
    pub(crate) is_virtual: bool,
    /// Whether the links are those of a network outside.
    pub(crate) network: bool,
    pub(crate) compete: bool,
    pub(crate) rounds: u32,
    pub(crate) direction: Direction,
    pub(crate) links: Links,
    pub(crate) variants: Vec<AbVariant>,
    /// The names of those that are not of the controller that a drawn cell is about.
    pub(crate) neighbours: Vec<String>,
    pub(crate) mtu: Option<u16>,
    pub(crate) connect_timeout: Duration,
    pub(crate) idle_timeout: Duration,
}

impl CellPlan {
    /// Drawn from the matrix's seed, the links, the direction and the numbers of flows: cells that
    /// differ in their controllers alone meet the same losses. At most 2^53, which every reader of
    /// JSON holds exactly.
    pub(crate) fn seed(&self) -> u64 {
        let mut flows: Vec<u32> = self.variants.iter().map(|variant| variant.flows).collect();
        // One controller more is no other condition.
        flows.dedup();
        let (link, return_link) = (&self.links.link, &self.links.return_link);
        let conditions = format!("{link}\n{return_link}\n{:?}\n{flows:?}", self.direction);
        let label = fnv_1a(&conditions) as u64;
        Rng::derive(self.matrix_seed, label).next_u64() >> 11
    }

    /// What is the same for results of the same plan, made by the same version of the program.
    pub(crate) fn fingerprint(&self) -> String {
        #[derive(Serialize)]
        struct Whole<'a>(
            (&'a str, u32, bool, bool, u32, u64),
            (String, String, Option<u16>, Duration, Duration),
            &'a [AbVariant],
        );
        let whole = Whole(
            (
                bench_kit::VERSION,
                SCHEMA_VERSION,
                self.is_virtual,
                self.compete,
                self.rounds,
                self.seed(),
            ),
            (
                self.links.link.to_string(),
                self.links.return_link.to_string(),
                self.mtu,
                self.connect_timeout,
                self.idle_timeout,
            ),
            &self.variants,
        );
        let mut text = serde_json::to_string(&whole).expect("a plan has no keys but strings");
        if self.network {
            text.push_str("network");
        }
        format!("{:032x}", fnv_1a(&text))
    }

    /// The name of its file, for people to find it by, and such that no other cell of any matrix
    /// has it.
    pub(crate) fn file_name(&self) -> String {
        let text = self
            .at
            .iter()
            .map(|(axis, value)| format!("{axis}={value}"));
        let text: Vec<String> = text.collect();
        let text = text.join(",");
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "=,.%+-".contains(c);
        let plain = |c: char| if is_plain(c) { c } else { '_' };
        let readable: String = text.chars().map(plain).take(READABLE).collect();
        let key = fnv_1a(&format!("{}\n{text}", self.matrix)) as u64;
        format!("{readable}-{key:016x}.json")
    }

    /// Where the cell lies: `loss=1%, delay=40ms`.
    pub(crate) fn place(&self) -> String {
        let values = self
            .at
            .iter()
            .map(|(axis, value)| format!("{axis}={value}"));
        let values: Vec<String> = values.collect();
        match values.as_slice() {
            [] => "the only cell".to_owned(),
            values => values.join(", "),
        }
    }

    /// The A/B test of this cell, in virtual time by so many workers.
    pub(crate) fn ab_setup(&self, registry: &Registry, workers: NonZero<usize>) -> AbSetup {
        let backend = if self.is_virtual {
            Backend::Simulated
        } else {
            Backend::Embedded
        };
        AbSetup {
            variants: self.variants.clone(),
            competes: self.compete,
            rounds: self.rounds,
            rejects_late: false,
            is_independent: false,
            stopping_rule: None,
            backend,
            workers,
            links: self.links.clone(),
            seed: self.seed(),
            title: Some(format!("{}: {}", self.matrix, self.place())),
            cipher: None,
            mtu: self.mtu,
            connect_timeout: self.connect_timeout,
            idle_timeout: self.idle_timeout,
            registry: registry.clone(),
            qlog: None,
        }
    }

    pub(crate) fn work(&self) -> u64 {
        let variants = u64::try_from(self.variants.len()).unwrap_or(u64::MAX);
        u64::from(self.rounds).saturating_mul(variants)
    }

    pub(crate) fn summary(&self, result: &AbResult) -> MatrixCell {
        let variants = result.variants.iter().map(|variant| MatrixVariant {
            name: variant.name.clone(),
            cc: variant.cc.clone(),
            flows: variant.flows,
            start_seconds: variant.start_seconds,
            extra_delay_ms: variant.extra_delay_ms,
            duplicate: variant.duplicate,
            summary: variant.summary.clone(),
        });
        let competition = result.competition.as_ref();
        MatrixCell {
            index: self.index,
            at: self.at.iter().cloned().collect(),
            seed: result.seed,
            link: result.link.clone(),
            return_link: result.return_link.clone(),
            link_rate_bits_per_second: result.link_rate_bits_per_second,
            base_rtt_ms: result.base_rtt_ms,
            direction: match self.direction {
                Direction::Reverse => MatrixDirection::Reverse,
                _ => MatrixDirection::Forward,
            },
            variants: variants.collect(),
            neighbours: self.neighbours.clone(),
            comparison: result.comparison.clone(),
            further_comparisons: result.further_comparisons.clone(),
            competition: competition.map(|all| MatrixCompetition {
                jain_index: all.jain_index,
                shares: all.shares.clone(),
                convergence_seconds: all.convergence_seconds,
                link_utilisation: all.link_utilisation,
            }),
            error: error(result),
        }
    }
}

/// Why the test is not whole, or how many rounds failed, with the first reason.
fn error(result: &AbResult) -> Option<String> {
    if result.error.is_some() {
        return result.error.clone();
    }
    let rounds = result.variants.iter().flat_map(|variant| {
        let failed = variant
            .rounds
            .iter()
            .filter_map(|round| round.error.as_ref());
        failed.map(|error| format!("{} ({}): {error}", variant.name, variant.cc))
    });
    let failed: Vec<String> = rounds.collect();
    match failed.as_slice() {
        [] => None,
        [one] => Some(format!("a round failed: {one}")),
        [first, ..] => Some(format!(
            "{} rounds failed; the first: {first}",
            failed.len()
        )),
    }
}

/// How much of a cell's values a file name shows.
const READABLE: usize = 80;
