//! What quinn-proto gets when it asks for the congestion window.
//!
//! quinn-proto 0.11 asks the controller for its window twice before each datagram that counts in
//! flight: once to compare with what is in flight, and, if that passed, once for its own pacer.
//! The gate tells the two apart. To the first it answers the true window, so that quinn-proto,
//! which alone knows exactly what is in flight, enforces it. To the second it answers a window so
//! large that quinn-proto's pacer steps aside. While our pacer has no tokens it answers that
//! nothing may leave. Packets that must not wait, ACKs and loss probes, make quinn-proto ask
//! nothing.

use crate::quinn_proto_habits::{ADMITS_NOTHING, NO_PACING, window_admitting};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use units::Bytes;

/// The gate between congestion control and quinn-proto.
///
/// Only the thread that holds the connection touches it; the atomics are there because
/// quinn-proto asks through a shared reference, and cost no more than plain loads and stores.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// What admits as many bytes in flight as congestion control does.
    window: AtomicU64,
    is_polling: AtomicBool,
    /// What to answer to everything, or [`WINDOW`].
    answer: AtomicU64,
    /// Whether the next question is the pacer's.
    is_pacer_next: AtomicBool,
    /// How many more datagrams surely fit into the window.
    room: AtomicU32,
    /// Whether there was a question since [`Gate::begin_poll`].
    has_asked: AtomicBool,
}

/// Whether ack-eliciting datagrams may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendPermission {
    Closed,
    /// All may, whatever the window: the connection is closing, and the one packet that it still
    /// sends is not congestion controlled. quinn-proto 0.11 would hold it back behind stream data
    /// that never leaves.
    Unlimited,
    /// As many as fit into the window. quinn-proto is sending in one packet number space only, so
    /// that a refusal ends its round of questions.
    Open,
    /// As many as fit into the window; at least `room` do. During the handshake quinn-proto asks
    /// again, for the next packet number space, after a refusal: without `room` that question
    /// could not be told from its pacer's.
    OpenDuringHandshake {
        /// Datagrams.
        room: u32,
    },
}

impl Gate {
    /// Adopts the controller's window.
    ///
    /// One datagram may always be in flight: below that the connection would never send again.
    pub(crate) fn set_window(&self, cwnd: Bytes, mss: Bytes) {
        self.window.store(window_admitting(cwnd.max(mss)), Relaxed);
    }

    /// quinn-proto is about to build one batch of datagrams.
    pub(crate) fn begin_poll(&self, permission: SendPermission) {
        let room = match permission {
            SendPermission::Closed => 0,
            SendPermission::Open | SendPermission::Unlimited => u32::MAX,
            SendPermission::OpenDuringHandshake { room } => room,
        };
        self.room.store(room, Relaxed);
        self.answer.store(
            match permission {
                SendPermission::Closed => ADMITS_NOTHING,
                SendPermission::Unlimited => NO_PACING,
                SendPermission::Open | SendPermission::OpenDuringHandshake { .. } => WINDOW,
            },
            Relaxed,
        );
        self.is_pacer_next.store(false, Relaxed);
        self.has_asked.store(false, Relaxed);
        self.is_polling.store(true, Relaxed);
    }

    /// The batch is built, or there was none to build. Whether quinn-proto asked at all, that is,
    /// had anything to send that counts in flight and is no loss probe.
    pub(crate) fn end_poll(&self) -> bool {
        self.is_polling.store(false, Relaxed);
        self.has_asked.load(Relaxed)
    }

    /// The answer to quinn-proto's question.
    ///
    /// Outside of a poll, the true window: it is asked for statistics.
    pub(crate) fn answer(&self) -> u64 {
        let window = self.window.load(Relaxed);
        if !self.is_polling.load(Relaxed) {
            return window;
        }
        self.has_asked.store(true, Relaxed);
        let answer = self.answer.load(Relaxed);
        if answer != WINDOW {
            return answer;
        }
        if self.is_pacer_next.load(Relaxed) {
            self.is_pacer_next.store(false, Relaxed);
            return NO_PACING;
        }
        let room = self.room.load(Relaxed);
        self.room.store(room.saturating_sub(1), Relaxed);
        self.is_pacer_next.store(room > 0, Relaxed);
        window
    }
}

/// Not an answer: it depends on the question.
const WINDOW: u64 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: u64 = 10_001;

    fn gate() -> Gate {
        let gate = Gate::default();
        gate.set_window(Bytes::new(10_000), Bytes::new(1_200));
        gate
    }

    #[test]
    fn outside_of_a_poll_it_answers_the_window_always() {
        let gate = gate();
        assert_eq!([gate.answer(), gate.answer(), gate.answer()], [WHOLE; 3]);
    }

    #[test]
    fn open_it_answers_window_and_pacer_in_turn() {
        let gate = gate();
        gate.begin_poll(SendPermission::Open);
        for _ in 0..1_000 {
            assert_eq!([gate.answer(), gate.answer()], [WHOLE, NO_PACING]);
        }
        assert!(gate.end_poll());
    }

    #[test]
    fn each_batch_begins_with_the_window_however_the_last_one_ended() {
        let gate = gate();
        gate.begin_poll(SendPermission::Open);
        gate.answer();
        gate.end_poll();
        gate.answer();
        gate.begin_poll(SendPermission::Open);
        assert_eq!(gate.answer(), WHOLE);
    }

    #[test]
    fn closed_it_lets_nothing_through() {
        let gate = gate();
        gate.begin_poll(SendPermission::Closed);
        assert_eq!([gate.answer(), gate.answer()], [ADMITS_NOTHING; 2]);
    }

    #[test]
    fn closing_everything_passes() {
        let gate = gate();
        gate.begin_poll(SendPermission::Unlimited);
        assert_eq!([gate.answer(), gate.answer()], [NO_PACING; 2]);
    }

    #[test]
    fn during_the_handshake_a_refusal_is_not_followed_by_an_open_door() {
        let gate = gate();
        gate.begin_poll(SendPermission::OpenDuringHandshake { room: 1 });
        assert_eq!([gate.answer(), gate.answer()], [WHOLE, NO_PACING]);
        // The window is full; Initial, Handshake and 1-RTT space each ask.
        assert_eq!([gate.answer(), gate.answer(), gate.answer()], [WHOLE; 3]);
    }

    #[test]
    fn a_window_below_one_packet_still_admits_one() {
        let gate = Gate::default();
        gate.set_window(Bytes::new(100), Bytes::new(1_452));
        // quinn-proto sends while in flight + packet < window.
        assert!(1_452 < gate.answer());
    }

    #[test]
    fn a_poll_without_a_question_is_told_from_one_with() {
        let gate = gate();
        gate.begin_poll(SendPermission::Closed);
        assert!(!gate.end_poll());
        gate.begin_poll(SendPermission::Closed);
        gate.answer();
        assert!(gate.end_poll());
    }
}
