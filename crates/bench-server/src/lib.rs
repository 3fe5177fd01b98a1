//! The server side of Paceline's throughput runs and A/B tests.
//!
//! ```text
//!  args ──▶ serve ──▶ threads ──▶ admission: a permit or a refusal
//!  another program ──▶ Server ─┴─▶ session, one per client: plan ──▶ transfer ──▶ report
//!                                  quota: limits while it runs      log_limiter: a bounded log
//! ```
//!
//! [`main_with`] is the program for a registry of one's own; [`Server`] serves inside another one.

mod admission;
mod args;
mod background;
mod listening;
mod log_limiter;
mod quota;
mod serve;
mod server;
mod session;
mod setup;
mod shared;
mod threads;
mod turns;

pub use admission::AdmissionLimits;
pub use cc_core::Registry;
pub use server::Server;
pub use setup::{Log, Resume, ServerSetup};

use args::ServerCommand;
use bench_kit::cli::{self, Exit};
use bench_kit::completions::{self, Shell};
use bench_kit::terminal;
use clap::CommandFactory as _;
use std::ffi::OsString;
use std::process::ExitCode;

/// `bench-server` with the controllers of `registry`.
///
/// `args` begins with the program's name, as [`std::env::args_os`] does. It serves until it is
/// interrupted; with `-D` it starts the program that runs, with the same `args`, in the background,
/// and returns once that serves. Exit codes: 0 done; 1 it failed; 2 the command line is wrong.
pub fn main_with(registry: &Registry, args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = args.into_iter().collect();
    let ended = args::parse(words.iter().cloned()).and_then(|args| {
        if let Some(ServerCommand::Completions(args)) = &args.command {
            terminal::text(&completions(args.shell, registry));
            return Ok(ExitCode::SUCCESS);
        }
        let ended = match background::is_wanted(&args) {
            true => background::start(&words),
            false => serve::run(&args, registry),
        };
        ended.map_err(Exit::Refused)
    });
    cli::exit_code(ended)
}

/// The command line, for manual pages.
pub fn command() -> clap::Command {
    args::ServerArgs::command()
}

/// What `shell` needs to complete the command line, with the controllers of `registry`.
pub fn completions(shell: Shell, registry: &Registry) -> String {
    let mut command = completions::with_values(command(), &|value| match value {
        "CC" => completions::controllers(registry),
        _ => Vec::new(),
    });
    completions::script(shell, &mut command)
}

/// The examples of the crate's README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
