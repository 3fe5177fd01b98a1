use super::schema::{is_false, is_one, one, to_json};
use super::{Comparison, Competition, Finite, Metric, Round, Summary};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The sides of an A/B test, round by round, and what their differences are.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AbResult {
    /// [`SCHEMA_VERSION`](super::SCHEMA_VERSION).
    pub schema_version: u32,
    /// Always `"ab"`.
    pub kind: AbKind,
    /// Whether every planned round ended without an error.
    pub complete: bool,
    /// Why the test ended early, for a person; `null` when it did not.
    pub error: Option<String>,
    /// A title that the user gave.
    pub title: Option<String>,
    /// What the user has to say about it. Left out of the JSON when that is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The command that measured it, without its options for output. Left out of the JSON when
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The program and its version.
    #[serde(default)]
    pub version: String,
    /// What the order of the rounds, the link's losses and the intervals were drawn from.
    pub seed: u64,
    /// Whether time was virtual: the run is then the same on every machine.
    #[serde(rename = "virtual")]
    pub is_virtual: bool,
    /// The start in whole seconds since 1970; `null` in virtual time, which has no date.
    pub started_unix_seconds: Option<u64>,
    /// Whether each round drew its own random numbers, instead of all rounds of a block the same.
    /// Left out of the JSON when not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub independent: bool,
    /// The server, where it was not in the same process. Left out of the JSON when it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The link in the data's direction, in netem's words; empty when nothing was shaped.
    pub link: String,
    /// The link in the other direction; empty when nothing was shaped.
    pub return_link: String,
    /// The rate of `link` on the wire, in bits per second, where it has one.
    pub link_rate_bits_per_second: Option<u64>,
    /// The round-trip time of the empty path, where it is known.
    pub base_rtt_ms: Option<Finite>,
    /// The round-trip time with the queues of both links full, where they bound it. Left out of the
    /// JSON where they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_rtt_ms: Option<Finite>,
    /// How long each round was planned to measure; at most, where bytes end it.
    pub round_seconds: Option<Finite>,
    /// The payload after which a round was to end. Left out of the JSON where time ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_bytes: Option<u64>,
    /// How much at the start of each round the figures leave out.
    pub omit_seconds: Option<Finite>,
    /// What was compared: `a`, `b`, and further ones `c`, `d` and so on.
    pub variants: Vec<Variant>,
    /// `b` against `a`, for each metric that both have in at least one common block.
    pub comparison: BTreeMap<Metric, Comparison>,
    /// Each further variant against `a` in the same way, by the variant's name: what is said of `b`
    /// is then true of that one. Left out of the JSON when there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub further_comparisons: BTreeMap<String, BTreeMap<Metric, Comparison>>,
    /// How narrow the intervals were to be, where that decided how many rounds there were. Left out
    /// of the JSON elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<StoppingRule>,
    /// Each variant against the same one of an earlier test, where there was one to compare with.
    /// Left out of the JSON elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineComparison>,
    /// How the variants shared the link, where all ran at once. Left out of the JSON elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub competition: Option<Competition>,
}

impl AbResult {
    /// The JSON text, indented, with a newline at its end.
    pub fn to_json(&self) -> String {
        to_json(self)
    }

    /// The baseline and its challenger, when there are at least two variants.
    pub fn pair(&self) -> Option<(&Variant, &Variant)> {
        match self.variants.as_slice() {
            [a, b, ..] => Some((a, b)),
            _ => None,
        }
    }

    /// Whether the variants are servers of any stack, of which only what arrives is known.
    pub fn compares_servers(&self) -> bool {
        self.variants.iter().any(|variant| variant.server.is_some())
    }

    /// The baseline `a`, and every other variant with its comparison against `a`; `None` with
    /// fewer than two variants.
    pub fn challengers(&self) -> Option<(&Variant, Vec<Challenger<'_>>)> {
        let (a, others) = self.variants.split_first()?;
        let challenger = |(index, variant)| Challenger {
            variant,
            comparison: match index {
                0 => Some(&self.comparison),
                _ => self.further_comparisons.get(&variant.name),
            },
        };
        let challengers: Vec<Challenger<'_>> = others.iter().enumerate().map(challenger).collect();
        (!challengers.is_empty()).then_some((a, challengers))
    }
}

/// A variant that is not the baseline.
#[derive(Debug, Clone, Copy)]
pub struct Challenger<'a> {
    /// The variant.
    pub variant: &'a Variant,
    /// It against the baseline; `None` in a result that does not say.
    pub comparison: Option<&'a BTreeMap<Metric, Comparison>>,
}

/// The kind of an [`AbResult`]; a file of another kind is refused when it is read as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum AbKind {
    /// `"ab"`.
    #[default]
    #[serde(rename = "ab")]
    Ab,
}

/// One side of the test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// `a`, `b`, and so on.
    pub name: String,
    /// The controller and its parameters, as the registry reads them; `unknown` for a `server`.
    pub cc: String,
    /// The server that sent, where servers are what was compared. Left out of the JSON elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ComparedServer>,
    /// The saved result that it comes from, where several are shown together. Left out of the JSON
    /// elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// How many connections it had at a time; its rounds are the sums over them.
    #[serde(default = "one")]
    pub flows: u32,
    /// When its connections started, after the first ones of the round.
    #[serde(default)]
    pub start_seconds: Finite,
    /// How much longer the round trip of its connections was than the link's own.
    #[serde(default)]
    pub extra_delay_ms: Finite,
    /// How often its sender's datagrams were on the wire. Left out of the JSON where it was once.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub duplicate: u32,
    /// In the order of their blocks.
    pub rounds: Vec<Round>,
    /// Each metric over the rounds that did not fail.
    pub summary: BTreeMap<Metric, Summary>,
}

/// A server as one side of a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedServer {
    /// What the user called it; its address without a name.
    pub name: String,
    /// Its host and UDP port.
    pub address: String,
}

impl AbResult {
    /// The one of [`short_labels`] that is this variant's.
    pub fn short_label(&self, variant: &Variant) -> String {
        let place = self
            .variants
            .iter()
            .position(|other| other.name == variant.name);
        let label = place.and_then(|place| short_labels(&self.variants).into_iter().nth(place));
        label.unwrap_or_else(|| variant.short_label().to_owned())
    }
}

impl Variant {
    /// What is compared: the saved result or the server, or else the controller with its
    /// parameters.
    pub fn label(&self) -> &str {
        self.given_name().unwrap_or(&self.cc)
    }

    /// That of the saved result or of the server, where it is told from others by one.
    fn given_name(&self) -> Option<&str> {
        let server = self.server.as_ref().map(|server| server.name.as_str());
        self.run.as_deref().or(server)
    }

    /// The same without the parameters of a controller; [`short_labels`] has those that tell it
    /// from others.
    pub fn short_label(&self) -> &str {
        let controller = || self.cc.split(':').next().unwrap_or_default();
        self.given_name().unwrap_or_else(controller)
    }

    /// The [label](Self::label), and `×2` behind that of a sender whose datagrams were on the wire
    /// twice.
    pub fn sender(&self) -> String {
        sender(self.label(), self.duplicate)
    }
}

/// A label for each of these variants, in their order, as short as tells them apart: controllers of
/// one name have the parameters that not all of them have.
pub fn short_labels(variants: &[Variant]) -> Vec<String> {
    let is_controller = |variant: &&Variant| variant.given_name().is_none();
    let controllers = variants.iter().filter(is_controller);
    let controllers: Vec<&str> = controllers.map(|variant| variant.cc.as_str()).collect();
    let mut short = short_names(&controllers).into_iter();
    let label = |variant: &Variant| match variant.given_name() {
        Some(name) => name.to_owned(),
        None => short.next().expect("there is one for each"),
    };
    variants.iter().map(label).collect()
}

/// The same of controllers with their parameters, each of which may end with how often its
/// datagrams were on the wire.
pub fn short_names(controllers: &[&str]) -> Vec<String> {
    let own = |full: &&str| {
        let (name, copies) = (name_of(full), copies(full));
        let same = |other: &&&str| name_of(other) == name && *other != full;
        let others: Vec<&&str> = controllers.iter().filter(same).collect();
        let tells = |part: &&str| {
            let has = |other: &&&str| parameters(other).any(|own| own == *part);
            !others.iter().all(has)
        };
        let parts: Vec<&str> = parameters(full).filter(tells).collect();
        match parts.as_slice() {
            [] => format!("{name}{copies}"),
            _ if others.is_empty() => format!("{name}{copies}"),
            parts => format!("{name}:{}{copies}", parts.join(",")),
        }
    };
    controllers.iter().map(own).collect()
}

fn name_of(controller: &str) -> &str {
    let end = controller.find([':', ' ']).unwrap_or(controller.len());
    &controller[..end]
}

/// `key=value` each, as they stand behind a controller's name.
fn parameters(controller: &str) -> impl Iterator<Item = &str> {
    let text = controller.split_once(':').map(|(_, text)| text);
    let text = text.map(|text| text.split(' ').next().unwrap_or_default());
    text.into_iter().flat_map(|text| text.split(','))
}

/// ` ×2`, where there is such an end.
fn copies(controller: &str) -> &str {
    controller.find(' ').map_or("", |at| &controller[at..])
}

/// A controller, and how often the datagrams that it sent were on the wire.
pub fn sender(cc: &str, duplicate: u32) -> String {
    match duplicate {
        1 => cc.to_owned(),
        more => format!("{cc} ×{more}"),
    }
}

/// The width of the goodput's intervals at which a test stops.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StoppingRule {
    /// How far the ends of each interval of the goodput's ratio may lie from its middle, as a share
    /// of it; see [`goodput_half_width`](crate::stats::goodput_half_width).
    pub half_width: Finite,
    /// Whether every interval was that narrow before the rounds were at their most.
    pub reached: bool,
}

/// A test against an earlier one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaselineComparison {
    /// Whether rounds were compared by block: both tests in virtual time, with the same draws. The
    /// medians of all rounds otherwise.
    pub paired: bool,
    /// By the variant's name: now over then, where then had the same. What is said of `b` is true
    /// of now, and what is said of `a` of then.
    pub comparisons: BTreeMap<String, BTreeMap<Metric, Comparison>>,
}
