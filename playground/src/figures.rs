//! A session as the report's plots.

use super::session::Session;
use bench_report::plot;
use bench_report::result::{AbResult, Figures, Finite, Interval, Quantity, Round, Variant};
use flow_sim::Point;
use std::collections::BTreeMap;
use std::time::Duration;
use units::{Bandwidth, Timestamp};

/// Name and SVG of each picture: those of all flows, and the states of the one at `flow`.
pub(crate) fn figures(session: &Session, flow: usize) -> Vec<(&'static str, String)> {
    let result = result(session);
    let mut figures = vec![
        ("goodput", plot::goodput(&result).inline()),
        ("rtt", plot::rtt(&result).inline()),
        ("queue", plot::queue(&result, &queue(session)).inline()),
        ("window", plot::window(&result).inline()),
    ];
    if let Some(states) = plot::time_series(&result, flow) {
        figures.push(("states", states.inline()));
    }
    figures
}

/// Flows as the variants of a test of one round.
fn result(session: &Session) -> AbResult {
    let flows = session.setup.flows.iter().zip(&session.points);
    let variants = flows.zip(NAMES).map(|((setup, points), name)| Variant {
        name: name.to_owned(),
        cc: setup.controller.clone(),
        server: None,
        run: None,
        flows: 1,
        start_seconds: Finite::new(setup.start).unwrap_or_default(),
        extra_delay_ms: Finite::ZERO,
        duplicate: 1,
        rounds: vec![Round {
            intervals: intervals(points),
            ..Round::default()
        }],
        summary: BTreeMap::new(),
    });
    AbResult {
        link: session.setup.link.clone(),
        link_rate_bits_per_second: session.link.rate().map(Bandwidth::bits_per_sec),
        base_rtt_ms: Some(Finite::millis(session.base_rtt)),
        variants: variants.collect(),
        is_virtual: true,
        ..AbResult::default()
    }
}

fn intervals(points: &[Point]) -> Vec<Interval> {
    let pairs = points.windows(2);
    let intervals = pairs.map(|pair| {
        let (before, point) = (&pair[0], &pair[1]);
        let time = point.at.since(before.at);
        let goodput = Bandwidth::from_transfer(point.delivered - before.delivered, time);
        let lost = point.packets_lost - before.packets_lost;
        Interval {
            t: seconds(point.at),
            seconds: Finite::seconds(time),
            omitted: false,
            goodput_bits_per_second: goodput.bits_per_sec(),
            sender: sender(point, lost),
            state: Some(point.state.to_owned()),
            datagrams: None,
            frames: None,
        }
    });
    intervals.collect()
}

fn sender(point: &Point, lost: u64) -> Figures {
    let rate = |rate: Bandwidth| rate.bits_per_sec() as f64;
    let is_paced = point.pacing_rate != Bandwidth::MAX;
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let known = [
        (Quantity::SmoothedRtt, point.srtt.map(millis)),
        (Quantity::Cwnd, Some(point.cwnd.get() as f64)),
        (Quantity::InFlight, Some(point.inflight.get() as f64)),
        (
            Quantity::PacingRate,
            is_paced.then(|| rate(point.pacing_rate)),
        ),
        (Quantity::DeliveryRate, point.delivery_rate.map(rate)),
        (Quantity::PacketsLost, Some(lost as f64)),
    ];
    let known = known.into_iter();
    Figures::of(known.filter_map(|(quantity, figure)| Some((quantity, figure?))))
}

/// What waits before the link, in bytes over seconds. All flows see the same queue.
fn queue(session: &Session) -> Vec<(f64, f64)> {
    let points = session.points.first().into_iter().flatten();
    let queue = points.map(|point| (seconds(point.at).get(), point.queue.get() as f64));
    queue.collect()
}

fn seconds(at: Timestamp) -> Finite {
    Finite::seconds(at.since(Timestamp::ZERO))
}

const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
