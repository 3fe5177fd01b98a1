//! From the words of a cell to its plan.

use super::cell::CellPlan;
use super::conditions::{Conditions, time};
use super::file::{CC, MatrixFile};
use super::template::{Text, Words};
use super::variant_file::VariantFile;
use crate::ab::{self, AbVariant, COPIES_OF_A_SERVER, MAX_VARIANTS};
use bench_kit::cli::values;
use bench_kit::plan::Direction;
use cc_core::Registry;
use std::time::Duration;

/// What decides a cell's plan, beside its place.
pub(super) struct CellPlanning<'a> {
    pub(super) matrix: &'a MatrixFile,
    pub(super) words: &'a Words,
    pub(super) is_virtual: bool,
    /// Whether the links are those of a network outside.
    pub(super) network: bool,
    /// How far apart the samples of a round are, where that is not as usual.
    pub(super) step: Option<Duration>,
}

impl CellPlanning<'_> {
    /// # Errors
    /// Names the key that makes no sense.
    pub(super) fn plan(
        &self,
        index: u32,
        at: Vec<(String, String)>,
        registry: &Registry,
    ) -> Result<CellPlan, String> {
        let conditions = Conditions {
            matrix: self.matrix,
            words: self.words,
            step: self.step,
        };
        let links = conditions.links()?;
        let base_rtt = links.base_rtt().map_err(|error| error.to_string())?;
        if self.is_virtual && base_rtt.is_none() {
            let link = &links.link;
            return Err(format!(
                "link: `{link}` has no delay; virtual time needs one"
            ));
        }
        let direction = conditions.direction()?;
        let variants = self.variants(&conditions, registry)?;
        let is_copied = variants.iter().any(|variant| variant.duplicate > 1);
        if is_copied && direction != Direction::Forward && !self.is_virtual {
            return Err(format!("duplicate: {COPIES_OF_A_SERVER}"));
        }
        if !self.is_virtual && variants.iter().any(|variant| variant.bulk_after.is_some()) {
            return Err("bulk_after: needs virtual time (--virtual)".to_owned());
        }
        Ok(CellPlan {
            index,
            at,
            matrix: self.matrix.name.clone(),
            matrix_seed: self.matrix.seed,
            is_virtual: self.is_virtual,
            network: self.network,
            compete: self.matrix.compete,
            rounds: self.matrix.rounds,
            direction,
            variants,
            neighbours: self.neighbours(),
            links,
            mtu: self.matrix.mtu,
            connect_timeout: time("connect_timeout", &self.matrix.connect_timeout)?,
            idle_timeout: time("idle_timeout", &self.matrix.idle_timeout)?,
        })
    }

    /// The variants that do not have the controller of a drawn cell.
    fn neighbours(&self) -> Vec<String> {
        if !self.words.contains_key(CC) {
            return Vec::new();
        }
        let variants = self.matrix.variants.iter().enumerate();
        let others = variants.filter(|(_, variant)| !variant.cc.names().any(|name| name == CC));
        others.map(|(place, _)| ab::name(place)).collect()
    }

    fn variants(
        &self,
        conditions: &Conditions<'_>,
        registry: &Registry,
    ) -> Result<Vec<AbVariant>, String> {
        let matrix = self.matrix;
        let of_axis = matrix
            .axes
            .get(CC)
            .into_iter()
            .flat_map(|axis| &axis.values);
        let of_axis = of_axis.map(|value| VariantFile::of_controller(value.at.clone()));
        let all: Vec<VariantFile> = of_axis.chain(matrix.variants.iter().cloned()).collect();
        if all.len() > MAX_VARIANTS {
            return Err(format!(
                "variants: {} given, at most {MAX_VARIANTS} allowed",
                all.len()
            ));
        }
        let (time, omit) = times(matrix)?;
        let variants = all.iter().zip('a'..).map(|(variant, name)| {
            let planned = conditions.variant(variant, (time, omit), registry);
            planned.map_err(|error| format!("variant {name}: {error}"))
        });
        variants.collect()
    }
}

/// Measured part and warm-up of a round; where bytes end it, the longest that it may take.
///
/// # Errors
/// Names the key that says no time.
pub(super) fn times(matrix: &MatrixFile) -> Result<(Duration, Duration), String> {
    let (usual_seconds, usual_omit) = if matrix.is_by_bytes() {
        LONGEST_TRANSFER
    } else {
        USUAL_TIMES
    };
    let text = |key: &Option<Text>, usual: &str| key.clone().unwrap_or_else(|| usual.into());
    let omit = values::seconds_or_none(text(&matrix.omit, usual_omit).as_str());
    let omit = omit.map_err(|error| format!("omit: {error}"))?;
    if matrix.is_by_bytes() && !omit.is_zero() {
        return Err("omit: cannot be combined with `bytes`".to_owned());
    }
    Ok((
        time("seconds", &text(&matrix.seconds, usual_seconds))?,
        omit,
    ))
}

/// Seconds that a round measures and leaves out, as those of `ab`.
const USUAL_TIMES: (&str, &str) = ("5", "1");

/// The same where bytes end it: nobody waits for a download of more than ten minutes.
const LONGEST_TRANSFER: (&str, &str) = ("600", "0");
