use bench_kit::plan::{Direction, Limit, Plan};
use bench_report::result::{Finite, iperf};
use paceline::NoKernelPacing;
use std::net::SocketAddr;
use std::time::Duration;

/// How a run began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beginning<'a> {
    /// The client's address and the server's, per connection.
    pub(crate) addresses: &'a [(SocketAddr, SocketAddr)],
    /// Whether the kernel times what the client sends, per connection, or why not; empty where it
    /// is not known.
    pub(crate) kernel_pacing: &'a [Result<(), NoKernelPacing>],
    /// The time since 1970.
    pub(crate) at: Duration,
}

impl Beginning<'_> {
    /// iperf3's `start`.
    pub(crate) fn start(&self, plan: &Plan, about: &About) -> iperf::Start {
        let addresses = self.addresses.iter().zip(0..);
        let connected = addresses.map(|((local, remote), index): (_, u32)| iperf::Connected {
            socket: index.saturating_mul(plan.streams).saturating_add(1),
            local_host: local.ip().to_string(),
            local_port: local.port(),
            remote_host: remote.ip().to_canonical().to_string(),
            remote_port: remote.port(),
        });
        let (duration, bytes) = match plan.limit {
            Limit::Time(time) => (Finite::seconds(time), 0),
            Limit::Bytes(bytes) => (Finite::ZERO, bytes),
        };
        let connections = u32::try_from(self.addresses.len()).unwrap_or(u32::MAX);
        let rate = plan.rate.unwrap_or(0);
        iperf::Start {
            connected: connected.collect(),
            version: bench_kit::VERSION.to_owned(),
            system_info: system_info(),
            timestamp: Some(iperf::StartTime {
                time: bench_report::date::http(self.at.as_secs()),
                timesecs: self.at.as_secs(),
                timemillisecs: u64::try_from(self.at.as_millis()).unwrap_or(u64::MAX),
            }),
            connecting_to: about.connecting_to.clone(),
            target_bitrate: rate,
            test_start: iperf::TestStart {
                protocol: match plan.extras.datagrams {
                    Some(_) => "QUIC datagrams".to_owned(),
                    None => "QUIC".to_owned(),
                },
                num_streams: plan.streams.saturating_mul(connections.max(1)),
                blksize: plan.length,
                omit: Finite::seconds(plan.omit),
                duration,
                bytes,
                blocks: 0,
                reverse: u8::from(plan.direction == Direction::Reverse),
                tos: plan.extras.dscp().traffic_class(),
                target_bitrate: rate,
                bidir: u8::from(plan.direction == Direction::Both),
                interval: Finite::seconds(about.interval),
            },
        }
    }
}

fn system_info() -> String {
    let name = rustix::system::uname();
    [
        name.sysname(),
        name.nodename(),
        name.release(),
        name.version(),
        name.machine(),
    ]
    .map(|part| part.to_string_lossy().into_owned())
    .join(" ")
}

/// What a result says of a run beside its figures.
#[derive(Debug, Clone)]
pub(crate) struct About {
    /// What was typed, without options for output.
    pub(crate) command: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) note: Option<String>,
    pub(crate) seed: u64,
    pub(crate) link: String,
    pub(crate) return_link: String,
    pub(crate) connecting_to: iperf::HostPort,
    pub(crate) interval: Duration,
}
