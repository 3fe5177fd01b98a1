use super::values::{self, HostPort};
use crate::defaults::{DEFAULT_LENGTH, DEFAULT_WINDOW, MAX_MTU, MIN_MTU};
use bench_kit::cli::DEFAULT_PORT;
use bench_kit::cli::values::{
    Window, late, millis, patience, rate, seconds, size_up_to, whole, window,
};
use bench_kit::plan::{DEFAULT_LATE, MAX_LENGTH, MAX_STREAMS, MEDIA_DATAGRAM, Media, Video};
use clap::{Args, ValueHint};
use paceline::tls::Cipher;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use units::{Bandwidth, Bytes};

/// How much to send, and how.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Transfer")]
pub(crate) struct TransferArgs {
    /// Streams per connection and sender
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = whole::<u32>(1..=u64::from(MAX_STREAMS)))]
    pub(crate) parallel: u32,
    /// The server sends, the client receives
    #[arg(short = 'R', long)]
    pub(crate) reverse: bool,
    /// Target rate of each stream in bits per second, such as 20M or 20Mbps [default: unlimited]
    #[arg(short = 'b', long, value_name = "RATE", value_parser = rate)]
    pub(crate) bitrate: Option<Bandwidth>,
    /// Bytes per write or datagram
    #[arg(short = 'l', long, value_name = "SIZE", default_value = DEFAULT_LENGTH)]
    #[arg(value_parser = size_up_to::<1, MAX_LENGTH>)]
    pub(crate) length: Bytes,
    /// With -u, send the frames of a video: video:RATE,FPSfps,key=TIME[,ratio=N]; RATE is `auto` or
    /// a rate
    #[arg(long, value_name = "SOURCE", requires = "udp")]
    #[arg(conflicts_with_all = ["bitrate", "bytes", "parallel"])]
    pub(crate) source: Option<Video>,
    /// With --source, the time after which a frame is late, and its datagrams no longer wait to be
    /// sent [default: 100ms]
    #[arg(long, value_name = "TIME", requires = "source", value_parser = late)]
    pub(crate) late: Option<Duration>,
    /// With --source, also send a stream without limit
    #[arg(long, requires = "source")]
    pub(crate) bulk: bool,
    /// Flow-control window (receive window); `auto` follows the path
    #[arg(short = 'w', long, value_name = "SIZE", default_value = DEFAULT_WINDOW)]
    #[arg(value_parser = window)]
    pub(crate) window: Window,
}

impl TransferArgs {
    /// The video that is to be sent, if one is.
    pub(crate) fn media(&self) -> Option<Media> {
        self.source.map(|video| Media {
            video,
            late: self.late.unwrap_or(DEFAULT_LATE),
            bulk: self.bulk,
        })
    }

    /// How many streams each sender has.
    pub(crate) fn streams(&self) -> u32 {
        self.media().map_or(self.parallel, |media| media.streams())
    }

    /// The size of all datagrams; `None` is as many bytes as the path takes.
    pub(crate) fn datagram_size(&self, length: u64) -> Option<u16> {
        // The usual length is that of writes: no datagram is as large.
        let usual = self.source.map(|_| MEDIA_DATAGRAM);
        u16::try_from(length).ok().or(usual)
    }
}

/// How packets travel.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Path")]
pub(crate) struct PathArgs {
    /// Use this UDP payload size, 1200 to 65507, instead of path MTU discovery
    #[arg(short = 'M', long, value_name = "BYTES")]
    #[arg(value_parser = whole::<u16>(u64::from(MIN_MTU)..=u64::from(MAX_MTU)))]
    pub(crate) mtu: Option<u16>,
    /// Use this cipher: aes128, aes256 or chacha20 [default: negotiated]
    #[arg(long, value_name = "CIPHER")]
    pub(crate) cipher: Option<Cipher>,
    /// Fail if the server does not answer within this time
    #[arg(long, value_name = "MS", default_value = "5s", value_parser = millis)]
    pub(crate) connect_timeout: Duration,
    /// Fail after this time without packets from the server
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = seconds)]
    pub(crate) idle_timeout: Duration,
}

/// A server elsewhere.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct RemoteArgs {
    /// UDP port of the server
    #[arg(short = 'p', long, default_value_t = DEFAULT_PORT, requires = "server")]
    #[arg(value_parser = whole::<u16>(1..=65_535))]
    pub(crate) port: u16,
    /// Send through this link-relay instead of directly
    #[arg(long, value_name = "HOST:PORT", requires = "server")]
    #[arg(value_parser = values::relay)]
    pub(crate) relay: Option<HostPort>,
    /// Local address to send from
    #[arg(short = 'B', long, value_name = "ADDR", requires = "server")]
    pub(crate) bind: Option<IpAddr>,
    /// Verify the server with the CA certificates in this PEM file
    #[arg(long, value_name = "FILE", requires = "elsewhere", value_hint = ValueHint::FilePath)]
    pub(crate) ca: Option<PathBuf>,
    /// Accept only the certificate with this SHA-256 fingerprint
    #[arg(
        long,
        value_name = "HEX",
        requires = "elsewhere",
        conflicts_with = "ca"
    )]
    #[arg(value_parser = values::fingerprint)]
    pub(crate) fingerprint: Option<[u8; 32]>,
    /// Authenticate with the token in this file [default: $PACELINE_TOKEN]
    #[arg(long, value_name = "FILE", requires = "server", value_hint = ValueHint::FilePath)]
    pub(crate) token: Option<PathBuf>,
    /// Wait for a turn before each round, this long at most, where the server is busy (bench-server
    /// --max-runs)
    #[arg(long, value_name = "TIME", value_parser = patience, requires = "server")]
    pub(crate) wait: Option<Duration>,
}
