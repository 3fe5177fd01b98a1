//! What holds for every registered controller after each operation, whatever happened before.
//!
//! - **Window.** At least two packets (RFC 9002 §7.2), but one for BBR after persistent congestion
//!   and in recovery (draft-ietf-ccwg-bbr-06 §5.6.4.4; `bbr_set_cwnd`), and what `fixed` is told.
//! - **Rate.** Never zero; finite once there is a round-trip time. Only `pacing=off` is without.
//! - **Burst.** Never nothing.
//! - **Books.** In flight, delivered and lost are what the transport's own sums say.
//! - **Growth.** An ACK to a sender that does not fill its window does not raise it, and no ACK
//!   raises it by more than it acknowledges ([`Growth::ByAck`]). BBR's window follows its model
//!   instead: the estimated bandwidth is never above the fastest delivery that was sampled
//!   ([`Growth::ByModel`]), unless it is a policer's, which `bbr1` measures from ACK to ACK in
//!   intervals of its own (`bbr_lt_bw_interval_done`). `fixed` and `brutal` do as they were told
//!   ([`Growth::AsTold`]).
//! - **Memory.** Neither time nor sending lowers a window or an estimate.
//!
//! While a connection resumes (RFC 9959), its window jumps after Reconnaissance, falls to the
//! flight at that of the Unvalidated Phase, and is paced in that and in a Safe Retreat even under
//! `pacing=off`; everything else holds.

use super::connection::{Connection, FlowState};
use super::op::Op;
use super::subject::Subject;
use cc_core::{Control, Event, Observer, ResumePhase};
use units::{Bandwidth, Bytes};

/// What a window follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Growth {
    /// Acknowledged bytes of a sender that fills it.
    ByAck,
    /// Estimates of bandwidth and round-trip time.
    ByModel,
    /// Its parameters.
    AsTold,
}

impl Growth {
    pub(crate) fn of(name: &str) -> Self {
        match name {
            "fixed" | "brutal" => Self::AsTold,
            "paceline" => Self::ByModel,
            _ if name.starts_with("bbr") => Self::ByModel,
            _ => Self::ByAck,
        }
    }
}

/// The fastest delivery that was sampled.
#[derive(Debug)]
pub(crate) struct Fastest(Bandwidth);

impl Default for Fastest {
    fn default() -> Self {
        Self(Bandwidth::ZERO)
    }
}

impl Observer for Fastest {
    fn on_event(&mut self, event: &Event) {
        if let Event::Sampled { sample, .. } = event {
            self.0 = sample.delivery_rate.unwrap_or(Bandwidth::ZERO).max(self.0);
        }
    }
}

/// # Panics
/// When a promise is broken.
pub(crate) fn check(connection: &Connection<'_>, op: &Op, before: &FlowState, fastest: &Fastest) {
    let after = connection.state();
    let what = || {
        let (subject, state) = (connection.subject, connection.flow.snapshot());
        format!("{op:?} of {subject}\n{before:?}\n{after:?}\n{state}")
    };
    assert!(is_control(connection, after.control), "{}", what());
    assert!(are_books_alike(connection), "the books: {}", what());
    assert!(
        !grows_unused(connection, op, before, &after),
        "growth: {}",
        what()
    );
    assert!(!forgets(op, before, &after), "memory: {}", what());
    let is_policed = connection.subject.has("lt_bw", true);
    let is_sampled = is_policed || after.bandwidth.is_none_or(|rate| rate <= fastest.0);
    assert!(is_sampled, "never sampled, {}: {}", fastest.0, what());
}

fn is_control(connection: &Connection<'_>, control: Control) -> bool {
    let (subject, mut pacer) = (connection.subject, connection.pacer.clone());
    let is_sampled = connection.flow.path_state().srtt.is_some();
    let is_rate = if subject.has("pacing", false) && !is_set(connection) {
        control == Control::unpaced(control.cwnd)
    } else {
        control.pacing_rate < Bandwidth::MAX || !is_sampled
    };
    is_rate
        && !control.pacing_rate.is_zero()
        && !control.send_quantum.is_zero()
        && control.cwnd >= min_window(subject, connection.mss)
        && pacer.budget(connection.now) <= control.send_quantum.max(connection.mss)
        && pacer.next_departure(connection.now) >= connection.now
}

/// Whether the decision is that of Careful Resume.
fn is_set(connection: &Connection<'_>) -> bool {
    let phase = connection.flow.snapshot().resume_phase;
    matches!(
        phase,
        Some(ResumePhase::Unvalidated | ResumePhase::SafeRetreat)
    )
}

fn min_window(subject: &Subject, mss: Bytes) -> Bytes {
    match subject.name() {
        "fixed" => Bytes::new(1),
        name if name.starts_with("bbr") => mss,
        _ => mss * 2,
    }
}

fn are_books_alike(connection: &Connection<'_>) -> bool {
    let (path, books) = (connection.flow.path_state(), connection.books);
    let inflight = path.inflight == books.inflight || connection.is_adrift();
    inflight && path.delivered == books.delivered && path.lost == books.lost
}

fn grows_unused(
    connection: &Connection<'_>,
    op: &Op,
    before: &FlowState,
    after: &FlowState,
) -> bool {
    let subject = connection.subject;
    let is_ack = matches!(op, Op::Feedback { .. });
    let is_resuming = before.resume_phase.is_some();
    if !is_ack || is_resuming || Growth::of(subject.name()) != Growth::ByAck {
        return false;
    }
    let path = connection.flow.path_state();
    let allowed = if path.is_cwnd_limited {
        // Prague's window is the next whole packet.
        after.delivered - before.delivered + path.mss
    } else {
        Bytes::ZERO
    };
    // While Proportional Rate Reduction is at work, what is in flight is part of the window.
    let snapshot = connection.flow.snapshot();
    let reduced = snapshot.ssthresh.unwrap_or(Bytes::ZERO);
    let reached = match subject.has("prr", true) {
        true if snapshot.state == "Recovery" => Bytes::MAX,
        true => before.control.cwnd.max(reduced),
        false => before.control.cwnd,
    };
    after.control.cwnd > reached.saturating_add(allowed)
}

fn forgets(op: &Op, before: &FlowState, after: &FlowState) -> bool {
    let is_told = matches!(
        op,
        Op::Feedback { .. } | Op::ArriveLate(_) | Op::Mtu(_) | Op::ChangeController
    );
    let is_less = after.control.cwnd < before.control.cwnd || after.bandwidth < before.bandwidth;
    let has_jumped = before.resume_phase == Some(ResumePhase::Unvalidated);
    is_less && !is_told && !has_jumped
}
