//! The hint beside a bulk transfer of another connection over the same link.

use super::example::{CROSS, CROSS_STAGES, FIRST_RATE, MOST, Outcome, Scenario};
use super::{MS, SECOND, mbit, run};
use std::ops::Range;
use units::Bandwidth;

/// Each controller beside each, of which the encoder makes at most `most`.
fn each(most: Bandwidth, mut check: impl FnMut(&str, &str, &Outcome)) {
    for controller in ["cubic", "bbr3", "paceline"] {
        for cross in ["cubic", "paceline"] {
            let outcome = run(&Scenario::beside(cross, most), controller);
            let name = format!("{controller} beside {cross}");
            check(controller, &name, &outcome);
        }
    }
}

fn mean(outcome: &Outcome, stage: &Range<std::time::Duration>) -> Bandwidth {
    outcome.hints_within(stage)[1]
}

/// An encoder that takes all it is told gives way within three seconds, and gets the link back.
/// `paceline` measures no more than the application sends, nor paces above it: its hint rises
/// slowly or not at all.
#[test]
fn the_hint_comes_down_beside_another_connection_and_up_after_it() {
    let [before, beside, after] = CROSS_STAGES;
    each(MOST, |controller, name, outcome| {
        assert!(mean(outcome, &before) >= mbit(8.0), "{name}: {outcome:?}");
        let soon = CROSS.start + SECOND * 2..CROSS.start + SECOND * 3;
        let [least, ..] = outcome.hints_within(&soon);
        assert!(least <= mbit(6.0), "{name}: {least} after three seconds");
        let least = outcome.hints_within(&beside)[0];
        assert!(least >= mbit(0.5), "{name}: {least} beside it");
        let later = mean(outcome, &after);
        let expected = if controller == "paceline" { 4.0 } else { 5.0 };
        assert!(later >= mbit(expected), "{name}: {later} after it");
    });
}

/// A source of 2 Mbit/s has less than its half of the link. Beside a transfer that keeps the queue
/// full it is told to send less, but not ever less.
#[test]
fn a_source_below_its_share_is_not_starved() {
    let [_, beside, after] = CROSS_STAGES;
    each(FIRST_RATE, |controller, name, outcome| {
        let told = mean(outcome, &beside);
        assert!(told >= mbit(0.4), "{name}: {told} beside it");
        let later = mean(outcome, &after);
        let expected = if controller == "paceline" { 1.4 } else { 2.0 };
        assert!(later >= mbit(expected), "{name}: {later} after it");
    });
}

/// The lifetime of what waits, the link's delay, and its queue when it is full.
#[test]
fn no_frame_is_later_than_its_lifetime_and_a_full_queue() {
    for most in [MOST, FIRST_RATE] {
        each(most, |_, name, outcome| {
            let times = outcome.times(CROSS.start);
            let latest = *times.last().expect("frames");
            assert!(latest <= MS * (100 + 30 + 125), "{name}: {latest:?}");
        });
    }
}
