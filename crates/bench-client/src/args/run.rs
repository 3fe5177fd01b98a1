use super::shared::{PathArgs, TransferArgs};
use super::values::{self, HostPort};
use crate::ab::MAX_COPIES;
use bench_kit::cli::values::{seconds, seconds_or_none, size_up_to};
use bench_kit::cli::{DEFAULT_CONTROLLER, DEFAULT_PORT};
use bench_kit::plan::MAX_CONNECTIONS;
use bench_report::text::Unit;
use clap::{Args, ValueHint};
use link_sim::LinkSpec;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use units::Bytes;

/// `bench-client run`: one measurement against a bench-server.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// The server, with its port if it is not that of -p
    #[arg(value_name = "HOST[:PORT]", value_hint = ValueHint::Hostname)]
    pub(crate) server: HostPort,
    /// UDP port of the server
    #[arg(short = 'p', long, default_value_t = DEFAULT_PORT)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// Seconds to send for [default: 10]
    #[arg(short = 't', long, value_name = "SECONDS", value_parser = seconds)]
    #[arg(help_heading = "Transfer")]
    pub(crate) time: Option<Duration>,
    /// Bytes to send instead, over all streams
    #[arg(short = 'n', long, value_name = "SIZE", conflicts_with = "time")]
    #[arg(value_parser = size_up_to::<1, { u64::MAX }>, help_heading = "Transfer")]
    pub(crate) bytes: Option<Bytes>,
    /// Blocks of -l bytes to send instead, over all streams; with -u,
    /// datagrams, of 1150 bytes without -l
    #[arg(short = 'k', long, value_name = "N", conflicts_with_all = ["time", "bytes"])]
    #[arg(value_parser = clap::value_parser!(u64).range(1..), help_heading = "Transfer")]
    pub(crate) blockcount: Option<u64>,
    /// Seconds at the start that the figures leave out
    #[arg(short = 'O', long, value_name = "SECONDS", default_value = "0")]
    #[arg(conflicts_with_all = ["bytes", "blockcount"], help_heading = "Transfer")]
    #[arg(value_parser = seconds_or_none)]
    pub(crate) omit: Duration,
    /// Both sides send at once
    #[arg(long, conflicts_with = "reverse", help_heading = "Transfer")]
    pub(crate) bidir: bool,
    /// Send this file; with -R, write what is received to it
    #[arg(short = 'F', long, value_name = "FILE", help_heading = "Transfer")]
    #[arg(value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["time", "omit", "bidir", "connections", "parallel"])]
    pub(crate) file: Option<PathBuf>,
    /// Send zeros instead of noise: does the path compress?
    #[arg(short = 'Z', long, conflicts_with = "file", help_heading = "Transfer")]
    pub(crate) zero_payload: bool,
    /// Send QUIC datagrams (RFC 9221), which may be lost, at 1M a stream
    /// unless -b says otherwise
    #[arg(short = 'u', long, conflicts_with = "file", help_heading = "Transfer")]
    pub(crate) udp: bool,
    /// Time requests on an idle connection, one per INTERVAL, and send nothing
    /// else [default INTERVAL: 100ms]
    #[arg(long, value_name = "INTERVAL", help_heading = "Transfer", num_args = 0..=1)]
    #[arg(require_equals = true, default_missing_value = "0.1")]
    #[arg(value_parser = values::request_interval)]
    #[arg(conflicts_with_all = ["bytes", "blockcount", "bidir", "file", "udp", "connections"])]
    #[arg(conflicts_with_all = ["reverse", "parallel", "bitrate"])]
    pub(crate) ping: Option<Duration>,
    /// Time requests, and new connections, while the path is under load:
    /// responsiveness in round trips per minute [default INTERVAL: 100ms]
    #[arg(long, value_name = "INTERVAL", help_heading = "Transfer", num_args = 0..=1)]
    #[arg(
        require_equals = true,
        default_missing_value = "0.1",
        conflicts_with = "ping"
    )]
    #[arg(value_parser = values::request_interval)]
    pub(crate) rpm: Option<Duration>,
    /// Connections, each with -P streams and a UDP port of its own
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Transfer")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_CONNECTIONS)))]
    pub(crate) connections: u32,
    /// Measure against a server of any stack that speaks ALPN perf; what it
    /// would know of its own side is missing then
    #[arg(long, conflicts_with_all = ["peer_cc", "token", "ping", "rpm", "udp", "file"])]
    #[arg(conflicts_with_all = ["zero_payload", "get_server_output"], help_heading = "Transfer")]
    pub(crate) perf: bool,
    /// How much to send, and how.
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
    /// Controller of whichever side sends: NAME[:key=value,...]
    #[arg(short = 'C', long = "cc", alias = "congestion", value_name = "CC")]
    #[arg(default_value = DEFAULT_CONTROLLER, help_heading = "Congestion control")]
    pub(crate) congestion: String,
    /// Controller of the server alone [default: that of -C]
    #[arg(long, value_name = "CC", help_heading = "Congestion control")]
    pub(crate) peer_cc: Option<String>,
    /// How packets travel.
    #[command(flatten)]
    pub(crate) path: PathArgs,
    /// Local address to send from
    #[arg(short = 'B', long, value_name = "ADDR", help_heading = "Path")]
    #[arg(conflicts_with_all = ["link", "return_link"])]
    pub(crate) bind: Option<IpAddr>,
    /// Use an IPv4 address of the server
    #[arg(short = '4', long = "version4", help_heading = "Path")]
    pub(crate) version4: bool,
    /// Use an IPv6 address of the server
    #[arg(short = '6', long = "version6", help_heading = "Path")]
    #[arg(conflicts_with = "version4")]
    pub(crate) version6: bool,
    /// Trust servers that this PEM file of certificates vouches for
    #[arg(long, value_name = "FILE", help_heading = "Path", value_hint = ValueHint::FilePath)]
    pub(crate) ca: Option<PathBuf>,
    /// Trust the server whose certificate has this SHA-256 fingerprint
    #[arg(long, value_name = "HEX", help_heading = "Path", conflicts_with = "ca")]
    #[arg(value_parser = values::fingerprint)]
    pub(crate) fingerprint: Option<[u8; 32]>,
    /// Show the server that you know the token in this file [default: that in
    /// $PACELINE_TOKEN, if any]
    #[arg(long, value_name = "FILE", help_heading = "Path", value_hint = ValueHint::FilePath)]
    pub(crate) token: Option<PathBuf>,
    /// Put every datagram of the client on the wire so many times: 1 or 2
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Path")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_COPIES)))]
    #[arg(conflicts_with_all = ["reverse", "bind"])]
    pub(crate) duplicate: u32,
    /// Link of the data's direction, emulated: "delay 40ms loss 1%"
    #[arg(long, value_name = "LINK", help_heading = "Emulated link")]
    pub(crate) link: Option<LinkSpec>,
    /// Link of the other direction [default: none]
    #[arg(long, value_name = "LINK", help_heading = "Emulated link")]
    pub(crate) return_link: Option<LinkSpec>,
    /// Seed of everything random
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        help_heading = "Emulated link"
    )]
    pub(crate) seed: u64,
    /// Seconds between rows, 0.1 to 60; 0 for none
    #[arg(short = 'i', long, value_name = "SECONDS", default_value = "1")]
    #[arg(value_parser = values::interval, help_heading = "Output")]
    pub(crate) interval: Duration,
    /// Unit of rates: k, m, g, t for bits, K, M, G, T for bytes
    #[arg(short = 'f', long, value_name = "UNIT", help_heading = "Output")]
    pub(crate) format: Option<Unit>,
    /// Rows of 150 columns with what ss -ti shows: least RTT, bytes in flight,
    /// delivery rate, gains, time without data, CE marks, state
    #[arg(short = 'V', long, help_heading = "Output")]
    pub(crate) verbose: bool,
    /// Show the run on a full screen, with sparklines
    #[arg(long, help_heading = "Output")]
    #[arg(conflicts_with_all = ["print_json", "json_stream", "logfile", "ping"])]
    pub(crate) live: bool,
    /// Title, put before every row
    #[arg(short = 'T', long, value_name = "TEXT", help_heading = "Output")]
    pub(crate) title: Option<String>,
    /// Print the result as JSON instead of rows
    #[arg(short = 'J', help_heading = "Output")]
    pub(crate) print_json: bool,
    /// Print a JSON object per line while the run goes on
    #[arg(long, conflicts_with = "print_json", help_heading = "Output")]
    pub(crate) json_stream: bool,
    /// Ask the server for its rows as well
    #[arg(long, help_heading = "Output")]
    pub(crate) get_server_output: bool,
    /// Append all of this to a file instead of printing it
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) logfile: Option<PathBuf>,
    /// iperf3's switch for what is so anyway: every line is written at once.
    #[arg(long, hide = true)]
    forceflush: bool,
    /// Write a report with plots to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
    /// Write the result as JSON to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}
