//! A driver's configuration and its state.

use super::ack_frequency::AckFrequency;
use super::asked_acks::AskedAcks;
use super::close_reason::PendingClose;
use super::datagram::Arrived;
use super::datagram_queue::{DatagramLimits, DatagramQueue};
use super::fair_queue::FairQueue;
use super::inbound::{Held, Inbound};
use super::last_flight::LastFlight;
use super::limits::Limits;
use super::probe_timer::ProbeTimer;
use super::raised_limit::RaisedLimits;
use super::remembered::{Remembered, ResumeConfig};
use super::reorder_buffer::ReorderBuffer;
use super::retired_ids::RetiredIds;
use super::schedule::{KernelOptions, Schedule};
use super::send_window::SendWindow;
#[cfg(feature = "qlog")]
use super::trace::Trace;
use super::windows::{ReceiveWindow, WindowConfig};
use crate::budget::Budget;
use crate::cc_adapter::CongestionHandle;
use crate::path_watch::Watcher;
#[cfg(feature = "qlog")]
use crate::qlog::QlogStream;
use crate::stats::EcnStats;
use crate::tap::Sent;
use cc_core::{Control, Pacer};
use quinn_proto::{Connection, ConnectionError, StreamId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};
use units::{Bandwidth, Bytes, Timestamp};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// One of quinn-proto's timers: loss detection, idle timeout, delayed ACK and the like.
    Protocol,
    /// The pacer will have tokens. Worth a fine timer.
    Pacing,
}

#[derive(Debug)]
pub(crate) struct DriverConfig {
    /// The handle that came with the factory in quinn-proto's configuration.
    pub(crate) congestion: CongestionHandle,
    /// What is wrong with the application's configuration: the connection ends with it.
    pub(crate) error: Option<String>,
    /// Upper bound of the sending rate, whatever the controller decides.
    pub(crate) max_rate: Option<Bandwidth>,
    pub(crate) windows: WindowConfig,
    /// Longest that the handshake may take.
    pub(crate) handshake_timeout: Option<Duration>,
    pub(crate) datagrams: DatagramLimits,
    pub(crate) budget: Arc<Budget>,
    /// Most packets that the peer is asked to acknowledge with one ACK, whether or not it loses
    /// packets.
    pub(crate) max_packets_per_ack: Option<u32>,
    /// Whether the peer has proved its address, or this side is the client, which need not ask.
    pub(crate) is_validated: bool,
    /// Longest time between probes of a path that is silent.
    pub(crate) max_probe_interval: Option<Duration>,
    pub(crate) kernel: KernelOptions,
    /// How many streams the peer may have open, if it begins with fewer.
    pub(crate) raised_limits: RaisedLimits,
    pub(crate) resume: ResumeConfig,
    #[cfg(feature = "qlog")]
    pub(crate) qlog: Option<QlogStream>,
}

/// What has come.
#[derive(Default)]
pub(super) struct Arrivals {
    /// Of datagrams.
    pub(super) bytes: u64,
    /// Whether a datagram has come since the receive window was tuned, and stream data before
    /// that.
    pub(super) is_any: bool,
    pub(super) has_stream_data: bool,
    /// Only where packets come too late for quinn-proto.
    pub(super) reorder_buffer: Option<Box<ReorderBuffer<Arrived>>>,
    /// When the next packet that is held back has waited for long enough.
    pub(super) hand_on_at: Option<Timestamp>,
    /// How many packets were held back.
    pub(super) held_back: u64,
    /// How many datagrams quinn-proto has had since it was last asked for events.
    pub(super) unpolled: u32,
    pub(super) retired_ids: RetiredIds,
    /// What answers the server's part of the handshake if that comes again: only on a client, until
    /// the handshake is confirmed.
    pub(super) last_flight: Option<Box<LastFlight>>,
    /// How many datagrams no key could read since one was read, and when they were last answered.
    pub(super) unreadable: u32,
    pub(super) answered_unreadable: Option<Timestamp>,
}

/// One connection under our congestion control and pacing.
pub(crate) struct ConnectionDriver {
    pub(super) conn: Connection,
    /// Whether the peer has proved its address, or this side is the client.
    pub(super) is_validated: bool,
    pub(super) congestion: CongestionHandle,
    pub(super) pacer: Pacer,
    /// The controller's decision, capped.
    pub(super) control: Control,
    pub(super) max_rate: Option<Bandwidth>,
    pub(super) mss: Bytes,
    /// When the pacer lets packets leave that are waiting for it.
    pub(super) departure: Option<Timestamp>,
    /// What the kernel is to send later.
    pub(super) schedule: Schedule,
    pub(super) receive_window: ReceiveWindow,
    pub(super) send_window: SendWindow,
    pub(super) inbound: BTreeMap<StreamId, Inbound>,
    /// Those of them of which something is taken out of quinn-proto in this turn.
    pub(super) due_inbound: BTreeSet<StreamId>,
    /// What was taken out of quinn-proto and not read, and how many bytes of it its window leaves
    /// out.
    pub(super) held: Held,
    pub(super) withheld: u64,
    /// How long the handshake may take, until it begins.
    pub(super) handshake_timeout: Option<Duration>,
    /// How often its end may still be put off.
    pub(super) excuses_left: u32,
    /// Why the connection is about to be closed, and the event of that until it is polled.
    pub(super) pending_close: Option<PendingClose>,
    pub(super) close_event: Option<ConnectionError>,
    /// When the driver was last called with the time.
    pub(super) now: Instant,
    pub(super) arrivals: Arrivals,
    pub(super) limits: Limits,
    pub(super) ack_frequency: AckFrequency,
    pub(super) asked_acks: AskedAcks,
    /// Limits of streams that have not taken effect yet.
    pub(super) raised_limits: RaisedLimits,
    pub(super) probing: ProbeTimer,
    /// Only where it resumes, or is to be resumed from.
    pub(super) remembered: Option<Box<Remembered>>,
    pub(super) ecn: EcnStats,
    /// When the next packet is overdue.
    pub(super) loss_time: Option<Timestamp>,
    /// ACK frames that quinn-proto has processed.
    pub(super) ack_frames: u64,
    /// What the keys have seen leave last, kept for its memory.
    pub(super) sent: Vec<Sent>,
    /// Datagrams that are to leave.
    pub(super) datagrams: DatagramQueue,
    /// Who is offered estimates of the path, and who is to be woken without the connection's lock.
    pub(super) path_watchers: Vec<Watcher>,
    pub(super) wakers: Vec<Waker>,
    pub(super) blocked_writers: BTreeSet<StreamId>,
    /// Which stream may write where there is less room than streams want.
    pub(super) fair_queue: FairQueue,
    /// Whether all events have been polled since the last call for them.
    pub(super) is_round_over: bool,
    pub(super) has_events: bool,
    /// Whether congestion control knows that nothing was left to send.
    pub(super) is_app_limited: bool,
    /// Whether the controller wants ECT(1) on packets, as far as they can carry it.
    pub(super) wants_ect1: bool,
    /// Whether quinn-proto sends in one packet number space only.
    pub(super) is_confirmed: bool,
    #[cfg(feature = "qlog")]
    pub(super) trace: Option<Trace>,
}
