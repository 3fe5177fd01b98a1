//! Applications in virtual time: what runs, what it measures, and that it does so twice.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod links;
mod own_socket;
mod priorities;
mod repeatable;
mod resume;
mod support;
mod ten_lines;
mod time;
mod unsent;
mod values;
