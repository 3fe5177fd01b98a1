//! The beginning of a connection as CSV, a row for every millisecond of virtual time.
//!
//! ```text
//! cargo run -p paceline --features testing --example startup_trace > startup.csv
//! cargo run -p paceline --features testing --example startup_trace -- \
//!     bbr1 "delay 20ms rate 50mbit queue 1bdp" 2s
//! ```
//!
//! Arguments are the controller, the link to the server and the time from the end of the handshake
//! on; without any, BBR's Startup, Drain and first cruise over 100 Mbit/s, 40 ms round-trip time
//! and a queue of two bandwidth-delay products. A real QUIC client sends all that its controller
//! lets it; the same arguments give the same rows.
//!
//! Rates are in bit/s, sizes in bytes, times in ms; what is not known yet is empty. `delivered` is
//! what the client knows to be acknowledged.

#[path = "shared/program.rs"]
mod program;

use paceline::cc_core::Registry;
use paceline::testing::{LinkSpec, Load, Pair, PairConfig, Side};
use paceline::units::{Bandwidth, Timestamp, duration};
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    program::run(USAGE, 3, read, |(controller, link, time)| {
        trace(&controller, &link, time, &mut io::stdout().lock())?;
        Ok(ExitCode::SUCCESS)
    })
}

fn read(args: &[String]) -> Result<(String, String, Duration), Box<dyn Error>> {
    let arg = |index: usize, default| args.get(index).map_or(default, String::as_str);
    let (controller, link) = (arg(0, "bbr3"), arg(1, LINK));
    Registry::standard().choose(controller)?;
    let _: LinkSpec = link.parse()?;
    let time = duration::parse(arg(2, "1s"))?;
    Ok((controller.to_owned(), link.to_owned(), time))
}

/// Writes the first `time` of a connection under `controller` over `link`.
pub(crate) fn trace(
    controller: &str,
    link: &str,
    time: Duration,
    out: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    let mut config = PairConfig {
        link: link.parse()?,
        return_link: RETURN_LINK.parse()?,
        ..PairConfig::default()
    };
    let choice = Registry::standard().choose(controller)?;
    config.client.congestion(choice);
    let mut pair = Pair::new(&config)?;
    pair.connect(Duration::from_secs(5))?;
    pair.send(Side::Client, Load::Endless);
    let start = pair.now();
    writeln!(out, "{HEADER}")?;
    while pair.now().since(start) < time {
        write_row(&pair, start, out)?;
        pair.run_for(STEP);
    }
    Ok(())
}

fn write_row(pair: &Pair, start: Timestamp, out: &mut impl Write) -> io::Result<()> {
    let (snapshot, stats) = (pair.congestion(Side::Client), pair.stats(Side::Client));
    let rate = |rate: Option<Bandwidth>| {
        let known = rate.filter(|rate| *rate != Bandwidth::MAX);
        known.map_or(String::new(), |rate| rate.bits_per_sec().to_string())
    };
    let millis = |time: Duration| format!("{:.3}", time.as_secs_f64() * 1e3);
    writeln!(
        out,
        "{},{},{},{},{},{},{},{}",
        pair.now().since(start).as_millis(),
        snapshot.state,
        snapshot.control.cwnd.get(),
        rate(Some(snapshot.control.pacing_rate)),
        rate(snapshot.bandwidth),
        stats.in_flight.get(),
        stats.srtt.map_or(String::new(), millis),
        stats.delivered.get(),
    )
}

const USAGE: &str = "\
usage: startup_trace [CONTROLLER [LINK [TIME]]]

The beginning of a connection as CSV, a row for every millisecond of virtual time.
Without arguments: bbr3 'delay 20ms rate 100mbit queue 2bdp' 1s";

const HEADER: &str = "time,state,cwnd,pacing_rate,bandwidth,inflight,srtt,delivered";
const LINK: &str = "delay 20ms rate 100mbit queue 2bdp";
const RETURN_LINK: &str = "delay 20ms";
const STEP: Duration = Duration::from_millis(1);
