//! `link-relay`: UDP in, an emulated link, UDP out.

mod arguments;
mod changes;
mod cli;
mod convert;
mod failure;
mod lists;
mod manual;
mod output;
mod report;
mod session;
mod signals;
mod tc;
mod timing;
#[cfg_attr(not(target_os = "linux"), path = "tun/elsewhere.rs")]
mod tun;

use arguments::Arguments;
use clap::{CommandFactory as _, Parser, Subcommand};
use failure::{Failure, print_error};
use std::process::ExitCode;

/// Relays UDP between clients and a server over an emulated link.
///
/// Clients send to --listen as if it were the server. A LINK uses the grammar of tc netem, as in
/// `delay 20ms 5ms distribution normal loss 1% rate 100mbit limit 1000`, with additions such as
/// `queue 1bdp aqm fq_codel` and `at 10s rate 1mbit`; --list-words lists all of it. A LINK may
/// begin with a preset of --list-presets, as in `lte-down loss 1%`. Ctrl-C stops the relay and
/// prints totals.
///
/// While the relay runs, a line on standard input changes a link: `LINK` the one to the server,
/// `return LINK` the one to the clients. Packets already on a link stay on it.
#[derive(Debug, Parser)]
#[command(
    name = "link-relay",
    version,
    disable_version_flag = true,
    propagate_version = true
)]
#[command(max_term_width = HELP_WIDTH)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct CommandLine {
    #[command(flatten)]
    relay: Option<Arguments>,
    #[command(subcommand)]
    other: Option<Other>,
    /// Print the version
    #[arg(short = 'v', short_alias = 'V', long, action = clap::ArgAction::Version)]
    version: (),
}

/// What is not a relay between sockets.
#[derive(Debug, Subcommand)]
enum Other {
    Exec(tun::ExecArguments),
    Tun(tun::Arguments),
    ConvertTrace(convert::Arguments),
    Man(manual::ManArguments),
    Completions(manual::CompletionsArguments),
}

fn main() -> ExitCode {
    let command_line: CommandLine = cli::parse();
    let result = match (&command_line.other, &command_line.relay) {
        (Some(Other::Exec(arguments)), _) => tun::run_exec(arguments),
        (Some(Other::Tun(arguments)), _) => tun::run(arguments),
        (Some(Other::ConvertTrace(arguments)), _) => convert::run(arguments).map(|()| 0),
        (Some(Other::Man(arguments)), _) => {
            manual::write_pages(arguments, CommandLine::command()).map(|()| 0)
        }
        (Some(Other::Completions(arguments)), _) => {
            manual::print_completions(arguments, CommandLine::command()).map(|()| 0)
        }
        (None, Some(arguments)) if arguments.list_presets => lists::print_presets().map(|()| 0),
        (None, Some(arguments)) if arguments.list_words => lists::print_words().map(|()| 0),
        (None, Some(arguments)) if arguments.print_tc => tc::print(arguments).map(|()| 0),
        (None, Some(arguments)) if arguments.print_ping => tc::print_ping(arguments).map(|()| 0),
        (None, Some(arguments)) => session::run(arguments).map(|()| 0),
        (None, None) => unreachable!("clap asks for --listen and --to"),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(Failure { message, code }) => {
            print_error(message);
            ExitCode::from(code)
        }
    }
}

/// Columns of a terminal that nobody has made wider.
const HELP_WIDTH: usize = 80;
