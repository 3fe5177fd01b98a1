//! The controllers of this crate on the history, driven in three ways.

use crate::clock;
use crate::history::{BATCH, History, MSS, RING, Step};
use cc_core::{
    AckedPacket, Control, Controller, ControllerChoice, Feedback, Flow, LostPacket, Observer,
    PacketStamp, PathState, RateSample, Setup, Snapshot,
};
use std::hint::black_box;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use units::{Bytes, Timestamp};

fn setup() -> Setup {
    Setup::new(Timestamp::ZERO, MSS, 1)
}

/// How many packets share a stamp.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stamps {
    /// All that leave at once, as over quinn-proto.
    PerBatch,
    /// None do, as in a transport of its own.
    PerPacket,
}

/// A transport's side: the stamps of the packets in flight, and the lists of one feedback.
pub(crate) struct Transport {
    stamps: Stamps,
    ring: Vec<PacketStamp>,
    sent: usize,
    acked: Vec<AckedPacket>,
    lost: Vec<LostPacket>,
}

impl Transport {
    pub(crate) fn new(stamps: Stamps) -> Self {
        Self {
            stamps,
            ring: vec![any_stamp(); RING],
            sent: 0,
            acked: Vec::with_capacity(RING),
            lost: Vec::with_capacity(RING),
        }
    }

    pub(crate) fn flow(choice: &ControllerChoice) -> Flow {
        let setup = setup();
        Flow::new(choice.build(&setup), &setup)
    }

    pub(crate) fn run(&mut self, flow: &mut Flow, history: &History) {
        self.sent = 0;
        for step in &history.steps {
            match step {
                Step::Send { at } => self.send(flow, *at),
                Step::Ack { at, acked, lost } => self.ack(flow, *at, acked, lost),
            }
            black_box(flow.control().cwnd);
        }
    }

    fn send(&mut self, flow: &mut Flow, at: Timestamp) {
        let (calls, bytes) = match self.stamps {
            Stamps::PerBatch => (1, MSS * BATCH as u64),
            Stamps::PerPacket => (BATCH, MSS),
        };
        for _ in 0..calls {
            self.ring[self.sent % RING] = flow.on_sent(at, bytes);
            self.sent += 1;
        }
    }

    fn ack(&mut self, flow: &mut Flow, at: Timestamp, acked: &[usize], lost: &[usize]) {
        self.fill(acked, lost);
        let newest = self.acked.last().map(|packet| packet.stamp.sent_at);
        let feedback = Feedback {
            acked: &self.acked,
            lost: &self.lost,
            rtt: newest.map(|sent_at| at.since(sent_at)),
            ..Feedback::at(at)
        };
        flow.on_feedback(&feedback, &mut ());
    }

    fn fill(&mut self, acked: &[usize], lost: &[usize]) {
        self.acked.clear();
        let mut previous = None;
        for number in acked {
            let place = self.place(*number);
            match self.acked.last_mut() {
                Some(last) if previous == Some(place) => last.bytes += MSS,
                _ => {
                    let (stamp, bytes) = (self.ring[place], MSS);
                    self.acked.push(AckedPacket { stamp, bytes });
                }
            }
            previous = Some(place);
        }
        self.lost.clear();
        for number in lost {
            self.lost.push(LostPacket {
                stamp: self.ring[self.place(*number)],
                bytes: MSS,
                starts_range: true,
            });
        }
    }

    fn place(&self, number: usize) -> usize {
        match self.stamps {
            Stamps::PerBatch => number / BATCH % RING,
            Stamps::PerPacket => number % RING,
        }
    }
}

/// What stands in a place of the ring that was not used.
fn any_stamp() -> PacketStamp {
    PacketStamp {
        sequence: 0,
        sent_at: Timestamp::ZERO,
        first_sent_at: Timestamp::ZERO,
        delivered: Bytes::ZERO,
        delivered_at: Timestamp::ZERO,
        lost: Bytes::ZERO,
        tx_in_flight: Bytes::ZERO,
        is_app_limited: false,
        is_back_to_back: false,
    }
}

/// What a `Flow` asks of a controller over the history, to ask it again without the `Flow`.
pub(crate) struct Calls(Vec<Call>);

#[derive(Debug, Clone)]
enum Call {
    Sent(PathState, Bytes),
    Lost(PathState, LostPacket),
    Ack(PathState, RateSample),
}

impl Calls {
    pub(crate) fn record(choice: &ControllerChoice, history: &History) -> Self {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let recorder = Recorder {
            controller: choice.build(&setup()),
            calls: Arc::clone(&calls),
        };
        let mut flow = Flow::new(Box::new(recorder), &setup());
        Transport::new(Stamps::PerBatch).run(&mut flow, history);
        let calls = core::mem::take(&mut *calls.lock().expect(UNPOISONED));
        Self(calls)
    }

    pub(crate) fn controller(choice: &ControllerChoice) -> Box<dyn Controller> {
        choice.build(&setup())
    }

    /// Answers how long the controller took.
    ///
    /// A `Flow` has just written what it asks with. So it is in the nearest cache here, too.
    pub(crate) fn run(&self, controller: &mut dyn Controller) -> Duration {
        let parts = self.0.chunks(IN_CACHE).map(|part| {
            black_box(part.to_vec());
            clock::time(|| part.iter().for_each(|call| call.run(controller)))
        });
        parts.sum()
    }
}

impl Call {
    fn run(&self, controller: &mut dyn Controller) {
        match self {
            Self::Sent(path, bytes) => controller.on_sent(path, *bytes),
            Self::Lost(path, packet) => controller.on_lost(path, packet, &mut ()),
            Self::Ack(path, sample) => controller.on_ack(path, sample, &mut ()),
        }
        black_box(controller.control());
    }
}

/// Writes down what it hands on.
#[derive(Debug)]
struct Recorder {
    controller: Box<dyn Controller>,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Recorder {
    fn note(&self, call: Call) {
        self.calls.lock().expect(UNPOISONED).push(call);
    }
}

impl Controller for Recorder {
    fn on_sent(&mut self, path: &PathState, bytes: Bytes) {
        self.note(Call::Sent(*path, bytes));
        self.controller.on_sent(path, bytes);
    }

    fn on_lost(&mut self, path: &PathState, packet: &LostPacket, observer: &mut dyn Observer) {
        self.note(Call::Lost(*path, *packet));
        self.controller.on_lost(path, packet, observer);
    }

    fn on_ack(&mut self, path: &PathState, sample: &RateSample, observer: &mut dyn Observer) {
        self.note(Call::Ack(*path, *sample));
        self.controller.on_ack(path, sample, observer);
    }

    fn is_self_limited(&self) -> bool {
        self.controller.is_self_limited()
    }

    fn control(&self) -> Control {
        self.controller.control()
    }

    fn snapshot(&self) -> Snapshot {
        self.controller.snapshot()
    }
}

/// Calls of a quarter of a kilobyte each: half of what a core keeps nearest, so that reading the
/// clock between two parts costs a call less than half a nanosecond.
const IN_CACHE: usize = 96;

const UNPOISONED: &str = "nobody panics with the lock";
