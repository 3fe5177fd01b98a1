//! The programs from their command line to their exit code.

mod ab;
mod list;
mod manual;
mod matrix;
mod remote;
mod report;
mod run;
mod serve;

use crate::args::{self, Command, Exit};
use crate::failure::Failure;
use crate::interrupt::Interrupts;
use crate::terminal;
use cc_core::Registry;
use std::ffi::OsString;
use std::process::ExitCode;

/// `bench-client` with the controllers of `registry`.
///
/// `args` begins with the program's name, as [`std::env::args_os`] does. Exit codes: 0 done; 1 the
/// run failed, and what was measured until then is written, marked `"complete": false`; 2 the
/// command line is wrong.
pub fn client_main(registry: &Registry, args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let ended = args::client(args).and_then(|args| {
        match args.command {
            Command::Run(args) => run::run(&args, registry),
            Command::Ab(args) => ab::run(&args, registry),
            Command::Matrix(args) => matrix::run(&args, registry),
            Command::Report(args) => report::run(&args),
            Command::List => list::run(registry),
            Command::Man(args) => manual::write_pages(&args),
            Command::Completions(args) => Ok(manual::print_completions(&args)),
        }
        .map_err(Exit::Refused)
    });
    exit_code(ended)
}

/// `bench-server` with the controllers of `registry`.
///
/// `args` begins with the program's name. It serves until it is interrupted. Exit codes as those of
/// [`client_main`].
pub fn server_main(registry: &Registry, args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let ended =
        args::server(args).and_then(|args| serve::run(&args, registry).map_err(Exit::Refused));
    exit_code(ended)
}

fn exit_code(ended: Result<ExitCode, Exit>) -> ExitCode {
    let code = match ended {
        Ok(code) => code,
        Err(Exit::Asked(text)) => {
            terminal::text(&text);
            ExitCode::SUCCESS
        }
        Err(Exit::Refused(failure)) => terminal::failure(&failure),
    };
    match terminal::lost() {
        Some(failure) if code == ExitCode::SUCCESS => terminal::failure(&failure),
        Some(failure) => {
            terminal::failure(&failure);
            code
        }
        None => code,
    }
}

/// A runtime whose tasks all run on the calling thread, so that its processor time is theirs.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::run(format!("cannot wait for sockets: {error}")))
}

fn interrupts() -> Result<Interrupts, Failure> {
    Interrupts::listen().map_err(|error| Failure::run(format!("cannot catch Ctrl-C: {error}")))
}
