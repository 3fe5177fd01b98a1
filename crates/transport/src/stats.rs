//! Statistics of a connection.

#[cfg(feature = "serde")]
mod foreign;

use crate::histogram::RttHistogram;
#[cfg(feature = "serde")]
use foreign::{FrameStatsFields, PathStatsFields, UdpStatsFields};
use std::time::Duration;
#[cfg(feature = "serde")]
use units::encoding::{seconds, seconds_if_known};
use units::{Bandwidth, Bytes};

pub use quinn_proto::{FrameStats, PathStats, UdpStats};

/// A connection's counters and estimates at one moment.
///
/// The counters are quinn-proto's; the rest is congestion control's own.
///
/// With feature `serde` it is `Serialize`, as are all statistics of this crate. A field is written
/// under its name here: rates as bits per second, amounts as bytes, times as seconds with a
/// fraction, and what is not known as nothing (`null` in JSON); [`units`] has the details in its
/// module `encoding`. [`RttHistogram`] is a list of buckets, each a pair of the seconds at which it
/// ends and its count.
#[derive(Debug, Clone, Copy, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ConnectionStats {
    /// UDP datagrams sent.
    #[cfg_attr(feature = "serde", serde(serialize_with = "UdpStatsFields::serialize"))]
    pub udp_tx: UdpStats,
    /// UDP datagrams received.
    #[cfg_attr(feature = "serde", serde(serialize_with = "UdpStatsFields::serialize"))]
    pub udp_rx: UdpStats,
    /// Frames sent, by type.
    #[cfg_attr(
        feature = "serde",
        serde(serialize_with = "FrameStatsFields::serialize")
    )]
    pub frame_tx: FrameStats,
    /// Frames received, by type.
    #[cfg_attr(
        feature = "serde",
        serde(serialize_with = "FrameStatsFields::serialize")
    )]
    pub frame_rx: FrameStats,
    /// The present path: packets sent and lost, MTU. It is quinn-proto's type, whose `cwnd` has
    /// the bytes of [`Self::cwnd`], for what was written for quinn.
    #[cfg_attr(
        feature = "serde",
        serde(serialize_with = "PathStatsFields::serialize")
    )]
    pub path: PathStats,
    /// Least round-trip time on this path, once there is a sample.
    #[cfg_attr(feature = "serde", serde(serialize_with = "seconds_if_known"))]
    pub min_rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 9002 §5.3), once there is a sample.
    #[cfg_attr(feature = "serde", serde(serialize_with = "seconds_if_known"))]
    pub srtt: Option<Duration>,
    /// Newest round-trip time less the peer's reported delay, once there is a sample. On Linux it
    /// ends when the kernel received the ACK, on other systems when this host read it.
    #[cfg_attr(feature = "serde", serde(serialize_with = "seconds_if_known"))]
    pub latest_rtt: Option<Duration>,
    /// Mean deviation of the round-trip time (RFC 9002 §5.3), once there is a sample.
    #[cfg_attr(feature = "serde", serde(serialize_with = "seconds_if_known"))]
    pub rttvar: Option<Duration>,
    /// Bytes sent and neither acknowledged nor declared lost.
    pub in_flight: Bytes,
    /// Congestion window in force: the most bytes that may be in flight. `path.cwnd` is the same.
    pub cwnd: Bytes,
    /// Pacing rate in force; [`Bandwidth::MAX`] means that nothing is paced.
    pub pacing_rate: Bandwidth,
    /// Most bytes that leave in one burst.
    pub send_quantum: Bytes,
    /// Delivery rate by the newest sample that had one.
    pub delivery_rate: Option<Bandwidth>,
    /// Bytes acknowledged on this path, counted as they were in flight: with QUIC's headers and
    /// retransmissions.
    pub delivered: Bytes,
    /// What kept the connection from sending more, since it began.
    pub limited_by: LimitedBy,
    /// Bytes that the peer may send and nobody has read yet.
    pub receive_window: Bytes,
    /// Bytes that may have been written and not yet been acknowledged.
    pub send_window: Bytes,
    /// Round-trip times measured on this path, the peer's reported delay left out.
    pub rtt_histogram: RttHistogram,
    /// Explicit congestion notification (RFC 9000 §13.4).
    pub ecn: EcnStats,
    /// Packets that were declared lost and have arrived after all, within three probe timeouts:
    /// they were late or overtaken, and sent again for nothing.
    pub spurious_losses: u64,
    /// Packets received that were held back until older ones had come: only where some come so late
    /// that quinn-proto would drop them.
    pub held_back: u64,
    /// Packets for one ACK that the peer was asked for last; 2 as long as it was not asked.
    pub packets_per_ack: u32,
    /// Datagrams to be sent (RFC 9221).
    pub datagrams: DatagramStats,
}

/// What became of the datagrams that the application has sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct DatagramStats {
    /// Waiting to be sent at present, without those of a batch that is about to leave.
    pub queued: u64,
    /// The bytes of those: their contents alone, without headers and without what
    /// [`datagram_send_buffer_size`](crate::TransportConfig::datagram_send_buffer_size) counts
    /// beside them. Divided by the rate of sending it is the time until all of them have left.
    pub queued_bytes: Bytes,
    /// Sent in a packet.
    pub sent: u64,
    /// Dropped because they had waited for longer than they lived.
    pub expired: u64,
    /// Dropped for newer ones, because the buffer was full.
    pub displaced: u64,
    /// Dropped because a later [group](crate::DatagramOptions::group) of their track was sent.
    pub superseded: u64,
    /// Dropped because packets had become too small for them.
    pub too_large: u64,
    /// Packets of padding that [`probe_up_to`](crate::Connection::probe_up_to) has sent; they are
    /// in none of the other counts.
    pub padding: u64,
}

/// How many datagrams carried which ECN mark.
///
/// Marks are sent until the path or the peer turns out not to bring them back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct EcnStats {
    /// Sent with ECT(0).
    pub sent_ect0: u64,
    /// Sent with ECT(1).
    pub sent_ect1: u64,
    /// Received with ECT(0).
    pub received_ect0: u64,
    /// Received with ECT(1).
    pub received_ect1: u64,
    /// Received with CE: the path is congested towards us.
    pub received_ce: u64,
    /// ACKs by which the peer has reported more CE marks: the path is congested towards it.
    pub ce_reports: u64,
    /// Packets that the peer has reported as marked CE.
    pub ce_marked: u64,
}

/// What a connection's time went by waiting for. The parts sum to its age.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (client, server) = connected().await?;
/// let before = client.stats().limited_by;
/// client.open_uni().await?.write_all(&[0; 1_000]).await?;
/// let spent = client.stats().limited_by.since(&before);
/// println!("{:?} of {:?} for want of data", spent.application, spent.total());
/// # drop(server);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LimitedBy {
    /// There was nothing to send.
    #[cfg_attr(feature = "serde", serde(serialize_with = "seconds"))]
    pub application: Duration,
    /// The congestion window was full.
    #[cfg_attr(feature = "serde", serde(serialize_with = "seconds"))]
    pub congestion_window: Duration,
    /// The pacer had no tokens.
    #[cfg_attr(feature = "serde", serde(serialize_with = "seconds"))]
    pub pacing: Duration,
    /// The peer's flow control, or the own send buffer, took no more from the application, or had
    /// within the last round trip: pacing then spreads what they let go.
    #[cfg_attr(feature = "serde", serde(serialize_with = "seconds"))]
    pub flow_control: Duration,
    /// This machine: packets were being built, or the socket took no more.
    #[cfg_attr(feature = "serde", serde(serialize_with = "seconds"))]
    pub host: Duration,
}

impl LimitedBy {
    /// What has come to it since `before`, which is of the same connection.
    ///
    /// # Panics
    /// When a part of `before` is more than it is here.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            application: self.application - before.application,
            congestion_window: self.congestion_window - before.congestion_window,
            pacing: self.pacing - before.pacing,
            flow_control: self.flow_control - before.flow_control,
            host: self.host - before.host,
        }
    }

    /// The sum of all parts.
    pub fn total(&self) -> Duration {
        self.application + self.congestion_window + self.pacing + self.flow_control + self.host
    }
}

#[cfg(test)]
#[cfg(feature = "serde")]
mod tests;
