//! Every registered controller in six standard situations, round trip by round trip, as integers.
//!
//! | situation | what it shows |
//! |---|---|
//! | `start` | an ideal path of 20 Mbit/s and 100 ms, from the first packet |
//! | `losses` | the 300th packet is lost, which is in slow start, and later twenty in a row |
//! | `application` | a quarter of the rate is used, then nothing for a second, then all |
//! | `marks` | a path of 20 ms whose queue marks ECT(1) early and everything else as PI² does |
//! | `random_loss` | one packet in a hundred is lost, whoever sends it |
//! | `rate_drop` | a quarter of the rate for three seconds |
//!
//! A change of a number is a change of behaviour: `cargo insta review` shows both. A controller
//! that joins the registry is recorded by `INSTA_UPDATE=always cargo test -p e2e --test controllers
//! situations`. With `PACELINE_DRAW=DIRECTORY` the same runs are drawn, one SVG each.

mod draw;

use cc_core::Registry;
use core::fmt::Write as _;
use core::time::Duration;
use e2e::seed;
use e2e::sim::{Flow, FlowOutcome, Outcome, Point, Scenario};
use units::Bandwidth;

const RTT: Duration = Duration::from_millis(100);
const ROUND_TRIPS: u32 = 80;
/// The way of the data; its queue holds a window's worth. ACKs take the other half of the RTT.
const IDEAL: &str = "rate 20mbit delay 50ms queue 1bdp";

/// Runs each registered controller through a situation, compares what it did with what is recorded,
/// and draws it where that is asked for.
fn assert_recorded(situation: &str, rtt: Duration, scenario: impl Fn(Flow) -> Scenario) {
    let back = format!("delay {}ms", rtt.as_millis() / 2);
    for spec in Registry::standard().specs() {
        let scenario = scenario(Flow::of(spec.name));
        let scenario = scenario.return_link(&back).sample_every(rtt);
        let outcome = scenario.run_for(rtt * ROUND_TRIPS);
        let name = format!("{}_{situation}", spec.name);
        if let Some(directory) = std::env::var_os("PACELINE_DRAW") {
            draw::write(directory.as_ref(), &name, rtt, &outcome);
        }
        if !seed::is_overridden() {
            let table = table(&scenario.to_string(), &outcome);
            insta::with_settings!(
                { omit_expression => true, prepend_module_to_snapshot => false },
                { insta::assert_snapshot!(name, table) }
            );
        }
    }
}

/// A line for each round trip: the decision, what came of it, and the state.
fn table(scenario: &str, outcome: &Outcome) -> String {
    let mut text = format!("{scenario}\n{HEADING}\n");
    let flow = outcome.flow(0);
    for point in &flow.points {
        writeln!(text, "{}", row(point)).expect("a string takes all");
    }
    write!(text, "{}", sums(flow)).expect("a string takes all");
    text
}

fn row(point: &Point) -> String {
    let rate = point.pacing_rate;
    let rate = (rate != Bandwidth::MAX).then(|| rate.bits_per_sec() / 1_000);
    let srtt = point.srtt.map(|srtt| srtt.as_micros());
    format!(
        "{:>6} {:>10} {:>8} {:>9} {:>7} {:>7} {:>5} {}",
        point.at.as_nanos() / 1_000_000,
        point.cwnd.get(),
        text(rate),
        point.inflight.get(),
        text(srtt),
        point.queue.get(),
        point.packets_lost,
        point.state
    )
}

fn text(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

fn sums(flow: &FlowOutcome) -> String {
    format!(
        "{} bytes delivered, {} packets sent, {} lost, {} marked",
        flow.delivered.get(),
        flow.packets_sent,
        flow.packets_lost,
        flow.packets_marked
    )
}

const HEADING: &str = "    ms       cwnd   kbit/s in flight srtt us   queue  lost state";

#[test]
fn start() {
    assert_recorded("start", RTT, |flow| Scenario::new(IDEAL).flow(flow));
}

#[test]
fn losses() {
    let link = format!("{IDEAL} loss packets 300,8000-8019");
    assert_recorded("losses", RTT, |flow| Scenario::new(&link).flow(flow));
}

#[test]
fn application() {
    let quarter = Bandwidth::from_bits_per_sec(5_000_000);
    let seconds = Duration::from_secs;
    assert_recorded("application", RTT, |flow| {
        let flow = flow.rate(quarter, seconds(3)).pause(seconds(1));
        Scenario::new(IDEAL).flow(flow.backlogged_for(seconds(4)))
    });
}

#[test]
fn marks() {
    let link = "rate 20mbit delay 10ms aqm dualpi2";
    let rtt = Duration::from_millis(20);
    assert_recorded("marks", rtt, |flow| Scenario::new(link).flow(flow.ecn()));
}

#[test]
fn random_loss() {
    let link = format!("{IDEAL} loss 1%");
    assert_recorded("random_loss", RTT, |flow| Scenario::new(&link).flow(flow));
}

#[test]
fn rate_drop() {
    let seconds = Duration::from_secs;
    assert_recorded("rate_drop", RTT, |flow| {
        Scenario::new(IDEAL)
            .change_link(seconds(3), "rate 5mbit delay 50ms queue 250kb")
            .change_link(seconds(6), IDEAL)
            .flow(flow)
    });
}
