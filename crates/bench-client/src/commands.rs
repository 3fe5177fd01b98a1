//! The programs from their command line to their exit code.

mod ab;
mod list;
mod manual;
mod matrix;
mod remote;
mod report;
mod run;
mod scorecard;
mod terminal_width;

use crate::args::{self, Command};
use crate::shell;
use bench_kit::cli::{self, Exit};
use cc_core::Registry;
use std::ffi::OsString;
use std::process::ExitCode;

/// `bench-client` with the controllers of `registry`.
///
/// `args` begins with the program's name, as [`std::env::args_os`] does. Exit codes: 0 done; 1 the
/// run failed or was ended early, and what was measured until then is written, marked
/// `"complete": false`; 2 the command line is wrong.
pub fn main_with(registry: &Registry, args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = args.into_iter().collect();
    let command = shell::measuring(&words);
    let ended = args::parse(words).and_then(|args| {
        match args.command {
            Command::Run(mut args) => {
                args.command = command;
                run::run(&args, registry)
            }
            Command::Ab(mut args) => {
                args.command = command;
                ab::run(&args, registry)
            }
            Command::Matrix(args) => matrix::run(&args, registry),
            Command::Scorecard(args) => scorecard::run(&args, registry),
            Command::Report(args) => report::run(&args),
            Command::List(args) => list::run(&args, registry),
            Command::Man(args) => manual::write_pages(&args),
            Command::Completions(args) => Ok(manual::print_completions(&args, registry)),
        }
        .map_err(Exit::Refused)
    });
    cli::exit_code(ended)
}
