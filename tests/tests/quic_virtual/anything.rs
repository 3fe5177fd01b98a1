//! Anything a network may do to packets, under any controller, changed at any time.

use crate::{config, connect};
use e2e::{choose, seed};
use paceline::testing::{Load, Pair, PairConfig, Side};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use units::{Bytes, Rng};

const TRANSFER: u64 = 1_000_000;

fn link(rng: &mut Rng) -> String {
    let mut text = format!("delay {}ms", 1 + rng.below(100));
    if rng.below(3) == 0 {
        text += &format!(" {}ms", 1 + rng.below(20));
    }
    if rng.below(2) == 0 {
        text += &format!(
            " rate {}kbit queue {}p",
            500 + rng.below(100_000),
            3 + rng.below(200)
        );
    }
    if rng.below(2) == 0 {
        text += &format!(" loss {}%", rng.below(15));
    }
    if rng.below(3) == 0 {
        text += &format!(" duplicate {}%", rng.below(20));
    }
    text
}

fn controller(rng: &mut Rng) -> String {
    match rng.below(5) {
        0 => "new_reno".to_owned(),
        1 => "cubic".to_owned(),
        2 => "bbr3".to_owned(),
        3 => format!("fixed:rate={}kbit", 300 + rng.below(50_000)),
        _ => format!("fixed:pacing=off,cwnd={}", 1_000 + rng.below(200_000)),
    }
}

/// Bytes in flight beyond both the window and the one packet that may always leave.
fn watch_excess(pair: &mut Pair) -> Rc<Cell<u64>> {
    let excess = Rc::new(Cell::new(0));
    let seen = Rc::clone(&excess);
    let mut before = Bytes::ZERO;
    pair.watch_departures(Side::Client, move |departure| {
        // A window that shrank is not exceeded by what was in flight already.
        let allowed = departure.cwnd.max(before);
        let beyond = departure.in_flight.saturating_sub(allowed);
        seen.set(seen.get().max(beyond.get()));
        before = departure.in_flight;
    });
    excess
}

#[test]
fn everything_arrives_and_the_window_is_kept() {
    for seed in 0..40 {
        let seed = seed::choose(seed, "anything");
        let mut rng = Rng::new(seed);
        let (there, back, cc) = (link(&mut rng), link(&mut rng), controller(&mut rng));
        let case = format!("seed {seed}: {there} / {back}, {cc}");
        let config = PairConfig {
            seed,
            ..config(&there, &back, &cc)
        };
        let mut pair = connect(&config);
        let excess = watch_excess(&mut pair);
        pair.send(Side::Client, Load::Bytes(TRANSFER));
        pair.send(Side::Server, Load::Bytes(TRANSFER / 10));
        for _ in 0..20 {
            pair.run_for(Duration::from_millis(rng.below(400)));
            if rng.below(4) == 0 {
                let choice = choose(&controller(&mut rng));
                pair.set_congestion(Side::Client, &choice);
            }
        }
        // None that cannot fill the time that is left.
        pair.set_congestion(Side::Client, &choose("cubic"));
        for (side, bytes) in [(Side::Server, TRANSFER), (Side::Client, TRANSFER / 10)] {
            let limit = Duration::from_secs(900);
            let done = pair.run_until_received(side, Bytes::new(bytes), limit);
            assert!(done, "{case}: {} of {bytes}", pair.received(side));
        }
        // Two probes, each as large as a packet, may exceed the window, and so may an MTU probe.
        assert!(excess.get() <= 3 * 1_452, "{case}: {} beyond", excess.get());
    }
}
