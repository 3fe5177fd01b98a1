//! A link of this crate against the same link of a kernel: netem, packet by packet.
//!
//! ```text
//!  probe    numbered datagrams ──▶ lo, whose qdisc is netem LINK ──▶ trace: each one's times
//!  compare  the trace's send times and sizes ──▶ link_sim::Link, many seeds ──▶ table
//! ```
//!
//! `netem-scripts/compare.sh` runs both for a list of links, in a guest with a clock of its own;
//! `docs/netem-comparison.md` says what came out and how to read it.

mod comparison;
mod emulation;
mod figures;
mod probe;
mod trace;

use clap::Parser;
use comparison::Comparison;
use core::time::Duration;
use link_sim::{LinkSpec, SpecError};
use probe::Schedule;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use trace::Trace;

fn main() -> io::Result<ExitCode> {
    match Arguments::parse() {
        Arguments::Probe {
            trace,
            packets,
            gap,
        } => {
            let observed = probe::observe(Schedule { packets, gap })?;
            observed.write(&mut BufWriter::new(File::create(trace)?))?;
            Ok(ExitCode::SUCCESS)
        }
        Arguments::Compare {
            link,
            trace,
            runs,
            clock,
        } => {
            let observed = Trace::read(BufReader::new(File::open(trace)?))?;
            let comparison = Comparison::new(&link, &observed, runs, clock);
            write!(io::stdout(), "{comparison}")?;
            Ok(ExitCode::from(u8::from(!comparison.agrees())))
        }
    }
}

#[derive(Debug, Parser)]
enum Arguments {
    /// Sends datagrams over this network namespace's loopback and writes down what became of them
    Probe {
        /// Where to write it
        trace: PathBuf,
        /// How many datagrams
        #[arg(long, default_value_t = 100_000)]
        packets: u32,
        /// Mean time between two; each is evenly random from nothing to twice as long
        #[arg(long, default_value = "1ms", value_parser = units::duration::parse)]
        gap: Duration,
    },
    /// Sends the same datagrams through a link of this crate. Exit code 1 when the two differ
    Compare {
        /// What the kernel's netem was told
        #[arg(value_parser = parse_link)]
        link: Box<LinkSpec>,
        /// What became of the kernel's packets
        trace: PathBuf,
        /// With how many seeds; how these runs differ is the statistical error of one
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(10..))]
        runs: u32,
        /// How exact the kernel's times are
        #[arg(long, default_value = "1us", value_parser = units::duration::parse)]
        clock: Duration,
    },
}

fn parse_link(text: &str) -> Result<Box<LinkSpec>, SpecError> {
    text.parse().map(Box::new)
}
