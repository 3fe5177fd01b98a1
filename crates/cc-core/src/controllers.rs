//! The controllers of this crate. None imports another; what they share is in `parts`.

mod bbr;
mod brutal;
mod copa;
mod cubic;
mod fixed;
mod ledbat_pp;
mod new_reno;
mod paceline;
mod prague;

use crate::registry::{ControllerSpec, Registry, RetiredParam};

impl Registry {
    /// The controllers of this crate.
    pub fn standard() -> Self {
        Self::of(STANDARD, RETIRED)
    }
}

/// In the order in which they are listed.
const STANDARD: &[ControllerSpec] = &[
    paceline::SPEC,
    cubic::SPEC,
    new_reno::SPEC,
    bbr::V3,
    bbr::V2,
    bbr::V1,
    bbr::PLUS,
    copa::SPEC,
    prague::SPEC,
    ledbat_pp::SPEC,
    brutal::SPEC,
    fixed::SPEC,
];

/// What the controllers of earlier versions could be tuned by.
const RETIRED: &[RetiredParam] = &[RetiredParam {
    controller: "bbr3",
    name: "ambient_loss",
    advice: "take `paceline`, which separates random loss from congestion",
}];
