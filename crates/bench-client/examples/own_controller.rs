//! A controller of one's own against those that come along: TCP Vegas (Brakmo and Peterson, 1995).
//!
//! ```text
//! cargo run --release -p bench-client --example own_controller -- ab \
//!     --a vegas --b cubic --link "delay 20ms rate 20mbit queue 4bdp"
//! cargo run --release -p bench-client --example own_controller -- list
//! ```
//!
//! Vegas reads the queue off the round-trip time: of a window W, W · (RTT − least RTT) ÷ RTT waits.
//! A window's ACKs together add a packet where less than `queue` packets wait, take one away where
//! more than twice as many do, and a loss halves it. It fills the link of above as CUBIC does and
//! keeps the queue nearly empty; beside CUBIC in one queue it starves, which is why the world runs
//! CUBIC.

use bench_client::{Registry, main_with};
use cc_core::{
    Control, Controller, ControllerSpec, LostPacket, Observer, ParamSpec, PathState, RateSample,
    Snapshot,
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
    main_with(&Registry::standard().with(VEGAS), args)
}

const VEGAS: ControllerSpec = ControllerSpec::new(
    "vegas",
    "TCP Vegas (1995): keeps a few packets waiting; an example",
    |params, setup| {
        Box::new(Vegas {
            queue: params.count("queue"),
            cwnd: setup.initial_cwnd,
            mss: setup.mss,
            rtt: setup.srtt,
            ..Vegas::default()
        })
    },
)
.params(&[ParamSpec::count("queue", 2, 1..=1_000)
    .summary("packets that are to wait, at least; at most twice as many")
    .source("Brakmo and Peterson, IEEE JSAC 13(8), section III.C (alpha 2, beta 4)")]);

#[derive(Debug, Default)]
struct Vegas {
    queue: u64,
    cwnd: Bytes,
    mss: Bytes,
    /// The least of late: each ACK lets it rise by a 64th, at most to the present one.
    rtt: Option<Duration>,
    /// It has filled the path, and slow start is over.
    fills: bool,
    /// What left before then is part of the loss that was answered.
    reduced_at: Option<Timestamp>,
}

impl Controller for Vegas {
    fn on_lost(&mut self, path: &PathState, packet: &LostPacket, _: &mut dyn Observer) {
        if self.reduced_at.is_none_or(|at| packet.stamp.sent_at > at) {
            self.reduced_at = Some(path.now);
            self.fills = true;
            self.cwnd = (self.cwnd / 2).max(path.mss * 2);
        }
    }

    fn on_ack(&mut self, path: &PathState, sample: &RateSample, _: &mut dyn Observer) {
        self.mss = path.mss;
        let (Some(rtt), Some(least)) = (sample.rtt, path.min_rtt) else {
            return;
        };
        let rtt = self.rtt.map_or(rtt, |recent| rtt.min(recent * 65 / 64));
        self.rtt = Some(rtt);
        // What arrives in the least RTT is under way, the rest of the window waits.
        let queue = self.cwnd - Bandwidth::from_transfer(self.cwnd, rtt) * least;
        let wanted = self.mss * self.queue;
        self.fills |= queue >= wanted;
        // What brings a packet: a window, or two packets in slow start, half as fast as Reno's.
        let per = if self.fills { self.cwnd } else { self.mss * 2 };
        let step = sample.newly_acked * Gain::new(self.mss.get(), per.get());
        if queue > wanted * 2 {
            self.cwnd = (self.cwnd - step).max(self.mss * 2);
        } else if queue < wanted && path.is_cwnd_limited {
            self.cwnd += step;
        }
    }

    fn control(&self) -> Control {
        Control::paced(self.cwnd, self.rtt, self.mss)
    }

    fn snapshot(&self) -> Snapshot {
        let state = ["SlowStart", "CongestionAvoidance"][usize::from(self.fills)];
        Snapshot::new(VEGAS.name, state, self.control())
    }
}
