use super::op::{Op, Rtt, Which};
use super::subject::Subject;
use cc_core::{
    AckedPacket, Control, Feedback, Flow, LostPacket, Observer, Pacer, ResumePhase, ResumePlan,
};
use core::time::Duration;
use std::collections::VecDeque;
use units::{Bandwidth, Bytes, Timestamp};

/// A flow, and the transport's side of it.
pub(crate) struct Connection<'a> {
    pub(crate) subject: &'a Subject,
    pub(crate) flow: Flow,
    pub(crate) pacer: Pacer,
    pub(crate) now: Timestamp,
    pub(crate) mss: Bytes,
    pub(crate) books: Books,
    /// What is in flight, the oldest first.
    flying: VecDeque<AckedPacket>,
    /// The newest that were lost, the oldest first.
    lost: VecDeque<LostPacket>,
    /// How far what is told next lies back.
    lag: Duration,
    /// Whether packets have left the books without a word.
    is_adrift: bool,
    scratch: Scratch,
}

/// The transport's own sums.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Books {
    pub(crate) inflight: Bytes,
    pub(crate) delivered: Bytes,
    pub(crate) lost: Bytes,
}

/// What an operation may change, for comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlowState {
    pub(crate) control: Control,
    pub(crate) bandwidth: Option<Bandwidth>,
    pub(crate) delivered: Bytes,
    pub(crate) resume_phase: Option<ResumePhase>,
}

/// Lists that one feedback fills, kept for their memory.
#[derive(Debug, Default)]
struct Scratch {
    acked: Vec<AckedPacket>,
    lost: Vec<LostPacket>,
    kept: Vec<AckedPacket>,
}

impl<'a> Connection<'a> {
    pub(crate) fn new(subject: &'a Subject) -> Self {
        let setup = subject.setup;
        let flow = Flow::new(subject.build(&setup), &setup);
        Self {
            subject,
            pacer: Pacer::new(setup.now, flow.control(), setup.mss),
            flow,
            now: setup.now,
            mss: setup.mss,
            books: Books::default(),
            flying: VecDeque::new(),
            lost: VecDeque::new(),
            lag: Duration::ZERO,
            is_adrift: false,
            scratch: Scratch::default(),
        }
    }

    pub(crate) fn state(&self) -> FlowState {
        let snapshot = self.flow.snapshot();
        FlowState {
            control: snapshot.control,
            bandwidth: snapshot.bandwidth,
            delivered: self.books.delivered,
            resume_phase: snapshot.resume_phase,
        }
    }

    /// Begins with what is said of the path.
    pub(crate) fn resume(&mut self, plan: ResumePlan) {
        self.flow.resume(plan);
    }

    /// Whether the flow cannot know what is in flight.
    pub(crate) fn is_adrift(&self) -> bool {
        self.is_adrift
    }

    pub(crate) fn apply(&mut self, op: &Op, observer: &mut dyn Observer) {
        match *op {
            Op::Fill => {
                let room = self.flow.control().cwnd.saturating_sub(self.books.inflight);
                self.send(room.packets_floor(self.mss).min(MAX_AT_ONCE), self.mss);
            }
            Op::Send { packets, bytes } => {
                self.send(packets.into(), Bytes::new(bytes.into()).min(self.mss));
            }
            Op::Wait(time) => self.now += time,
            Op::GoBack(time) => self.lag = time,
            Op::Feedback { .. } => self.feedback(op, observer),
            Op::ArriveLate(count) => self.arrive_late(count.into(), observer),
            Op::Mtu(mss) => {
                self.mss = Bytes::new(mss.into());
                let now = self.told();
                self.flow.on_mtu(now, self.mss);
            }
            Op::AppLimited => self.flow.on_app_limited(),
            Op::Discard(count) => {
                let bytes = self.drop_oldest(count);
                self.flow.on_discarded(bytes);
            }
            Op::Forget(count) => {
                self.is_adrift |= !self.drop_oldest(count).is_zero();
            }
            Op::SendsEct1(sends_ect1) => {
                let now = self.told();
                self.flow.set_sends_ect1(now, sends_ect1);
            }
            Op::ChangeController => {
                let (now, subject) = (self.told(), self.subject);
                self.flow
                    .change_controller(now, |setup| subject.build(setup));
            }
        }
        self.pacer
            .set_control(self.now, self.flow.control(), self.mss);
    }

    fn send(&mut self, packets: u64, bytes: Bytes) {
        let now = self.told();
        for _ in 0..packets {
            if self.flying.len() >= MAX_IN_FLIGHT {
                break;
            }
            let stamp = self.flow.on_sent(now, bytes);
            self.pacer.on_sent(now, bytes);
            self.books.inflight += bytes;
            self.flying.push_back(AckedPacket { stamp, bytes });
        }
    }

    fn feedback(&mut self, op: &Op, observer: &mut dyn Observer) {
        let &Op::Feedback {
            acked,
            lost,
            rtt,
            ce_marked,
            is_persistent,
        } = op
        else {
            unreachable!("only feedback is fed back")
        };
        let now = self.told();
        let mut scratch = core::mem::take(&mut self.scratch);
        self.take(lost, &mut scratch);
        declare_lost(&mut scratch);
        self.take(acked, &mut scratch);
        let newest = scratch.acked.iter().max_by_key(|p| p.stamp.sequence);
        let rtt = newest.and_then(|newest| {
            let exact = self.now.since(newest.stamp.sent_at);
            match rtt {
                Rtt::Exact => Some(exact.max(MIN_RTT)),
                Rtt::Half => Some((exact / 2).max(MIN_RTT)),
                Rtt::Unknown => None,
            }
        });
        self.books.delivered += scratch.acked.iter().map(|packet| packet.bytes).sum();
        self.books.lost += scratch.lost.iter().map(|packet| packet.bytes).sum();
        let feedback = Feedback {
            now,
            acked: &scratch.acked,
            lost: &scratch.lost,
            rtt,
            ce_marked: ce_marked.into(),
            is_persistent_congestion: is_persistent && !scratch.lost.is_empty(),
            inflight: self.is_adrift.then_some(self.books.inflight),
        };
        self.flow.on_feedback(&feedback, observer);
        self.is_adrift = false;
        self.lost.extend(&scratch.lost);
        let surplus = self.lost.len().saturating_sub(MAX_REMEMBERED);
        self.lost.drain(..surplus);
        self.scratch = scratch;
    }

    /// Moves packets out of flight into `scratch.acked`, the oldest first.
    fn take(&mut self, which: Which, scratch: &mut Scratch) {
        scratch.acked.clear();
        match which {
            Which::Share(share) => {
                let count = (self.flying.len() * usize::from(share)).div_ceil(255);
                scratch.acked.extend(self.flying.drain(..count));
            }
            Which::Bits(bits) => {
                let seen = self.flying.len().min(64);
                let candidates = self.flying.drain(..seen).enumerate();
                for (index, packet) in candidates {
                    let list = if bits >> index & 1 == 1 {
                        &mut scratch.acked
                    } else {
                        &mut scratch.kept
                    };
                    list.push(packet);
                }
                for packet in scratch.kept.drain(..).rev() {
                    self.flying.push_front(packet);
                }
            }
        }
        self.books.inflight -= scratch.acked.iter().map(|packet| packet.bytes).sum();
    }

    fn arrive_late(&mut self, count: usize, observer: &mut dyn Observer) {
        let now = self.told();
        let first = self.lost.len().saturating_sub(count);
        for packet in self.lost.drain(first..) {
            self.books.lost -= packet.bytes;
            self.books.delivered += packet.bytes;
            self.flow.on_spurious_loss(now, &packet, observer);
        }
    }

    fn drop_oldest(&mut self, count: u8) -> Bytes {
        let count = usize::from(count).min(self.flying.len());
        let bytes = self.flying.drain(..count).map(|packet| packet.bytes).sum();
        self.books.inflight -= bytes;
        bytes
    }

    /// The time that is told: once after [`Op::GoBack`] an earlier one.
    fn told(&mut self) -> Timestamp {
        let lag = core::mem::take(&mut self.lag);
        Timestamp::from_nanos(
            self.now
                .as_nanos()
                .saturating_sub(units::duration::nanos(lag)),
        )
    }
}

/// What was taken out of flight is lost.
fn declare_lost(scratch: &mut Scratch) {
    let mut previous = None;
    scratch.lost.clear();
    let lost = scratch
        .acked
        .iter()
        .map(|&AckedPacket { stamp, bytes }| LostPacket {
            stamp,
            bytes,
            starts_range: previous.replace(stamp.sequence) != Some(stamp.sequence - 1),
        });
    scratch.lost.extend(lost);
}

/// Keeps a window that grew without bound from filling the memory.
const MAX_AT_ONCE: u64 = 150;
const MAX_IN_FLIGHT: usize = 1_000;
/// Lost packets that may yet arrive.
const MAX_REMEMBERED: usize = 256;
/// Hosts do not measure finer (RFC 9002 §6.1.2 is content with a millisecond).
const MIN_RTT: Duration = Duration::from_micros(1);
