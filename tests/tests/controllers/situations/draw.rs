//! A run as the picture that a report has of a round.

use bench_report::plot;
use bench_report::result::{
    AbResult, Counts, Finite, Interval, Quantity, Round, SCHEMA_VERSION, Variant,
};
use core::time::Duration;
use e2e::sim::{Outcome, Point};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use units::{Bandwidth, Timestamp};

/// Writes `DIRECTORY/NAME.svg`; the path's round-trip time is `rtt`.
pub(crate) fn write(directory: &Path, name: &str, rtt: Duration, outcome: &Outcome) {
    let result = AbResult {
        schema_version: SCHEMA_VERSION,
        complete: true,
        seed: outcome.seed(),
        is_virtual: true,
        link: name.to_owned(),
        base_rtt_ms: Some(Finite::millis(rtt)),
        round_seconds: Some(Finite::seconds(length(outcome))),
        variants: vec![Variant {
            name: name.to_owned(),
            cc: format!("seed {}", outcome.seed()),
            server: None,
            run: None,
            flows: 1,
            start_seconds: Finite::ZERO,
            extra_delay_ms: Finite::ZERO,
            duplicate: 1,
            rounds: vec![round(outcome)],
            summary: BTreeMap::new(),
        }],
        ..AbResult::default()
    };
    let figure = plot::time_series(&result, 0).expect("a run has points");
    fs::create_dir_all(directory).expect("the directory can be made");
    let file = directory.join(name).with_extension("svg");
    fs::write(&file, figure.titled()).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}

fn length(outcome: &Outcome) -> Duration {
    outcome.ended_at.since(Timestamp::ZERO)
}

fn round(outcome: &Outcome) -> Round {
    let flow = outcome.flow(0);
    let pairs = flow.points.windows(2);
    Round {
        streams: 1,
        seconds: Finite::seconds(length(outcome)),
        bytes: flow.delivered.get(),
        intervals: pairs.map(|pair| interval(&pair[0], &pair[1])).collect(),
        ..Round::default()
    }
}

/// From one point to the next.
fn interval(before: &Point, point: &Point) -> Interval {
    let length = point.at.since(before.at);
    let delivered = point.delivered - before.delivered;
    let is_paced = point.pacing_rate != Bandwidth::MAX;
    let bits = |rate: Bandwidth| rate.bits_per_sec();
    let seconds = Finite::seconds(length);
    let mut counts = Counts::of([
        (Quantity::Cwnd, point.cwnd.get()),
        (Quantity::InFlight, point.inflight.get()),
        (
            Quantity::PacketsLost,
            point.packets_lost - before.packets_lost,
        ),
    ]);
    counts.set_time(Quantity::SmoothedRtt, point.srtt);
    counts.set(
        Quantity::PacingRate,
        is_paced.then(|| bits(point.pacing_rate)),
    );
    counts.set(Quantity::DeliveryRate, point.delivery_rate.map(bits));
    Interval {
        t: Finite::seconds(point.at.since(Timestamp::ZERO)),
        seconds,
        goodput_bits_per_second: bits(Bandwidth::from_transfer(delivered, length)),
        sender: counts.figures(seconds),
        state: Some(point.state.to_owned()),
        ..Interval::default()
    }
}
