//! What one side of a run has moved so far.

use crate::clock;
use crate::media::{Arrived, FrameLedger};
use crate::plan::Plan;
use crate::role::Role;
use crate::sample::{Arrivals, FrameTally, SideReport};
use paceline::{StreamId, VarInt};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use tokio::sync::Notify;

/// Payload so far, per stream. Written by the streams' tasks, read by the sampler; all run on one
/// thread, so no order between the counters is needed.
#[derive(Debug)]
pub struct Counters {
    /// Handed to the transport, in bytes.
    pub sent: Box<[AtomicU64]>,
    /// The streams that carry it, while they do.
    carriers: Box<[AtomicU64]>,
    /// Read by the application, in bytes.
    pub received: Box<[AtomicU64]>,
    /// What there is to count where payload goes in datagrams.
    pub datagrams: DatagramCounters,
    /// What there is to count of a video.
    pub(crate) frames: FrameCounters,
    pub answers: Answers,
    pub(crate) first_byte: Notify,
    pub(crate) digest: OnceLock<String>,
}

impl Counters {
    pub(crate) fn new(plan: &Plan, role: Role) -> Self {
        let zeros = |wanted: bool| {
            let count = if wanted { plan.streams } else { 0 };
            (0..count).map(|_| AtomicU64::new(0)).collect()
        };
        Self {
            sent: zeros(role.sends),
            carriers: zeros(role.sends),
            received: zeros(role.receives),
            datagrams: match plan.extras.datagrams {
                Some(_) => DatagramCounters::new(plan.streams, role),
                None => DatagramCounters::default(),
            },
            frames: FrameCounters::new(plan, role),
            answers: Answers::default(),
            first_byte: Notify::new(),
            digest: OnceLock::new(),
        }
    }

    /// From now on stream `id` carries the payload of this place.
    pub(crate) fn set_carrier(&self, stream: usize, id: StreamId) {
        self.carriers[stream].store(u64::from(id) + 1, Ordering::Relaxed);
    }

    /// The stream ends, of which so many bytes have left.
    pub(crate) fn end_carrier(&self, stream: usize, departed: u64) {
        self.sent[stream].store(departed, Ordering::Relaxed);
        self.carriers[stream].store(0, Ordering::Relaxed);
    }

    /// Payload that has left, per stream: `departed` says how much of a stream has. Where no stream
    /// carries it, what was handed to the transport.
    pub(crate) fn departed(&self, departed: impl Fn(StreamId) -> u64) -> Vec<u64> {
        let pairs = self.sent.iter().zip(&self.carriers);
        let pairs = pairs.map(|(sent, carrier)| {
            let sent = sent.load(Ordering::Relaxed);
            let id = carrier.load(Ordering::Relaxed).checked_sub(1);
            let id = id.and_then(|id| VarInt::from_u64(id).ok());
            id.map_or(sent, |id| departed(StreamId::from(id)))
        });
        pairs.collect()
    }

    /// The application has read so much of a stream.
    pub fn receive(&self, stream: usize, bytes: usize) {
        self.received[stream].fetch_add(bytes as u64, Ordering::Relaxed);
        self.first_byte.notify_one();
    }

    /// The hash of the one stream of a run that wants it.
    pub(crate) fn set_digest(&self, digest: Option<String>) {
        if let Some(digest) = digest {
            self.digest.get_or_init(|| digest);
        }
    }
}

/// Datagrams so far, per stream.
#[derive(Debug, Default)]
pub struct DatagramCounters {
    pub(crate) sent: Box<[AtomicU64]>,
    pub(crate) arrivals: Box<[Mutex<Arrivals>]>,
}

impl DatagramCounters {
    fn new(streams: u32, role: Role) -> Self {
        let streams = |wanted| 0..if wanted { streams } else { 0 };
        Self {
            sent: streams(role.sends).map(|_| AtomicU64::new(0)).collect(),
            arrivals: streams(role.receives).map(|_| Mutex::default()).collect(),
        }
    }

    /// How many were handed to the transport, per stream.
    pub fn sent(&self) -> Vec<u64> {
        let sent = self.sent.iter();
        sent.map(|sent| sent.load(Ordering::Relaxed)).collect()
    }

    pub(crate) fn set_arrivals(&self, stream: usize, arrivals: Arrivals) {
        *self.arrivals[stream].lock().expect(NO_PANIC) = arrivals;
    }

    pub fn arrivals(&self) -> Vec<Arrivals> {
        let arrivals = self.arrivals.iter();
        arrivals.map(|one| *one.lock().expect(NO_PANIC)).collect()
    }
}

/// Frames of a video so far.
#[derive(Debug)]
pub(crate) struct FrameCounters {
    /// Those that were sent; `None` without a video to be sent.
    sent: Option<SentFrames>,
    /// `None` without a video to be received.
    ledger: Option<Mutex<FrameLedger>>,
}

#[derive(Debug, Default)]
struct SentFrames {
    all: AtomicU64,
    /// Of these, those that count.
    judged: AtomicU64,
}

impl FrameCounters {
    fn new(plan: &Plan, role: Role) -> Self {
        let ledger = FrameLedger::new(plan, clock::process_id());
        Self {
            sent: (role.sends && ledger.is_some()).then(SentFrames::default),
            ledger: ledger.filter(|_| role.receives).map(Mutex::new),
        }
    }

    /// So many were sent, and so many of them count.
    pub(crate) fn set_sent(&self, all: u64, judged: u64) {
        if let Some(sent) = &self.sent {
            sent.all.store(all, Ordering::Relaxed);
            sent.judged.store(judged, Ordering::Relaxed);
        }
    }

    /// All that were sent.
    pub(crate) fn sent(&self) -> Option<u64> {
        let sent = self.sent.as_ref();
        sent.map(|sent| sent.all.load(Ordering::Relaxed))
    }

    /// What is known by `now` of those that were to come; the fastest datagram took about
    /// `one_way`.
    pub(crate) fn tally(&self, now: Duration, one_way: Duration) -> Option<FrameTally> {
        let ledger = self.ledger.as_ref();
        ledger.map(|ledger| ledger.lock().expect(NO_PANIC).tally(now, one_way))
    }

    pub(crate) fn arrive(&self, datagram: &[u8], at: Duration) -> Option<Arrived> {
        let mut ledger = self.ledger.as_ref()?.lock().expect(NO_PANIC);
        ledger.arrive(datagram, at)
    }

    /// Adds the frames to a side's report; the fastest datagram took about `one_way`.
    pub(crate) fn add_to(&self, report: &mut SideReport, one_way: Duration) {
        let sent = self.sent.as_ref();
        report.frames_sent = sent.map(|sent| sent.judged.load(Ordering::Relaxed));
        let ledger = self.ledger.as_ref();
        report.frames = ledger.map(|ledger| ledger.lock().expect(NO_PANIC).report(one_way));
    }
}

#[derive(Debug, Default)]
pub struct Answers(Mutex<Vec<Answer>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// When it was sent, since the first of them was due.
    pub at: Duration,
    /// From sending it to the last byte of its answer.
    pub took: Duration,
}

impl Answers {
    /// Adds one, while there is room.
    pub fn push(&self, answer: Answer) {
        let mut answers = self.0.lock().expect(NO_PANIC);
        if answers.len() < MAX_ANSWERS {
            answers.push(answer);
        }
    }

    /// Those after the first `skip`.
    pub fn after(&self, skip: usize) -> Vec<Answer> {
        let answers = self.0.lock().expect(NO_PANIC);
        answers.get(skip..).unwrap_or_default().to_vec()
    }
}

/// A hundred a second for an hour.
const MAX_ANSWERS: usize = 360_000;

const NO_PANIC: &str = "nothing panics while it is locked";
