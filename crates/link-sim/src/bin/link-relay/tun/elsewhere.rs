//! Where there are no network namespaces.

use crate::failure::Failure;
use std::ffi::OsString;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    any: Vec<OsString>,
}

pub(super) fn run(_: &Arguments) -> Result<u8, Failure> {
    Err(Failure::run(
        "`link-relay tun` runs on Linux only: it needs network namespaces and TUN devices",
    ))
}
