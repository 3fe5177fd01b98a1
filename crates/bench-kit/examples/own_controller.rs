//! A controller of one's own against those that come along: TCP Vegas (Brakmo and Peterson, 1995).
//!
//! ```text
//! cargo run --release -p bench-kit --example own_controller -- ab \
//!     --a vegas --b cubic --link "delay 20ms rate 20mbit queue 4bdp"
//! cargo run --release -p bench-kit --example own_controller -- list
//! ```
//!
//! Vegas reads the queue off the round-trip time: of a window W, W · (RTT − least RTT) ÷ RTT waits.
//! Each round trip it grows by a packet where less than `alpha` packets wait, shrinks by one where
//! more than `beta` do, and halves on loss. It fills the link of above as CUBIC does and keeps the
//! queue nearly empty; beside CUBIC in one queue it starves, which is why the world runs CUBIC.

use bench_kit::{Registry, client_main};
use cc_core::{
    Control, Controller, ControllerSpec, LostPacket, Observer, ParamSpec, PathState, Range,
    RateSample, Setup, Snapshot, Value,
};
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;
use units::{Bandwidth, Bytes, Gain, Timestamp};

fn main() -> ExitCode {
    run(std::env::args_os())
}

/// All that `bench-client` can, with one controller more.
pub(crate) fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut registry = Registry::standard();
    registry.register(VEGAS);
    client_main(&registry, args)
}

const VEGAS: ControllerSpec = ControllerSpec {
    name: "vegas",
    aliases: &[],
    summary: "TCP Vegas (1995): keeps a few packets waiting; an example",
    params: &[
        packets("alpha", Value::Count(2), "the window grows below"),
        packets("beta", Value::Count(4), "the window shrinks above"),
    ],
    build: |params, setup| {
        Box::new(Vegas::new(
            params.count("alpha"),
            params.count("beta"),
            setup,
        ))
    },
};

const fn packets(name: &'static str, default: Value, summary: &'static str) -> ParamSpec {
    ParamSpec {
        name,
        default,
        range: Range::Between(Value::Count(1), Value::Count(1_000)),
        summary,
        source: "Brakmo and Peterson, IEEE JSAC 13(8), section III.C",
    }
}

#[derive(Debug)]
struct Vegas {
    alpha: u64,
    beta: u64,
    cwnd: Bytes,
    mss: Bytes,
    srtt: Option<Duration>,
    is_slow_start: bool,
    /// The round ends with a packet that left after this much was delivered.
    round_end: Bytes,
    /// The least round-trip time of the round.
    round_rtt: Option<Duration>,
    /// What left before then is part of the loss that was answered.
    reduced_at: Option<Timestamp>,
}

impl Vegas {
    fn new(alpha: u64, beta: u64, setup: &Setup) -> Self {
        Self {
            alpha,
            beta,
            cwnd: setup.initial_cwnd,
            mss: setup.mss,
            srtt: setup.srtt,
            is_slow_start: true,
            round_end: Bytes::ZERO,
            round_rtt: None,
            reduced_at: None,
        }
    }

    /// Once a round trip.
    fn adjust(&mut self, queue: Bytes, is_cwnd_limited: bool) {
        let (least, most) = (self.mss * self.alpha, self.mss * self.beta);
        self.is_slow_start &= queue < least;
        if queue > most {
            self.cwnd = (self.cwnd - self.mss).max(self.mss * 2);
        } else if queue < least && is_cwnd_limited {
            // Twice the window in two round trips, which is half as fast as Reno.
            let doubles = self.is_slow_start.then(|| self.cwnd * Gain::new(2, 5));
            self.cwnd = self.cwnd.saturating_add(doubles.unwrap_or(self.mss));
        }
    }
}

impl Controller for Vegas {
    fn on_lost(&mut self, path: &PathState, packet: &LostPacket, _: &mut dyn Observer) {
        if self.reduced_at.is_none_or(|at| packet.stamp.sent_at > at) {
            self.reduced_at = Some(path.now);
            self.is_slow_start = false;
            self.cwnd = (self.cwnd / 2).max(self.mss * 2);
        }
    }

    fn on_ack(&mut self, path: &PathState, sample: &RateSample, _: &mut dyn Observer) {
        self.srtt = path.srtt;
        self.round_rtt = self.round_rtt.into_iter().chain(sample.rtt).min();
        if sample.prior_delivered < self.round_end {
            return;
        }
        self.round_end = path.delivered;
        if let Some((rtt, least)) = self.round_rtt.take().zip(path.min_rtt) {
            // What arrives in the least RTT is under way, the rest of the window waits.
            let under_way = Bandwidth::from_transfer(self.cwnd, rtt) * least;
            self.adjust(self.cwnd.saturating_sub(under_way), path.is_cwnd_limited);
        }
    }

    fn on_persistent_congestion(&mut self, _: &PathState, _: &mut dyn Observer) {
        self.cwnd = self.mss * 2;
    }

    fn on_mtu(&mut self, path: &PathState) {
        self.mss = path.mss;
        self.cwnd = self.cwnd.max(self.mss * 2);
    }

    fn control(&self) -> Control {
        let Some(srtt) = self.srtt else {
            return Control::unpaced(self.cwnd);
        };
        Control {
            cwnd: self.cwnd,
            // RFC 9002 §7.7: a little faster than the window drains.
            pacing_rate: Bandwidth::from_transfer(self.cwnd, srtt) * Gain::new(5, 4),
            send_quantum: (self.cwnd / 8).clamp(self.mss * 2, Bytes::new(65_536)),
        }
    }

    fn snapshot(&self) -> Snapshot {
        let state = if self.is_slow_start {
            "SlowStart"
        } else {
            "CongestionAvoidance"
        };
        Snapshot::new(VEGAS.name, state, self.control())
    }
}
