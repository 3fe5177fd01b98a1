//! A controller of one's own against those that come along: TCP Vegas (Brakmo and Peterson, 1995).
//!
//! ```text
//! cargo run --release -p bench-kit --example own_controller -- ab \
//!     --a vegas --b cubic --link "delay 20ms rate 20mbit queue 4bdp"
//! cargo run --release -p bench-kit --example own_controller -- list
//! ```
//!
//! Vegas reads the queue off the round-trip time: of a window W, W · (RTT − least RTT) ÷ RTT waits.
//! Each round trip it grows by a packet where less than `queue` packets wait, shrinks by one where
//! more than twice as many do, and halves on loss. It fills the link of above as CUBIC does and
//! keeps the queue nearly empty; beside CUBIC in one queue it starves, which is why the world runs
//! CUBIC.

use bench_kit::{Registry, client_main};
use cc_core::{
    Control, Controller, ControllerSpec, LostPacket, Observer, ParamSpec, PathState, Range,
    RateSample, Snapshot, Value,
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
    params: &[ParamSpec {
        name: "queue",
        default: Value::Count(2),
        range: Range::Between(Value::Count(1), Value::Count(1_000)),
        summary: "packets that are to wait, at least; at most twice as many",
        source: "Brakmo and Peterson, IEEE JSAC 13(8), section III.C (alpha 2, beta 4)",
    }],
    build: |params, setup| {
        Box::new(Vegas {
            queue: params.count("queue"),
            cwnd: setup.initial_cwnd,
            srtt: setup.srtt,
            mss: setup.mss,
            is_slow_start: true,
            round_end: Bytes::ZERO,
            round_rtt: None,
            reduced_at: None,
        })
    },
};

#[derive(Debug)]
struct Vegas {
    queue: u64,
    cwnd: Bytes,
    srtt: Option<Duration>,
    mss: Bytes,
    is_slow_start: bool,
    /// The round ends with a packet that left after this much was delivered.
    round_end: Bytes,
    /// The least round-trip time of the round.
    round_rtt: Option<Duration>,
    /// What left before then is part of the loss that was answered.
    reduced_at: Option<Timestamp>,
}

impl Controller for Vegas {
    fn on_lost(&mut self, path: &PathState, packet: &LostPacket, _: &mut dyn Observer) {
        if self.reduced_at.is_none_or(|at| packet.stamp.sent_at > at) {
            self.reduced_at = Some(path.now);
            self.is_slow_start = false;
            self.cwnd = (self.cwnd / 2).max(path.mss * 2);
        }
    }

    fn on_ack(&mut self, path: &PathState, sample: &RateSample, _: &mut dyn Observer) {
        (self.srtt, self.mss) = (path.srtt, path.mss);
        self.round_rtt = self.round_rtt.into_iter().chain(sample.rtt).min();
        if sample.prior_delivered < self.round_end {
            return;
        }
        self.round_end = path.delivered;
        let (Some(rtt), Some(least)) = (self.round_rtt.take(), path.min_rtt) else {
            return;
        };
        // What arrives in the least RTT is under way, the rest of the window waits.
        let queue = self.cwnd - Bandwidth::from_transfer(self.cwnd, rtt) * least;
        let wanted = path.mss * self.queue;
        self.is_slow_start &= queue < wanted;
        if queue > wanted * 2 {
            self.cwnd = (self.cwnd - path.mss).max(path.mss * 2);
        } else if queue < wanted && path.is_cwnd_limited {
            // Twice the window in two round trips, which is half as fast as Reno.
            let doubles = self.is_slow_start.then(|| self.cwnd * Gain::new(2, 5));
            self.cwnd = self.cwnd.saturating_add(doubles.unwrap_or(path.mss));
        }
    }

    fn control(&self) -> Control {
        let Some(srtt) = self.srtt else {
            return Control::unpaced(self.cwnd);
        };
        Control {
            cwnd: self.cwnd,
            // RFC 9002 §7.7: a little faster than the window drains.
            pacing_rate: Bandwidth::from_transfer(self.cwnd, srtt) * Gain::new(5, 4),
            send_quantum: (self.cwnd / 8).min(Bytes::new(65_536)).max(self.mss * 2),
        }
    }

    fn snapshot(&self) -> Snapshot {
        let states = ["CongestionAvoidance", "SlowStart"];
        let state = states[usize::from(self.is_slow_start)];
        Snapshot::new(VEGAS.name, state, self.control())
    }
}
