//! Where there are no network namespaces.

use crate::failure::Failure;
use std::ffi::OsString;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    any: Vec<OsString>,
}

/// Nothing is different about it here.
pub(super) type ExecArguments = Arguments;

pub(super) fn run_exec(arguments: &ExecArguments) -> Result<u8, Failure> {
    run(arguments)
}

pub(super) fn run(_: &Arguments) -> Result<u8, Failure> {
    Err(Failure::run(
        "`link-relay exec` and `tun` run on Linux only: they need network namespaces and TUN",
    ))
}
