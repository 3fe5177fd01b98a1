use super::shared::{PathArgs, TransferArgs};
use super::values::{self, HostPort};
use crate::ab::MAX_COPIES;
use bench_kit::cli::values::{core, patience, seconds, seconds_or_none, size_up_to, whole};
use bench_kit::cli::{DEFAULT_CONTROLLER, DEFAULT_PORT};
use bench_kit::plan::MAX_CONNECTIONS;
use bench_report::result::RunResult;
use bench_report::text::Unit;
use clap::{Args, ValueHint};
use link_sim::LinkSpec;
use paceline::{Dscp, KernelPacing};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use units::Bytes;

/// The keys of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum JsonFormat {
    Paceline,
    Iperf3,
}

impl JsonFormat {
    /// The JSON text of `result`.
    pub(crate) fn text(self, result: &RunResult) -> String {
        match self {
            Self::Paceline => result.to_json(),
            Self::Iperf3 => result.to_iperf3_json(),
        }
    }
}

/// `bench-client run`: one measurement against a bench-server.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// What was typed, without options for output.
    #[arg(skip)]
    pub(crate) command: Option<String>,
    /// Server to measure against; its port overrides -p
    #[arg(value_name = "HOST[:PORT]", value_hint = ValueHint::Hostname)]
    pub(crate) server: HostPort,
    /// UDP port of the server
    #[arg(short = 'p', long, default_value_t = DEFAULT_PORT)]
    #[arg(value_parser = whole::<u16>(1..=65_535))]
    pub(crate) port: u16,
    /// Seconds to send for [default: 10]
    #[arg(short = 't', long, value_name = "SECONDS", value_parser = seconds)]
    #[arg(help_heading = "Transfer")]
    pub(crate) time: Option<Duration>,
    /// Bytes to send, over all streams, instead of a time
    #[arg(short = 'n', long, value_name = "SIZE", conflicts_with = "time")]
    #[arg(value_parser = size_up_to::<1, { u64::MAX }>, help_heading = "Transfer")]
    pub(crate) bytes: Option<Bytes>,
    /// Blocks of -l bytes to send, over all streams, instead of a time; with -u, datagrams (1150
    /// bytes without -l)
    #[arg(short = 'k', long, value_name = "N", conflicts_with_all = ["time", "bytes", "source"])]
    #[arg(value_parser = whole::<u64>(1..=u64::MAX), help_heading = "Transfer")]
    pub(crate) blockcount: Option<u64>,
    /// Seconds at the start that are not counted
    #[arg(short = 'O', long, value_name = "SECONDS", default_value = "0")]
    #[arg(conflicts_with_all = ["bytes", "blockcount"], help_heading = "Transfer")]
    #[arg(value_parser = seconds_or_none)]
    pub(crate) omit: Duration,
    /// Both sides send at once
    #[arg(long, conflicts_with = "reverse", help_heading = "Transfer")]
    pub(crate) bidir: bool,
    /// Send this file, with -t for that long at most; with -R, receive into it, as FILE.part until
    /// it is complete: all of -n, or what comes within -t
    #[arg(short = 'F', long, value_name = "FILE", help_heading = "Transfer")]
    #[arg(value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["omit", "bidir", "connections", "parallel"])]
    pub(crate) file: Option<PathBuf>,
    /// With -R -F, go on after what FILE.part has; -n is the size of the whole file
    #[arg(long = "continue", requires_all = ["file", "reverse"], help_heading = "Transfer")]
    #[arg(conflicts_with = "time")]
    pub(crate) continues: bool,
    /// Send zeros instead of random data, to detect compression on the path
    #[arg(short = 'Z', long, conflicts_with = "file", help_heading = "Transfer")]
    pub(crate) zero_payload: bool,
    /// Send unreliable QUIC datagrams (RFC 9221), at 1M per stream without -b
    #[arg(short = 'u', long, conflicts_with = "file", help_heading = "Transfer")]
    pub(crate) udp: bool,
    /// Measure request latency, one request per INTERVAL [default: 100ms]: on an idle connection
    /// or, with -R, --bidir, -P, --connections, -b, -n, -k or -u, beside that load
    #[arg(long, value_name = "INTERVAL", help_heading = "Transfer", num_args = 0..=1)]
    #[arg(require_equals = true, default_missing_value = "0.1")]
    #[arg(value_parser = values::request_interval)]
    #[arg(conflicts_with = "file")]
    pub(crate) ping: Option<Duration>,
    /// Measure latency of requests and new connections under load: responsiveness in round trips
    /// per minute [default INTERVAL: 100ms]
    #[arg(long, value_name = "INTERVAL", help_heading = "Transfer", num_args = 0..=1)]
    #[arg(
        require_equals = true,
        default_missing_value = "0.1",
        conflicts_with = "ping"
    )]
    #[arg(value_parser = values::request_interval)]
    pub(crate) rpm: Option<Duration>,
    /// Wait for a turn, this long at most, where the server is busy (bench-server --max-runs)
    #[arg(long, value_name = "TIME", value_parser = patience, help_heading = "Transfer")]
    #[arg(conflicts_with = "perf")]
    pub(crate) wait: Option<Duration>,
    /// Connections, each with -P streams and its own UDP port
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Transfer")]
    #[arg(value_parser = whole::<u32>(1..=u64::from(MAX_CONNECTIONS)))]
    pub(crate) connections: u32,
    /// Measure against any QUIC server with ALPN perf, without results of the server's side
    #[arg(long, conflicts_with_all = ["peer_cc", "token", "ping", "rpm", "udp", "file"])]
    #[arg(conflicts_with_all = ["zero_payload", "get_server_output"], help_heading = "Transfer")]
    pub(crate) perf: bool,
    /// How much to send, and how.
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
    /// Controller of the sending side: NAME[:key=value,...]
    #[arg(short = 'C', long = "cc", alias = "congestion", value_name = "CC")]
    #[arg(default_value = DEFAULT_CONTROLLER, help_heading = "Congestion control")]
    pub(crate) congestion: String,
    /// Controller of the server only [default: that of -C]
    #[arg(long, value_name = "CC", help_heading = "Congestion control")]
    pub(crate) peer_cc: Option<String>,
    /// How packets travel.
    #[command(flatten)]
    pub(crate) path: PathArgs,
    /// Local address to send from
    #[arg(short = 'B', long, value_name = "ADDR", help_heading = "Path")]
    #[arg(conflicts_with_all = ["link", "return_link"])]
    pub(crate) bind: Option<IpAddr>,
    /// Local UDP port to send from; with --connections, the first of as many
    #[arg(long, value_name = "PORT", help_heading = "Path")]
    #[arg(value_parser = whole::<u16>(1..=65_535))]
    pub(crate) cport: Option<u16>,
    /// Traffic class (type of service) of both sides' packets, such as 0xb8: the DSCP times four,
    /// since the lower two bits are ECN's
    #[arg(short = 'S', long, value_name = "N", value_parser = values::traffic_class)]
    #[arg(conflicts_with_all = ["link", "return_link", "perf"], help_heading = "Path")]
    pub(crate) tos: Option<Dscp>,
    /// The same as a DSCP: 0 to 63, or a name such as ef, af41, cs1, le
    #[arg(long, value_name = "DSCP", help_heading = "Path")]
    #[arg(conflicts_with_all = ["tos", "link", "return_link", "perf"])]
    pub(crate) dscp: Option<Dscp>,
    /// Run on this core, 0 on; bench-server has the option as well
    #[arg(short = 'A', long, value_name = "CORE", value_parser = core, help_heading = "Path")]
    pub(crate) affinity: Option<u16>,
    /// Who waits until the client's packets may leave: this program (off), or where it can (auto)
    /// or always (on) the kernel, which needs tc's qdisc fq
    #[arg(long, value_name = "MODE", default_value_t = KernelPacing::Off, help_heading = "Path")]
    pub(crate) kernel_pacing: KernelPacing,
    /// Use an IPv4 address of the server
    #[arg(short = '4', long = "version4", help_heading = "Path")]
    pub(crate) version4: bool,
    /// Use an IPv6 address of the server
    #[arg(short = '6', long = "version6", help_heading = "Path")]
    #[arg(conflicts_with = "version4")]
    pub(crate) version6: bool,
    /// Verify the server with the CA certificates in this PEM file
    #[arg(long, value_name = "FILE", help_heading = "Path", value_hint = ValueHint::FilePath)]
    pub(crate) ca: Option<PathBuf>,
    /// Accept only the certificate with this SHA-256 fingerprint
    #[arg(long, value_name = "HEX", help_heading = "Path", conflicts_with = "ca")]
    #[arg(value_parser = values::fingerprint)]
    pub(crate) fingerprint: Option<[u8; 32]>,
    /// Authenticate with the token in this file [default: $PACELINE_TOKEN]
    #[arg(long, value_name = "FILE", help_heading = "Path", value_hint = ValueHint::FilePath)]
    pub(crate) token: Option<PathBuf>,
    /// Send each datagram of the client N times, 1 or 2
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Path")]
    #[arg(value_parser = whole::<u32>(1..=u64::from(MAX_COPIES)))]
    #[arg(conflicts_with_all = ["reverse", "bind"])]
    pub(crate) duplicate: u32,
    /// Emulated link in the direction of the data, such as "delay 40ms loss 1%"
    #[arg(long, value_name = "LINK", help_heading = "Emulated link")]
    pub(crate) link: Option<LinkSpec>,
    /// Emulated link in the other direction [default: none]
    #[arg(long, value_name = "LINK", help_heading = "Emulated link")]
    pub(crate) return_link: Option<LinkSpec>,
    /// Random seed
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        help_heading = "Emulated link"
    )]
    #[arg(value_parser = whole::<u64>(0..=u64::MAX))]
    pub(crate) seed: u64,
    /// Seconds between rows, 0.1 to 60; 0 for no rows
    #[arg(short = 'i', long, value_name = "SECONDS", default_value = "1")]
    #[arg(value_parser = values::interval, help_heading = "Output")]
    pub(crate) interval: Duration,
    /// Unit of rates: k, m, g, t for bits, K, M, G, T for bytes
    #[arg(short = 'f', long, value_name = "UNIT", help_heading = "Output")]
    pub(crate) format: Option<Unit>,
    /// Rows with what ss -ti shows: min RTT, bytes in flight, delivery rate, gains,
    /// application-limited time, CE marks, state; on a terminal of less than 150 columns below it
    #[arg(short = 'V', long, help_heading = "Output")]
    pub(crate) verbose: bool,
    /// Show the run full-screen, with sparklines; q ends it as Ctrl-C does
    #[arg(long, help_heading = "Output")]
    #[arg(conflicts_with_all = ["print_json", "json_stream", "logfile", "ping"])]
    pub(crate) live: bool,
    /// Title, printed before every row
    #[arg(short = 'T', long, value_name = "TEXT", help_heading = "Output")]
    pub(crate) title: Option<String>,
    /// Note below the title of the report
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    pub(crate) note: Option<String>,
    /// Begin every row with the time in UTC
    #[arg(long, help_heading = "Output")]
    pub(crate) timestamps: bool,
    /// Print the result as JSON instead of rows
    #[arg(short = 'J', help_heading = "Output")]
    pub(crate) print_json: bool,
    /// Form of -J and --json: paceline, which has iperf3's keys and more, or iperf3, which has
    /// those alone, for programs that read iperf3's JSON
    #[arg(
        long,
        value_name = "FORM",
        default_value = "paceline",
        help_heading = "Output"
    )]
    #[arg(conflicts_with = "json_stream")]
    pub(crate) json_format: JsonFormat,
    /// Print one JSON object per line during the run
    #[arg(long, conflicts_with = "print_json", help_heading = "Output")]
    pub(crate) json_stream: bool,
    /// Also show the server's output
    #[arg(long, help_heading = "Output")]
    pub(crate) get_server_output: bool,
    /// Append the output to this file instead of printing it
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) logfile: Option<PathBuf>,
    /// iperf3's switch for what is so anyway: every line is written at once.
    #[arg(long, hide = true)]
    forceflush: bool,
    /// Write a qlog of each connection into this directory, for qvis
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) qlog: Option<PathBuf>,
    /// Write a report with plots to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
    /// Write the result as JSON to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}

impl RunArgs {
    /// Whether more is to be sent than requests: what asks for a load beside `--ping`, and all else
    /// without it.
    pub(crate) fn has_load(&self) -> bool {
        let TransferArgs {
            reverse,
            parallel,
            bitrate,
            ..
        } = &self.transfer;
        let has_amount = self.bytes.is_some() || self.blockcount.is_some() || bitrate.is_some();
        let has_many = *parallel > 1 || self.connections > 1;
        self.ping.is_none() || *reverse || self.bidir || self.udp || has_amount || has_many
    }
}
