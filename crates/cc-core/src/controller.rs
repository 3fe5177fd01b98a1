//! The interface of a congestion controller.

use crate::control::{Control, MIN_RATE};
use crate::events::LostPacket;
use crate::observer::{Observer, Snapshot};
use crate::sampler::RateSample;
use core::fmt;
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain, Timestamp};

/// A congestion-control algorithm.
///
/// A [`Flow`](crate::Flow) calls it, in this order for one [`Feedback`](crate::Feedback):
/// [`on_lost`](Self::on_lost) for each lost packet,
/// [`on_persistent_congestion`](Self::on_persistent_congestion) where it was established, then
/// [`on_ack`](Self::on_ack) once if anything was acknowledged. After each call
/// [`control`](Self::control) is the decision in force.
///
/// An implementation reads no clock, draws no randomness but from the seed in its
/// [`Setup`], and does not allocate after construction.
pub trait Controller: fmt::Debug + Send {
    /// `bytes` are about to leave; `path` is as it was before.
    fn on_sent(&mut self, path: &PathState, bytes: Bytes) {
        let _ = (path, bytes);
    }

    /// A packet was declared lost. `path` already counts it.
    fn on_lost(&mut self, path: &PathState, packet: &LostPacket, observer: &mut dyn Observer);

    /// Packets were acknowledged. `path` already counts them, and what was lost with them.
    fn on_ack(&mut self, path: &PathState, sample: &RateSample, observer: &mut dyn Observer);

    /// A packet that was declared lost has arrived after all.
    fn on_spurious_loss(
        &mut self,
        path: &PathState,
        packet: &LostPacket,
        observer: &mut dyn Observer,
    ) {
        let _ = (path, packet, observer);
    }

    /// Losses over a long time without a single delivery (RFC 9002 §7.6).
    fn on_persistent_congestion(&mut self, path: &PathState, observer: &mut dyn Observer) {
        let _ = (path, observer);
    }

    /// The largest packet is now `path.mss`.
    fn on_mtu(&mut self, path: &PathState) {
        let _ = path;
    }

    /// Packets that leave from now on carry ECT(1) where the controller
    /// [wants it](Self::wants_ect1), or no longer do; a controller begins as
    /// [`Setup::sends_ect1`] says. What left before and is reported yet is as it was then.
    fn on_sends_ect1(&mut self, path: &PathState, sends_ect1: bool) {
        let _ = (path, sends_ect1);
    }

    /// Whether it can go on from a window that it has not grown to by itself: whether it is still
    /// looking for the path's capacity by doubling. Where it cannot, a connection does not resume
    /// ([`Flow::resume`](crate::Flow::resume)).
    fn can_resume(&self) -> bool {
        false
    }

    /// Whether it goes slower when ACKs queue on the return path, because it takes them for a queue
    /// of its own packets. Where ACKs get lost, too, a transport that can should then have the
    /// receiver send fewer.
    fn wants_fewer_acks(&self) -> bool {
        false
    }

    /// The share of a jump of Careful Resume whose loss is no congestion to it (RFC 9959 §3.3,
    /// §3.4): that of a flight whose loss does not end its search for the path's capacity either
    /// (appendix C.2). Zero where the loss of one packet ends it.
    fn tolerated_loss(&self) -> Gain {
        Gain::ZERO
    }

    /// Careful Resume (RFC 9959) has tested the path, which carries `window`: what the controller
    /// goes on from. Called where [`can_resume`](Self::can_resume) was true when it began.
    fn resume(&mut self, path: &PathState, window: &ResumedWindow, observer: &mut dyn Observer) {
        let _ = (path, window, observer);
    }

    /// Whether it holds the rate down on purpose, as BBR does in ProbeRTT: samples of what is then
    /// sent do not measure the network, and the [`Flow`](crate::Flow) marks them
    /// application-limited (draft-ietf-ccwg-bbr-06 §5.3.4.3, MarkConnectionAppLimited).
    fn is_self_limited(&self) -> bool {
        false
    }

    /// Whether its packets are to carry ECT(1) where others carry ECT(0): it responds to marks as
    /// RFC 9331 §4.3 asks of those who enter a low-latency queue that way. A transport that obeys
    /// says so in [`Setup::sends_ect1`], and later in
    /// [`Flow::set_sends_ect1`](crate::Flow::set_sends_ect1).
    fn wants_ect1(&self) -> bool {
        false
    }

    /// The decision in force.
    fn control(&self) -> Control;

    /// The state for people to read.
    fn snapshot(&self) -> Snapshot;
}

/// What a controller goes on from after a jump of Careful Resume (RFC 9959).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResumedWindow {
    /// So much is in flight, or was delivered: the window is `cwnd`, or more if it was. Slow start
    /// goes on (RFC 9959 §3.3, §3.4).
    Raised {
        /// The window.
        cwnd: Bytes,
    },
    /// The path did not carry the jump, and has drained: the window is `cwnd`, or less if it was,
    /// and slow start ends at `ssthresh` at the latest (RFC 9959 §3.5).
    Retreated {
        /// Half of PipeSize when the congestion was found.
        cwnd: Bytes,
        /// Half of PipeSize after all that left in the jump was acknowledged or lost.
        ssthresh: Bytes,
    },
}

impl ResumedWindow {
    /// The window in either case.
    pub const fn cwnd(&self) -> Bytes {
        match self {
            Self::Raised { cwnd } | Self::Retreated { cwnd, .. } => *cwnd,
        }
    }

    /// The window in a round trip, which is the rate that the path has shown.
    pub(crate) fn per_round_trip(&self, path: &PathState) -> Bandwidth {
        match path.srtt {
            Some(srtt) if !srtt.is_zero() => {
                Bandwidth::from_transfer(self.cwnd(), srtt).max(MIN_RATE)
            }
            _ => MIN_RATE,
        }
    }
}

/// What is known when a controller is made; [`new`](Self::new) makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setup {
    /// The current time.
    pub now: Timestamp,
    /// Largest packet, UDP payload in bytes: the sender's maximum segment size, SMSS.
    pub mss: Bytes,
    /// Window to begin with: [`initial_window`] on a new connection, the window in force when a
    /// running connection changes its controller, as far as it was used
    /// ([`Flow::change_controller`](crate::Flow::change_controller)).
    pub initial_cwnd: Bytes,
    /// Smoothed round-trip time where one is known already.
    pub srtt: Option<Duration>,
    /// Whether packets will carry ECT(1) if the controller [wants it](Controller::wants_ect1). What
    /// is marked then is marked early and often (RFC 9331 §5.2); a mark on ECT(0) stands for a loss
    /// (RFC 3168 §5).
    pub sends_ect1: bool,
    /// Whether the transport keeps one stamp for several packets, and so cannot tell which of them
    /// was lost: no packet counts as [back to back](PathState::is_back_to_back).
    pub shares_stamps: bool,
    /// Seed of all randomness.
    pub seed: u64,
}

impl Setup {
    /// A new connection of a transport that stamps each packet and does not send ECT(1).
    pub fn new(now: Timestamp, mss: Bytes, seed: u64) -> Self {
        Self {
            now,
            mss,
            initial_cwnd: initial_window(mss),
            srtt: None,
            sends_ect1: false,
            shares_stamps: false,
            seed,
        }
    }
}

/// Ten packets, but not more than 14,720 bytes unless two packets are (RFC 9002 §7.2).
pub fn initial_window(mss: Bytes) -> Bytes {
    (mss * 10).min((mss * 2).max(Bytes::new(14_720)))
}

/// The connection as congestion control sees it.
///
/// Amounts are sums over the connection's life unless said otherwise. A [`Flow`](crate::Flow) makes
/// it, and [`new`](Self::new) for a controller's own tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathState {
    /// The current time.
    pub now: Timestamp,
    /// Largest packet, UDP payload in bytes.
    pub mss: Bytes,
    /// Bytes sent and neither acknowledged nor declared lost.
    pub inflight: Bytes,
    /// `inflight` before the event that is being reported.
    pub prior_inflight: Bytes,
    /// Bytes acknowledged.
    pub delivered: Bytes,
    /// Bytes declared lost.
    pub lost: Bytes,
    /// Whether more could have been in flight but for the application or flow control.
    pub is_app_limited: bool,
    /// Whether there was a time since the last packet at which the window and the pacer let more
    /// leave, and something else did not: the application, flow control, a full socket.
    pub is_blocked: bool,
    /// Whether the window was filled in this round trip or the one before, so that it may grow
    /// (RFC 9002 §7.8).
    pub is_cwnd_limited: bool,
    /// Whether the packet that was sent last left right after the one before it: within an eighth
    /// of the time that it takes at the pacing rate. Never with [`Setup::shares_stamps`].
    pub is_back_to_back: bool,
    /// The newest round-trip time.
    pub latest_rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 9002 §5.3).
    pub srtt: Option<Duration>,
    /// Mean deviation of the round-trip time (RFC 9002 §5.3).
    pub rttvar: Option<Duration>,
    /// The minimum round-trip time ever seen on this path.
    pub min_rtt: Option<Duration>,
}

impl PathState {
    /// A path on which nothing has happened.
    pub const fn new(now: Timestamp, mss: Bytes) -> Self {
        Self {
            now,
            mss,
            inflight: Bytes::ZERO,
            prior_inflight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            is_app_limited: false,
            is_blocked: false,
            is_cwnd_limited: false,
            is_back_to_back: false,
            latest_rtt: None,
            srtt: None,
            rttvar: None,
            min_rtt: None,
        }
    }
}
