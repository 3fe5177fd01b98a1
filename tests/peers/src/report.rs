//! All that was measured, as JSON and for the table.

use crate::Error;
use crate::args::Args;
use crate::machine;
use crate::parent::Round;
use crate::profile::Samples;
use crate::rows::{Figure, Row, Side};
use crate::settings::{Congestion, Settings};
use crate::stack::Name;
use serde::Serialize;
use std::collections::BTreeMap;

/// The whole run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    schema_version: u32,
    kind: &'static str,
    pub(crate) machine: String,
    pub(crate) rounds: u16,
    pub(crate) window_bytes: u32,
    pub(crate) socket_buffer_bytes: usize,
    rows: Vec<RowReport>,
}

/// What a stack did in a row.
#[derive(Debug, Serialize)]
pub(crate) struct Played {
    pub(crate) stack: Name,
    #[serde(rename = "rounds")]
    pub(crate) outcomes: Vec<Outcome>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Measured(Round),
    Failed(String),
}

#[derive(Debug, Serialize)]
struct RowReport {
    row: String,
    title: String,
    mtu: u16,
    stacks: Vec<Played>,
    /// By figure and stack.
    medians: BTreeMap<&'static str, BTreeMap<String, f64>>,
    /// By figure and peer: how many times better Paceline is.
    leads: BTreeMap<&'static str, BTreeMap<String, f64>>,
    #[serde(skip)]
    behind: Vec<String>,
}

impl Report {
    pub(crate) fn new(args: &Args) -> Self {
        let Settings {
            window,
            socket_buffer,
            ..
        } = args.settings(0, Congestion::Cubic);
        Self {
            schema_version: 1,
            kind: "peers",
            machine: machine::description(),
            rounds: args.rounds,
            window_bytes: window,
            socket_buffer_bytes: socket_buffer,
            rows: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, row: &Row, stacks: Vec<Played>) {
        let figures = || row.figures.iter();
        let medians = figures().map(|figure| {
            let known = stacks.iter().filter_map(|played| {
                let median = played.median(figure)?;
                Some((played.stack.to_string(), median))
            });
            (figure.key, known.collect())
        });
        let leads = figures().map(|figure| {
            let known = leads(figure, &stacks).into_iter();
            let named = known.map(|(stack, lead)| (stack.to_string(), lead));
            (figure.key, named.collect())
        });
        self.rows.push(RowReport {
            row: row.id.clone(),
            title: row.title.clone(),
            mtu: row.mtu,
            medians: medians.collect(),
            leads: leads.collect(),
            behind: behind(row, &stacks),
            stacks,
        });
    }

    pub(crate) fn has_failures(&self) -> bool {
        let mut played = self.rows.iter().flat_map(|row| &row.stacks);
        played.any(|played| played.failures().next().is_some())
    }

    /// A line for each row and peer that Paceline is behind in, with the leads.
    pub(crate) fn behind(&self) -> impl Iterator<Item = &str> {
        let lines = self.rows.iter().flat_map(|row| &row.behind);
        lines.map(String::as_str)
    }
}

impl Played {
    pub(crate) fn new(stack: Name) -> Self {
        Self {
            stack,
            outcomes: Vec::new(),
        }
    }

    pub(crate) fn measured(&self) -> impl Iterator<Item = &Round> {
        self.outcomes.iter().filter_map(|outcome| match outcome {
            Outcome::Measured(round) => Some(round),
            Outcome::Failed(_) => None,
        })
    }

    pub(crate) fn failures(&self) -> impl Iterator<Item = &str> {
        self.outcomes.iter().filter_map(|outcome| match outcome {
            Outcome::Measured(_) => None,
            Outcome::Failed(reason) => Some(reason.as_str()),
        })
    }

    /// Of one side, in all rounds that were measured.
    pub(crate) fn samples(&self, side: Side) -> Samples {
        let mut sum = Samples::new();
        for round in self.measured() {
            for (&code, count) in &round.used(side).samples {
                *sum.entry(code).or_default() += count;
            }
        }
        sum
    }

    /// Over the rounds that were measured; the upper of two.
    pub(crate) fn median(&self, figure: &Figure) -> Option<f64> {
        median(self.measured().map(figure.of).collect())
    }
}

impl Outcome {
    pub(crate) fn failed(when: &str, error: &Error) -> Self {
        Self::Failed(format!("{when}: {error}"))
    }
}

/// How many times better the first stack is than each of the others, if it is Paceline.
pub(crate) fn leads(figure: &Figure, stacks: &[Played]) -> Vec<(Name, f64)> {
    let Some((ours, others)) = stacks.split_first() else {
        return Vec::new();
    };
    let Some(ours) = ours.median(figure).filter(|_| ours.stack == Name::Paceline) else {
        return Vec::new();
    };
    let others = others.iter();
    let leads =
        others.filter_map(|peer| Some((peer.stack, figure.lead(ours, peer.median(figure)?))));
    leads.collect()
}

/// For each peer: what of the row it does better, by more than rounding.
fn behind(row: &Row, stacks: &[Played]) -> Vec<String> {
    let peers = stacks.iter().skip(1).map(|peer| {
        let figures = row.figures.iter().filter_map(|figure| {
            let mut leads = leads(figure, stacks).into_iter();
            let (_, lead) = leads.find(|(stack, _)| *stack == peer.stack)?;
            (lead < 0.995).then(|| format!("{} {lead:.2}", figure.head))
        });
        (peer.stack, figures.collect::<Vec<_>>())
    });
    let behind = peers.filter(|(_, figures)| !figures.is_empty());
    let lines = behind.map(|(peer, figures)| format!("{}, {peer}: {}", row.id, figures.join(", ")));
    lines.collect()
}

/// `None` of nothing.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
