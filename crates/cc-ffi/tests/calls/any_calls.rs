//! Calls in any order with any numbers.

use crate::handle::{Handle, Status, names};
use paceline_cc::PacelineCcFeedback;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;

#[derive(Debug, Clone)]
struct Call {
    kind: u8,
    number: u64,
    now_ns: u64,
    size: u64,
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let number = prop_oneof![8 => 0_u64..40, 1 => any::<u64>()];
    let now_ns = prop_oneof![12 => (0_u64..100).prop_map(|at| 1_000 + at), 1 => any::<u64>()];
    let size = prop_oneof![8 => 60_u64..1_500, 1 => any::<u64>()];
    let call = (0_u8..12, number, now_ns, size);
    let call = call.prop_map(|(kind, number, now_ns, size)| Call {
        kind,
        number,
        now_ns,
        size,
    });
    prop::collection::vec(call, 0..120)
}

proptest! {
    /// Whatever is called, each answer is a status, no panic is among them, and the bytes in flight
    /// are those of the packets whose calls were accepted.
    #[test]
    fn no_order_of_calls_breaks_the_books(
        calls in calls(),
        controller in prop::sample::select(names()),
    ) {
        let handle = Handle::new(&controller);
        let mut in_flight = BTreeMap::new();
        let mut reported = BTreeSet::new();
        for Call { kind, number, now_ns, size } in calls {
            let status = match kind {
                0..=3 => handle.on_sent(now_ns, number, size),
                4 | 5 => handle.on_acked(number),
                6 => handle.on_lost(number),
                7 => handle.end_feedback(PacelineCcFeedback {
                    now_ns,
                    rtt_ns: number,
                    ce_marked: size % 3,
                    is_persistent_congestion: u64::from(size % 5 == 0),
                }),
                8 => handle.on_spurious_loss(now_ns, number),
                9 => handle.on_discarded(number),
                10 => handle.on_mss(now_ns, size),
                _ if number % 4 == 0 => handle.on_path_change(now_ns, size),
                _ if number % 4 == 1 => handle.set_sends_ect1(now_ns, size % 3),
                _ => handle.on_app_limited(),
            };
            prop_assert_ne!(status, Status::Panicked);
            if status == Status::Ok {
                let settled = match kind {
                    0..=3 => {
                        in_flight.insert(number, size);
                        BTreeSet::new()
                    }
                    4..=6 => {
                        reported.insert(number);
                        BTreeSet::new()
                    }
                    7 => mem::take(&mut reported),
                    9 => BTreeSet::from([number]),
                    11 if number % 4 == 0 => in_flight.keys().copied().collect(),
                    _ => BTreeSet::new(),
                };
                in_flight.retain(|number, _| !settled.contains(number));
            }
            prop_assert_eq!(handle.path().in_flight, in_flight.values().sum::<u64>());
            prop_assert!(handle.control().cwnd > 0 && handle.control().pacing_rate > 0);
        }
    }
}
