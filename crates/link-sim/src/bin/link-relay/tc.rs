//! The links as commands for a kernel's tc.

use crate::arguments::Arguments;
use crate::failure::Failure;
use link_sim::{PingExpectation, TcDevices};
use std::io::{self, Write as _};

/// Prints a shell script; shell variables name its devices.
///
/// # Errors
/// A wrong link, or one that tc has not.
pub(super) fn print(arguments: &Arguments) -> Result<(), Failure> {
    let (link, return_link) = arguments.links()?;
    let base_rtt = link.base_rtt(&return_link).map_err(Failure::usage)?;
    let mut blocks = Vec::new();
    for (link, towards, devices) in [
        (&link, "server", TO_SERVER),
        (&return_link, "client", TO_CLIENT),
    ] {
        let commands = link
            .tc_commands(base_rtt, devices)
            .map_err(|error| Failure::run(format!("tc cannot shape this: {error}")))?;
        if !commands.is_empty() {
            blocks.push((towards, commands));
        }
    }
    write(&blocks).map_err(Failure::run)
}

/// Prints what a check of a path that these commands shape compares pings with: times in
/// microseconds, the loss in millionths, which is missing where so few pings do not tell.
///
/// # Errors
/// A wrong link.
pub(super) fn print_ping(arguments: &Arguments) -> Result<(), Failure> {
    let (link, return_link) = arguments.links()?;
    let ping = PingExpectation::new(&link, &return_link);
    let (min, max) = (ping.min_rtt.as_micros(), ping.max_rtt.as_micros());
    let loss = ping.loss.map(|loss| loss.millionths().to_string());
    let loss = loss.unwrap_or_default();
    let text = format!("min_rtt_us={min}\nmax_rtt_us={max}\nloss_ppm={loss}\n");
    io::stdout()
        .write_all(text.as_bytes())
        .map_err(Failure::run)
}

/// Where something is waited for, each direction waits for itself.
fn write(blocks: &[(&str, Vec<String>)]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut all = blocks.iter().flat_map(|(_, commands)| commands);
    let waits = all.any(|command| command.starts_with("sleep "));
    for (towards, commands) in blocks {
        writeln!(out, "# Towards the {towards}.")?;
        if waits {
            writeln!(out, "(\n{}\n) &", commands.join("\n"))?;
        } else {
            writeln!(out, "{}", commands.join("\n"))?;
        }
    }
    if waits {
        writeln!(out, "wait")?;
    }
    Ok(())
}

const TO_SERVER: TcDevices<'_> = TcDevices {
    loss: "$LOSS_DEV",
    rate: "$RATE_DEV",
    delay: "$DELAY_DEV",
};
const TO_CLIENT: TcDevices<'_> = TcDevices {
    loss: "$RETURN_LOSS_DEV",
    rate: "$RETURN_RATE_DEV",
    delay: "$RETURN_DELAY_DEV",
};
