//! The groups: what a controller is to do.

use super::cell::{Cell, Figure};
use super::paths::{TEN, alone, bursts, disrupted, falls, loss, own_loss, queue, rises, short};
use super::shared::{beside_cubic, beside_cubic_policed, crowd, eight_fast, several, shallow};
use std::time::Duration;

/// Cells that are judged alike.
pub(crate) struct Group {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) bound: f64,
    pub(crate) is_at_least: bool,
    pub(crate) cells: fn() -> Vec<Cell>,
}

impl Group {
    pub(crate) fn is_worse(&self, figure: f64, than: f64) -> bool {
        match self.is_at_least {
            true => figure < than,
            false => figure > than,
        }
    }
}

pub(crate) const GROUPS: [Group; 20] = [
    at_least("alone", "use of the link", 0.9, alone),
    at_most("queue", "p95 of the queue, RTTs", 0.1, queue),
    at_least(
        "loss",
        "use of what random loss leaves, with jitter",
        0.97,
        loss,
    ),
    at_least(
        "short",
        "use of what random loss leaves, round trips of few packets",
        0.9,
        short,
    ),
    at_least("bursts", "use of the link, losses in bursts", 0.9, bursts),
    at_most(
        "falls",
        "queue from 3 s after the rate fell to a tenth, RTTs",
        1.0,
        falls,
    ),
    at_least(
        "rises",
        "use from 3 s or 20 RTTs after the rate rose tenfold",
        0.95,
        rises,
    ),
    at_least("two", "Jain's index of two flows", 0.95, || {
        several(2, Duration::ZERO, Figure::Jain)
    }),
    at_least("eight", "Jain's index of eight flows", 0.9, || {
        several(8, Duration::ZERO, Figure::Jain)
    }),
    at_least(
        "eight-fast",
        "Jain's index of eight fast flows",
        0.9,
        eight_fast,
    ),
    at_least(
        "two-late",
        "share of a second flow, 10 s later",
        0.8,
        || several(2, TEN, Figure::LastShare),
    ),
    at_least(
        "eight-late",
        "Jain's index of eight flows, each 10 s later",
        0.9,
        || several(8, TEN, Figure::Jain),
    ),
    at_least(
        "last",
        "share of the last of eight flows, each 10 s later",
        0.8,
        || several(8, TEN, Figure::LastShare),
    ),
    at_least(
        "beside-cubic",
        "what CUBIC keeps beside it",
        0.8,
        beside_cubic,
    ),
    at_least(
        "policed",
        "what CUBIC keeps beside it, policers and CoDel",
        0.8,
        beside_cubic_policed,
    ),
    at_most(
        "own-loss",
        "loss, percentage points more than bbr3",
        0.0,
        own_loss,
    ),
    at_most("crowd", "loss of flows with few packets, %", 5.0, crowd),
    at_most(
        "shallow",
        "loss of flows in short queues and policers, %",
        5.0,
        || shallow(Figure::Loss),
    ),
    at_least(
        "shallow-jain",
        "Jain's index of flows in short queues and policers",
        0.9,
        || shallow(Figure::Jain),
    ),
    at_least(
        "disrupt",
        "goodput, of the better of cubic and bbr1",
        0.95,
        disrupted,
    ),
];

const fn at_least(
    name: &'static str,
    title: &'static str,
    bound: f64,
    cells: fn() -> Vec<Cell>,
) -> Group {
    Group {
        name,
        title,
        bound,
        is_at_least: true,
        cells,
    }
}

const fn at_most(
    name: &'static str,
    title: &'static str,
    bound: f64,
    cells: fn() -> Vec<Cell>,
) -> Group {
    Group {
        is_at_least: false,
        ..at_least(name, title, bound, cells)
    }
}
