//! Nothing allocates after construction.

use cc_core::{
    AckedPacket, ControllerChoice, Feedback, Flow, LostPacket, Pacer, Range, Registry, ResumePlan,
    SavedPath, Setup, Value,
};
use core::time::Duration;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use units::{Bytes, Timestamp};

/// The system's allocator, counted for each thread: the test runner has one of its own.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[expect(
    unsafe_code,
    reason = "a global allocator is an unsafe trait; this one hands on to std's"
)]
// SAFETY: both methods pass their arguments to `System` unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps `GlobalAlloc::alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps `GlobalAlloc::dealloc`'s contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Twenty seconds of 40 ms round trips in which everything happens that a flow can be told: every
/// method of it is called, and so every one of its controller's.
fn live(flow: &mut Flow, pacer: &mut Pacer) {
    let mut now = Timestamp::ZERO;
    for round in 0..500_u64 {
        let first = flow.on_sent(now, MSS);
        let packet = |stamp| AckedPacket { stamp, bytes: MSS };
        let mut flight = [packet(first); FLIGHT];
        for slot in &mut flight[1..] {
            now += Duration::from_micros(100);
            *slot = packet(flow.on_sent(now, MSS));
            pacer.on_sent(now, MSS);
        }
        now += Duration::from_millis(30 + round % 7);
        let lossy = usize::from(round % 10 == 3);
        let lost = [LostPacket {
            stamp: flight[0].stamp,
            bytes: MSS,
            starts_range: true,
        }];
        for acked in flight[lossy..].chunks(4) {
            now += Duration::from_micros(400);
            let feedback = Feedback {
                acked,
                lost: &lost[..lossy],
                rtt: Some(now.since(acked[acked.len() - 1].stamp.sent_at)),
                ce_marked: u64::from(round % 50 == 7),
                is_persistent_congestion: round == 333,
                ..Feedback::at(now)
            };
            flow.on_feedback(&feedback, &mut ());
            pacer.set_control(now, flow.control(), MSS);
            pacer.next_departure(now);
        }
        if round % 20 == 13 {
            flow.on_spurious_loss(now, &lost[0], &mut ());
        }
        if round % 100 == 50 {
            flow.on_app_limited();
            flow.on_mtu(now, MSS + Bytes::new(round));
            now += Duration::from_secs(round);
            flow.on_sent(now, MSS);
            flow.on_discarded(MSS);
        }
        if round % 60 == 59 {
            flow.set_sends_ect1(now, !flow.wants_ect1());
        }
        assert!(flow.snapshot().control == flow.control());
    }
}

/// Each controller at its defaults, with each switch turned, and with each other word.
fn choices(registry: &Registry) -> impl Iterator<Item = ControllerChoice> {
    let texts = registry.specs().iter().flat_map(|spec| {
        let params = spec.params.iter().flat_map(|param| {
            let values = match (param.default, param.range) {
                (Value::Switch(on), _) => vec![Value::Switch(!on)],
                (_, Range::OneOf(words)) => words.iter().map(|word| Value::Word(word)).collect(),
                _ => Vec::new(),
            };
            values
                .into_iter()
                .map(|value| format!("{}:{}={value}", spec.name, param.name))
        });
        params.chain([spec.name.to_owned()])
    });
    texts.map(|text| registry.choose(&text).expect("it is in the registry"))
}

#[test]
fn no_controller_allocates_after_construction() {
    for choice in choices(&Registry::standard()) {
        for (sends_ect1, resumes) in [(false, false), (true, false), (false, true)] {
            let mut setup = Setup::new(Timestamp::ZERO, MSS, 1);
            setup.sends_ect1 = sends_ect1;
            let mut flow = Flow::new(choice.build(&setup), &setup);
            if resumes {
                flow.resume(ResumePlan::new(SAVED, Timestamp::MAX));
            }
            let mut pacer = Pacer::new(setup.now, flow.control(), MSS);
            let before = ALLOCATIONS.get();
            live(&mut flow, &mut pacer);
            let made = ALLOCATIONS.get() - before;
            assert_eq!(made, 0, "{choice} allocated");
        }
    }
}

const SAVED: SavedPath = SavedPath {
    capacity: Bytes::new(240_000),
    min_rtt: Duration::from_millis(30),
};
const MSS: Bytes = Bytes::new(1_200);
const FLIGHT: usize = 40;
