//! The command line of the relay.

use crate::changes::{LinkFiles, read_file};
use crate::failure::Failure;
use crate::report;
use clap::Args;
use core::time::Duration;
use link_sim::LinkSpec;
use link_sim::program::whole;
use link_sim::relay::{CaptureConfig, RelayConfig};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Address and port that clients send to
    #[arg(long, value_name = "ADDR", required_unless_present_any = PRINTS)]
    listen: Option<String>,
    /// Host and port of the server
    #[arg(long, value_name = "ADDR", required_unless_present_any = PRINTS)]
    to: Option<String>,
    /// Link from the clients to the server
    #[arg(long)]
    link: Option<String>,
    /// Link from the server to the clients [default: none]
    #[arg(
        long,
        value_name = "LINK",
        default_value = "",
        hide_default_value = true
    )]
    return_link: String,
    /// File with the LINK to the server; SIGHUP rereads it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["link", "words"])]
    link_file: Option<PathBuf>,
    /// File with the return LINK; SIGHUP rereads it
    #[arg(long, value_name = "FILE", conflicts_with = "return_link")]
    return_link_file: Option<PathBuf>,
    /// Random seed of losses and delays [default: random; printed]
    #[arg(long, value_parser = whole::<u64>(0..=u64::MAX))]
    seed: Option<u64>,
    /// Maximum clients at a time; each needs a file descriptor and up to 8 MiB of kernel memory
    #[arg(long, value_name = "N", default_value_t = RelayConfig::MAX_CLIENTS as u32,
          value_parser = whole::<u32>(1..=MAX_CLIENTS))]
    max_clients: u32,
    /// Capture packets to PREFIX-client.pcap and PREFIX-server.pcap
    #[arg(long, value_name = "PREFIX")]
    pcap: Option<PathBuf>,
    /// Bytes to capture of each packet [default: all]
    #[arg(long, value_name = "BYTES", requires = "pcap",
          value_parser = whole::<u32>(28..=u64::from(CaptureConfig::WHOLE)))]
    snaplen: Option<u32>,
    /// Print statistics every SECONDS seconds
    #[arg(short, value_name = "SECONDS")]
    interval: Option<String>,
    /// Print the tc commands for these links and exit
    #[arg(long, conflicts_with_all = ["listen", "to"])]
    pub(super) print_tc: bool,
    /// Print the RTT and loss that 20 pings over these links should see and exit
    #[arg(long, conflicts_with_all = ["listen", "to", "print_tc"])]
    pub(super) print_ping: bool,
    /// Print the named links and exit
    #[arg(long, exclusive = true)]
    pub(super) list_presets: bool,
    /// Print the grammar of a LINK and exit
    #[arg(long, exclusive = true)]
    pub(super) list_words: bool,
    /// Same as --link, quoted or as separate words
    #[arg(value_name = "LINK", conflicts_with = "link")]
    words: Vec<String>,
}

impl Arguments {
    /// The link to the server and the one back.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub(super) fn links(&self) -> Result<(LinkSpec, LinkSpec), Failure> {
        let words = self.words.join(" ");
        let link = match (&self.link_file, &self.link) {
            (Some(file), _) => link_of_file("--link-file", file),
            (None, Some(link)) => parse_link("--link", link),
            (None, None) => parse_link("LINK", &words),
        }?;
        let return_link = match &self.return_link_file {
            Some(file) => link_of_file("--return-link-file", file),
            None => parse_link("--return-link", &self.return_link),
        }?;
        link.base_rtt(&return_link).map_err(Failure::usage)?;
        Ok((link, return_link))
    }

    /// # Errors
    /// What is wrong with an address or a link.
    pub(super) fn config(&self) -> Result<RelayConfig, Failure> {
        let (link, return_link) = self.links()?;
        let listen = resolve("--listen", self.listen.as_deref())?;
        let to = resolve("--to", self.to.as_deref())?;
        check_server(listen, to)?;
        Ok(RelayConfig {
            listen,
            to,
            link,
            return_link,
            seed: self.seed.unwrap_or_else(report::random_seed),
            max_clients: self.max_clients as usize,
            capture: self.capture(),
        })
    }

    pub(super) fn files(&self) -> LinkFiles {
        LinkFiles {
            link: self.link_file.clone(),
            return_link: self.return_link_file.clone(),
        }
    }

    /// # Errors
    /// When it is no number of seconds, or an unreasonable one.
    pub(super) fn interval(&self) -> Result<Option<Duration>, Failure> {
        self.interval.as_deref().map(parse_interval).transpose()
    }

    fn capture(&self) -> Option<CaptureConfig> {
        let capture = CaptureConfig::with_prefix(self.pcap.as_deref()?);
        Some(CaptureConfig {
            snap_length: self.snaplen.unwrap_or(capture.snap_length),
            ..capture
        })
    }
}

fn resolve(option: &str, address: Option<&str>) -> Result<SocketAddr, Failure> {
    let address = address.expect("clap asks for it");
    let mut found = address
        .to_socket_addrs()
        .map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => Failure::usage(format!(
                "{option} `{address}`: expected host:port, such as 127.0.0.1:4433"
            )),
            _ => Failure::run(format!("{option} `{address}`: {error}")),
        })?;
    found
        .next()
        .ok_or_else(|| Failure::run(format!("{option} `{address}`: host has no address")))
}

/// Refuses a server that nothing reaches, and the relay itself: each datagram would come back as
/// that of another client, until there are no more clients to be had.
fn check_server(listen: SocketAddr, to: SocketAddr) -> Result<(), Failure> {
    let is_here = to.ip().is_loopback() || to.ip().is_unspecified();
    let is_itself = to == listen || (listen.ip().is_unspecified() && is_here);
    let problem = match to.port() {
        0 => "port 0; use the server's port",
        port if port == listen.port() && is_itself => {
            "this is the relay's own address; use the \
             server's"
        }
        _ => return Ok(()),
    };
    Err(Failure::usage(format!("--to `{to}`: {problem}")))
}

/// A link that `option` gives.
pub(super) fn parse_link(option: &str, link: &str) -> Result<LinkSpec, Failure> {
    link.parse()
        .map_err(|error| Failure::usage(format!("{option}: {error}")))
}

fn link_of_file(option: &str, file: &Path) -> Result<LinkSpec, Failure> {
    read_file(file)
        .map_err(|error| Failure::usage(format!("{option} `{}`: {error}", file.display())))
}

/// What `-i` says.
pub(super) fn parse_interval(text: &str) -> Result<Duration, Failure> {
    let seconds = text.parse().ok();
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|interval| (MIN_INTERVAL..=MAX_INTERVAL).contains(interval))
        .ok_or_else(|| Failure::usage(format!("-i `{text}`: expected 0.1 to 3600 seconds")))
}

/// What needs no addresses, as nothing is relayed.
const PRINTS: [&str; 4] = ["print_tc", "print_ping", "list_presets", "list_words"];
/// Each has a port of its own towards the server, and there are 65,535.
const MAX_CLIENTS: u64 = 60_000;
const MIN_INTERVAL: Duration = Duration::from_millis(100);
const MAX_INTERVAL: Duration = Duration::from_secs(3_600);
