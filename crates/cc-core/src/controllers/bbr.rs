//! BBR: version 1 as in Linux, BBRplus that changes how version 1 cycles, and versions 2 and 3,
//! two revisions of one draft.

mod plus;
mod ranges;
mod v1;
mod v3;

pub(super) use plus::SPEC as PLUS;
pub(super) use v1::eight_phases::SPEC as V1;
pub(super) use v3::draft_02::SPEC as V2;
pub(super) use v3::draft_06::SPEC as V3;
