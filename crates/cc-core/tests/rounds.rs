//! Windows round by round at a round-trip time of 200 ms, as integers.
//!
//! In each round the window leaves at once and, 200 ms later, one ACK comes for every two packets.
//! A change of a number here is a change of behaviour: `cargo insta review` shows both.

extern crate alloc;

#[path = "../src/tests/flow_driver.rs"]
#[expect(dead_code, reason = "unit tests use the rest of it")]
mod flow_driver;

use cc_core as api;
use cc_core::Setup;
use core::fmt::Write as _;
use core::time::Duration;
use flow_driver::FlowDriver;
use units::{Bytes, Timestamp};

/// What happens to a flow besides its round trips.
struct Case {
    rounds: usize,
    /// The application sends no more than this per round.
    application: Bytes,
    /// The first packet of a round is lost when the window has reached these, one after the other.
    losses: &'static [u64],
    /// The first packet of every round is lost.
    loses_always: bool,
}

const UNLIMITED: Case = Case {
    rounds: 12,
    application: Bytes::MAX,
    losses: &[],
    loses_always: false,
};

/// The window after each round, ten to a line, and every change of state before its round.
fn rounds(controller: &str, case: &Case) -> String {
    let mut driver = FlowDriver::of(controller, &Setup::new(Timestamp::ZERO, MSS, 1));
    let mut losses = case.losses.iter().copied().map(Bytes::new).peekable();
    let (mut text, mut column) = (String::new(), 0);
    for _ in 0..case.rounds {
        let cwnd = driver.cwnd();
        driver.send(cwnd.min(case.application).packets_floor(MSS));
        driver.now += RTT;
        if case.loses_always || losses.next_if(|least| cwnd >= *least).is_some() {
            driver.lose(1);
        }
        driver.finish_round(Duration::ZERO);
        // What leaves next left after the ACKs that let it.
        driver.now += Duration::from_nanos(1);
        if !driver.states.0.is_empty() {
            let newline = if column == 0 { "" } else { "\n" };
            writeln!(text, "{newline}-> {}", driver.states.0.join(" -> "))
                .expect("a string takes all");
            driver.states.0.clear();
            column = 0;
        }
        column = (column + 1) % 10;
        let end = if column == 0 { "\n" } else { "" };
        write!(text, "{:>9}{end}", driver.cwnd().get()).expect("a string takes all");
    }
    text
}

const MSS: Bytes = Bytes::new(1_200);
const RTT: Duration = Duration::from_millis(200);
/// CUBIC here starts as NewReno does, so that the two can be compared.
const BOTH: [(&str, &str); 2] = [
    ("cubic", "cubic:slow_start=standard"),
    ("new_reno", "new_reno"),
];

fn assert_rounds(name: &str, case: &Case) {
    for (prefix, controller) in BOTH {
        assert_snapshot(&format!("{prefix}_{name}"), controller, case);
    }
}

fn assert_snapshot(name: &str, controller: &str, case: &Case) {
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!(name, rounds(controller, case));
    });
}

#[test]
fn unlimited_slow_start() {
    assert_rounds("unlimited_slow_start", &UNLIMITED);
}

#[test]
fn one_loss_at_3_megabytes() {
    let case = Case {
        rounds: 135,
        losses: &[3_000_000],
        ..UNLIMITED
    };
    assert_rounds("one_loss_at_3_megabytes", &case);
}

/// The second comes at a window that each has grown to again by then: for `cubic` below the first,
/// so that fast convergence lowers its plateau.
#[test]
fn two_losses_the_second_below_the_first() {
    let second: [&[u64]; 2] = [&[3_000_000, 2_750_000], &[3_000_000, 1_600_000]];
    for ((prefix, controller), losses) in BOTH.into_iter().zip(second) {
        let case = Case {
            rounds: 120,
            losses,
            ..UNLIMITED
        };
        let name = format!("{prefix}_two_losses_the_second_below_the_first");
        assert_snapshot(&name, controller, &case);
    }
}

#[test]
fn an_application_of_a_megabyte_per_round() {
    let case = Case {
        rounds: 120,
        application: Bytes::new(1_000_000),
        losses: &[1_000_000],
        ..UNLIMITED
    };
    assert_rounds("an_application_of_a_megabyte_per_round", &case);
}

#[test]
fn a_loss_in_every_round_down_to_the_minimum_window() {
    let case = Case {
        rounds: 10,
        loses_always: true,
        ..UNLIMITED
    };
    assert_rounds("a_loss_in_every_round", &case);
}
