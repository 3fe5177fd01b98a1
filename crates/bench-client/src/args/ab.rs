use super::shared::{PathArgs, RemoteArgs, TransferArgs};
use super::values::{self, HostPort, NamedServer};
use crate::ab::MAX_FLOWS;
use crate::baseline::Rule;
use bench_kit::cli::DEFAULT_CONTROLLER;
use bench_kit::cli::values::{seconds, seconds_or_none, size_up_to, whole};
use clap::{ArgGroup, Args, ValueHint};
use link_sim::LinkSpec;
use std::path::PathBuf;
use std::time::Duration;
use units::{Bandwidth, Bytes, Gain};

/// `bench-client ab`: two controllers or more, round by round, over one emulated link or network.
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("elsewhere").args(["server", "perf"]))]
#[command(group = ArgGroup::new("reference").args(["baseline", "perf"]).multiple(true))]
pub(crate) struct AbArgs {
    /// What was typed, without options for output.
    #[arg(skip)]
    pub(crate) command: Option<String>,
    /// Server to test against over a real network [default: server and emulated link in this
    /// process]
    #[arg(value_name = "HOST[:PORT]", value_hint = ValueHint::Hostname)]
    #[arg(conflicts_with_all = ["link", "return_link", "is_virtual"])]
    pub(crate) server: Option<HostPort>,
    /// Controller a, the reference: NAME[:key=value,...]
    #[arg(long, value_name = "CC", default_value = DEFAULT_CONTROLLER)]
    #[arg(help_heading = "Comparison")]
    pub(crate) a: String,
    /// Controller b, compared with a
    #[arg(long, value_name = "CC", default_value = DEFAULT_CHALLENGER)]
    #[arg(help_heading = "Comparison")]
    pub(crate) b: String,
    /// Another controller to compare with a; up to six times
    #[arg(long, value_name = "CC", help_heading = "Comparison")]
    pub(crate) also: Vec<String>,
    /// Compare servers of any stack instead, by downloads (ALPN perf): [NAME=]HOST:PORT, twice to
    /// eight times; the first is the reference
    #[arg(long, value_name = "SERVER", help_heading = "Comparison")]
    #[arg(conflicts_with_all = ["server", "a", "b", "also", "compete", "is_virtual", "duplicate"])]
    #[arg(conflicts_with_all = ["bitrate", "bitrate_of", "port", "relay", "bind", "token"])]
    pub(crate) perf: Vec<NamedServer>,
    /// Run all controllers at once through one bottleneck instead of in turn
    #[arg(long, help_heading = "Comparison")]
    pub(crate) compete: bool,
    /// Connections per controller
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        help_heading = "Comparison"
    )]
    #[arg(value_parser = whole::<u32>(1..=u64::from(MAX_FLOWS)))]
    pub(crate) flows: u32,
    /// Start each controller this much later than the one before
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "compete",
        default_value = "0"
    )]
    #[arg(value_parser = seconds_or_none, help_heading = "Comparison")]
    pub(crate) stagger: Duration,
    /// Add delay to the path of one controller, such as b=30ms
    #[arg(long, value_name = "V=TIME", help_heading = "Comparison")]
    #[arg(value_parser = values::extra_delay)]
    pub(crate) extra_delay: Vec<(usize, Duration)>,
    /// Begin the connections of one controller with what earlier ones learned of the same path
    /// (Careful Resume, RFC 9959); such as b
    #[arg(long, value_name = "V", conflicts_with = "perf")]
    #[arg(value_parser = values::variant, help_heading = "Comparison")]
    pub(crate) resume: Vec<usize>,
    /// Target rate of each stream of one controller, such as b=1M
    #[arg(long, value_name = "V=RATE", help_heading = "Comparison")]
    #[arg(value_parser = values::bitrate_of, conflicts_with = "bytes")]
    pub(crate) bitrate_of: Vec<(usize, Bandwidth)>,
    /// Send each datagram N times, 1 or 2; b=2 for controller b only
    #[arg(long, value_name = "[V=]N", help_heading = "Comparison")]
    #[arg(value_parser = values::duplicate)]
    pub(crate) duplicate: Vec<(Option<usize>, u32)>,
    /// Rounds per controller
    #[arg(
        long,
        value_name = "N",
        default_value_t = 3,
        help_heading = "Comparison"
    )]
    #[arg(value_parser = whole::<u32>(1..=1_000))]
    pub(crate) rounds: u32,
    /// Run until goodput's confidence intervals are this narrow, such as 5%
    #[arg(long, value_name = "PERCENT", value_parser = values::half_width)]
    #[arg(help_heading = "Comparison")]
    pub(crate) until: Option<Gain>,
    /// Maximum rounds per controller with --until, at least --rounds [default: 50]; exit with 3
    /// when the intervals are still wider then
    #[arg(long, value_name = "N")]
    #[arg(value_parser = whole::<u32>(1..=1_000))]
    #[arg(help_heading = "Comparison")]
    pub(crate) max_rounds: Option<u32>,
    /// Use new random losses in each round, not only in each block
    #[arg(long, conflicts_with = "compete", help_heading = "Comparison")]
    pub(crate) independent: bool,
    /// Repeat rounds in which a busy machine made the emulated link late, up to five times each
    #[arg(long, help_heading = "Comparison")]
    #[arg(conflicts_with_all = ["server", "is_virtual"])]
    pub(crate) reject_late: bool,
    /// Also compare with an earlier result, the JSON of another `ab`
    #[arg(long, value_name = "FILE", help_heading = "Comparison")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) baseline: Option<PathBuf>,
    /// Exit with 1 if this holds against the baseline, or with --perf against the first server,
    /// such as "goodput < -5%"
    #[arg(
        long,
        value_name = "RULE",
        requires = "reference",
        help_heading = "Comparison"
    )]
    pub(crate) fail_if: Vec<Rule>,
    /// Seconds measured in each round, or at most with -n [default: 5, or 600 with -n]
    #[arg(short = 't', long, value_name = "SECONDS")]
    #[arg(value_parser = seconds, help_heading = "Comparison")]
    pub(crate) time: Option<Duration>,
    /// Seconds of warm-up before the measurement, not counted [default: 1, or 0 with -n]
    #[arg(short = 'O', long, value_name = "SECONDS", conflicts_with = "bytes")]
    #[arg(value_parser = seconds_or_none, help_heading = "Comparison")]
    pub(crate) omit: Option<Duration>,
    /// End each round after this much payload, over all connections of a controller
    #[arg(short = 'n', long, value_name = "SIZE", conflicts_with_all = ["compete", "bitrate"])]
    #[arg(value_parser = size_up_to::<1, { u64::MAX }>, help_heading = "Comparison")]
    pub(crate) bytes: Option<Bytes>,
    /// Send unreliable QUIC datagrams (RFC 9221) with the frames of --source
    #[arg(short = 'u', long, requires = "source", help_heading = "Comparison")]
    #[arg(conflicts_with_all = ["perf", "bitrate_of"])]
    pub(crate) udp: bool,
    /// Run in virtual time: faster, and the same result on every machine
    #[arg(long = "virtual", help_heading = "Comparison")]
    #[arg(conflicts_with = "cipher")]
    pub(crate) is_virtual: bool,
    /// Emulated link in the direction of the data; `list all` shows its grammar
    #[arg(long, value_name = "LINK", default_value = DEFAULT_LINK)]
    #[arg(help_heading = "Emulated link")]
    pub(crate) link: LinkSpec,
    /// Emulated link in the other direction [default: none]
    #[arg(long, value_name = "LINK", help_heading = "Emulated link")]
    pub(crate) return_link: Option<LinkSpec>,
    /// Random seed of the order, the links and the confidence intervals
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        help_heading = "Emulated link"
    )]
    #[arg(value_parser = whole::<u64>(0..=u64::MAX))]
    pub(crate) seed: u64,
    /// How much to send, and how.
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
    /// How packets travel.
    #[command(flatten)]
    pub(crate) path: PathArgs,
    /// Where the server is, and how it is trusted.
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    /// Title of the report
    #[arg(short = 'T', long, value_name = "TEXT", help_heading = "Output")]
    pub(crate) title: Option<String>,
    /// Note below the title of the report
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    pub(crate) note: Option<String>,
    /// Write the report to this file [default: ab-report.html, or with the time in its name where
    /// that is there]
    #[arg(long, value_name = "FILE")]
    #[arg(help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
    /// Write no report
    #[arg(long, conflicts_with = "report", help_heading = "Output")]
    pub(crate) no_report: bool,
    /// Write every plot as an SVG file into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) svg: Option<PathBuf>,
    /// Write a qlog of both ends of each connection into this directory, for qvis
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) qlog: Option<PathBuf>,
    /// Print the result as JSON instead of the table
    #[arg(short = 'J', help_heading = "Output")]
    pub(crate) print_json: bool,
    /// Write the result as JSON to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
    /// Write the time series of every round as CSV to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) csv: Option<PathBuf>,
    /// Write one CSV row per round to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) rounds_csv: Option<PathBuf>,
}

/// Random loss, of which the default link has plenty, does not slow it down.
const DEFAULT_CHALLENGER: &str = "paceline";

/// A long-haul path with random loss: an RTT of 40 ms, as the return link adds nothing.
const DEFAULT_LINK: &str = "delay 40ms loss 1% rate 100mbit queue 1bdp";
