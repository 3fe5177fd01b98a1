//! Prints the tables of docs/measuring.md, "How the A/B test decides": how often the intervals
//! contain the truth, and how often two equal controllers are called different; and the same where
//! the test goes on until the interval is narrow.
//!
//! ```text
//! cargo run --release -p paceline-bench-report --example interval_coverage
//! ```

use bench_report::result::{Decision, Metric, Round, Summary};
use bench_report::stats::{self, Design};
use std::io;
use units::Rng;

fn main() -> io::Result<()> {
    match tables(&mut io::stdout().lock()) {
        // Whoever read them has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

fn tables(out: &mut impl io::Write) -> io::Result<()> {
    write!(out, "| rounds |")?;
    for shape in &SHAPES {
        write!(out, " {} |", shape.name)?;
    }
    writeln!(out, " equal, called different |")?;
    writeln!(out, "|---|{}---|", "---|".repeat(SHAPES.len()))?;
    for rounds in [2, 3, 4, 5, 6, 8, 10, 20] {
        write!(out, "| {rounds} |")?;
        for shape in &SHAPES {
            write!(out, " {:.1} % |", shape.coverage(rounds))?;
        }
        writeln!(out, " {:.1} % |", called_different(rounds))?;
    }
    writeln!(out)?;
    stopping(out)
}

/// The same of tests that go on until the interval is narrow, at most for [`MAX_ROUNDS`] rounds:
/// how many rounds that took on the mean, and how often the interval then contained the truth.
fn stopping(out: &mut impl io::Write) -> io::Result<()> {
    writeln!(
        out,
        "| a round's σ | until | rounds | narrow | contains the truth | if narrow |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|")?;
    for (sigma, until) in [
        (0.02, 0.05),
        (0.05, 0.05),
        (0.10, 0.05),
        (0.20, 0.05),
        (0.10, 0.10),
        (0.20, 0.10),
        (0.40, 0.20),
    ] {
        let ended: Vec<Stopped> = (0..STOPPING_TESTS)
            .map(|test| until_narrow(sigma, until, test))
            .collect();
        let share = |of: fn(&&Stopped) -> bool, all: fn(&&Stopped) -> bool| {
            let all: Vec<&Stopped> = ended.iter().filter(all).collect();
            let count = all.iter().filter(|one| of(one)).count();
            100.0 * count as f64 / all.len().max(1) as f64
        };
        let rounds: f64 = ended.iter().map(|one| one.rounds as f64).sum();
        writeln!(
            out,
            "| {:.0} % | {:.0} % | {:.1} | {:.0} % | {:.1} % | {:.1} % |",
            sigma * 100.0,
            until * 100.0,
            rounds / ended.len() as f64,
            share(|one| one.is_narrow, |_| true),
            share(|one| one.is_right, |_| true),
            share(|one| one.is_right, |one| one.is_narrow),
        )?;
    }
    Ok(())
}

struct Stopped {
    rounds: usize,
    is_narrow: bool,
    is_right: bool,
}

/// Two equal variants whose rounds are log-normal with this spread.
fn until_narrow(sigma: f64, until: f64, test: u64) -> Stopped {
    let mut rng = Rng::derive(test, (sigma * 1e6) as u64);
    let mut draw = |block| Round {
        block,
        goodput_bits_per_second: ((sigma * normal(&mut rng)).exp() * UNIT) as u64,
        ..Round::default()
    };
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for block in 0..MAX_ROUNDS {
        a.push(draw(block));
        b.push(draw(block));
        let is_last = block + 1 == MAX_ROUNDS;
        if !stats::is_interim_analysis(block + 1) && !is_last {
            continue;
        }
        let half_width = stats::goodput_half_width(&a, &b, test);
        let is_narrow = half_width.is_some_and(|half_width| half_width <= until);
        if is_narrow || is_last {
            let goodput =
                stats::compare(&a, &b, test, Design::Sequential)[&Metric::GoodputBitsPerSecond];
            let low = goodput.low.is_some_and(|low| low.get() <= 1.0);
            return Stopped {
                rounds: a.len(),
                is_narrow,
                is_right: low && goodput.high.is_some_and(|high| 1.0 <= high.get()),
            };
        }
    }
    unreachable!("the last block returns")
}

/// A distribution of goodputs with a known median.
struct Shape {
    name: &'static str,
    median: f64,
    draw: fn(&mut Rng) -> f64,
}

const SHAPES: [Shape; 4] = [
    Shape {
        name: "normal, σ 10 %",
        median: 1.0,
        draw: |rng| 0.1_f64.mul_add(normal(rng), 1.0),
    },
    Shape {
        name: "uniform",
        median: 0.5,
        draw: Rng::unit_f64,
    },
    Shape {
        name: "log-normal, σ 1",
        median: 1.0,
        draw: |rng| normal(rng).exp(),
    },
    Shape {
        name: "every fifth round at 30 %",
        // The 37.5 % quantile of the upper mode.
        median: 1.0 - 0.05 * 0.318_64,
        draw: |rng| {
            let centre = if rng.unit_f64() < 0.2 { 0.3 } else { 1.0 };
            0.05_f64.mul_add(normal(rng), centre)
        },
    },
];

impl Shape {
    /// In percent of [`TESTS`] tests.
    fn coverage(&self, rounds: u32) -> f64 {
        let covered = (0..TESTS).filter(|&test| {
            let mut rng = Rng::derive(test, u64::from(rounds));
            let rounds = self.rounds(&mut rng, rounds);
            let summary: Summary = stats::summarise(&rounds, test)[&Metric::GoodputBitsPerSecond];
            let truth = self.median * UNIT;
            let low = summary.low.is_some_and(|low| low.get() <= truth);
            low && summary.high.is_some_and(|high| truth <= high.get())
        });
        percent(covered.count())
    }

    fn rounds(&self, rng: &mut Rng, rounds: u32) -> Vec<Round> {
        (0..rounds)
            .map(|block| Round {
                block,
                goodput_bits_per_second: ((self.draw)(rng) * UNIT) as u64,
                ..Round::default()
            })
            .collect()
    }
}

/// In percent of [`TESTS`] tests of log-normal rounds against more of the same.
fn called_different(rounds: u32) -> f64 {
    let different = (0..TESTS).filter(|&test| {
        let mut rng = Rng::derive(test, 1_000 + u64::from(rounds));
        let shape = &SHAPES[2];
        let (a, b) = (
            shape.rounds(&mut rng, rounds),
            shape.rounds(&mut rng, rounds),
        );
        let goodput =
            stats::compare(&a, &b, test, Design::FixedSample)[&Metric::GoodputBitsPerSecond];
        matches!(goodput.decision, Decision::BHigher | Decision::BLower)
    });
    percent(different.count())
}

fn percent(count: usize) -> f64 {
    100.0 * count as f64 / TESTS as f64
}

/// Box and Muller.
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.unit_f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.unit_f64()).cos()
}

const TESTS: u64 = 2_000;
const STOPPING_TESTS: u64 = 1_000;
/// `--max-rounds`.
const MAX_ROUNDS: u32 = 50;
/// Goodputs are whole bits per second; this many stand for one.
const UNIT: f64 = 1e9;
