//! The paths of the groups.

use super::cell::{Cell, Figure, Start};
use std::time::Duration;

/// Headers are part of a packet here, so the most that a flow can have is the link's rate.
pub(crate) fn cell(name: String, link: String, half: f64, figure: Figure) -> Cell {
    Cell {
        name,
        link,
        return_link: format!("delay {half}ms"),
        changes: Vec::new(),
        flows: vec![Start::default()],
        counted: [5, 25].map(Duration::from_secs),
        figure,
    }
}

pub(crate) fn alone() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (mbit, rtt) in PATHS {
        for queue in ["0.05bdp", "0.2bdp", "1bdp", "4bdp", "4bdp aqm codel"] {
            let half = rtt / 2.0;
            cells.push(cell(
                format!("{mbit}mbit-{rtt}ms-{queue}"),
                format!("delay {half}ms rate {mbit}mbit queue {queue}"),
                half,
                Figure::Use(mbit * 1e6),
            ));
        }
    }
    cells
}

pub(crate) fn queue() -> Vec<Cell> {
    let mut cells = alone();
    cells.retain(|cell| cell.name.contains("1bdp") || cell.name.contains("4bdp"));
    for cell in &mut cells {
        let rtt = cell
            .name
            .split('-')
            .nth(1)
            .and_then(|text| text.strip_suffix("ms"));
        let ms: f64 = rtt.and_then(|text| text.parse().ok()).expect("an RTT");
        cell.figure = Figure::Queue(Duration::from_secs_f64(ms / 1e3));
    }
    cells
}

pub(crate) fn loss() -> Vec<Cell> {
    let mut cells = Vec::new();
    for rtt in [14.0, 45.0, 160.0] {
        for loss in [1.0, 2.0, 4.0, 7.0, 12.0, 17.0] {
            for jitter in [0.0, 0.1, 0.3] {
                let half = rtt / 2.0;
                let mbit = 35.0;
                let jitter = rtt * jitter;
                let mut cell = cell(
                    format!("{mbit}mbit-{rtt}ms-{loss}%-jitter-{jitter:.1}ms"),
                    format!(
                        "delay {half}ms{} loss {loss}% rate {mbit}mbit queue 1bdp",
                        varied(jitter)
                    ),
                    half,
                    Figure::Use(mbit * 1e6 * (1.0 - loss / 100.0)),
                );
                cell.counted = [10, 30].map(Duration::from_secs);
                cells.push(cell);
            }
        }
    }
    cells
}

/// Random loss where a round trip takes few packets, because it is short or the rate is low.
pub(crate) fn short() -> Vec<Cell> {
    let mut paths = vec![(5.0, 30.0), (3.0, 70.0), (10.0, 40.0), (8.0, 18.0)];
    for mbit in [8.0, 50.0, 100.0, 400.0] {
        paths.extend([0.2, 0.4, 1.0, 2.5, 6.0].map(|rtt| (mbit, rtt)));
    }
    let mut cells = Vec::new();
    for (mbit, rtt) in paths {
        for loss in [2.0, 5.0, 12.0] {
            let half = rtt / 2.0;
            cells.push(cell(
                format!("{mbit}mbit-{rtt}ms-{loss}%"),
                format!("delay {half}ms loss {loss}% rate {mbit}mbit queue 500p"),
                half,
                Figure::Use(mbit * 1e6 * (1.0 - loss / 100.0)),
            ));
        }
    }
    cells
}

/// Loss in bursts, of a percent or two.
pub(crate) fn bursts() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (mbit, rtt) in [(12.0, 25.0), (12.0, 80.0), (35.0, 45.0), (100.0, 30.0)] {
        for (name, loss) in [
            ("bursts-of-2", "gemodel 1% 50%"),
            ("bursts-of-4", "gemodel 0.4% 25%"),
            ("bursts-of-10", "gemodel 0.1% 10%"),
        ] {
            let half = rtt / 2.0;
            cells.push(cell(
                format!("{mbit}mbit-{rtt}ms-{name}"),
                format!("delay {half}ms loss {loss} rate {mbit}mbit queue 1bdp"),
                half,
                Figure::Use(mbit * 1e6),
            ));
        }
    }
    cells
}

pub(crate) fn falls() -> Vec<Cell> {
    changing(|high, rtt, buffer, half| {
        let mut cell = cell(
            format!("{high}mbit-{rtt}ms-{buffer:.0}b"),
            format!("delay {half}ms rate {high}mbit queue {buffer:.0}b"),
            half,
            Figure::Queue(Duration::from_secs_f64(rtt / 1e3)),
        );
        let low = high / 10.0;
        cell.changes = vec![(
            TEN,
            format!("delay {half}ms rate {low}mbit queue {buffer:.0}b"),
        )];
        cell.counted = [13, 18].map(Duration::from_secs);
        cell
    })
}

pub(crate) fn rises() -> Vec<Cell> {
    changing(|high, rtt, buffer, half| {
        let low = high / 10.0;
        let mut cell = cell(
            format!("{high}mbit-{rtt}ms-{buffer:.0}b"),
            format!("delay {half}ms rate {low}mbit queue {buffer:.0}b"),
            half,
            Figure::Use(high * 1e6),
        );
        cell.changes = vec![(
            TEN,
            format!("delay {half}ms rate {high}mbit queue {buffer:.0}b"),
        )];
        let wait = Duration::from_secs_f64((20.0 * rtt / 1e3).max(3.0));
        cell.counted = [TEN + wait, TEN + wait + Duration::from_secs(4)];
        cell
    })
}

fn changing(make: fn(f64, f64, f64, f64) -> Cell) -> Vec<Cell> {
    let mut cells = Vec::new();
    for high in [16.0, 40.0, 150.0] {
        for rtt in [15.0, 50.0, 170.0] {
            let bdp = high * rtt * 125.0;
            for buffer in [bdp, 3.0 * bdp, 700_000.0] {
                cells.push(make(high, rtt, buffer, rtt / 2.0));
            }
        }
    }
    cells
}

pub(crate) fn own_loss() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (mbit, rtt) in [
        (8.0, 15.0),
        (8.0, 50.0),
        (35.0, 15.0),
        (35.0, 50.0),
        (70.0, 15.0),
        (70.0, 80.0),
        (120.0, 30.0),
        (120.0, 70.0),
        (180.0, 45.0),
    ] {
        let line = 4.0 * mbit;
        for (name, bottleneck) in [
            (
                "0.05bdp".to_owned(),
                format!("rate {mbit}mbit queue 0.05bdp"),
            ),
            ("0.2bdp".to_owned(), format!("rate {mbit}mbit queue 0.2bdp")),
            policer(mbit, 15, line),
            policer(mbit, 80, line),
            (
                "fq_codel".to_owned(),
                format!("rate {mbit}mbit queue 20p aqm fq_codel noecn"),
            ),
        ] {
            let half = rtt / 2.0;
            cells.push(cell(
                format!("{mbit}mbit-{rtt}ms-{name}"),
                format!("delay {half}ms {bottleneck}"),
                half,
                Figure::MoreLoss,
            ));
        }
    }
    cells
}

pub(crate) fn disrupted() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (mbit, rtt) in [(12.0, 30.0), (40.0, 60.0)] {
        let half = rtt / 2.0;
        let path = format!("rate {mbit}mbit queue 1bdp");
        let plain = format!("delay {half}ms {path}");
        for (name, link, changes) in [
            ("silence-0.2s", plain.clone(), silence(&plain, 200)),
            ("silence-0.6s", plain.clone(), silence(&plain, 600)),
            (
                "detour-150ms",
                plain.clone(),
                vec![(TEN, format!("delay {}ms {path}", half + 150.0))],
            ),
            (
                "shortcut",
                format!("delay {}ms {path}", half + 150.0),
                vec![(TEN, plain.clone())],
            ),
            (
                "radio",
                format!(
                    "delay {half}ms rate {mbit}mbit queue 2bdp radio 500us suspend 60ms every 400ms"
                ),
                Vec::new(),
            ),
            (
                "radio-2ms",
                format!(
                    "delay {half}ms rate {mbit}mbit queue 4bdp radio 2ms suspend 150ms every 1s"
                ),
                Vec::new(),
            ),
            (
                "varying",
                format!("delay {half}ms rate {mbit}mbit queue 3bdp"),
                varying(mbit, half),
            ),
        ] {
            let mut cell = cell(
                format!("{mbit}mbit-{rtt}ms-{name}"),
                link,
                half,
                Figure::OfBetter,
            );
            cell.changes = changes;
            cells.push(cell);
        }
    }
    cells
}

/// Nothing is let through for `ms`, three times.
fn silence(link: &str, ms: u64) -> Vec<(Duration, String)> {
    let stop = |at: u64| {
        [
            (Duration::from_millis(at), format!("loss 100% {link}")),
            (Duration::from_millis(at + ms), link.to_owned()),
        ]
    };
    [8_000, 13_000, 18_000].into_iter().flat_map(stop).collect()
}

/// A rate that is drawn anew each 300 ms, from a tenth to all of it.
fn varying(mbit: f64, half: f64) -> Vec<(Duration, String)> {
    let mut rng = units::Rng::new(7);
    let mut share = 1.0_f64;
    (1..80)
        .map(|step| {
            let draw = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            share = (share * (0.5 + 1.2 * draw)).clamp(0.1, 1.0);
            let rate = mbit * share;
            let bytes = 3.0 * mbit * half * 250.0;
            (
                Duration::from_millis(300 * step),
                format!("delay {half}ms rate {rate:.3}mbit queue {bytes:.0}b"),
            )
        })
        .collect()
}

/// The name and the link of a policer of `mbit` whose bucket holds `kb`, before a line of `line`
/// Mbit/s.
pub(crate) fn policer(mbit: f64, kb: u32, line: f64) -> (String, String) {
    (
        format!("policer-{kb}kb"),
        format!("policer {mbit}mbit burst {kb}kb rate {line}mbit queue 1000p"),
    )
}

/// A jitter that keeps packets in order, in the words of a link.
pub(crate) fn varied(ms: f64) -> String {
    match ms > 0.0 {
        true => format!(" {ms:.3}ms ordered"),
        false => String::new(),
    }
}

/// Mbit/s and ms.
const PATHS: [(f64, f64); 6] = [
    (2.0, 35.0),
    (8.0, 12.0),
    (8.0, 110.0),
    (35.0, 25.0),
    (35.0, 140.0),
    (160.0, 45.0),
];
pub(crate) const TEN: Duration = Duration::from_secs(10);
