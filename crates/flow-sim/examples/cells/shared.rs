//! The paths of the groups whose flows share a bottleneck.

use super::cell::{Cell, Figure, Start};
use super::paths::{cell, policer, varied};
use std::time::Duration;

/// `count` flows, each `apart` after the one before.
pub(crate) fn several(count: u32, apart: Duration, figure: Figure) -> Vec<Cell> {
    let rates: &[f64] = if apart.is_zero() {
        &[15.0, 70.0]
    } else {
        &[15.0, 40.0]
    };
    let paths = rates
        .iter()
        .flat_map(|&mbit| [15.0, 60.0].map(|rtt| (mbit, rtt)));
    let mut cells: Vec<Cell> = paths
        .flat_map(|(mbit, rtt)| bottlenecks(mbit, rtt, figure))
        .collect();
    let begun = apart * (count - 1) + Duration::from_secs(15);
    let counted = if apart.is_zero() { 30 } else { 10 };
    for cell in &mut cells {
        cell.flows = (0..count)
            .map(|index| Start {
                at: apart * index,
                ..Start::default()
            })
            .collect();
        cell.counted = [begun, begun + Duration::from_secs(counted)];
    }
    cells
}

/// Eight flows with many packets each.
pub(crate) fn eight_fast() -> Vec<Cell> {
    let paths = [(90.0, 110.0), (150.0, 70.0)];
    let cells = paths
        .into_iter()
        .flat_map(|(mbit, rtt)| bottlenecks(mbit, rtt, Figure::Jain));
    cells
        .map(|mut cell| {
            cell.flows = vec![Start::default(); 8];
            cell.counted = [15, 45].map(Duration::from_secs);
            cell
        })
        .collect()
}

/// What may be between flows that share `mbit` and `rtt` ms.
fn bottlenecks(mbit: f64, rtt: f64, figure: Figure) -> [Cell; 7] {
    let (half, jitter) = (rtt / 2.0, rtt / 5.0);
    [
        ("0.5bdp", String::new(), "queue 0.5bdp"),
        ("1bdp", String::new(), "queue 1bdp"),
        ("4bdp", String::new(), "queue 4bdp"),
        ("loss-1.5%", " loss 1.5%".to_owned(), "queue 1bdp"),
        ("loss-3%", " loss 3%".to_owned(), "queue 1bdp"),
        ("jitter", varied(jitter), "queue 1bdp"),
        ("codel", String::new(), "queue 4bdp aqm codel"),
    ]
    .map(|(name, variation, queue)| {
        cell(
            format!("{mbit}mbit-{rtt}ms-{name}"),
            format!("delay {half}ms{variation} rate {mbit}mbit {queue}"),
            half,
            figure,
        )
    })
}

/// Flows of twenty packets at most, or of less than one.
pub(crate) fn crowd() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (mbit, rtt, flows) in [
        (15.0, 15.0, 8),
        (15.0, 30.0, 8),
        (15.0, 90.0, 10),
        (40.0, 60.0, 10),
        (100.0, 5.0, 20),
        (100.0, 0.5, 8),
        (400.0, 0.5, 8),
    ] {
        for queue in ["0.5bdp", "1bdp", "20p"] {
            let half = rtt / 2.0;
            let mut cell = cell(
                format!("{mbit}mbit-{rtt}ms-{queue}-{flows}-flows"),
                format!("delay {half}ms rate {mbit}mbit queue {queue}"),
                half,
                Figure::Loss,
            );
            cell.flows = vec![Start::default(); flows];
            cell.counted = [15, 45].map(Duration::from_secs);
            cells.push(cell);
        }
    }
    cells
}

/// Flows that together have little room: short queues and policers.
pub(crate) fn shallow(figure: Figure) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (mbit, rtt, flows) in [
        (45.0, 20.0, 8),
        (12.0, 130.0, 8),
        (90.0, 130.0, 8),
        (25.0, 60.0, 4),
        (200.0, 30.0, 8),
        (15.0, 80.0, 2),
    ] {
        let half = rtt / 2.0;
        let mut paths = Vec::new();
        for queue in ["0.1bdp", "0.25bdp"] {
            for (name, jitter) in [("", 0.0), ("-jitter", 0.05)] {
                let jitter = varied(rtt * jitter);
                paths.push((
                    format!("{queue}{name}"),
                    format!("delay {half}ms{jitter} rate {mbit}mbit queue {queue}"),
                ));
            }
        }
        for seconds in [0.04, 0.12] {
            let kb = (mbit * 125.0 * seconds) as u32;
            let (name, link) = policer(mbit, kb.max(6), mbit * 4.0);
            paths.push((name, format!("delay {half}ms {link}")));
        }
        for (name, link) in paths {
            let mut cell = cell(
                format!("{mbit}mbit-{rtt}ms-{name}-{flows}-flows"),
                link,
                half,
                figure,
            );
            cell.flows = vec![Start::default(); flows];
            cell.counted = [10, 30].map(Duration::from_secs);
            cells.push(cell);
        }
    }
    cells
}

pub(crate) fn beside_cubic() -> Vec<Cell> {
    let mut cells = Vec::new();
    for mbit in [15.0, 70.0] {
        for rtt in [15.0, 60.0] {
            for jitter in [0.0, 0.1] {
                for queue in ["0.5bdp", "1bdp", "4bdp"] {
                    let (half, jitter) = (rtt / 2.0, rtt * jitter);
                    cells.push(beside(cell(
                        format!("{mbit}mbit-{rtt}ms-{queue}-jitter-{jitter}ms"),
                        format!(
                            "delay {half}ms{} rate {mbit}mbit queue {queue}",
                            varied(jitter)
                        ),
                        half,
                        Figure::Kept,
                    )));
                }
            }
        }
    }
    cells
}

pub(crate) fn beside_cubic_policed() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (mbit, rtt) in [
        (8.0, 15.0),
        (8.0, 50.0),
        (35.0, 15.0),
        (35.0, 50.0),
        (35.0, 120.0),
    ] {
        let line = 5.0 * mbit;
        for (name, bottleneck) in [
            policer(mbit, 30, line),
            policer(mbit, 120, line),
            (
                "codel".to_owned(),
                format!("rate {mbit}mbit queue 4bdp aqm codel"),
            ),
        ] {
            let half = rtt / 2.0;
            cells.push(beside(cell(
                format!("{mbit}mbit-{rtt}ms-{name}"),
                format!("delay {half}ms {bottleneck}"),
                half,
                Figure::Kept,
            )));
        }
    }
    cells
}

fn beside(mut cell: Cell) -> Cell {
    cell.flows = vec![
        Start {
            controller: Some("cubic"),
            ..Start::default()
        },
        Start::default(),
    ];
    cell.counted = [10, 50].map(Duration::from_secs);
    cell
}
