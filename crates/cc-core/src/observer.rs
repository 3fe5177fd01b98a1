//! What a controller reports for people to read: events as they happen, and its present state.

use crate::control::Control;
use crate::resume_phase::{ResumePhase, ResumePhaseChange};
use crate::sampler::RateSample;
use core::fmt;
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain, Timestamp};

/// Receives [`Event`]s. `()` ignores them.
pub trait Observer {
    /// Something happened.
    fn on_event(&mut self, event: &Event);
}

impl Observer for () {
    fn on_event(&mut self, _event: &Event) {}
}

/// An event inside congestion control, as plain data.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The state machine moved.
    StateChanged {
        /// When.
        at: Timestamp,
        /// The state that was left.
        from: &'static str,
        /// The state that was entered.
        to: &'static str,
    },
    /// An ACK gave a sample.
    Sampled {
        /// When.
        at: Timestamp,
        /// The sample.
        sample: RateSample,
    },
    /// The decision changed.
    ControlChanged {
        /// When.
        at: Timestamp,
        /// The new decision.
        control: Control,
    },
    /// Careful Resume went on to another phase (RFC 9959).
    ResumePhaseChanged(ResumePhaseChange),
}

/// A controller's state at one moment, for logs and live views; never an input to anything.
///
/// `Display` prints one line of `key=value` pairs in the manner of `ss -ti`. A controller begins
/// with [`new`](Self::new) and sets what else it knows. With feature `serde` it is `Serialize`, in
/// the units of `units::encoding`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Snapshot {
    /// Registry name of the algorithm.
    pub algorithm: &'static str,
    /// Name of the state, such as `SlowStart` or `ProbeBW_CRUISE`.
    pub state: &'static str,
    /// The decision in force.
    pub control: Control,
    /// Factor between estimated bandwidth and pacing rate.
    pub pacing_gain: Option<Gain>,
    /// Factor between estimated bandwidth-delay product and window.
    pub cwnd_gain: Option<Gain>,
    /// Estimated bottleneck bandwidth.
    pub bandwidth: Option<Bandwidth>,
    /// Estimated two-way propagation delay.
    #[cfg_attr(
        feature = "serde",
        serde(serialize_with = "units::encoding::seconds_if_known")
    )]
    pub min_rtt: Option<Duration>,
    /// Slow-start threshold.
    pub ssthresh: Option<Bytes>,
    /// Upper bound of bytes in flight learned from loss over a long time.
    pub inflight_longterm: Option<Bytes>,
    /// Upper bound of bytes in flight learned from loss in the last round.
    pub inflight_shortterm: Option<Bytes>,
    /// Average share of packets that come back marked Congestion Experienced.
    pub marked_share: Option<Gain>,
    /// The phase of Careful Resume, while it is used (RFC 9959).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub resume_phase: Option<ResumePhase>,
}

impl Snapshot {
    /// A snapshot with the parts that every controller has, all estimates unknown.
    pub const fn new(algorithm: &'static str, state: &'static str, control: Control) -> Self {
        Self {
            algorithm,
            state,
            control,
            pacing_gain: None,
            cwnd_gain: None,
            bandwidth: None,
            min_rtt: None,
            ssthresh: None,
            inflight_longterm: None,
            inflight_shortterm: None,
            marked_share: None,
            resume_phase: None,
        }
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            algorithm,
            state,
            control,
            ..
        } = self;
        write!(f, "{algorithm} state={state} cwnd={}", control.cwnd)?;
        if control.pacing_rate != Bandwidth::MAX {
            write!(
                f,
                " pacing_rate={} quantum={}",
                control.pacing_rate, control.send_quantum
            )?;
        }
        field(f, "pacing_gain", self.pacing_gain)?;
        field(f, "cwnd_gain", self.cwnd_gain)?;
        field(f, "bw", self.bandwidth)?;
        field(f, "min_rtt", self.min_rtt.map(units::duration::display))?;
        field(f, "ssthresh", self.ssthresh)?;
        field(f, "inflight_longterm", self.inflight_longterm)?;
        field(f, "inflight_shortterm", self.inflight_shortterm)?;
        field(f, "marked", self.marked_share)?;
        field(f, "resume", self.resume_phase)
    }
}

fn field(f: &mut fmt::Formatter<'_>, name: &str, value: Option<impl fmt::Display>) -> fmt::Result {
    value.map_or(Ok(()), |value| write!(f, " {name}={value}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_snapshot_is_one_line_without_unknown_fields() {
        let control = Control {
            cwnd: Bytes::new(12_000),
            pacing_rate: Bandwidth::from_bits_per_sec(1_000_000),
            send_quantum: Bytes::new(2_400),
        };
        let mut snapshot = Snapshot::new("bbr3", "Startup", control);
        snapshot.pacing_gain = Some(Gain::new(277, 100));
        snapshot.min_rtt = Some(Duration::from_micros(40_500));
        assert_eq!(
            snapshot.to_string(),
            "bbr3 state=Startup cwnd=12000b pacing_rate=1mbit quantum=2400b \
             pacing_gain=2.77 min_rtt=40.5ms"
        );
    }
}
