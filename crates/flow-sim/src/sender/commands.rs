//! What a flow's plan changes in the middle of a run.

use crate::flow::Flow;
use cc_core::ControllerChoice;
use core::time::Duration;
use std::collections::VecDeque;
use units::{Bytes, Timestamp};

/// One change.
#[derive(Debug)]
pub(super) enum Command {
    Mss(Bytes),
    Controller(ControllerChoice),
    SendsEct1(bool),
}

/// Those of `plan` with their times, in order; `choose` reads a controller.
pub(super) fn commands(
    plan: &Flow,
    choose: impl Fn(&str) -> ControllerChoice,
) -> VecDeque<(Timestamp, Command)> {
    let at = |time: &Duration| Timestamp::ZERO + *time;
    let sizes = plan.mtu_changes.iter();
    let sizes = sizes.map(|(time, mss)| (at(time), Command::Mss(*mss)));
    let controllers = plan.controller_changes.iter();
    let controllers = controllers.map(|(time, name)| (at(time), Command::Controller(choose(name))));
    let ect1 = plan.ect1_changes.iter();
    let ect1 = ect1.map(|(time, sends)| (at(time), Command::SendsEct1(*sends)));
    let mut commands: Vec<_> = sizes.chain(controllers).chain(ect1).collect();
    commands.sort_by_key(|(time, _)| *time);
    commands.into()
}
