//! Live video beside a bulk transfer, in virtual time: how late frames are.
//!
//! ```text
//! cargo run -p paceline --features testing --example live
//! cargo run -p paceline --features testing --example live -- bbr3 paceline
//! cargo run -p paceline --features testing --example live -- 22 cubic bbr3 paceline
//! ```
//!
//! An encoder makes 30 frames a second and sends each as datagrams that live for 100 ms. Over
//! 10 Mbit/s and 60 ms with a queue of two bandwidth-delay products, for 20 s and each controller:
//!
//! - `bulk`: 2 Mbit/s of video, and a stream that takes all the rest
//! - `loss`: the same where 2 % of packets are lost
//! - `fall`: the same where the link falls to 2 Mbit/s after 10 s, and the encoder follows
//!   [`send_rate_hint`](paceline::Connection::send_rate_hint), without the stream
//! - `ramp`: the encoder begins with 2 Mbit/s and follows the hint, without the stream
//! - `cross`: the same for 40 s, beside a bulk transfer of another connection from 10 s to 20 s; in
//!   a table of its own, also for an encoder that makes no more than 2 Mbit/s, and for one that has
//!   the connection probe up to 20 Mbit/s from 25 s on
//!
//! The time of a frame is from its making to the arrival of its last datagram that arrives; 30 ms
//! are the link's delay, and a frame of 2 Mbit/s takes it 7 ms. Arguments are controllers. The same
//! arguments give the same figures. A number before them has `cross` alone run with so many seeds,
//! and shows the worst figures.

#[path = "shared/program.rs"]
mod program;

use paceline::cc_core::Registry;
use paceline::testing::{ConnectionPlan, Ends, LinkId, Load, World};
use paceline::units::{Bandwidth, Bytes, Timestamp};
use paceline::{DatagramOptions, TransportConfig};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};
use std::ops::Range;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

fn main() -> ExitCode {
    program::run(USAGE, usize::MAX, read, |(seeds, controllers)| {
        let out = &mut io::stdout().lock();
        match seeds {
            None => print(&controllers, out)?,
            Some(seeds) => print_worst(seeds, &controllers, out)?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// How many seeds, if that is said, and which controllers.
fn read(args: &[String]) -> Result<(Option<u64>, Vec<String>), Box<dyn Error>> {
    let seeds = args.first().and_then(|first| first.parse().ok());
    let controllers = &args[usize::from(seeds.is_some())..];
    if seeds.is_some_and(|seeds| !(1..=1_000).contains(&seeds)) {
        return Err(format!("{} seeds are too few or too many: take 1 to 1000", args[0]).into());
    }
    for controller in controllers {
        Registry::standard().choose(controller)?;
    }
    let controllers = match controllers {
        [] => CONTROLLERS.map(str::to_owned).to_vec(),
        named => named.to_vec(),
    };
    Ok((seeds, controllers))
}

fn print(controllers: &[String], out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    writeln!(out, "{HEADER}")?;
    for (name, scenario) in scenarios() {
        writeln!(out, "\n{name}: {}", scenario.link)?;
        for controller in controllers {
            let outcome = scenario.run(controller)?;
            writeln!(out, "{controller:10}{}", outcome.row())?;
        }
    }
    writeln!(out, "\n{CROSS_HEADER}")?;
    for most in [MOST, FIRST_RATE] {
        for cross in ["cubic", "paceline"] {
            writeln!(out, "\ncross: {cross}, at most {} Mbit/s", mbit(most))?;
            for controller in controllers {
                let outcome = Scenario::beside(cross, most).run(controller)?;
                writeln!(out, "{controller:10}{}", outcome.cross_row())?;
            }
        }
    }
    for cross in ["cubic", "paceline"] {
        writeln!(
            out,
            "\ncross: {cross}, at most 2 Mbit/s, probing: packets of padding, and received"
        )?;
        for controller in controllers {
            let outcome = Scenario::probing(cross).run(controller)?;
            let (row, padding, strays) = (outcome.cross_row(), outcome.padding, outcome.strays);
            writeln!(out, "{controller:10}{row}{padding:7}{strays:3}")?;
        }
    }
    Ok(())
}

fn print_worst(
    seeds: u64,
    controllers: &[String],
    out: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    writeln!(out, "{WORST_HEADER}")?;
    for most in [MOST, FIRST_RATE] {
        for cross in ["cubic", "paceline"] {
            writeln!(out, "\ncross: {cross}, at most {} Mbit/s", mbit(most))?;
            for controller in controllers {
                let (mut latest, mut hints) = (Duration::ZERO, [f64::MAX; 2]);
                for seed in 1..=seeds {
                    let scenario = Scenario::beside(cross, most);
                    let outcome = Scenario { seed, ..scenario }.run(controller)?;
                    let [_, beside, after] = CROSS_STAGES;
                    latest = latest.max(percentile(&outcome.times_within(&beside), 1.0));
                    for (least, stage) in hints.iter_mut().zip([beside, after]) {
                        *least = least.min(mbit(outcome.hints_within(&stage)[1]));
                    }
                }
                let ([beside, after], late) = (hints, latest.as_secs_f64() * 1e3);
                writeln!(out, "{controller:10}{late:8.0}{beside:8.1}{after:8.1}")?;
            }
        }
    }
    Ok(())
}

/// What is sent over which link.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) link: String,
    /// What the link becomes after a time.
    pub(crate) later: Option<(Duration, String)>,
    /// Whether a stream takes all the rest.
    pub(crate) has_bulk: bool,
    pub(crate) encoder: Encoder,
    /// The most that an encoder that follows makes.
    pub(crate) most: Bandwidth,
    /// The controller of another connection that sends without end during [`CROSS`].
    pub(crate) cross: Option<String>,
    /// From when on the connection probes, up to [`MOST`].
    pub(crate) probe: Option<Duration>,
    pub(crate) time: Duration,
    pub(crate) datagrams: DatagramOptions,
    /// Of datagrams to be sent.
    pub(crate) buffer: usize,
    pub(crate) seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoder {
    /// Frames of this rate.
    Fixed(Bandwidth),
    /// Frames of the rate that the connection proposes, 300 kbit/s to [`Scenario::most`], first of
    /// this one.
    Following(Bandwidth),
}

/// What became of the frames.
#[derive(Debug)]
pub(crate) struct Outcome {
    frames: BTreeMap<u64, Frame>,
    /// The hint and the time of each frame.
    pub(crate) hints: Vec<(Duration, Bandwidth)>,
    /// What the stream has brought over.
    pub(crate) bulk: Bytes,
    /// Packets of padding that were sent, and datagrams of no frame that the receiver got.
    pub(crate) padding: u64,
    pub(crate) strays: u64,
    time: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    made: Duration,
    datagrams: u64,
    arrived: u64,
    last: Option<Duration>,
}

impl Scenario {
    /// Over `link`, with 2 Mbit/s of video and a stream beside it.
    pub(crate) fn over(link: &str) -> Self {
        Self {
            link: link.to_owned(),
            later: None,
            has_bulk: true,
            encoder: Encoder::Fixed(FIRST_RATE),
            most: MOST,
            cross: None,
            probe: None,
            time: TIME,
            datagrams: DatagramOptions::default().ttl(LIFETIME),
            buffer: 256 << 10,
            seed: 1,
        }
    }

    /// An encoder that follows, beside a bulk transfer under `cross`.
    pub(crate) fn beside(cross: &str, most: Bandwidth) -> Self {
        Self {
            has_bulk: false,
            encoder: Encoder::Following(FIRST_RATE),
            most,
            cross: Some(cross.to_owned()),
            time: Duration::from_secs(40),
            ..Self::over(LINK)
        }
    }

    /// An encoder of at most 2 Mbit/s beside such a transfer, after which the connection probes.
    pub(crate) fn probing(cross: &str) -> Self {
        Self {
            probe: Some(PROBE),
            ..Self::beside(cross, FIRST_RATE)
        }
    }

    pub(crate) fn run(&self, controller: &str) -> Result<Outcome, Box<dyn Error>> {
        let mut world = World::new(self.seed).unencrypted();
        let (there, back) = world.add_links(&self.link.parse()?, &RETURN_LINK.parse()?)?;
        let mut client = TransportConfig::default();
        client
            .congestion(Registry::standard().choose(controller)?)
            .datagram_send_buffer_size(self.buffer);
        let ends = world.add_connection(&ConnectionPlan {
            there: vec![there],
            back: vec![back],
            client,
            ..ConnectionPlan::default()
        });
        world.run_until_connected(ends, Duration::from_secs(5))?;
        if self.has_bulk {
            world.send(ends.client, Load::Endless);
        }
        let cross = match &self.cross {
            None => None,
            Some(controller) => Some(self.add_cross(&mut world, (there, back), controller)?),
        };
        self.film(&mut world, ends, there, cross)
    }

    /// A bulk transfer that begins with [`CROSS`].
    fn add_cross(
        &self,
        world: &mut World,
        (there, back): (LinkId, LinkId),
        controller: &str,
    ) -> Result<Ends, Box<dyn Error>> {
        let mut client = TransportConfig::default();
        client.congestion(Registry::standard().choose(controller)?);
        Ok(world.add_connection(&ConnectionPlan {
            there: vec![there],
            back: vec![back],
            client,
            client_load: Some(Load::Endless),
            start: world.now().since(Timestamp::ZERO) + CROSS.start,
            ..ConnectionPlan::default()
        }))
    }

    /// Makes frames for [`Self::time`], and waits for the last of them. Closes `cross` at the end
    /// of [`CROSS`].
    fn film(
        &self,
        world: &mut World,
        ends: Ends,
        link: LinkId,
        mut cross: Option<Ends>,
    ) -> Result<Outcome, Box<dyn Error>> {
        let start = world.now();
        let frames = Rc::<RefCell<BTreeMap<u64, Frame>>>::default();
        let strays = Rc::<Cell<u64>>::default();
        let (arrived, stray) = (Rc::clone(&frames), Rc::clone(&strays));
        world.watch_received_datagrams(ends.server, move |at, data| {
            let number = u64::from_be_bytes(data[..8].try_into().expect("its number is in front"));
            match arrived.borrow_mut().get_mut(&number) {
                Some(frame) => {
                    frame.arrived += 1;
                    frame.last = Some(at.since(start));
                }
                None => stray.set(stray.get() + 1),
            }
        });
        let mut hints = Vec::new();
        let (mut change, mut probe) = (self.later.as_ref(), self.probe);
        for number in 0..(self.time.as_nanos() / INTERVAL.as_nanos()) as u64 {
            let made = INTERVAL * number as u32;
            if let Some((_, later)) = change.take_if(|(at, _)| made >= *at) {
                world.change_link(link, &later.parse()?, BASE_RTT);
            }
            if let Some(cross) = cross.take_if(|_| made >= CROSS.end) {
                world.close(cross.client);
            }
            if probe.take_if(|from| made >= *from).is_some() {
                world.probe_up_to(ends.client, Some(MOST));
            }
            let hint = world.path_estimate(ends.client).send_rate_hint;
            hints.push((made, hint));
            let rate = match self.encoder {
                Encoder::Fixed(rate) => rate,
                Encoder::Following(first) if made < FIRST => first,
                Encoder::Following(_) => hint.clamp(LEAST, self.most),
            };
            let bytes = (rate * INTERVAL).get() as usize;
            let datagrams = bytes.div_ceil(PAYLOAD).max(1);
            let frame = Frame {
                made,
                datagrams: datagrams as u64,
                arrived: 0,
                last: None,
            };
            frames.borrow_mut().insert(number, frame);
            for _ in 0..datagrams {
                let mut data = vec![0; bytes.div_ceil(datagrams).max(8)];
                data[..8].copy_from_slice(&number.to_be_bytes());
                world.send_datagram(ends.client, data, self.datagrams)?;
            }
            run_until(world, start, made + INTERVAL);
        }
        let bulk = world.received(ends.server);
        run_until(world, start, self.time + Duration::from_secs(5));
        let frames = frames.borrow().clone();
        Ok(Outcome {
            frames,
            hints,
            bulk,
            padding: world.stats(ends.client).datagrams.padding,
            strays: strays.get(),
            time: self.time,
        })
    }
}

impl Outcome {
    /// The columns of [`HEADER`].
    fn row(&self) -> String {
        let (all, settled) = (self.times(Duration::ZERO), self.times(SETTLED));
        let columns = [0.5, 0.95, 0.99, 1.0]
            .map(|share| (&all, share))
            .into_iter()
            .chain([(&settled, 0.99), (&settled, 1.0)])
            .map(|(times, share)| percentile(times, share).as_secs_f64() * 1e3);
        let hint = self.hints.last().map_or(0.0, |(_, hint)| mbit(*hint));
        let bulk = self.bulk.get() as f64 * 8e-6 / self.time.as_secs_f64();
        let rest = [self.incomplete() * 100.0, hint, bulk];
        columns
            .chain(rest)
            .map(|value| format!("{value:8.1}"))
            .collect()
    }

    /// The columns of [`CROSS_HEADER`].
    fn cross_row(&self) -> String {
        let stages = CROSS_STAGES.map(|stage| {
            let times = self.times_within(&stage);
            let late = [0.5, 0.95, 1.0].map(|share| percentile(&times, share));
            let late = late.map(|late| format!("{:7.0}", late.as_secs_f64() * 1e3));
            let [least, mean, most] = self.hints_within(&stage).map(mbit);
            format!("{}{least:7.1}{mean:6.1}{most:6.1}", late.concat())
        });
        stages.join(" |")
    }

    /// The least, the mean and the greatest hint for frames made within `stage`.
    pub(crate) fn hints_within(&self, stage: &Range<Duration>) -> [Bandwidth; 3] {
        let hints = self.hints.iter().filter(|(made, _)| stage.contains(made));
        let bits: Vec<u64> = hints.map(|(_, hint)| hint.bits_per_sec()).collect();
        let least = bits.iter().min().copied().unwrap_or_default();
        let most = bits.iter().max().copied().unwrap_or_default();
        let mean = bits.iter().sum::<u64>() / bits.len().max(1) as u64;
        [least, mean, most].map(Bandwidth::from_bits_per_sec)
    }

    /// How late the frames made from `since` on were, of which something came; sorted.
    pub(crate) fn times(&self, since: Duration) -> Vec<Duration> {
        self.times_within(&(since..Duration::MAX))
    }

    pub(crate) fn times_within(&self, stage: &Range<Duration>) -> Vec<Duration> {
        let frames = self.frames.values();
        let frames = frames.filter(|frame| stage.contains(&frame.made));
        let mut times: Vec<_> = frames
            .filter_map(|frame| Some(frame.last?.saturating_sub(frame.made)))
            .collect();
        times.sort_unstable();
        times
    }

    /// The share of frames of which something is missing.
    pub(crate) fn incomplete(&self) -> f64 {
        let missing = |frame: &&Frame| frame.arrived < frame.datagrams;
        self.frames.values().filter(missing).count() as f64 / self.frames.len() as f64
    }
}

/// The least value that `share` of the sorted `times` do not exceed.
pub(crate) fn percentile(times: &[Duration], share: f64) -> Duration {
    let index = (times.len() as f64 * share).ceil() as usize;
    times[index.clamp(1, times.len()) - 1]
}

fn run_until(world: &mut World, start: Timestamp, time: Duration) {
    world.run_until((start + time).since(Timestamp::ZERO));
}

fn mbit(rate: Bandwidth) -> f64 {
    rate.bits_per_sec() as f64 * 1e-6
}

/// All that the page shows.
pub(crate) fn scenarios() -> [(&'static str, Scenario); 4] {
    let alone = Scenario {
        has_bulk: false,
        encoder: Encoder::Following(FIRST_RATE),
        ..Scenario::over(LINK)
    };
    let fall = Scenario {
        later: Some((Duration::from_secs(10), LATER.to_owned())),
        ..alone.clone()
    };
    [
        ("bulk", Scenario::over(LINK)),
        ("loss", Scenario::over(LOSSY)),
        ("fall", fall),
        ("ramp", alone),
    ]
}

const USAGE: &str = "\
usage: live [SEEDS] [CONTROLLER]...

How late frames of live video are beside a bulk transfer, in virtual time: a row for each
controller, such as bbr3 or cubic:beta=0.5; for seven of them if none is named. With a number of
seeds, the worst of so many runs beside another connection.";

/// Times of frames in ms: of all, and of those made after [`SETTLED`]; frames of which something is
/// missing in %; Mbit/s of the hint at the end, and of the stream.
const HEADER: &str =
    "               p50     p95     p99     max p99>12s max>12s missing    hint    bulk";

/// Times of frames in ms, p50, p95 and max, and the hint in Mbit/s, least, mean and most: before
/// the other connection, beside it from three seconds on, and from five seconds after it on.
const CROSS_HEADER: &str = "before, beside and after another connection: p50, p95, max; hint";

/// The worst of all seeds: the latest frame beside the other connection in ms, the least of the
/// means of the hint, beside it and after it, in Mbit/s.
const WORST_HEADER: &str = "            latest  beside   after";

pub(crate) const CROSS: Range<Duration> = Duration::from_secs(10)..Duration::from_secs(20);
pub(crate) const PROBE: Duration = Duration::from_secs(25);
pub(crate) const CROSS_STAGES: [Range<Duration>; 3] = [
    Duration::from_secs(5)..CROSS.start,
    Duration::from_secs(13)..CROSS.end,
    Duration::from_secs(25)..Duration::from_secs(40),
];

/// Two seconds after a link's fall.
pub(crate) const SETTLED: Duration = Duration::from_secs(12);

const CONTROLLERS: [&str; 7] = [
    "cubic", "new_reno", "bbr1", "bbr2", "bbr3", "copa", "paceline",
];

pub(crate) const LINK: &str = "delay 30ms rate 10mbit queue 2bdp";
pub(crate) const LOSSY: &str = "delay 30ms loss 2% rate 10mbit queue 2bdp";
/// Its queue has as many bytes as before.
pub(crate) const LATER: &str = "delay 30ms rate 2mbit queue 10bdp";
const RETURN_LINK: &str = "delay 30ms";
const BASE_RTT: Duration = Duration::from_millis(60);

pub(crate) const TIME: Duration = Duration::from_secs(20);
/// Of 30 frames a second.
const INTERVAL: Duration = Duration::from_nanos(33_333_333);
/// When an encoder begins to follow: a round trip after the handshake's end.
const FIRST: Duration = Duration::from_millis(500);
const LIFETIME: Duration = Duration::from_millis(100);
pub(crate) const FIRST_RATE: Bandwidth = Bandwidth::from_bits_per_sec(2_000_000);
const LEAST: Bandwidth = Bandwidth::from_bits_per_sec(300_000);
pub(crate) const MOST: Bandwidth = Bandwidth::from_bits_per_sec(20_000_000);

/// Bytes of a datagram: what fits into the smallest packet.
const PAYLOAD: usize = 1_150;
