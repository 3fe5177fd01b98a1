//! Paths that stay as they are, on which more can be said than after any history.

use super::connection::Connection;
use super::input::{Input, MAX_OPS};
use super::op::{NONE, Op, Rtt, Which};
use super::promises::{self, Fastest, Growth};
use super::subject::Subject;
use cc_core::Snapshot;
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain};

/// A sender whose application or flow control never lets more than so many packets be in flight,
/// though the path may lose or mark some, keeps to a window of [`most_unused`].
pub(crate) fn limited(subject: &Subject, input: &mut Input<'_>) -> u64 {
    let mut life = Life::new(subject, input);
    let (most, kind) = (input.byte().max(1), input.byte());
    let used = subject.setup.mss * u64::from(most);
    let mut burst = life.connection.flow.control().send_quantum;
    while !input.is_empty() {
        let luck = input.byte();
        let packets = if luck & 1 == 0 { most } else { input.byte() };
        life.send(packets.min(most));
        // Of flow control nobody is told.
        if kind & 1 == 0 {
            life.live(&Op::AppLimited);
        }
        life.hear(kind >> 1, luck);
        let snapshot = life.connection.flow.snapshot();
        burst = burst.max(snapshot.control.send_quantum);
        let bound = most_unused(subject, used, life.rtt, burst);
        assert!(
            snapshot.control.cwnd <= bound,
            "{used} of {bound} used: {snapshot} {subject}"
        );
    }
    life.ops
}

/// A sender that pauses for a second, and then sends a packet, knows what it knew.
///
/// When the packet leaves nothing is less than before. When it is acknowledged the estimate of the
/// bandwidth is not, and neither is the window; BBR's, however, may have come down to the BDP. The
/// states that are there to reduce a window for a while may be due by then, so it is not looked at
/// in ProbeRTT (draft-ietf-ccwg-bbr-06 §5.3.4; `bbr_update_min_rtt`) and LEDBAT++'s Slowdown. With
/// `adapts_down` a pause in ProbeRTT is not looked at: the probe that ProbeRTT cut short still ages
/// the bandwidth filter, which the first ACK after the pause may do.
pub(crate) fn idle(subject: &Subject, input: &mut Input<'_>) -> u64 {
    let mut life = Life::new(subject, input);
    let kind = input.byte();
    while !input.is_empty() && life.ops < MAX_OPS {
        for _ in 0..=input.byte() % 32 {
            life.send(u8::MAX);
            life.hear(kind, 0);
        }
        let before = life.connection.flow.snapshot();
        life.live(&Op::AppLimited);
        life.live(&Op::Wait(Duration::from_secs(1)));
        life.send(1);
        life.hear(0, 0);
        let after = life.connection.flow.snapshot();
        let is_reduced = |state| ["ProbeRTT", "Slowdown"].contains(&state);
        let least = match Growth::of(subject.name()) {
            // What ACKs held back in a round that is now too old may go, the BDP stays.
            Growth::ByModel => before.control.cwnd.min(bdp(&before)),
            Growth::ByAck | Growth::AsTold => before.control.cwnd,
        };
        let is_less = after.control.cwnd < least && !is_reduced(after.state);
        let ages = before.state == "ProbeRTT" && subject.has("adapts_down", true);
        assert!(
            ages || (!is_less && after.bandwidth >= before.bandwidth),
            "{before}\n{after}\n{subject}"
        );
    }
    life.ops
}

fn bdp(snapshot: &Snapshot) -> Bytes {
    let rate = snapshot.bandwidth.unwrap_or(Bandwidth::ZERO);
    rate * snapshot.min_rtt.unwrap_or_default()
}

/// The largest window of a sender that has never more than `used` in flight.
///
/// - One that grows with ACKs keeps its initial window, or grows while it was filled up to a
///   quarter in this round trip or the one before, by what is acknowledged: 4/3 + 2 times.
/// - BBR doubles its initial window (draft-ietf-ccwg-bbr-06 §5.6.4, SetCwnd), or keeps to the sum
///   of its gain times the BDP, which is what was in flight, what ACKs [hold back](held_back),
///   three times the largest burst (`bbr_quantization_budget`), and the packets that it may always
///   have. An ACK may take it beyond.
fn most_unused(subject: &Subject, used: Bytes, rtt: Duration, burst: Bytes) -> Bytes {
    let (mss, initial) = (subject.setup.mss, subject.setup.initial_cwnd);
    match Growth::of(subject.name()) {
        Growth::AsTold => Bytes::MAX,
        Growth::ByAck => initial.max(used * Gain::new(10, 3) + mss * 2),
        Growth::ByModel => {
            let packets = subject.count("min_pipe_packets").unwrap_or(0) + 2;
            let always = mss * packets + burst.max(mss * 2) * 3;
            let model = used * gain(subject) + held_back(subject, used, rtt) + always;
            (initial * 2).max(model) + used
        }
    }
}

/// The greatest gain of the window; Startup's 2 at least.
fn gain(subject: &Subject) -> Gain {
    let gains = [
        "high_gain",
        "startup_cwnd_gain",
        "cwnd_gain",
        "up_cwnd_gain",
    ];
    let gains = gains.iter().filter_map(|name| subject.gain(name));
    gains.max().unwrap_or(Gain::ZERO).max(Gain::new(2, 1))
}

/// What ACKs bring in three round trips, as if all of it were more than expected: after a loss BBR
/// expects less for a while than is delivered, and the difference adds up. `bbr1` expects a
/// policer's rate where it took losses for one, for longer, and adds up to 100 ms' worth
/// (`bbr_extra_acked_max_us`).
fn held_back(subject: &Subject, used: Bytes, rtt: Duration) -> Bytes {
    let share = subject.gain("extra_acked_gain").unwrap_or(Gain::ONE);
    let policed = if subject.has("lt_bw", true) {
        Bandwidth::from_transfer(used, rtt) * Duration::from_millis(100)
    } else {
        Bytes::ZERO
    };
    policed.max(used * share * 3)
}

/// A connection on a path of one round-trip time.
struct Life<'a> {
    connection: Connection<'a>,
    fastest: Fastest,
    rtt: Duration,
    ops: u64,
}

impl<'a> Life<'a> {
    fn new(subject: &'a Subject, input: &mut Input<'_>) -> Self {
        Self {
            connection: Connection::new(subject),
            fastest: Fastest::default(),
            rtt: Duration::from_millis(1 + 2 * u64::from(input.byte())),
            ops: 0,
        }
    }

    /// One operation, after which all the usual promises hold.
    fn live(&mut self, op: &Op) {
        let before = self.connection.state();
        self.connection.apply(op, &mut self.fastest);
        promises::check(&self.connection, op, &before, &self.fastest);
        self.ops += 1;
    }

    /// As many packets as this, but not more than the window has room for.
    fn send(&mut self, packets: u8) {
        let control = self.connection.flow.control();
        let room = control.cwnd.packets_floor(self.connection.mss);
        let packets = u8::try_from(room).unwrap_or(u8::MAX).min(packets);
        let bytes = u16::MAX;
        self.live(&Op::Send { packets, bytes });
    }

    /// A round-trip time later, one to eight ACKs. An eighth of all luck is a loss, one a mark.
    fn hear(&mut self, kind: u8, luck: u8) {
        self.live(&Op::Wait(self.rtt));
        let told = |acked, lost, ce_marked| Op::Feedback {
            acked,
            lost,
            rtt: Rtt::Exact,
            ce_marked,
            is_persistent: false,
        };
        if luck >> 5 == 7 {
            self.live(&told(NONE, Which::Bits(u64::from(luck >> 1 & 15)), 0));
        }
        for left in (1..=1 + (kind & 7)).rev() {
            let ce_marked = u8::from(luck >> 5 == 6);
            self.live(&told(Which::Share(u8::MAX / left), NONE, ce_marked));
        }
    }
}
