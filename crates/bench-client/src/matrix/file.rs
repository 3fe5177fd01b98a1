//! A matrix as its author wrote it: TOML, every key of which docs/matrix.md explains.

use super::axis::{Axes, Only};
use super::draw::{self, Draws, NarrowedCells, UseFile};
use super::template::Text;
use super::variant_file::VariantFile;
use crate::defaults::{MAX_MTU, MIN_MTU};
use bench_kit::failure::Failure;
use serde::{Deserialize, Serialize};

/// The keys of the file. A [`Text`] may name axes: `{loss}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MatrixFile {
    /// What it is called by: letters, digits, `.`, `_` and `-`.
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    /// Where its conditions come from.
    pub(crate) source: Option<String>,
    /// Where that can be read.
    pub(crate) url: Option<String>,
    /// What result is expected, and why.
    pub(crate) expected: Option<String>,
    /// Rounds of each variant in each cell.
    #[serde(default = "default_rounds")]
    pub(crate) rounds: u32,
    /// How long each round measures, or at most; a bare number is seconds.
    pub(crate) seconds: Option<Text>,
    /// How much of warm-up comes before; a bare number is seconds.
    pub(crate) omit: Option<Text>,
    /// What the cells' seeds are derived from.
    #[serde(default = "default_seed")]
    pub(crate) seed: u64,
    /// The payload that ends a round.
    pub(crate) bytes: Option<Text>,
    /// The link in the data's direction.
    pub(crate) link: Option<Text>,
    /// The link in the other direction.
    pub(crate) return_link: Option<Text>,
    /// `forward` or `reverse`.
    pub(crate) direction: Option<Text>,
    pub(crate) flows: Option<Text>,
    pub(crate) streams: Option<Text>,
    /// Bytes of one write.
    pub(crate) length: Option<Text>,
    /// Flow-control window of each receiver.
    pub(crate) window: Option<Text>,
    /// The most that each stream sends.
    pub(crate) bitrate: Option<Text>,
    /// How long a round keeps to that rate before it sends without limit; for ever without.
    pub(crate) bulk_after: Option<Text>,
    /// The fixed UDP payload size; discovered without.
    pub(crate) mtu: Option<u16>,
    /// How long a server may take to answer; a bare number is seconds.
    #[serde(default = "default_connect_timeout")]
    pub(crate) connect_timeout: Text,
    /// How long the other side may be silent; a bare number is seconds.
    #[serde(default = "default_idle_timeout")]
    pub(crate) idle_timeout: Text,
    /// Whether the variants of a cell run at once, through one bottleneck.
    #[serde(default)]
    pub(crate) compete: bool,
    /// The variants of a cell, where the axis `cc` does not say them.
    #[serde(default)]
    pub(crate) variants: Vec<VariantFile>,
    /// What changes from cell to cell and, as `cc`, within a cell.
    #[serde(default)]
    pub(crate) axes: Axes,
    /// How many cells are drawn at random, in the place of the axes' combinations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) draw: Option<u32>,
    /// What they are drawn from.
    #[serde(default, skip_serializing_if = "Draws::is_empty")]
    pub(crate) draws: Draws,
    /// How their paths are used.
    #[serde(default, rename = "use", skip_serializing_if = "Vec::is_empty")]
    pub(crate) uses: Vec<UseFile>,
}

impl MatrixFile {
    /// One cell, in which these are compared; everything else is as usual.
    pub(crate) fn of_variants(name: &str, variants: Vec<VariantFile>) -> Self {
        Self {
            name: name.to_owned(),
            title: None,
            source: None,
            url: None,
            expected: None,
            rounds: default_rounds(),
            seconds: None,
            omit: None,
            seed: default_seed(),
            bytes: None,
            link: None,
            return_link: None,
            direction: None,
            flows: None,
            streams: None,
            length: None,
            window: None,
            bitrate: None,
            bulk_after: None,
            mtu: None,
            connect_timeout: default_connect_timeout(),
            idle_timeout: default_idle_timeout(),
            compete: false,
            variants,
            axes: Axes::default(),
            draw: None,
            draws: Draws::default(),
            uses: Vec::new(),
        }
    }

    /// Reads the text of a file called `origin`.
    ///
    /// # Errors
    /// Names the file, the line and the key.
    pub(crate) fn read(origin: &str, text: &str) -> Result<Self, Failure> {
        let file: Self = toml::from_str(text).map_err(|error| wrong(origin, text, &error))?;
        file.check()
            .map_err(|error| Failure::usage(format!("{origin}: {error}")))?;
        Ok(file)
    }

    /// # Errors
    /// Names the key that makes no sense.
    pub(crate) fn check(&self) -> Result<(), String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if self.name.is_empty() || self.name.len() > MAX_NAME || !self.name.chars().all(is_plain) {
            return Err(format!(
                "name: `{}` is not 1 to {MAX_NAME} of the characters a-z, A-Z, 0-9, `.`, `_`, `-`",
                self.name
            ));
        }
        if !(1..=MAX_ROUNDS).contains(&self.rounds) {
            return Err(format!(
                "rounds: {} is not between 1 and {MAX_ROUNDS}",
                self.rounds
            ));
        }
        if let Some(mtu) = self.mtu
            && !(MIN_MTU..=MAX_MTU).contains(&mtu)
        {
            return Err(format!("mtu: {mtu} is not between {MIN_MTU} and {MAX_MTU}"));
        }
        if self.is_drawn() {
            return self.check_drawn();
        }
        if self.draw.is_some() || !self.uses.is_empty() {
            return Err("draw, use: need variables in `[draws]`".to_owned());
        }
        let has_variants = !self.variants.is_empty();
        match (has_variants, self.axes.get(CC).is_some()) {
            (true, true) => {
                Err("variants: also given by axis `cc`; remove one of the two".to_owned())
            }
            (false, false) => Err(
                "nothing to compare; add an axis `cc`, or `[[variants]]` with a `cc` each"
                    .to_owned(),
            ),
            _ => Ok(()),
        }
    }

    fn check_drawn(&self) -> Result<(), String> {
        let mut names = self.axes.iter().map(|axis| axis.name.as_str());
        if names.next() != Some(CC) || names.next().is_some() {
            return Err("axes: with `[draws]` there is one, `cc`".to_owned());
        }
        if self.compete || !self.variants.is_empty() {
            return Err("compete, variants: with `[draws]` these are keys of `[[use]]`".to_owned());
        }
        if !(1..=MAX_DRAWN).contains(&self.drawn()) {
            return Err(format!(
                "draw: {} is not between 1 and {MAX_DRAWN}",
                self.drawn()
            ));
        }
        draw::check(&self.draws, &self.uses)
    }

    /// Whether its cells are drawn at random.
    pub(crate) fn is_drawn(&self) -> bool {
        !self.draws.is_empty()
    }

    /// How many cells are.
    pub(crate) fn drawn(&self) -> u32 {
        self.draw.unwrap_or(DRAWN)
    }

    /// Keeps what `only` names, and of cells that are drawn says which, ascending: none for all.
    ///
    /// # Errors
    /// When there is no such condition.
    pub(crate) fn narrow(&mut self, only: &[Only]) -> Result<NarrowedCells, String> {
        if !self.is_drawn() {
            return self.axes.narrow(only).map(|()| NarrowedCells::new());
        }
        let (of_cc, others): (Vec<&Only>, Vec<&Only>) =
            only.iter().partition(|only| only.axis == CC);
        self.axes.narrow(of_cc)?;
        draw::narrow(&mut self.draws, &mut self.uses, &others)
    }

    /// Whether bytes end the rounds, and not time.
    pub(super) fn is_by_bytes(&self) -> bool {
        let of_axis = self.axes.iter().any(|axis| {
            let mut words = axis.values.iter().flat_map(|value| value.words.keys());
            axis.name == BYTES || words.any(|word| word == BYTES)
        });
        self.bytes.is_some() || of_axis
    }

    /// The key of this name, of those that differ from cell to cell.
    pub(super) fn condition(&self, key: &str) -> Option<&Text> {
        match key {
            BYTES => self.bytes.as_ref(),
            "link" => self.link.as_ref(),
            "return_link" => self.return_link.as_ref(),
            "direction" => self.direction.as_ref(),
            "flows" => self.flows.as_ref(),
            "streams" => self.streams.as_ref(),
            "length" => self.length.as_ref(),
            "window" => self.window.as_ref(),
            "bitrate" => self.bitrate.as_ref(),
            "bulk_after" => self.bulk_after.as_ref(),
            other => unreachable!("`{other}` is none of CONDITIONS"),
        }
    }
}

/// What is wrong with the TOML of `origin`, and in which line.
pub(crate) fn wrong(origin: &str, text: &str, error: &toml::de::Error) -> Failure {
    let message = error.message().replace('\n', "; ");
    let line = error.span().map(|span| line_of(text, span.start));
    let line = line.map_or_else(String::new, |line| format!(":{line}"));
    Failure::usage(format!("{origin}{line}: {message}"))
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    1 + before.filter(|byte| **byte == b'\n').count()
}

fn default_rounds() -> u32 {
    3
}

fn default_seed() -> u64 {
    1
}

fn default_connect_timeout() -> Text {
    Text::from("5")
}

fn default_idle_timeout() -> Text {
    Text::from("10")
}

/// The axis whose values are the variants of each cell, and no cells.
pub(super) const CC: &str = "cc";

/// The condition that ends rounds by what has come.
const BYTES: &str = "bytes";

/// The keys that differ from cell to cell: an axis with the name of one is its value.
pub(super) const CONDITIONS: [&str; 10] = [
    BYTES,
    "link",
    "return_link",
    "direction",
    "flows",
    "streams",
    "length",
    "window",
    "bitrate",
    "bulk_after",
];

/// What fits into the name of a folder, with room.
const MAX_NAME: usize = 64;

/// As many as `ab --rounds` takes.
const MAX_ROUNDS: u32 = 1_000;

/// Where neither the file nor the command line says how many cells are drawn.
const DRAWN: u32 = 200;

/// With eight controllers as many as a matrix has cells at most.
const MAX_DRAWN: u32 = 1_250;
