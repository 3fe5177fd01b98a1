//! How a connection behaves.

use super::{MtuDiscoveryConfig, defaults, ranges};
use crate::cc_adapter::{CongestionFactory, LossThresholds};
use crate::choice::ChooseController;
use crate::driver::{
    DatagramLimits, DriverConfig, KernelOptions, PROTO_DATAGRAM_BUFFER, ResumeConfig, UNASKED,
    WindowConfig,
};
use crate::dscp::Dscp;
use crate::kernel_pacing::KernelPacing;
use crate::lock::Lock;
use crate::path_memory::PathMemory;
#[cfg(feature = "qlog")]
use crate::qlog::QlogStream;
use crate::random;
use cc_core::{ControllerChoice, Registry};
use quinn_proto::{AckFrequencyConfig, IdleTimeout, VarInt};
use std::sync::Arc;
use std::time::Duration;
use units::{Bandwidth, Bytes};

/// How a connection behaves: limits, windows, timeouts and the congestion controller.
///
/// The setters are those of quinn's `TransportConfig`; the defaults differ in the windows.
///
/// ```
/// use paceline::{TransportConfig, tls};
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// let mut transport = TransportConfig::default();
/// transport
///     .congestion("paceline")?
///     .max_rate(Some("50mbit".parse()?))
///     .keep_alive_interval(Some(Duration::from_secs(10)))
///     .max_idle_timeout(Some(Duration::from_secs(60).try_into()?));
///
/// let mut config = tls::client_without_verification().config()?;
/// config.transport_config(Arc::new(transport));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Values out of range
/// A setter that names a least or a most takes what is beyond for that, if it has a meaning. What
/// has none, such as a `time_threshold` of NaN, ends each connection of the configuration at once
/// with an error that names it, and no endpoint that is to accept with it can be made.
///
/// # Flow control
/// A window caps the rate at window ÷ round-trip time, and bounds the memory that a connection
/// takes: [`receive_window`](Self::receive_window) bytes to be read, and
/// [`send_window`](Self::send_window) bytes to be acknowledged. By default both begin with 1 MiB,
/// 100 Mbit/s at 80 ms, and follow the path. The first one grows to twice what arrives in a round
/// trip while the application reads all there is, the second to twice the congestion window, and
/// both to what waits for packets that were lost besides, each to 128 MiB at most: 1.7 Gbit/s at
/// 300 ms. What is no longer needed is given up again, round trip by round trip. What all
/// connections of an endpoint grow by has a bound, too:
/// [`Endpoint::set_window_budget`](crate::Endpoint::set_window_budget). A window that is set stays
/// as it was set, until [`Connection::set_max_send_window`](crate::Connection::set_max_send_window)
/// or [`Connection::set_max_receive_window`](crate::Connection::set_max_receive_window) is called.
#[derive(Debug, Clone)]
pub struct TransportConfig {
    max_concurrent_bidi_streams: VarInt,
    max_concurrent_uni_streams: VarInt,
    initial_bidi_streams: Option<VarInt>,
    initial_uni_streams: Option<VarInt>,
    max_idle_timeout: Option<IdleTimeout>,
    handshake_timeout: Option<Duration>,
    stream_receive_window: Option<VarInt>,
    windows: WindowConfig,
    send_fairness: bool,
    packet_threshold: u32,
    time_threshold: f32,
    max_time_threshold: f32,
    initial_rtt: Duration,
    initial_mtu: u16,
    min_mtu: u16,
    mtu_discovery_config: Option<MtuDiscoveryConfig>,
    pad_to_mtu: bool,
    ack_frequency_config: Option<AckFrequencyConfig>,
    max_packets_per_ack: Option<u32>,
    persistent_congestion_threshold: u32,
    max_probe_interval: Option<Duration>,
    keep_alive_interval: Option<Duration>,
    crypto_buffer_size: usize,
    allow_spin: bool,
    datagram_receive_buffer_size: Option<usize>,
    datagram_send_buffer_size: usize,
    datagram_send_buffer_count: usize,
    enable_segmentation_offload: bool,
    /// Shared with the connections, which hold it as long as they live.
    congestion: Arc<ControllerChoice>,
    congestion_seed: Option<u64>,
    max_rate: Option<Bandwidth>,
    kernel_pacing: KernelPacing,
    dscp: Dscp,
    /// Until a connection takes it.
    path_memory: Arc<Lock<Option<PathMemory>>>,
    path_memory_lifetime: Duration,
    max_jump: u64,
    #[cfg(feature = "qlog")]
    qlog_stream: Option<QlogStream>,
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        impl TransportConfig {$(
            $(#[$doc])*
            pub fn $name(&mut self, value: $type) -> &mut Self {
                self.$name = value;
                self
            }
        )*}
    };
}

setters! {
    /// Most bidirectional streams that the peer may have open at once. Default 100. It begins with
    /// 16,384 at most, and may have twice as many each time that half of them are open, so that a
    /// high limit, [`VarInt::MAX`] for one, costs no memory before it is used.
    max_concurrent_bidi_streams: VarInt;
    /// Most unidirectional streams that the peer may have open at once, granted as
    /// [`max_concurrent_bidi_streams`](Self::max_concurrent_bidi_streams) are. Default 100.
    max_concurrent_uni_streams: VarInt;
    /// With how many of [`max_concurrent_bidi_streams`](Self::max_concurrent_bidi_streams) the peer
    /// begins, at least 1; when half of these are open at once it may have all, or the first
    /// 16,384. Default `None`: it begins with those. With fewer, an idle connection takes less
    /// memory, about 60 bytes for each stream; a peer that opens more of them at once waits one
    /// round trip, once, for the rest. RFC 9114 §6.1 wants 100 for the requests of HTTP/3.
    initial_bidi_streams: Option<VarInt>;
    /// With how many of [`max_concurrent_uni_streams`](Self::max_concurrent_uni_streams) the peer
    /// begins, as [`initial_bidi_streams`](Self::initial_bidi_streams), and about 30 bytes for
    /// each. Default `None`: it begins with all, 16,384 at most. RFC 9114 §6.2 wants three for
    /// HTTP/3.
    initial_uni_streams: Option<VarInt>;
    /// How long a connection lives without a packet from the peer; the smaller of both sides'
    /// values counts, `None` is no limit, and so is 0 (RFC 9000 §18.2). Default 30 s (RFC 9308
    /// §3.2).
    max_idle_timeout: Option<IdleTimeout>;
    /// How long a handshake may take, from the first packet that this side sends and however much
    /// the peer keeps sending, before the connection is closed; `None` is no limit. It does not end
    /// before what has arrived is read, and time in which the application kept the endpoint's task
    /// from running does not count. Default 10 s, as in s2n-quic (`max_handshake_duration`) and
    /// .NET (`QuicConnectionOptions.HandshakeTimeout`): time for a first packet to be sent four
    /// times (RFC 9002 §6.2).
    handshake_timeout: Option<Duration>;
    /// Whether streams of equal priority take turns instead of going one after another.
    /// Default `true`.
    send_fairness: bool;
    /// Packets that may overtake one before it counts as lost, at least 3 (RFC 9002 §6.1.1), while
    /// no packet has been late. Default 3.
    packet_threshold: u32;
    /// Round trips after which a packet that another one has overtaken counts as lost (RFC 9002
    /// §6.1.2), while no packet has been late: from 0 on, and more than 1,000 are as many.
    /// Default 9/8.
    time_threshold: f32;
    /// Round trips that [`time_threshold`](Self::time_threshold) may become where packets are late,
    /// when no number of packets counts any more (RFC 9002 §6.1.1, RFC 8985 §6.2). No more than
    /// `time_threshold`: both thresholds stay as they are. From 0 on, and more than 4 are as many.
    /// Default 9/4: the fastest packets of a path tell its round-trip time, and the slowest may
    /// well take twice as long.
    max_time_threshold: f32;
    /// Round-trip time assumed before the first sample, a day at most. Default 333 ms (RFC 9002
    /// §6.2.2).
    initial_rtt: Duration;
    /// UDP payload in bytes to begin with, at least 1,200 and at most 16,383. Default 1,200.
    initial_mtu: u16;
    /// UDP payload in bytes that every path is taken to carry, in the same range. Default 1,200.
    min_mtu: u16;
    /// How larger packets are tried (RFC 8899); `None` keeps
    /// [`initial_mtu`](Self::initial_mtu). Default: up to 1,452 bytes.
    mtu_discovery_config: Option<MtuDiscoveryConfig>;
    /// Whether data packets are padded to the full size against traffic analysis. Default `false`.
    pad_to_mtu: bool;
    /// Asks the peer, once at the begin, to acknowledge as often as this says
    /// (draft-ietf-quic-ack-frequency). Default `None`. What fits a large window stops a small one;
    /// [`max_packets_per_ack`](Self::max_packets_per_ack) follows the path.
    ack_frequency_config: Option<AckFrequencyConfig>;
    /// Most packets that the peer is asked to acknowledge with one ACK, while packets or ACKs queue
    /// on the path and if it knows draft-ietf-quic-ack-frequency. For return paths known to be much
    /// slower than the path to the peer; 10 is good. With 2, as peers do unasked, or less they are
    /// asked for nothing (RFC 9000 §13.2.2). Default `None`: 10, once an eighth of their packets
    /// gets lost, if the controller [wants it](cc_core::Controller::wants_fewer_acks). No effect
    /// beside [`ack_frequency_config`](Self::ack_frequency_config).
    max_packets_per_ack: Option<u32>;
    /// Probe timeouts that make congestion persistent (RFC 9002 §7.6.1). Default 3.
    persistent_congestion_threshold: u32;
    /// Longest time between probes while packets are in flight and nothing is acknowledged, if
    /// that is more than two round trips. Default `None`: each wait is twice the one before, until
    /// the idle timeout, as RFC 9002 §6.2.1 has it; no exception is made there. With it, a path
    /// that heals after minutes of loss is in use again after this time and a round trip. The cost
    /// is 60 s ÷ this time in packets per minute, of 1,452 bytes at most, from each connection into
    /// a path that may be dead or congested: 60 with 1 s, 6 with 10 s.
    max_probe_interval: Option<Duration>;
    /// Silence after which a PING keeps the connection alive; less than both idle timeouts.
    /// Less than 10 ms are 10 ms: with 0 PINGs leave without a pause, 4,000 a second, and no idle
    /// timeout is shorter than three probe timeouts, 78 ms with the usual delay of ACKs (RFC 9000
    /// §10.1). Default `None`.
    keep_alive_interval: Option<Duration>;
    /// Most bytes of handshake data held out of order, at least 4 KiB (RFC 9000 §7.5).
    /// Default 16 KiB.
    crypto_buffer_size: usize;
    /// Whether observers may see the spin bit (RFC 9000 §17.4). Default `true`.
    allow_spin: bool;
    /// Most bytes of received datagrams waiting to be read; `None` refuses datagrams.
    /// Default 1.25 MB.
    datagram_receive_buffer_size: Option<usize>;
    /// Most bytes of datagrams waiting to be sent, 32 for each of them included. What is about to
    /// leave, one batch of packets, counts no more. Default 256 KiB, the largest frame of a video
    /// of 20 Mbit/s: quinn's 1 MiB is 4 s of 2 Mbit/s, all of them stale.
    datagram_send_buffer_size: usize;
    /// Most datagrams waiting to be sent, at least 1. Default 1,024.
    datagram_send_buffer_count: usize;
    /// Whether several packets leave in one system call where the platform can (GSO).
    /// Default `true`.
    enable_segmentation_offload: bool;
    /// Most that a connection sends, all packets counted by their UDP payload; the congestion
    /// controller decides below it. Default `None`: no limit.
    max_rate: Option<Bandwidth>;
    /// Whether the kernel sends paced packets at the times that it is told, by SO_TXTIME and the
    /// queueing discipline `fq`, or this program by a timer, which is late by some 50 µs. Default
    /// [`KernelPacing::Off`]. [`Connection::kernel_pacing`](crate::Connection::kernel_pacing) says
    /// whether it does.
    kernel_pacing: KernelPacing;
    /// The Differentiated Services codepoint of the connection's packets, on Linux and where the
    /// socket is the application's; elsewhere it has no effect. Retry packets, and answers to what
    /// belongs to no connection, have none. [`Connection::set_dscp`](crate::Connection::set_dscp)
    /// changes it. Default [`Dscp::DEFAULT`].
    dscp: Dscp;
    /// How long what was learned of a path is good. Default one hour: RFC 9959 §4.3.1 has minutes
    /// where paths change and hours where they do not.
    path_memory_lifetime: Duration;
    /// max_jump: most bytes in flight in the second round trip of a connection that resumes, half
    /// of what was learned at most (RFC 9959 §3.3). Default: no other bound.
    max_jump: u64;
}

impl TransportConfig {
    /// The congestion controller that each connection gets. Default `cubic`.
    ///
    /// A controller of the application's runs on the endpoint's task under its connection's lock:
    /// it must not wait, and what it calls of a connection, stream or endpoint panics. A panic in
    /// it closes its connection, and that alone, with an error that names the controller.
    ///
    /// # Errors
    /// When a string names no controller.
    pub fn congestion<C: ChooseController>(&mut self, choice: C) -> C::Chosen<&mut Self> {
        choice.choose_controller(|choice| {
            self.congestion = Arc::new(choice);
            self
        })
    }

    /// What is known of the path from an earlier connection to the same peer: the next connection
    /// made with this configuration, or with a clone of it, resumes from it (RFC 9959), and that
    /// one alone (§3.2). `None` takes it back. Default `None`.
    ///
    /// It sends the initial window as always, and in the second round trip half of what the path
    /// carried, if the round-trip time is as it was. It is not used when older than
    /// [`path_memory_lifetime`](Self::path_memory_lifetime), and for a peer in another network.
    ///
    /// ```
    /// use paceline::{Connection, PathMemory, TransportConfig};
    /// use std::error::Error;
    /// use std::path::Path;
    ///
    /// /// At the end of a connection, and at the beginning of the next, in another process.
    /// fn keep(connection: &Connection, file: &Path) -> Result<(), Box<dyn Error>> {
    ///     if let Some(memory) = connection.path_memory() {
    ///         std::fs::write(file, memory.to_bytes())?;
    ///     }
    ///     Ok(())
    /// }
    ///
    /// fn resume(transport: &mut TransportConfig, file: &Path) -> Result<(), Box<dyn Error>> {
    ///     let memory = PathMemory::from_bytes(&std::fs::read(file)?)?;
    ///     transport.path_memory(Some(memory));
    ///     Ok(())
    /// }
    /// ```
    pub fn path_memory(&mut self, memory: Option<PathMemory>) -> &mut Self {
        self.path_memory = Arc::new(Lock::new(memory));
        self
    }

    /// Most bytes that one stream may hold unread. Default: what the connection may, so that it
    /// is for [`receive_window`](Self::receive_window) to say. An application that leaves streams
    /// unread while it waits for others should set it to a part of that.
    pub fn stream_receive_window(&mut self, bytes: VarInt) -> &mut Self {
        self.stream_receive_window = Some(bytes);
        self
    }

    /// Most bytes that all streams of a connection may hold unread. Default: 1 MiB to begin with.
    ///
    /// It does not grow unless [`max_receive_window`](Self::max_receive_window) is set after it.
    pub fn receive_window(&mut self, bytes: VarInt) -> &mut Self {
        self.windows.receive = (bytes.into_inner(), bytes.into_inner());
        self
    }

    /// What [`receive_window`](Self::receive_window) may grow to. Default 128 MiB.
    pub fn max_receive_window(&mut self, bytes: VarInt) -> &mut Self {
        let (size, most) = &mut self.windows.receive;
        *most = bytes.into_inner();
        *size = (*size).min(*most);
        self
    }

    /// Most bytes written but not yet acknowledged, over all streams. Default: 1 MiB to begin
    /// with.
    ///
    /// It does not grow unless [`max_send_window`](Self::max_send_window) is set after it.
    pub fn send_window(&mut self, bytes: u64) -> &mut Self {
        self.windows.send = (bytes, bytes);
        self
    }

    /// What [`send_window`](Self::send_window) may grow to. Default 128 MiB.
    pub fn max_send_window(&mut self, bytes: u64) -> &mut Self {
        let (size, most) = &mut self.windows.send;
        *most = bytes;
        *size = (*size).min(*most);
        self
    }

    /// Where connections write what happens to them (feature `qlog`). Default `None`.
    #[cfg(feature = "qlog")]
    pub fn qlog_stream(&mut self, stream: Option<QlogStream>) -> &mut Self {
        self.qlog_stream = stream;
        self
    }

    /// Fixes the randomness of the controllers. Without it each connection draws a seed from
    /// the operating system.
    pub fn congestion_seed(&mut self, seed: u64) -> &mut Self {
        self.congestion_seed = Some(seed);
        self
    }

    /// # Errors
    /// Which value no connection can work with, and what to do.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.loss_thresholds()?;
        ranges::initial_rtt(self.initial_rtt)?;
        ranges::first_payload("initial_mtu", self.initial_mtu)?;
        ranges::first_payload("min_mtu", self.min_mtu)?;
        Ok(())
    }

    fn loss_thresholds(&self) -> Result<LossThresholds, String> {
        Ok(LossThresholds {
            packets: self.packet_threshold,
            time: ranges::time_threshold(self.time_threshold)?,
            max_time: ranges::max_time_threshold(self.max_time_threshold)?,
            persistent_congestion: self.persistent_congestion_threshold,
        })
    }

    /// What quinn-proto needs for one connection, and what its driver does: end it, after an error.
    pub(crate) fn for_connection(&self) -> (Arc<quinn_proto::TransportConfig>, DriverConfig) {
        let Err(error) = self.check() else {
            return self.for_checked_connection();
        };
        let (config, mut driver) = Self::default().for_checked_connection();
        driver.error = Some(error);
        (config, driver)
    }

    /// Not shared between connections, because a factory belongs to one of them.
    fn for_checked_connection(&self) -> (Arc<quinn_proto::TransportConfig>, DriverConfig) {
        let seed = self.congestion_seed.unwrap_or_else(random::u64);
        let varint = |bytes| VarInt::from_u64(bytes).unwrap_or(VarInt::MAX);
        let (receive_window, most) = self.windows.receive;
        let stream_receive_window = self.stream_receive_window.unwrap_or_else(|| varint(most));
        let loss_thresholds = self.loss_thresholds().expect("the caller has checked it");
        let choice = self.congestion.clone();
        let (factory, congestion) = CongestionFactory::new(choice, seed, loss_thresholds);
        let (packet_threshold, time_threshold) = loss_thresholds.of_quinn();
        let bidi = ranges::streams(self.initial_bidi_streams, self.max_concurrent_bidi_streams);
        let uni = ranges::streams(self.initial_uni_streams, self.max_concurrent_uni_streams);
        let discovery = &self.mtu_discovery_config;
        let mut config = quinn_proto::TransportConfig::default();
        config
            .max_concurrent_bidi_streams(bidi.0)
            .max_concurrent_uni_streams(uni.0)
            .max_idle_timeout(self.max_idle_timeout.filter(ranges::is_idle_timeout))
            .stream_receive_window(stream_receive_window)
            .receive_window(varint(receive_window))
            .send_window(self.windows.send.0)
            .send_fairness(self.send_fairness)
            .packet_threshold(packet_threshold)
            .time_threshold(time_threshold)
            .initial_rtt(self.initial_rtt)
            .initial_mtu(self.initial_mtu)
            .min_mtu(self.min_mtu)
            .mtu_discovery_config(discovery.as_ref().map(MtuDiscoveryConfig::proto))
            .pad_to_mtu(self.pad_to_mtu)
            .ack_frequency_config(self.ack_frequency_config.clone())
            .persistent_congestion_threshold(self.persistent_congestion_threshold)
            .keep_alive_interval(self.keep_alive_interval.map(ranges::keep_alive))
            .crypto_buffer_size(self.crypto_buffer_size.max(ranges::LEAST_CRYPTO_BUFFER))
            .allow_spin(self.allow_spin)
            .datagram_receive_buffer_size(self.datagram_receive_buffer_size)
            .datagram_send_buffer_size(PROTO_DATAGRAM_BUFFER)
            .enable_segmentation_offload(self.enable_segmentation_offload)
            .congestion_controller_factory(factory);
        let driver = DriverConfig {
            congestion,
            max_rate: self.max_rate,
            windows: self.windows,
            handshake_timeout: self.handshake_timeout,
            datagrams: DatagramLimits {
                bytes: self.datagram_send_buffer_size,
                count: self.datagram_send_buffer_count.max(1),
                is_enabled: self.datagram_receive_buffer_size.is_some(),
            },
            budget: Arc::default(),
            kernel: KernelOptions {
                pacing: self.kernel_pacing,
                dscp: self.dscp,
            },
            error: None,
            is_validated: false,
            max_packets_per_ack: match &self.ack_frequency_config {
                Some(_) => Some(UNASKED),
                None => self.max_packets_per_ack,
            },
            max_probe_interval: self.max_probe_interval,
            raised_limits: [bidi.1, uni.1],
            resume: self.resume_config(),
            #[cfg(feature = "qlog")]
            qlog: self.qlog_stream.clone(),
        };
        (Arc::new(config), driver)
    }

    /// Without what an endpoint adds.
    fn resume_config(&self) -> ResumeConfig {
        ResumeConfig {
            memory: self.path_memory.lock().take(),
            store: None,
            server_name: None,
            lifetime: self.path_memory_lifetime,
            max_jump: Bytes::new(self.max_jump),
        }
    }
}

impl Default for TransportConfig {
    fn default() -> Self {
        Self {
            max_concurrent_bidi_streams: VarInt::from_u32(100),
            max_concurrent_uni_streams: VarInt::from_u32(100),
            initial_bidi_streams: None,
            initial_uni_streams: None,
            max_idle_timeout: Some(VarInt::from_u32(30_000).into()),
            handshake_timeout: Some(defaults::HANDSHAKE_TIMEOUT),
            stream_receive_window: None,
            windows: WindowConfig {
                receive: (defaults::FIRST_WINDOW, defaults::MAX_WINDOW),
                send: (defaults::FIRST_WINDOW, defaults::MAX_WINDOW),
            },
            send_fairness: true,
            packet_threshold: 3,
            time_threshold: 9.0 / 8.0,
            max_time_threshold: 9.0 / 4.0,
            initial_rtt: Duration::from_millis(333),
            initial_mtu: 1_200,
            min_mtu: 1_200,
            mtu_discovery_config: Some(MtuDiscoveryConfig::default()),
            pad_to_mtu: false,
            ack_frequency_config: None,
            max_packets_per_ack: None,
            persistent_congestion_threshold: 3,
            max_probe_interval: None,
            keep_alive_interval: None,
            crypto_buffer_size: 16 * 1_024,
            allow_spin: true,
            datagram_receive_buffer_size: Some(1_250_000),
            datagram_send_buffer_size: 256 << 10,
            datagram_send_buffer_count: 1_024,
            enable_segmentation_offload: true,
            congestion: Arc::new(
                Registry::standard()
                    .choose(defaults::DEFAULT_CONTROLLER)
                    .expect("the standard registry has it"),
            ),
            congestion_seed: None,
            max_rate: None,
            kernel_pacing: KernelPacing::Off,
            dscp: Dscp::DEFAULT,
            path_memory: Arc::default(),
            path_memory_lifetime: defaults::LIFETIME,
            max_jump: u64::MAX,
            #[cfg(feature = "qlog")]
            qlog_stream: None,
        }
    }
}
