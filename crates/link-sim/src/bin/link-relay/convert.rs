//! `link-relay convert-trace`: other people's recordings for `trace`, `delay trace` and `loss
//! trace`.

use crate::failure::Failure;
use clap::{Args, ValueEnum};
use core::time::Duration;
use link_sim::convert::{Capture, RateColumn, rates_of_csv, trace_of_rates};
use link_sim::{DelayTrace, LossTrace, RateTrace};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use units::{Bandwidth, duration};

/// Convert a recording to a trace, on standard output
///
/// FILE is a mahimahi trace, a CSV file with a rate on each line, or a pcap of a link that was kept
/// full. With --delay or --loss it is the sender's pcap, and RECEIVED is the receiver's.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// What to convert
    file: PathBuf,
    /// The receiver's pcap
    #[arg(requires = "of_two")]
    received: Option<PathBuf>,
    /// What FILE is [default: by its ending, a mahimahi trace if that is neither .csv nor .pcap]
    #[arg(long, value_name = "FORMAT")]
    from: Option<From>,
    /// Form of a rate trace
    #[arg(long, value_name = "FORM", default_value = "counts")]
    to: To,
    /// Column of a CSV file that has the rates: its name, or its number from 1
    #[arg(long)]
    column: Option<String>,
    /// Unit of the rates of a CSV file
    #[arg(long, default_value = "1mbit", value_name = "RATE")]
    unit: String,
    /// Time of a line of a CSV file [default: 1s], or of a step of delays [default: 10ms]
    #[arg(long, value_name = "TIME")]
    every: Option<String>,
    /// Delays from the sender's pcap to the receiver's
    #[arg(long, group = "of_two", requires = "received")]
    delay: bool,
    /// Losses between the sender's pcap and the receiver's
    #[arg(long, group = "of_two", requires = "received")]
    loss: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum From {
    /// A trace in either form of a link's `trace`
    Mahimahi,
    /// A rate on each line
    Csv,
    /// A capture of tcpdump
    Pcap,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum To {
    /// A character for each millisecond
    Counts,
    /// mahimahi's: a line for each packet
    Lines,
}

/// # Errors
/// A file that cannot be read, or is not what it should be.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let text = match &arguments.received {
        Some(received) => of_two(arguments, received)?,
        None => of_one(arguments)?,
    };
    match io::stdout().write_all(text.as_bytes()) {
        // Whoever read it has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(Failure::run),
    }
}

fn of_one(arguments: &Arguments) -> Result<String, Failure> {
    let file = &arguments.file;
    let refuse = |error: String| Failure::run(format!("{}: {error}", file.display()));
    let from = arguments.from.unwrap_or_else(|| by_ending(file));
    let trace = match from {
        From::Mahimahi => read_text(file).and_then(|text| RateTrace::parse(&text)),
        From::Csv => {
            let column = arguments.column.as_deref();
            let column = column.map_or(RateColumn::Only, |column| match column.parse() {
                Ok(number) => RateColumn::Number(number),
                Err(_) => RateColumn::Named(column),
            });
            let every = time(arguments, Duration::from_secs(1))?;
            let unit = unit(&arguments.unit)?;
            let rates = read_text(file).and_then(|text| rates_of_csv(&text, column, unit));
            rates.and_then(|rates| trace_of_rates(&rates, every))
        }
        From::Pcap => read(file).and_then(|bytes| Capture::parse(&bytes)?.rate_trace()),
    };
    let trace = trace.map_err(refuse)?;
    let heading = format!(
        "# {} opportunities in {}, {} on average.\n",
        trace.opportunities().len(),
        duration::display(trace.period()),
        trace.mean_rate(),
    );
    Ok(heading + &written(&trace, arguments.to))
}

fn written(trace: &RateTrace, to: To) -> String {
    match to {
        To::Counts => trace.to_string(),
        To::Lines => {
            let lines = trace.opportunities().iter();
            lines.map(|millis| format!("{millis}\n")).collect()
        }
    }
}

/// What two captures of the same packets show.
fn of_two(arguments: &Arguments, received: &Path) -> Result<String, Failure> {
    let every = time(arguments, Duration::from_millis(10))?;
    let refuse = |file: &Path, error: String| Failure::run(format!("{}: {error}", file.display()));
    let [sent, received] = [arguments.file.as_path(), received].map(|file| {
        let bytes = read(file).map_err(|error| refuse(file, error))?;
        Ok((file, bytes))
    });
    let ((file, sent), (other, received)) = (sent?, received?);
    let sent = Capture::parse(&sent).map_err(|error| refuse(file, error))?;
    let received = Capture::parse(&received).map_err(|error| refuse(other, error))?;
    let text = if arguments.delay {
        let delays = sent.delay_trace(&received, every);
        delays.map(|delays| delay_text(&delays, every))
    } else {
        sent.loss_trace(&received).map(|losses| loss_text(&losses))
    };
    text.map_err(|error| refuse(file, error))
}

fn delay_text(trace: &DelayTrace, every: Duration) -> String {
    let step = duration::display(every);
    let count = trace.delays().len();
    let mut text = format!("# {count} delays in ms, one for each {step}.\n");
    for delay in trace.delays() {
        // Microseconds are what a capture has at least.
        let micros = delay.as_micros();
        text.push_str(&format!("{}.{:03}\n", micros / 1_000, micros % 1_000));
    }
    text
}

fn loss_text(trace: &LossTrace) -> String {
    let lost = trace.lost();
    let count = lost.iter().filter(|lost| **lost).count();
    let mut text = format!("# {count} of {} packets lost.\n", lost.len());
    for line in lost.chunks(100) {
        text.extend(line.iter().map(|lost| if *lost { '1' } else { '0' }));
        text.push('\n');
    }
    text
}

fn by_ending(file: &Path) -> From {
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("csv") => From::Csv,
        Some("pcap") => From::Pcap,
        _ => From::Mahimahi,
    }
}

fn time(arguments: &Arguments, usual: Duration) -> Result<Duration, Failure> {
    let Some(text) = &arguments.every else {
        return Ok(usual);
    };
    let time = duration::parse(text).map_err(|error| Failure::usage(format!("--every {error}")))?;
    if time.is_zero() {
        let problem = format!("--every `{text}`: expected a time of 1ns or more, such as 5ms");
        return Err(Failure::usage(problem));
    }
    Ok(time)
}

fn unit(text: &str) -> Result<Bandwidth, Failure> {
    text.parse()
        .map_err(|error| Failure::usage(format!("--unit {error}")))
}

fn read_text(file: &Path) -> Result<String, String> {
    let bytes = read(file)?;
    String::from_utf8(bytes).map_err(|_| "not text in UTF-8".to_owned())
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    let metadata = fs::metadata(file).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("not a regular file".to_owned());
    }
    if metadata.len() > MAX_FILE {
        return Err(format!("file too long: at most {MAX_FILE} bytes allowed"));
    }
    let mut bytes = Vec::new();
    let file = File::open(file).map_err(|error| error.to_string())?;
    let read = file.take(MAX_FILE).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// It is held in memory; a longer capture needs tcpdump's `-s 128`.
const MAX_FILE: u64 = 1 << 30;
