//! What any bytes are to a controller: its parameters, and the history of a connection.
//!
//! ```text
//!  bytes ─▶ Input ─▶ Subject: controller, parameters, setup ─┐
//!                └─▶ operations ─────────────────────────────┴▶ Connection: Flow, Pacer, own books
//!                                                                  │ after each operation
//!                                                                  ▼
//!                                                               promises
//! ```
//!
//! `tests/any_history.rs` runs it on random bytes, as many as are wanted, and
//! `fuzz/fuzz_targets/controllers.rs` on what libFuzzer finds. Every controller of the standard
//! registry takes part, those to come included.

mod connection;
mod input;
mod op;
mod promises;
mod steady;
mod subject;

use cc_core::ResumePlan;
use connection::Connection;
use input::Input;
use promises::Fastest;

/// As [`history`] of a connection that resumes from any saved path; see [`promises::check`] for
/// what that changes. Answers how many operations there were.
pub(crate) fn resumed(data: &[u8]) -> u64 {
    let mut input = Input::new(data);
    let plan = input.resume_plan();
    live(&mut input, Some(plan))
}

/// Any history: after each operation everything holds that [`promises`] says, and a second
/// connection that lives through the same, unwatched, decides the same. Answers how many
/// operations there were.
pub(crate) fn history(data: &[u8]) -> u64 {
    live(&mut Input::new(data), None)
}

fn live(input: &mut Input<'_>, plan: Option<ResumePlan>) -> u64 {
    let subject = input.subject();
    let ops = input.ops();
    let mut connection = Connection::new(&subject);
    let mut twin = Connection::new(&subject);
    if let Some(plan) = plan {
        connection.resume(plan);
        twin.resume(plan);
    }
    let mut fastest = Fastest::default();
    for op in &ops {
        let before = connection.state();
        connection.apply(op, &mut fastest);
        promises::check(&connection, op, &before, &fastest);
        twin.apply(op, &mut ());
        let twins = connection.state();
        assert_eq!(twins, twin.state(), "{op:?} of {subject}");
    }
    ops.len() as u64
}

/// A sender that never has much in flight; see [`steady::limited`]. Answers how many operations
/// there were.
pub(crate) fn limited(data: &[u8]) -> u64 {
    let mut input = Input::new(data);
    steady::limited(&input.subject(), &mut input)
}

/// A sender that pauses; see [`steady::idle`]. Answers how many operations there were.
pub(crate) fn idle(data: &[u8]) -> u64 {
    let mut input = Input::new(data);
    steady::idle(&input.subject(), &mut input)
}
