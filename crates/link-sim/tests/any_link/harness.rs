//! What any bytes are to a link: a description, and a schedule of packets, looks and changes.
//!
//! `fuzz/fuzz_targets` runs it on what libFuzzer finds, `tests/any_link.rs` on random bytes and on
//! what libFuzzer found once.

use core::time::Duration;
use link_sim::convert::{Capture, RateColumn, rates_of_csv, trace_of_rates};
use link_sim::{
    DelayTrace, Delivery, Ecn, Link, LinkSpec, LinkStats, LossTrace, Packet, RateTrace, TcDevices,
};
use std::io;
use units::{Bandwidth, Bytes, Timestamp};

/// Any text is a link, which is written as it is read, or a refusal that points into it.
pub(crate) fn parse(text: &str) {
    let spec = match LinkSpec::parse_with(text, read_trace) {
        Ok(spec) => spec,
        Err(error) => {
            assert!(error.column() <= text.chars().count() + 1, "{error}");
            assert!(!error.to_string().contains('\n'), "{error}");
            return;
        }
    };
    let written = spec.to_string();
    let again = LinkSpec::parse_with(&written, read_trace);
    assert_eq!(again.as_ref(), Ok(&spec), "{text}");
    let base_rtt = spec.base_rtt(&LinkSpec::default()).unwrap_or_default();
    let devices = TcDevices {
        loss: "a",
        rate: "b",
        delay: "c",
    };
    if let Err(error) = spec.tc_commands(base_rtt, devices) {
        assert!(written.contains(error.word()), "{error}");
    }
    drop(spec.build::<()>(base_rtt, 1));
}

/// Any bytes are a recording of each kind, or refused; what is read can be written and read again,
/// and its size is bounded.
pub(crate) fn recording(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(trace) = RateTrace::parse(&text) {
        assert!(trace.opportunities().len() <= RateTrace::MAX_OPPORTUNITIES);
        assert_eq!(RateTrace::parse(&trace.to_string()), Ok(trace));
    }
    if let Ok(trace) = DelayTrace::parse(&text) {
        assert!(trace.mean() <= Duration::from_secs(3_600));
    }
    if let Ok(trace) = LossTrace::parse(&text) {
        assert!(trace.lost().len() <= data.len());
    }
    let unit = Bandwidth::from_bits_per_sec(1_000);
    for column in [
        RateColumn::Only,
        RateColumn::Number(2),
        RateColumn::Named("rate"),
    ] {
        if let Ok(rates) = rates_of_csv(&text, column, unit) {
            let _ = trace_of_rates(&rates, Duration::from_millis(1));
        }
    }
    let Ok(capture) = Capture::parse(data) else {
        return;
    };
    let _ = (capture.rate_trace(), capture.loss_trace(&capture));
    if let Ok(delays) = capture.delay_trace(&capture, Duration::from_secs(1)) {
        assert!(delays.delays().iter().all(Duration::is_zero));
    }
}

/// A link under any schedule keeps its promises, and does the same whenever it is looked at.
pub(crate) fn link(data: &[u8]) {
    let mut input = Input(data);
    let Some(spec) = input.spec() else { return };
    let mut steps = Vec::new();
    while !input.0.is_empty() && steps.len() < MAX_STEPS {
        steps.push(input.step());
    }
    let eager = Run::new(&spec, steps.len()).go(&steps, Look::Always);
    let lazy = Run::new(&spec, steps.len()).go(&steps, Look::Never);
    let timely = Run::new(&spec, steps.len()).go(&steps, Look::WhenAsked);
    assert_same(&eager, &lazy, &spec);
    assert_same(&eager, &timely, &spec);
}

fn assert_same(one: &Outcome, other: &Outcome, spec: &LinkSpec) {
    let both = one.0.iter().zip(&other.0);
    if let Some((one, other)) = both.clone().find(|(one, other)| one != other) {
        panic!("the looks decide what leaves: {one:?} or {other:?} of {spec}");
    }
    assert_eq!(
        one.0.len(),
        other.0.len(),
        "the looks decide how much leaves of {spec}"
    );
    assert_eq!(one.1, other.1, "the looks decide what is counted of {spec}");
}

/// One thing that happens to a link.
#[derive(Debug)]
enum Step {
    Packet {
        size: u64,
        ecn: Ecn,
        flow: u64,
    },
    Wait(Duration),
    /// A clock that goes back counts as one that stands.
    GoBack(Duration),
    Become(Box<LinkSpec>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Always,
    Never,
    WhenAsked,
}

/// What leaves when: number, mark, damage.
type Outcome = (Vec<(Timestamp, u64, Ecn, bool)>, LinkStats);

struct Run {
    link: Link<u64>,
    now: Timestamp,
    /// When each packet came.
    entered: Vec<Timestamp>,
    out: Vec<(Timestamp, u64, Ecn, bool)>,
    /// The most packets that may be inside; netem takes packet and copy where one has room.
    limit: u64,
}

impl Run {
    fn new(spec: &LinkSpec, steps: usize) -> Self {
        Self {
            link: spec.build(spec.delay(), 1),
            now: Timestamp::ZERO,
            entered: Vec::with_capacity(steps),
            out: Vec::new(),
            limit: limit(spec),
        }
    }

    fn go(mut self, steps: &[Step], look: Look) -> Outcome {
        for step in steps {
            self.step(step, look);
            if look == Look::Always {
                self.collect(self.now);
            }
            self.check();
        }
        if look == Look::WhenAsked {
            self.follow(Timestamp::from_nanos(u64::MAX / 2));
        }
        self.collect(Timestamp::from_nanos(u64::MAX / 2));
        self.check();
        assert_eq!(
            self.link.stats().held.packets,
            0,
            "all that was inside has left"
        );
        (self.out, self.link.stats().clone())
    }

    fn step(&mut self, step: &Step, look: Look) {
        match step {
            Step::Packet { size, ecn, flow } => {
                let number = self.entered.len() as u64;
                self.entered.push(self.now);
                let packet = Packet::new(Bytes::new(*size), number);
                self.link
                    .handle_packet(self.now, packet.ecn(*ecn).flow(*flow));
            }
            Step::Wait(time) => {
                if look == Look::WhenAsked {
                    self.follow(self.now + *time);
                }
                self.now += *time;
            }
            Step::GoBack(time) => {
                let past = self.now - *time;
                if look == Look::Always {
                    self.collect(past);
                }
            }
            Step::Become(spec) => {
                self.limit = self.limit.max(limit(spec));
                self.link.reconfigure(self.now, spec, spec.delay());
            }
        }
    }

    /// Looks at the times that the link asks for, as a driver does.
    fn follow(&mut self, until: Timestamp) {
        let mut looks = 0;
        while let Some(due) = self.link.poll_timeout().filter(|due| *due <= until) {
            let known = self.out.len();
            let at = due.max(self.now);
            self.collect(at);
            for (left, ..) in &self.out[known..] {
                assert!(
                    *left >= due,
                    "a packet left at {left}, before a look was asked for"
                );
            }
            looks += 1;
            assert!(looks <= MAX_LOOKS, "the link asks for looks without end");
        }
    }

    fn collect(&mut self, now: Timestamp) {
        while let Some(Delivery { due, packet }) = self.link.poll_output(now) {
            let number = packet.payload;
            assert!(
                due >= self.entered[number as usize],
                "packet {number} left before it came"
            );
            if let Some((last_due, last, ..)) = self.out.last() {
                assert!(*last_due <= due, "packet {number} is late");
                assert!(
                    !self.link.keeps_order() || *last <= number,
                    "packet {number} came out behind packet {last}"
                );
            }
            self.out.push((due, number, packet.ecn, packet.corrupted));
        }
    }

    fn check(&self) {
        let stats = self.link.stats();
        assert_eq!(
            stats.arrived + stats.duplicated,
            stats.delivered + stats.dropped.total() + stats.held
        );
        assert!(
            stats.held.packets <= self.limit + 1,
            "{} inside",
            stats.held.packets
        );
        assert!(self.link.queue().packets <= stats.held.packets);
        assert_eq!(stats.arrived.packets, self.entered.len() as u64);
    }
}

/// The largest limit that a description has at any time.
fn limit(spec: &LinkSpec) -> u64 {
    let text = spec.to_string();
    let words: Vec<&str> = text.split(' ').collect();
    let given = words.windows(2).filter(|pair| pair[0] == "limit");
    let given = given.filter_map(|pair| pair[1].parse().ok()).max();
    let with_one_before = words.windows(2).map(|pair| (pair[0], pair[1]));
    let mut clauses = with_one_before.chain([("", words[0])]);
    // `delay trace` and `loss trace` are not the `trace` that comes with a queue.
    let has_queue = clauses
        .any(|(before, word)| QUEUES.contains(&word) && !["delay", "loss"].contains(&before));
    let default = if has_queue { 1 << 20 } else { 1_000 };
    given.map_or(default, |given: u64| given.max(default))
}

/// Bytes that are read as whatever is needed next; there are zeros behind them.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> u64 {
        let bytes = [self.byte(), self.byte()];
        u64::from(u16::from_le_bytes(bytes))
    }

    fn one_of<'b>(&mut self, all: &[&'b str]) -> &'b str {
        all[usize::from(self.byte()) % all.len()]
    }

    /// A description, unless the words do not go together.
    fn spec(&mut self) -> Option<LinkSpec> {
        // What other clauses need is there unless it is replaced.
        let mut text = String::new();
        if !self.byte().is_multiple_of(4) {
            text.push_str("delay 5ms rate 2mbit ");
        }
        let mut known: Vec<&str> = text.split(' ').step_by(2).collect();
        let mut clauses = self.byte() % 12;
        let mut more = String::new();
        while clauses > 0 && !self.0.is_empty() {
            clauses -= 1;
            let pattern = self.one_of(&CLAUSES);
            let name = pattern.split(' ').next().unwrap_or(pattern);
            let name = if SERVICES.contains(&name) {
                "rate"
            } else {
                name
            };
            if name == "at" {
                known.clear();
            } else if known.contains(&name) {
                continue;
            }
            known.push(name);
            for word in pattern.split(' ') {
                more.push_str(&self.word(word));
                more.push(' ');
            }
        }
        text.push_str(&more);
        LinkSpec::parse_with(&text, read_trace).ok()
    }

    /// A word of a pattern: capitals stand for values.
    fn word(&mut self, word: &str) -> String {
        match word {
            "TIME" => format!("{}{}", self.number(), self.one_of(&["ns", "us", "ms"])),
            "MORE" => format!("{}ms", 70_000 + self.number()),
            "WHEN" => format!("{}{}", self.number(), self.one_of(&["us", "ms"])),
            "P" => format!("{}%", self.byte() % 101),
            "RATE" => format!(
                "{}{}",
                self.number() + 8,
                self.one_of(&["bit", "kbit", "mbit"])
            ),
            "SIZE" => format!("{}{}", self.number() + 1, self.one_of(&["b", "kb"])),
            "N" => (self.number() + 1).to_string(),
            "SMALL" => (self.byte() % 64 + 1).to_string(),
            "Np" => format!("{}p", self.number() + 1),
            "Nbdp" => format!("{}bdp", self.byte() % 4 + 1),
            "DIST" => self
                .one_of(&["uniform", "normal", "pareto", "paretonormal"])
                .to_owned(),
            "DELAYS" => self.one_of(&["0", "5,1,0.5", "70000,1"]).to_owned(),
            "DIGITS" => self.one_of(&["01", "0,1,1,0,0", "1"]).to_owned(),
            "TRACE" => self.one_of(&["1", "0,1,1,5", "3,900", "60000"]).to_owned(),
            word => word.to_owned(),
        }
    }

    fn step(&mut self) -> Step {
        match self.byte() {
            // Mostly packets, some of them at once.
            kind @ 0..=159 => Step::Packet {
                size: match kind % 8 {
                    0 => 0,
                    1 => 1 << 20,
                    2 => self.number(),
                    _ => 1_514,
                },
                ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][usize::from(kind / 8 % 4)],
                flow: u64::from(kind / 32),
            },
            // From nanoseconds to 18 hours.
            kind @ 160..=239 => {
                let unit = [1, 1_000, 1_000_000, 1_000_000_000][usize::from(kind % 4)];
                Step::Wait(Duration::from_nanos(self.number() * unit))
            }
            240..=247 => Step::GoBack(Duration::from_micros(self.number())),
            _ => match self.spec() {
                Some(spec) => Step::Become(Box::new(spec)),
                None => Step::Wait(Duration::ZERO),
            },
        }
    }
}

/// The name of a trace is what it holds.
pub(crate) fn read_trace(name: &str) -> io::Result<String> {
    Ok(name.replace(',', "\n"))
}

/// Patterns of clauses; `WHEN` begins changes.
const CLAUSES: [&str; 45] = [
    "delay TIME",
    "delay TIME TIME",
    "delay TIME TIME P distribution DIST",
    "delay TIME TIME ordered",
    "loss P",
    "loss P P ecn",
    "loss gemodel P P P P",
    "loss state P P",
    "loss packets 2,4-9,30-900",
    "corrupt P",
    "duplicate P",
    "duplicate P P",
    "reorder P",
    "reorder P P gap SMALL",
    "rate RATE",
    "rate RATE SMALL 48 5",
    "tbf RATE burst SIZE",
    "tbf RATE burst SIZE peakrate 9gbit mtu SIZE",
    "trace TRACE",
    "slot TIME",
    "slot TIME MORE packets SMALL bytes SIZE",
    "slot distribution DIST TIME TIME packets SMALL",
    "limit N",
    "limit SMALL",
    "policer RATE burst SIZE",
    "queue Nbdp",
    "queue Np",
    "queue SIZE",
    "aqm drophead",
    "aqm codel",
    "aqm codel target TIME interval TIME ecn ce_threshold TIME",
    "aqm red min 3000b max SIZE probability P ecn",
    "aqm pie target TIME tupdate TIME ecn bytemode",
    "aqm dualpi2 target TIME tupdate TIME step_thresh TIME min_qlen_step 2 drop_enqueue",
    "aqm dualpi2 overflow any_ect",
    "aqm fq_codel flows SMALL quantum 256b target TIME",
    "aqm cake rtt TIME",
    "radio TIME",
    "radio TIME suspend TIME every TIME",
    "at WHEN",
    "at WHEN",
    "at 1ms..900ms",
    "delay trace DELAYS",
    "delay trace DELAYS every TIME",
    "loss trace DIGITS",
];
/// Clauses of which a link has one.
const SERVICES: [&str; 3] = ["rate", "tbf", "trace"];
/// Words that come with a queue.
const QUEUES: [&str; 4] = ["queue", "aqm", "tbf", "trace"];
const MAX_STEPS: usize = 400;
/// Each packet leaves once and each change comes once; the rest is in reserve.
const MAX_LOOKS: usize = 100_000;
