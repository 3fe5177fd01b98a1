//! The table, in 80 columns.

use crate::profile::Code;
use crate::report::{Played, Report, leads, median};
use crate::rows::{Figure, Row};
use std::fmt::Write;

/// What holds for all rows.
pub(crate) fn head(report: &Report) -> String {
    format!(
        "{}\n\
         AES-128-GCM, CUBIC unless said, windows of {} KiB, socket buffers of {} KiB\n\
         medians, rounds: {}; × PEER: how many times better paceline is\n\
         others: of one CPU; !: rounds in which they took over 15 %\n",
        report.machine,
        report.window_bytes >> 10,
        report.socket_buffer_bytes >> 10,
        report.rounds,
    )
}

/// A row of every stack, its lead over each peer, and what failed.
pub(crate) fn row(row: &Row, stacks: &[Played]) -> String {
    let mut text = format!("\n{}\n{:<STACK$}", row.title, "");
    for (place, figure) in row.figures.iter().enumerate() {
        let range = if place == 0 { "min–max" } else { "" };
        let width = if place == 0 { RANGE } else { 0 };
        let _ = write!(text, "{:>FIGURE$}{range:>width$}", figure.head);
    }
    let _ = writeln!(text, "{:>FOREIGN$}", "others");
    for played in stacks {
        text += &line(row, played);
    }
    for peer in stacks.iter().skip(1) {
        text += &lead_line(row, stacks, peer);
    }
    for figure in row.figures {
        text += &profile(figure, stacks).unwrap_or_default();
    }
    for played in stacks {
        for reason in played.failures() {
            let _ = writeln!(text, "{:<STACK$}failed: {reason}", played.stack);
        }
    }
    text
}

/// Whose code the CPU time of a figure was in: its median, divided as the samples of all rounds
/// are. `None` without samples.
fn profile(figure: &Figure, stacks: &[Played]) -> Option<String> {
    let side = figure.side?;
    let mut text = format!("{:<CODE$}", figure.head);
    let mut columns = Vec::new();
    for played in stacks {
        let samples = played.samples(side);
        let all: u64 = samples.values().sum();
        let Some(median) = played.median(figure).filter(|_| all > 0) else {
            continue;
        };
        let _ = write!(text, "{:>FIGURE$}", played.stack.to_string());
        columns.push((samples, median / all as f64));
    }
    if columns.is_empty() {
        return None;
    }
    let decimals = figure.decimals + 1;
    for code in Code::ALL {
        let _ = write!(text, "\n  {:<1$}", code.title(), CODE - 2);
        for (samples, each) in &columns {
            let count = samples.get(&code).copied().unwrap_or_default();
            let _ = write!(text, "{:>FIGURE$.decimals$}", count as f64 * each);
        }
    }
    Some(text + "\n")
}

fn line(row: &Row, played: &Played) -> String {
    let mut text = format!("{:<STACK$}", played.stack);
    for (place, figure) in row.figures.iter().enumerate() {
        let Some(median) = played.median(figure) else {
            let _ = write!(text, "{:>FIGURE$}", "–");
            continue;
        };
        let _ = write!(text, "{median:>FIGURE$.*}", figure.decimals);
        if place == 0 {
            let _ = write!(text, "{:>RANGE$}", range(figure, played));
        }
    }
    text + &foreign(played) + "\n"
}

/// Least and greatest value of all rounds.
fn range(figure: &Figure, played: &Played) -> String {
    let values = || played.measured().map(figure.of);
    let (least, greatest) = (
        values().fold(f64::MAX, f64::min),
        values().fold(f64::MIN, f64::max),
    );
    let decimals = figure.decimals;
    format!("{least:.decimals$}–{greatest:.decimals$}")
}

/// The share of one CPU that other programs took, and how many rounds that made doubtful.
fn foreign(played: &Played) -> String {
    let Some(foreign) = median(played.measured().map(|round| round.foreign_cpus).collect()) else {
        return String::new();
    };
    let noisy = played.measured().filter(|round| !round.is_quiet()).count();
    let mark = match noisy {
        0 => String::new(),
        noisy => format!(" !{noisy}"),
    };
    format!("{:>FOREIGN$}", format!("{:.0} %{mark}", foreign * 100.0))
}

fn lead_line(row: &Row, stacks: &[Played], peer: &Played) -> String {
    let mut text = String::new();
    for (place, figure) in row.figures.iter().enumerate() {
        let leads = leads(figure, stacks);
        let Some((_, lead)) = leads.iter().find(|(stack, _)| *stack == peer.stack) else {
            return String::new();
        };
        let _ = write!(text, "{lead:>FIGURE$.2}");
        if place == 0 {
            let _ = write!(text, "{:RANGE$}", "");
        }
    }
    let name = format!("× {}", peer.stack);
    format!("{name:<STACK$}{}\n", text.trim_end())
}

/// All that Paceline is behind in, once more.
pub(crate) fn behind(report: &Report) -> String {
    let lines: Vec<&str> = report.behind().collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!("\nbehind in\n{}\n", lines.join("\n")),
    }
}

const CODE: usize = 16;
const STACK: usize = 11;
const FIGURE: usize = 11;
const RANGE: usize = 15;
const FOREIGN: usize = 10;
