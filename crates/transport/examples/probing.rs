//! What padding teaches a connection about its path, and what it costs, in virtual time.
//!
//! ```text
//! cargo run -p paceline --features testing --example probing
//! cargo run -p paceline --features testing --example probing -- cubic paceline
//! ```
//!
//! A source of 2 Mbit/s, which makes 30 frames a second, has its connection
//! [probe](paceline::Connection::probe_up_to) from the beginning, for 20 s over 10 Mbit/s and 60 ms
//! with a queue of two bandwidth-delay products. The first table is of a target that the link
//! carries, the second of one that it does not, so that attempts go on, the third of two such
//! sources side by side, the fourth of one that may send no more than 3 Mbit/s (`set_max_rate`).
//!
//! Arguments are controllers; without any, all that are registered. The same arguments give the
//! same figures.

#[path = "shared/program.rs"]
mod program;

use paceline::cc_core::Registry;
use paceline::testing::{ConnectionPlan, EndId, Ends, LinkId, World};
use paceline::units::{Bandwidth, Gain, Timestamp};
use paceline::{DatagramOptions, TransportConfig};
use std::cell::Cell;
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

fn main() -> ExitCode {
    program::run(USAGE, usize::MAX, read, |controllers| {
        print(&controllers, &mut io::stdout().lock())?;
        Ok(ExitCode::SUCCESS)
    })
}

fn read(controllers: &[String]) -> Result<Vec<String>, Box<dyn Error>> {
    let registry = Registry::standard();
    for controller in controllers {
        registry.choose(controller)?;
    }
    let all = registry.specs().iter().map(|spec| spec.name.to_owned());
    Ok(match controllers {
        [] => all.collect(),
        named => named.to_vec(),
    })
}

fn print(controllers: &[String], out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    writeln!(out, "{HEADER}")?;
    for (name, scenario) in scenarios() {
        writeln!(out, "\n{name}")?;
        for controller in controllers {
            let plain = Scenario {
                target: None,
                ..scenario
            };
            let (plain, probing) = (plain.run(controller)?, scenario.run(controller)?);
            for source in 0..plain.hints.len() {
                let row = probing.row(&plain, source);
                writeln!(out, "{controller:10}{row}")?;
            }
        }
    }
    Ok(())
}

/// All that the page shows.
pub(crate) fn scenarios() -> [(&'static str, Scenario); 4] {
    let beyond = Scenario::up_to(BEYOND);
    let two = Scenario {
        sources: 2,
        ..beyond
    };
    let limited = Scenario {
        max_rate: Some(MAX_RATE),
        ..beyond
    };
    [
        ("up to 8 Mbit/s", Scenario::up_to(WITHIN)),
        ("up to 20 Mbit/s", beyond),
        ("two sources, up to 20 Mbit/s", two),
        ("up to 20 Mbit/s, and no more than 3 are sent", limited),
    ]
}

/// Sources over one link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) sources: u32,
    /// Up to which hint their connections probe.
    pub(crate) target: Option<Bandwidth>,
    pub(crate) max_rate: Option<Bandwidth>,
}

/// What came of it in the second half of [`TIME`].
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The hints of each source.
    pub(crate) hints: Vec<Vec<Bandwidth>>,
    /// How late the latest frame was.
    pub(crate) latest: Duration,
    /// Packets that the link has thrown away.
    pub(crate) lost: u64,
    /// How long packets waited in its queue: 99 % of them, and the longest.
    pub(crate) queue: [Duration; 2],
    /// Packets of padding of all sources: in the first half, and in the second.
    pub(crate) padding: [u64; 2],
}

impl Scenario {
    pub(crate) fn up_to(target: Bandwidth) -> Self {
        Self {
            sources: 1,
            target: Some(target),
            max_rate: None,
        }
    }

    pub(crate) fn run(&self, controller: &str) -> Result<Outcome, Box<dyn Error>> {
        let mut world = World::new(1).unencrypted();
        let (there, back) = world.add_links(&LINK.parse()?, &RETURN_LINK.parse()?)?;
        let choice = Registry::standard().choose(controller)?;
        let mut sources = Vec::new();
        for _ in 0..self.sources {
            let mut client = TransportConfig::default();
            client.congestion(choice.clone());
            sources.push(world.add_connection(&ConnectionPlan {
                there: vec![there],
                back: vec![back],
                client,
                ..ConnectionPlan::default()
            }));
        }
        let latest = Rc::<Cell<Duration>>::default();
        for ends in &sources {
            world.run_until_connected(*ends, Duration::from_secs(5))?;
            world.set_max_rate(ends.client, self.max_rate);
            world.probe_up_to(ends.client, self.target);
            let latest = Rc::clone(&latest);
            world.watch_received_datagrams(ends.server, move |at, data| {
                let made = data[..8].try_into().expect("its time is in front");
                let made = Timestamp::from_nanos(u64::from_be_bytes(made));
                if made >= Timestamp::ZERO + HALF {
                    latest.set(at.since(made).max(latest.get()));
                }
            });
        }
        self.film(&mut world, &sources, there, &latest)
    }

    /// Makes frames for [`TIME`], in turns.
    fn film(
        &self,
        world: &mut World,
        sources: &[Ends],
        link: LinkId,
        latest: &Cell<Duration>,
    ) -> Result<Outcome, Box<dyn Error>> {
        let mut hints = vec![Vec::new(); sources.len()];
        let mut half = None;
        while world.now() < Timestamp::ZERO + TIME {
            if half.is_none() && world.now() >= Timestamp::ZERO + HALF {
                half = Some((world.link_stats(link).clone(), padding(world, sources)));
            }
            for (ends, hints) in sources.iter().zip(&mut hints) {
                if half.is_some() {
                    hints.push(world.path_estimate(ends.client).send_rate_hint);
                }
                send_frame(world, ends.client)?;
                world.run_for(INTERVAL / self.sources);
            }
        }
        let (before, first) = half.expect("half of the time is over");
        let link = world.link_stats(link).since(&before);
        let most = Gain::percent(99);
        Ok(Outcome {
            hints,
            latest: latest.get(),
            lost: link.dropped.total().packets,
            queue: [link.queue_delay.quantile(most), link.queue_delay.max()],
            padding: [first, padding(world, sources) - first],
        })
    }
}

fn send_frame(world: &mut World, client: EndId) -> Result<(), Box<dyn Error>> {
    let bytes = (RATE * INTERVAL).get() as usize;
    let datagrams = bytes.div_ceil(PAYLOAD);
    for _ in 0..datagrams {
        let mut data = vec![0; bytes.div_ceil(datagrams)];
        data[..8].copy_from_slice(&world.now().as_nanos().to_be_bytes());
        let options = DatagramOptions::default().ttl(LIFETIME);
        world.send_datagram(client, data, options)?;
    }
    Ok(())
}

fn padding(world: &World, sources: &[Ends]) -> u64 {
    let stats = sources.iter().map(|ends| world.stats(ends.client));
    stats.map(|stats| stats.datagrams.padding).sum()
}

impl Outcome {
    /// The columns of [`HEADER`], where `plain` came of no probing.
    fn row(&self, plain: &Self, source: usize) -> String {
        let [_, before, _] = plain.hints_of(source).map(mbit);
        let [least, mean, most] = self.hints_of(source).map(mbit);
        let both = [plain, self];
        let late = both.map(|outcome| format!("{:6.0}", millis(outcome.latest)));
        let lost = both.map(|outcome| format!("{:6}", outcome.lost));
        let queue = both.map(|outcome| {
            let [most, longest] = outcome.queue.map(millis);
            format!("{most:6.0}{longest:5.0}")
        });
        let padding = self.padding.map(|packets| {
            let bits = packets as f64 * PACKET * 8e-6 / HALF.as_secs_f64();
            format!("{bits:6.1}")
        });
        let rest = [late, lost, queue, padding].map(|columns| columns.concat());
        let hints = format!("{before:8.1}{least:6.1}{mean:6.1}{most:6.1}");
        format!("{hints} |{}", rest.join(" |"))
    }

    /// The least, the mean and the greatest hint of a source.
    pub(crate) fn hints_of(&self, source: usize) -> [Bandwidth; 3] {
        let bits = self.hints[source].iter().map(|hint| hint.bits_per_sec());
        let (least, most) = (bits.clone().min(), bits.clone().max());
        let mean = bits.clone().sum::<u64>() / bits.count().max(1) as u64;
        [least.unwrap_or(0), mean, most.unwrap_or(0)].map(Bandwidth::from_bits_per_sec)
    }
}

fn mbit(rate: Bandwidth) -> f64 {
    rate.bits_per_sec() as f64 * 1e-6
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

const USAGE: &str = "\
usage: probing [CONTROLLER]...

What padding teaches a connection about its path, and what it costs, in virtual time: a row for
each controller, such as bbr3 or cubic:beta=0.5; for all that are registered if none is named.";

/// Of 10 s to 20 s, without padding and with it: hints in Mbit/s; the latest frame in ms; packets
/// lost; the queue in ms, of 99 % of packets and the longest. And the padding in Mbit/s, before and
/// in this time.
const HEADER: &str = "\
10 s to 20 s, without padding and with it (of the hint the mean; the least, the mean and the most)
              hint, Mbit/s         |latest, ms  |lost        |queue p99 max, ms     |padding";

pub(crate) const LINK: &str = "delay 30ms rate 10mbit queue 2bdp";
const RETURN_LINK: &str = "delay 30ms";

pub(crate) const RATE: Bandwidth = Bandwidth::from_bits_per_sec(2_000_000);
pub(crate) const MAX_RATE: Bandwidth = Bandwidth::from_bits_per_sec(3_000_000);
/// What the link carries, and what it does not.
pub(crate) const WITHIN: Bandwidth = Bandwidth::from_bits_per_sec(8_000_000);
pub(crate) const BEYOND: Bandwidth = Bandwidth::from_bits_per_sec(20_000_000);

const TIME: Duration = Duration::from_secs(20);
const HALF: Duration = Duration::from_secs(10);
/// Of 30 frames a second.
const INTERVAL: Duration = Duration::from_nanos(33_333_333);
const LIFETIME: Duration = Duration::from_millis(100);

/// Bytes of a datagram: what fits into the smallest packet.
const PAYLOAD: usize = 1_150;

/// Bytes of a packet of padding, for the rates of the table.
const PACKET: f64 = 1_452.0;
