//! The criteria as `scenarios/scorecard.toml` and others of its kind have them.

use crate::matrix::{self, Axes, Text, VariantFile};
use crate::text_file;
use bench_kit::failure::Failure;
use bench_report::result::{Finite, Measure, NotCovered, OverCells, ScorecardBound};
use serde::Deserialize;
use std::path::Path;

/// The keys of the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScorecardFile {
    /// The address of the document.
    pub(super) url: String,
    /// What the page says first, as Markdown, where the document is not RFC 9743.
    pub(super) intro: Option<String>,
    /// Its sections, in its order.
    pub(super) section: Vec<SectionFile>,
    /// What is measured, in the order of the sections.
    pub(super) criterion: Vec<CriterionFile>,
    /// What is not.
    #[serde(default)]
    not_covered: Vec<GapFile>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SectionFile {
    pub(super) number: String,
    pub(super) title: String,
}

/// A part of a section that is not measured.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct GapFile {
    section: String,
    what: String,
    why: String,
}

/// What is measured, and how. In `title`, `sentence` and the controllers of `variants` `{cc}`
/// stands for the controller and `{against}` for its neighbour; in `sentence` also `{figure}` and
/// `{reference}`, with their units.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CriterionFile {
    /// Letters, digits and `-`.
    pub(super) id: String,
    /// The number of a section.
    pub(super) section: String,
    pub(super) title: String,
    /// The conditions, as the keys of a matrix of these names.
    pub(super) link: Text,
    pub(super) return_link: Option<Text>,
    pub(super) seconds: Option<Text>,
    pub(super) omit: Option<Text>,
    pub(super) bytes: Option<Text>,
    pub(super) flows: Option<Text>,
    /// Rounds of its tests, where they are not those of the command line.
    pub(super) rounds: Option<u32>,
    /// What changes from cell to cell; without, there is one cell.
    #[serde(default)]
    pub(super) axes: Axes,
    /// Which of several cells' figures is the criterion's.
    #[serde(default)]
    pub(super) over: OverCells,
    #[serde(default)]
    pub(super) compete: bool,
    /// Without: `{against}`, and `{cc}` against it.
    #[serde(default = "usual_variants")]
    pub(super) variants: Vec<VariantFile>,
    pub(super) measure: Measure,
    /// The variant that is measured.
    #[serde(default = "second")]
    pub(super) of: String,
    /// Whether the figure is the ratio to the reference.
    #[serde(default)]
    pub(super) relative: bool,
    /// What a ratio's reference is.
    #[serde(default)]
    pub(super) reference: ReferenceFile,
    /// Whether the figure is the difference to the reference.
    #[serde(default)]
    pub(super) difference: bool,
    /// When the path changes, for the time of a recovery.
    pub(super) since: Option<Text>,
    pub(super) sentence: String,
    pub(super) good: Option<GoodFile>,
}

/// What a figure is measured against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ReferenceFile {
    /// Variant `a`, or in a competition the same test with `{against}` in the place of `{cc}`.
    #[default]
    Neighbour,
    /// The best variant of the same test, the measured one included.
    Best,
}

/// What we call good.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GoodFile {
    at_least: Option<f64>,
    at_most: Option<f64>,
    reason: String,
}

impl ScorecardFile {
    /// The criteria that come with the program.
    pub(crate) fn built_in() -> Self {
        Self::read(ORIGIN, TEXT).expect("a test reads it")
    }

    /// The criteria of the file at `path`.
    ///
    /// # Errors
    /// As [`read`](Self::read), and as [`text_file::read`].
    pub(crate) fn load(path: &Path) -> Result<Self, Failure> {
        let origin = path.display().to_string();
        let text = text_file::read(path, "a TOML file of criteria")?;
        Self::read(&origin, &text)
    }

    /// Reads the text of a file called `origin`.
    ///
    /// # Errors
    /// Names the file, and the line or the criterion with the key.
    pub(super) fn read(origin: &str, text: &str) -> Result<Self, Failure> {
        let file: Self =
            toml::from_str(text).map_err(|error| matrix::wrong(origin, text, &error))?;
        file.check()
            .map_err(|error| Failure::usage(format!("{origin}: {error}")))?;
        Ok(file)
    }

    fn check(&self) -> Result<(), String> {
        let known: Vec<&str> = self.section.iter().map(|one| one.number.as_str()).collect();
        let place = |number: &str| {
            let place = known.iter().position(|known| *known == number);
            place.ok_or_else(|| {
                let known = known.join(", ");
                format!("section: `{number}` is not a section; known: {known}")
            })
        };
        let mut last = 0;
        for (index, criterion) in self.criterion.iter().enumerate() {
            let id = &criterion.id;
            let name = |error: String| format!("criterion {id}: {error}");
            criterion.check().map_err(name)?;
            if self.criterion[..index].iter().any(|other| other.id == *id) {
                return Err(format!("criterion {id}: there are two of this id"));
            }
            let place = place(&criterion.section).map_err(name)?;
            if place < last {
                return Err(name("not in the order of the sections".to_owned()));
            }
            last = place;
        }
        for gap in &self.not_covered {
            place(&gap.section).map_err(|error| format!("not_covered: {error}"))?;
        }
        Ok(())
    }

    /// The names of all criteria.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.criterion.iter().map(|criterion| criterion.id.as_str())
    }

    /// # Errors
    /// When one of `only` is no criterion.
    pub(crate) fn check_only(&self, only: &[String]) -> Result<(), String> {
        let is_known = |wanted: &&String| self.ids().any(|id| id == wanted.as_str());
        let Some(unknown) = only.iter().find(|wanted| !is_known(wanted)) else {
            return Ok(());
        };
        let known: Vec<&str> = self.ids().collect();
        let known = known.join(", ");
        Err(format!("unknown criterion `{unknown}`; known: {known}"))
    }

    /// Those of `only`, all without one.
    pub(super) fn wanted(&self, only: &[String]) -> impl Iterator<Item = &CriterionFile> {
        let criteria = self.criterion.iter();
        criteria.filter(move |criterion| only.is_empty() || only.contains(&criterion.id))
    }

    /// What of a section is not covered.
    pub(super) fn gaps(&self, section: &str) -> impl Iterator<Item = NotCovered> {
        let gaps = self.not_covered.iter();
        let gaps = gaps.filter(move |gap| gap.section == section);
        gaps.map(|gap| NotCovered {
            what: gap.what.clone(),
            why: gap.why.clone(),
        })
    }
}

impl CriterionFile {
    fn check(&self) -> Result<(), String> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.id.is_empty() || !self.id.chars().all(is_plain) {
            return Err("id: only the characters a-z, 0-9 and `-` are allowed".to_owned());
        }
        let words = [(&self.title, &PARTIES[..]), (&self.sentence, &WORDS[..])];
        let of_variants = self.variants.iter().map(|variant| variant.cc.as_str());
        let of_variants = of_variants.map(|cc| (cc, &PARTIES[..]));
        let words = words.map(|(text, known)| (text.as_str(), known));
        for (text, known) in words.into_iter().chain(of_variants) {
            let unknown = placeholders(text).find(|word| !known.contains(word));
            if let Some(unknown) = unknown {
                let known = known.join("}, {");
                return Err(format!("unknown word `{{{unknown}}}`; known: {{{known}}}"));
            }
        }
        self.place().map(|_| ())?;
        if (self.measure == Measure::Recovery) != self.since.is_some() {
            return Err("since: needed by, and only by, measure `recovery`".to_owned());
        }
        if self.relative && self.measure.metric().is_none() {
            return Err(
                "relative: the measure is no metric of rounds, and has no ratio".to_owned(),
            );
        }
        self.check_reference()?;
        self.check_cells()?;
        match &self.good {
            Some(good) if good.at_least.is_none() && good.at_most.is_none() => {
                Err("good: needs `at_least` or `at_most`".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn check_reference(&self) -> Result<(), String> {
        if self.relative && self.difference {
            return Err("difference: not together with `relative`".to_owned());
        }
        if self.reference == ReferenceFile::Neighbour {
            return Ok(());
        }
        if self.relative && !self.compete && self.has_one_bound() {
            return Ok(());
        }
        Err(
            "reference: `best` needs `relative = true`, no `compete`, and `good` with one of \
             `at_least` and `at_most`"
                .to_owned(),
        )
    }

    fn check_cells(&self) -> Result<(), String> {
        if !self.has_axes() {
            return match self.over {
                OverCells::Worst => Ok(()),
                _ => Err("over: needs `axes`".to_owned()),
            };
        }
        if !self.has_one_bound() {
            return Err("axes: need `good` with one of `at_least` and `at_most`".to_owned());
        }
        if placeholders(&self.sentence).any(|word| word == REFERENCE) {
            return Err("sentence: with `axes` there is no {reference}".to_owned());
        }
        Ok(())
    }

    /// Whether it is clear which of two figures is the better one.
    fn has_one_bound(&self) -> bool {
        let good = self.good.as_ref();
        good.is_some_and(|good| good.at_least.is_some() != good.at_most.is_some())
    }

    /// Whether there are several cells, or may be.
    pub(super) fn has_axes(&self) -> bool {
        !self.axes.is_empty()
    }

    /// The place of the variant that is measured.
    ///
    /// # Errors
    /// When there is none of this name.
    pub(super) fn place(&self) -> Result<usize, String> {
        let mut names = (0..self.variants.len()).map(crate::ab::name);
        let place = names.position(|name| name == self.of);
        place.ok_or_else(|| format!("of: no variant `{}`", self.of))
    }

    /// The neighbours that have a row each: all where one takes part, or the first as reference.
    pub(super) fn neighbours<'a>(&self, against: &'a [String]) -> &'a [String] {
        let mut words = self
            .variants
            .iter()
            .flat_map(|one| placeholders(one.cc.as_str()));
        let takes_part = self.compete && words.any(|word| word == AGAINST);
        &against[..if takes_part { against.len() } else { 1 }]
    }

    pub(super) fn bound(&self) -> Option<ScorecardBound> {
        let good = self.good.as_ref()?;
        Some(ScorecardBound {
            at_least: good.at_least.and_then(Finite::new),
            at_most: good.at_most.and_then(Finite::new),
            reason: good.reason.clone(),
        })
    }
}

/// `text` with the words of these names replaced.
pub(super) fn fill(text: &str, words: &[(&str, &str)]) -> String {
    let text = text.to_owned();
    words.iter().fold(text, |text, (word, stands_for)| {
        text.replace(&format!("{{{word}}}"), stands_for)
    })
}

fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split('{').skip(1);
    parts.map(|part| part.split_once('}').map_or(part, |(word, _)| word))
}

fn usual_variants() -> Vec<VariantFile> {
    let words = [AGAINST, CC].map(|word| format!("{{{word}}}"));
    words
        .map(|word| VariantFile::of_controller(word.as_str().into()))
        .into()
}

fn second() -> String {
    "b".to_owned()
}

/// The controller.
pub(super) const CC: &str = "cc";

/// Its neighbour.
pub(super) const AGAINST: &str = "against";

const PARTIES: [&str; 2] = [CC, AGAINST];

pub(super) const FIGURE: &str = "figure";
pub(super) const REFERENCE: &str = "reference";

const WORDS: [&str; 4] = [CC, AGAINST, FIGURE, REFERENCE];

const ORIGIN: &str = "scenarios/scorecard.toml";
const TEXT: &str = include_str!("../../scenarios/scorecard.toml");

#[cfg(test)]
mod tests;
