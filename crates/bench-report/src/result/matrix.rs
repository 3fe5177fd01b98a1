use super::schema::{is_one, one, to_json};
use super::{Comparison, Drawn, Finite, Metric, Summary, sender, short_names};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A sweep: one A/B test for each combination of its axes' values, as summaries.
///
/// Rounds and their time series stay in the files of the cells, each of which is an
/// [`AbResult`](super::AbResult). In virtual time the result is a function of the matrix, on
/// however many machines it ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatrixResult {
    /// [`SCHEMA_VERSION`](super::SCHEMA_VERSION).
    pub schema_version: u32,
    /// Always `"matrix"`.
    pub kind: MatrixKind,
    /// Whether every cell is here and every round of it ended without an error.
    pub complete: bool,
    /// Why cells are missing, for a person; `null` when none is.
    pub error: Option<String>,
    /// What the matrix is called by.
    pub name: String,
    /// What it shows, in a few words.
    pub title: Option<String>,
    /// Where its conditions come from.
    pub source: Option<String>,
    /// The program and its version.
    #[serde(default)]
    pub version: String,
    /// What the seeds of the cells were derived from.
    pub seed: u64,
    /// Whether time was virtual.
    #[serde(rename = "virtual")]
    pub is_virtual: bool,
    /// Whether the links were those of a network outside of the program. Left out of the JSON when
    /// it emulated them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// Rounds of each variant in each cell.
    pub rounds: u32,
    /// How long each round was planned to measure; at most, where bytes end it.
    pub round_seconds: Finite,
    /// How much at the start of each round the figures leave out.
    pub omit_seconds: Finite,
    /// What changes from cell to cell; the first changes last. Variants of one cell are no axis.
    pub axes: Vec<MatrixAxis>,
    /// In the order of their [`index`](MatrixCell::index), those that are there.
    pub cells: Vec<MatrixCell>,
    /// Of conditions drawn at random: how every controller did over all of them. Left out of the
    /// JSON where the cells are the combinations of the axes' values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn: Option<Drawn>,
}

impl MatrixResult {
    /// The JSON text, indented, with a newline at its end.
    pub fn to_json(&self) -> String {
        to_json(self)
    }

    /// Whether the rounds ended when so much payload had come.
    pub fn is_by_bytes(&self) -> bool {
        let mut variants = self.cells.iter().flat_map(|cell| &cell.variants);
        variants.any(|variant| variant.summary.contains_key(&Metric::Seconds))
    }
}

/// The kind of a [`MatrixResult`]; a file of another kind is refused when it is read as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum MatrixKind {
    /// `"matrix"`.
    #[default]
    #[serde(rename = "matrix")]
    Matrix,
}

/// One condition, and what it is in one cell or another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatrixAxis {
    /// Such as `loss`.
    pub name: String,
    /// At least one, each once, in the order of the matrix, as its author wrote them: `0.1%`.
    pub values: Vec<String>,
}

/// One combination of values: an A/B test under these conditions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatrixCell {
    /// The place among all cells of the matrix, from 0.
    pub index: u32,
    /// The value of each axis, by its name.
    pub at: BTreeMap<String, String>,
    /// What the cell's random numbers were drawn from: the same for the same links, direction and
    /// numbers of flows, whatever the controllers.
    pub seed: u64,
    /// The link in the data's direction, in netem's words.
    pub link: String,
    /// The link in the other direction; empty when nothing was shaped.
    pub return_link: String,
    /// The rate of `link` on the wire, in bits per second, where it has one.
    pub link_rate_bits_per_second: Option<u64>,
    /// The round-trip time of the empty path, where it is known.
    pub base_rtt_ms: Option<Finite>,
    /// Who sent.
    pub direction: MatrixDirection,
    /// What was compared: `a`, `b`, and so on.
    pub variants: Vec<MatrixVariant>,
    /// The names of the variants that are not of the controller that a drawn cell is about. Left
    /// out of the JSON where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<String>,
    /// `b` against `a`.
    pub comparison: BTreeMap<Metric, Comparison>,
    /// `c` and those after it against `a`, by their names. Left out of the JSON when there are
    /// none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub further_comparisons: BTreeMap<String, BTreeMap<Metric, Comparison>>,
    /// How the variants shared the bottleneck; `null` when they did not run at once.
    pub competition: Option<MatrixCompetition>,
    /// Why figures are missing or rounds failed, for a person; `null` when all is well.
    pub error: Option<String>,
}

impl MatrixCell {
    /// Where the cell lies: `loss=1%, delay=40ms`, in the order of `axes`.
    pub fn place(&self, axes: &[MatrixAxis]) -> String {
        let values = axes.iter().filter_map(|axis| {
            let value = self.at.get(&axis.name)?;
            Some(format!("{}={value}", axis.name))
        });
        let values: Vec<String> = values.collect();
        values.join(", ")
    }
}

impl MatrixVariant {
    /// The controller, and `×2` behind that of a sender whose datagrams were on the wire twice.
    pub fn sender(&self) -> String {
        sender(&self.cc, self.duplicate)
    }
}

/// What each of so many variants is in all of these cells, as [`common_sender`] says it; of none
/// where one axis says it of several and all, so that it tells none from another.
pub(crate) fn common_senders<'a, C>(cells: C, variants: usize) -> Vec<Option<String>>
where
    C: IntoIterator<Item = &'a MatrixCell> + Clone,
{
    let senders = (0..variants).map(|place| common_sender(cells.clone(), place));
    let senders: Vec<Option<String>> = senders.collect();
    match senders.as_slice() {
        [Some(first), others @ ..]
            if first.starts_with(EACH)
                && !others.is_empty()
                && others.iter().all(|other| other.as_ref() == Some(first)) =>
        {
            vec![None; variants]
        }
        _ => shortened(senders),
    }
}

/// Those that are controllers as short as tells them apart.
fn shortened(mut senders: Vec<Option<String>>) -> Vec<Option<String>> {
    let is_controller = |sender: &&mut String| !sender.starts_with(EACH);
    let mut controllers: Vec<&mut String> =
        senders.iter_mut().flatten().filter(is_controller).collect();
    let full: Vec<&str> = controllers.iter().map(|sender| sender.as_str()).collect();
    let short = short_names(&full);
    for (sender, short) in controllers.iter_mut().zip(short) {
        **sender = short;
    }
    senders
}

/// What the variant at `place` is in all of these cells: its controller, or the axis whose value
/// that is, such as `each challenger`; and how often its datagrams were
/// on the wire.
fn common_sender<'a>(
    cells: impl IntoIterator<Item = &'a MatrixCell>,
    place: usize,
) -> Option<String> {
    let variants = cells.into_iter();
    let variants = variants.filter_map(|cell| Some((cell, cell.variants.get(place)?)));
    let variants: Vec<(&MatrixCell, &MatrixVariant)> = variants.collect();
    let cc = common(&variants, |variant| variant.cc.clone())?;
    let times = common(&variants, |variant| variant.duplicate.to_string())?;
    Some(match times.as_str() {
        "1" => cc,
        times => format!("{cc} ×{times}"),
    })
}

/// What `of` all variants is the same, or the axis that says it.
fn common(
    variants: &[(&MatrixCell, &MatrixVariant)],
    of: impl Fn(&MatrixVariant) -> String,
) -> Option<String> {
    let (cell, variant) = variants.first()?;
    let first = of(variant);
    if variants.iter().all(|(_, variant)| of(variant) == first) {
        return Some(first);
    }
    let says = |axis: &&String| {
        let mut all = variants.iter();
        all.all(|(cell, variant)| cell.at.get(*axis) == Some(&of(variant)))
    };
    cell.at
        .keys()
        .find(says)
        .map(|axis| format!("{EACH}{axis}"))
}

/// Before the name of an axis whose values are a variant's controllers.
const EACH: &str = "each ";

/// Who sends the data that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatrixDirection {
    /// The client.
    Forward,
    /// The server.
    Reverse,
}

/// One variant of a cell, without its rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatrixVariant {
    /// `a`, `b`, and so on.
    pub name: String,
    /// The controller and its parameters, as the registry reads them.
    pub cc: String,
    /// Its connections.
    pub flows: u32,
    /// When they start, after the first of the round.
    pub start_seconds: Finite,
    /// How much longer than the link their own path is.
    pub extra_delay_ms: Finite,
    /// How often its sender's datagrams were on the wire. Left out of the JSON where it was once.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub duplicate: u32,
    /// Each metric over the rounds that did not fail.
    pub summary: BTreeMap<Metric, Summary>,
}

/// How variants that ran at once shared the bottleneck, over the blocks of the cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatrixCompetition {
    /// Jain's index over the goodputs of all flows: 1 is even, 1 ÷ flows is one that has all.
    pub jain_index: Summary,
    /// Each variant's part of all goodput, 0 to 1, by its name.
    pub shares: BTreeMap<String, Summary>,
    /// From the last start until shares stay fair; `null` when they never did.
    pub convergence_seconds: Option<Summary>,
    /// All goodput over the link's rate, 0 to 1; `null` where the link has none.
    pub link_utilisation: Option<Summary>,
}
