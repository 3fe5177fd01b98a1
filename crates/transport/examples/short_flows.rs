//! How long short transfers take that arrive at random, in virtual time.
//!
//! ```text
//! cargo run -p paceline --features testing --example short_flows
//! cargo run -p paceline --features testing --example short_flows -- \
//!     bbr3 "delay 20ms rate 50mbit queue 1bdp" 100 100000 20
//! ```
//!
//! Arguments are the controller, the link of the data, the number of flows, the bytes of each and
//! how many arrive a second on average (a Poisson process, RFC 9743 section 5.1.5). Each flow is a
//! connection of its own, so a completion time has its handshake, which is the time from the
//! arrival to the last byte at the receiver, to the millisecond. The way back is `delay 20ms`.
//!
//! It prints the share of the link that is asked for, and percentiles of the completion times.

#[path = "shared/argument.rs"]
mod argument;
#[path = "shared/program.rs"]
mod program;

use argument::number;
use paceline::cc_core::{ControllerChoice, Registry};
use paceline::testing::{ConnectionPlan, Ends, LinkSpec, Load, Side, World};
use paceline::units::{Bytes, Rng, Timestamp};
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    program::run(USAGE, 5, read, |(controller, link, arrivals)| {
        print(&controller, &link, arrivals, &mut io::stdout().lock())?;
        Ok(ExitCode::SUCCESS)
    })
}

fn read(args: &[String]) -> Result<(String, String, Arrivals), Box<dyn Error>> {
    let arg = |index: usize, default| args.get(index).map_or(default, String::as_str);
    let (controller, link) = (arg(0, "cubic"), arg(1, LINK));
    Registry::standard().choose(controller)?;
    let _: LinkSpec = link.parse()?;
    let arrivals = Arrivals {
        flows: number("the flows", arg(2, "100"))?,
        bytes: number("the bytes of each", arg(3, "100000"))?,
        per_second: number("the flows a second", arg(4, "20"))?,
    };
    Ok((controller.to_owned(), link.to_owned(), arrivals))
}

/// What is asked of the link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrivals {
    pub(crate) flows: u32,
    pub(crate) bytes: u64,
    pub(crate) per_second: f64,
}

/// Prints how long the flows of `arrivals` take under `controller` over `link`.
pub(crate) fn print(
    controller: &str,
    link: &str,
    arrivals: Arrivals,
    out: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    let choice = Registry::standard().choose(controller)?;
    let (mut times, unfinished) = completion_times(&choice, link, arrivals)?;
    times.sort_unstable();
    let rate = link.parse::<LinkSpec>()?.rate();
    if let Some(rate) = rate {
        let load = arrivals.bytes as f64 * arrivals.per_second / rate.bytes_per_sec() as f64;
        writeln!(out, "load {:.0} %", load * 100.0)?;
    }
    for percent in [50, 95, 99] {
        let place = (times.len() * percent).div_ceil(100).saturating_sub(1);
        if let Some(time) = times.get(place) {
            writeln!(out, "p{percent} {} ms", time.as_millis())?;
        }
    }
    writeln!(
        out,
        "finished {} of {}",
        times.len(),
        times.len() + unfinished
    )?;
    Ok(())
}

/// The times of the flows that end within a minute after the last arrival, and how many do not.
fn completion_times(
    choice: &ControllerChoice,
    link: &str,
    arrivals: Arrivals,
) -> Result<(Vec<Duration>, usize), Box<dyn Error>> {
    let mut world = World::new(SEED).unencrypted();
    let (there, back) = world.add_links(&link.parse()?, &RETURN_LINK.parse()?)?;
    let starts = poisson(arrivals);
    let mut flows: Vec<Flow> = Vec::new();
    for start in &starts {
        let mut plan = ConnectionPlan {
            there: vec![there],
            back: vec![back],
            start: *start,
            client_load: Some(Load::Bytes(arrivals.bytes)),
            ..ConnectionPlan::default()
        };
        plan.client.congestion(choice.clone());
        flows.push(Flow {
            ends: world.add_connection(&plan),
            start: Timestamp::ZERO + *start,
        });
    }
    let end = Timestamp::ZERO + starts.last().copied().unwrap_or_default() + PATIENCE;
    let mut times = Vec::new();
    while !flows.is_empty() && world.now() < end {
        world.run_for(STEP);
        let (now, bytes) = (world.now(), Bytes::new(arrivals.bytes));
        flows.retain(|flow| {
            let is_done = world.received(flow.ends.of(Side::Server)) >= bytes;
            times.extend(is_done.then(|| now.since(flow.start)));
            !is_done
        });
    }
    Ok((times, flows.len()))
}

/// Exponential times between one arrival and the next.
fn poisson(arrivals: Arrivals) -> Vec<Duration> {
    let mut rng = Rng::new(SEED);
    let mut now = Duration::ZERO;
    let starts = (0..arrivals.flows).map(|_| {
        let uniform = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        now += Duration::from_secs_f64(-(1.0 - uniform).ln() / arrivals.per_second);
        now
    });
    starts.collect()
}

struct Flow {
    ends: Ends,
    start: Timestamp,
}

const USAGE: &str = "\
usage: short_flows [CONTROLLER [LINK [FLOWS [BYTES [PER_SECOND]]]]]

How long short transfers take that arrive at random, in virtual time: percentiles of the times of
FLOWS connections of BYTES bytes each, of which PER_SECOND arrive a second on average.
Without arguments: cubic 'delay 20ms rate 50mbit queue 1bdp' 100 100000 20";

const LINK: &str = "delay 20ms rate 50mbit queue 1bdp";
const RETURN_LINK: &str = "delay 20ms";
const SEED: u64 = 1;
const STEP: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(60);
