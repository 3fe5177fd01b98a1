//! Writes reports of invented results, to work on their looks without running a test.
//!
//! ```text
//! cargo run -p paceline-bench-report --example report_preview -- DIRECTORY
//! ```
//!
//! | file | what it shows |
//! |---|---|
//! | `usual.html`, `*.svg` | the default test: CUBIC and BBR at 100 Mbit/s, 40 ms, 1 % loss, 3 × 5 s |
//! | `long.html` | 20 rounds of a minute, sampled every 10 ms, with a warm-up |
//! | `undecided.html` | the same controller on both sides |
//! | `broken.html` | one round each, one of them failed; hostile names, states and errors |
//!
//! The results come from a fluid model of one flow through one queue, coarse but with the shapes
//! of the real thing: it is no simulation and says nothing about the controllers.

use bench_report::result::{
    AbKind, AbResult, Figures, Finite, Interval, LimitedBy, LimitedTimes, Quantity, QueueDelayMs,
    Round, RttMs, SCHEMA_VERSION, Variant,
};
use bench_report::{plot, report, stats};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::Rng;

fn main() -> std::io::Result<()> {
    let directory = std::env::args_os().nth(1).map(PathBuf::from);
    let directory = directory.unwrap_or_else(std::env::temp_dir);
    std::fs::create_dir_all(&directory)?;
    let usual = test(["cubic", "bbr3"], 3, 5.0, 0.05);
    write(&directory, "usual", &usual)?;
    let figures = [
        ("forest", Some(plot::forest(&usual))),
        ("goodput-delay", Some(plot::goodput_delay(&usual))),
        ("goodput", Some(plot::goodput(&usual))),
        ("rtt", Some(plot::rtt(&usual))),
        ("course-a", plot::time_series(&usual, 0)),
        ("course-b", plot::time_series(&usual, 1)),
    ];
    for (name, figure) in figures {
        if let Some(figure) = figure {
            std::fs::write(directory.join(format!("{name}.svg")), figure.standalone())?;
        }
    }
    write(&directory, "long", &long())?;
    write(
        &directory,
        "undecided",
        &test(["cubic", "cubic"], 3, 5.0, 0.05),
    )?;
    write(&directory, "broken", &broken())
}

fn write(directory: &Path, name: &str, result: &AbResult) -> std::io::Result<()> {
    std::fs::write(directory.join(format!("{name}.html")), report::html(result))
}

fn test(controllers: [&str; 2], rounds: u32, seconds: f64, step: f64) -> AbResult {
    let mut variants: Vec<Variant> = controllers
        .into_iter()
        .zip(["a", "b"])
        .map(|(cc, name)| Variant {
            name: name.to_owned(),
            cc: cc.to_owned(),
            server: None,
            run: None,
            flows: 1,
            start_seconds: Finite::ZERO,
            extra_delay_ms: Finite::ZERO,
            duplicate: 1,
            rounds: Vec::new(),
            summary: BTreeMap::new(),
        })
        .collect();
    for slot in stats::Schedule::new(7, variants.len(), rounds) {
        let variant = &mut variants[slot.variant];
        // Unlike in a real test the model's draws must differ within a block, or two equal
        // controllers would give equal rounds.
        let seed = slot.seed ^ slot.variant as u64;
        let mut round = Flow::new(&variant.cc, seed).run(seconds, step);
        (round.block, round.order) = (slot.block, slot.order);
        variant.rounds.push(round);
    }
    let mut result = AbResult {
        schema_version: SCHEMA_VERSION,
        kind: AbKind::Ab,
        complete: true,
        error: None,
        title: None,
        version: "paceline 0.1.0".to_owned(),
        seed: 7,
        is_virtual: false,
        started_unix_seconds: Some(1_790_000_000),
        link: "delay 40ms loss 1% rate 100mbit queue 1bdp".to_owned(),
        return_link: String::new(),
        link_rate_bits_per_second: Some(100_000_000),
        base_rtt_ms: Some(figure(BASE_RTT * 1e3)),
        round_seconds: Some(figure(seconds)),
        omit_seconds: Some(Finite::ZERO),
        variants,
        ..AbResult::default()
    };
    stats::conclude(&mut result);
    result
}

fn long() -> AbResult {
    let mut result = test(["cubic", "bbr3"], 20, 60.0, 0.01);
    result.title = Some("A minute each, twenty times".to_owned());
    result.omit_seconds = Some(figure(3.0));
    let rounds = result
        .variants
        .iter_mut()
        .flat_map(|variant| &mut variant.rounds);
    for interval in rounds.flat_map(|round| &mut round.intervals) {
        interval.omitted = interval.t.get() <= 3.0;
    }
    result
}

fn broken() -> AbResult {
    let hostile = "\"><script>alert('state')</script>&amp;";
    let mut result = test(["cubic", "bbr3"], 1, 2.0, 0.05);
    result.complete = false;
    result.error = Some(format!("interrupted {hostile}"));
    result.title = Some(hostile.to_owned());
    result.link = format!("delay 40ms {hostile}");
    result.link_rate_bits_per_second = None;
    result.base_rtt_ms = None;
    let b = &mut result.variants[1];
    b.cc = format!("mine:{hostile},and_a_parameter_that_is_very_long=1234567890123456789");
    b.rounds[0].error = Some(format!("connection lost {hostile}"));
    for (index, interval) in b.rounds[0].intervals.iter_mut().enumerate() {
        interval.state = Some(match index % 7 {
            0 => hostile.to_owned(),
            n => format!("AStateWithAVeryLongName{n}"),
        });
        interval.sender.set(Quantity::PacingRate, None);
        if index % 9 <= 2 {
            interval.sender.set(Quantity::SmoothedRtt, None);
        }
    }
    stats::conclude(&mut result);
    result
}

/// One sender through one queue, in steps of a millisecond.
struct Flow {
    rng: Rng,
    bbr: bool,
    now: f64,
    cwnd: f64,
    /// CUBIC: the window before the last reduction, and when that was.
    w_max: f64,
    reduced_at: f64,
    /// BBR: the state, when it ends, and when to probe the RTT next.
    state: &'static str,
    state_ends: f64,
    probe_rtt_at: f64,
    bandwidth: f64,
    queue: f64,
    sent: f64,
    lost: u64,
    resent: f64,
    rtts: Vec<f64>,
}

impl Flow {
    fn new(cc: &str, seed: u64) -> Self {
        let bbr = cc.starts_with("bbr");
        Self {
            rng: Rng::new(seed),
            bbr,
            now: 0.0,
            cwnd: 14_520.0,
            w_max: 0.0,
            reduced_at: 0.0,
            state: if bbr { "Startup" } else { "SlowStart" },
            state_ends: f64::INFINITY,
            probe_rtt_at: 5.0,
            bandwidth: 14_520.0 / BASE_RTT,
            queue: 0.0,
            sent: 0.0,
            lost: 0,
            resent: 0.0,
            rtts: Vec::new(),
        }
    }

    fn run(mut self, seconds: f64, step: f64) -> Round {
        let mut intervals = Vec::new();
        let mut received = 0.0;
        while self.now < seconds - step / 2.0 {
            let lost_before = self.lost;
            let arrived: f64 = (0..(step / TICK).round() as u32).map(|_| self.tick()).sum();
            received += arrived;
            intervals.push(self.interval(step, arrived, self.lost - lost_before));
        }
        self.round(seconds, received, intervals)
    }

    /// One millisecond; returns the bytes that arrive.
    fn tick(&mut self) -> f64 {
        self.now += TICK;
        let rate = self.sending_rate();
        let noise = 0.97 + 0.06 * self.rng.unit_f64();
        let offered = rate * TICK * noise;
        let packets = offered / MSS;
        // The whole packets lost, and by chance one for the remainder.
        let expected = packets * 0.01;
        let mut lost = expected.floor() + f64::from(self.rng.unit_f64() < expected.fract());
        let through = (offered - lost * MSS).max(0.0);
        let served = (self.queue + through).min(LINK * TICK);
        self.queue = (self.queue + through - served).max(0.0);
        if self.queue > LINK * BASE_RTT {
            lost += ((self.queue - LINK * BASE_RTT) / MSS).ceil();
            self.queue = LINK * BASE_RTT;
        }
        self.sent += packets;
        self.lost += lost as u64;
        self.resent += lost * MSS;
        self.rtts.push(self.rtt() * 1e3);
        if self.bbr {
            self.bbr(served / TICK);
        } else {
            self.cubic(lost > 0.0);
        }
        served * 0.97
    }

    fn rtt(&self) -> f64 {
        BASE_RTT + self.queue / LINK
    }

    fn sending_rate(&self) -> f64 {
        let by_window = self.cwnd / self.rtt();
        if self.bbr {
            by_window.min(self.pacing_rate())
        } else {
            by_window
        }
    }

    fn cubic(&mut self, lost: bool) {
        if lost && self.now - self.reduced_at > self.rtt() {
            self.w_max = self.cwnd;
            self.cwnd = (0.7 * self.cwnd).max(2.0 * MSS);
            self.reduced_at = self.now;
            self.state = "CongestionAvoidance";
        } else if self.state == "SlowStart" {
            self.cwnd *= 1.0 + TICK / self.rtt();
        } else {
            let k = (self.w_max / MSS * 0.3 / 0.4).cbrt();
            let t = self.now - self.reduced_at;
            let target = (0.4 * (t - k).powi(3)).mul_add(MSS, self.w_max);
            // Not slower than Reno.
            let reno = self.cwnd + 0.53 * MSS * TICK / self.rtt();
            self.cwnd = target.clamp(reno, self.cwnd * 1.01);
        }
    }

    fn bbr(&mut self, delivered: f64) {
        if self.state != "Startup" {
            self.bandwidth = self.bandwidth.max(delivered * 0.99);
        }
        let bdp = self.bandwidth * BASE_RTT;
        self.cwnd = match self.state {
            "ProbeRTT" => 0.5 * bdp,
            "Startup" => (self.cwnd * (1.0 + TICK / self.rtt())).max(2.0 * bdp),
            "ProbeBW_UP" => 2.25 * bdp,
            _ => 2.0 * bdp,
        };
        if self.state == "Startup" {
            self.bandwidth = (self.bandwidth * (1.0 + 0.9 * TICK / BASE_RTT)).min(LINK * 0.99);
            if self.queue > 0.8 * LINK * BASE_RTT {
                self.enter("Drain", 3.0 * BASE_RTT);
            }
        } else if self.now > self.state_ends {
            self.next_state();
        }
    }

    fn next_state(&mut self) {
        match self.state {
            "ProbeBW_CRUISE" if self.now > self.probe_rtt_at => {
                self.probe_rtt_at = self.now + 5.0;
                self.enter("ProbeRTT", 0.2);
            }
            "ProbeBW_CRUISE" => self.enter("ProbeBW_REFILL", BASE_RTT * 1.2),
            "ProbeBW_REFILL" => self.enter("ProbeBW_UP", BASE_RTT * 2.5),
            "ProbeBW_DOWN" | "ProbeRTT" => {
                let length = 1.0 + 0.8 * self.rng.unit_f64();
                self.enter("ProbeBW_CRUISE", length);
            }
            _ => self.enter("ProbeBW_DOWN", BASE_RTT * 2.5),
        }
    }

    fn enter(&mut self, state: &'static str, length: f64) {
        self.state = state;
        self.state_ends = self.now + length;
    }

    fn pacing_rate(&self) -> f64 {
        let gain = match self.state {
            "Startup" => 2.77,
            "Drain" => 0.35,
            "ProbeBW_UP" => 1.25,
            "ProbeBW_DOWN" => 0.9,
            _ => 1.0,
        };
        0.99 * gain * self.bandwidth
    }

    fn interval(&mut self, step: f64, arrived: f64, lost: u64) -> Interval {
        Interval {
            t: figure((self.now * 1e6).round() / 1e6),
            seconds: figure(step),
            omitted: false,
            goodput_bits_per_second: (arrived * 8.0 / step) as u64,
            sender: self.figures(step, arrived, lost),
            state: Some(self.state.to_owned()),
            datagrams: None,
            frames: None,
        }
    }

    fn figures(&mut self, step: f64, arrived: f64, lost: u64) -> Figures {
        let delivered = arrived / 0.97 * 8.0 / step * (0.98 + 0.04 * self.rng.unit_f64());
        let in_flight = (self.sending_rate() * self.rtt()).min(self.cwnd);
        let mut figures = Figures::of([
            (Quantity::SmoothedRtt, self.rtt() * 1e3),
            (Quantity::Cwnd, self.cwnd),
            (Quantity::InFlight, in_flight),
            (Quantity::DeliveryRate, delivered),
            (Quantity::PacketsLost, lost as f64),
            (Quantity::CeMarked, 0.0),
        ]);
        if self.bbr {
            let pacing = Finite::new(self.pacing_rate() * 8.0);
            figures.set(Quantity::PacingRate, pacing);
        }
        figures
    }

    fn round(mut self, seconds: f64, received: f64, intervals: Vec<Interval>) -> Round {
        self.rtts.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            let index = (share * (self.rtts.len() - 1) as f64) as usize;
            self.rtts[index]
        };
        let above_base = |share| Finite::new(quantile(share) - BASE_RTT * 1e3);
        let window = if self.bbr { 150 } else { 4_700 };
        Round {
            congestion: if self.bbr { "bbr3" } else { "cubic" }.to_owned(),
            streams: 1,
            seconds: figure(seconds),
            bytes: received as u64,
            goodput_bits_per_second: (received * 8.0 / seconds) as u64,
            packets_sent: Some(self.sent as u64),
            packets_lost: Some(self.lost),
            bytes_retransmitted: Some(self.resent as u64),
            ecn_ce_packets: Some(0),
            rtt_ms: RttMs {
                min: Finite::new(quantile(0.0)),
                p50: Finite::new(quantile(0.5)),
                p95: Finite::new(quantile(0.95)),
                p99: Finite::new(quantile(0.99)),
                max: Finite::new(quantile(1.0)),
            },
            queue_delay_ms: QueueDelayMs {
                p50: above_base(0.5),
                p95: above_base(0.95),
                p99: above_base(0.99),
            },
            cpu_seconds_sender: Finite::new(received / 1e9 * (2.1 + 0.3 * self.rng.unit_f64())),
            cpu_seconds_receiver: Finite::new(received / 1e9 * (1.6 + 0.2 * self.rng.unit_f64())),
            limited_by: LimitedBy::from_times(LimitedTimes {
                congestion_window: Duration::from_millis(window),
                pacing: Duration::from_millis(4_850 - window),
                host: Duration::from_millis(150),
                ..LimitedTimes::default()
            }),
            intervals,
            ..Round::default()
        }
    }
}

fn figure(value: f64) -> Finite {
    Finite::new(value).expect("the model divides by constants only")
}

const MSS: f64 = 1_452.0;
const BASE_RTT: f64 = 0.040;
/// Bytes per second.
const LINK: f64 = 12_500_000.0;
const TICK: f64 = 0.001;
