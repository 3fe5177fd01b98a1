//! A controller that decides nothing: window, rate and quantum are what its name says.
//!
//! `fixed:rate=90mbit,cwnd=1m,quantum=4k`. What a sender does under it is the transport's doing
//! alone.

use cc_core::{
    Control, Controller, ControllerChoice, ControllerSpec, LostPacket, Observer, ParamSpec,
    PathState, Range, RateSample, Registry, Snapshot, Value,
};
use core::time::Duration;
use units::{Bandwidth, Bytes};

/// The controller that `text` names, of cc-core's or `fixed`.
///
/// # Panics
/// When `text` names none.
pub fn choose(text: &str) -> ControllerChoice {
    registry()
        .choose(text)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The standard registry and `fixed`.
pub fn registry() -> Registry {
    let mut registry = Registry::standard();
    registry.register(SPEC);
    registry
}

const SPEC: ControllerSpec = ControllerSpec {
    name: "fixed",
    aliases: &[],
    summary: "a window and a rate that never change",
    params: &[
        ParamSpec {
            name: "rate",
            default: Value::Bandwidth(Bandwidth::MAX),
            range: Range::Any,
            summary: "pacing rate",
            source: "none: unpaced",
        },
        ParamSpec {
            name: "cwnd",
            default: Value::Bytes(Bytes::new(1 << 30)),
            range: Range::Any,
            summary: "congestion window",
            source: "none: more than any link of these tests holds",
        },
        ParamSpec {
            name: "quantum",
            default: Value::Bytes(Bytes::ZERO),
            range: Range::Any,
            summary: "send quantum; zero derives it from the rate",
            source: "draft-ietf-ccwg-bbr-06 §5.6.3",
        },
    ],
    build: |params, setup| {
        let rate = params.bandwidth("rate");
        let quantum = match params.bytes("quantum") {
            Bytes::ZERO => derived_quantum(rate, setup.mss),
            quantum => quantum,
        };
        Box::new(Fixed(Control {
            cwnd: params.bytes("cwnd"),
            pacing_rate: rate,
            send_quantum: quantum,
        }))
    },
};

/// What the rate carries in a millisecond, at least two packets and at most 64 KiB.
fn derived_quantum(rate: Bandwidth, mss: Bytes) -> Bytes {
    if rate == Bandwidth::MAX {
        return Bytes::MAX;
    }
    (rate * Duration::from_millis(1)).clamp(mss * 2, Bytes::new(65_536))
}

#[derive(Debug)]
struct Fixed(Control);

impl Controller for Fixed {
    fn on_lost(&mut self, _: &PathState, _: &LostPacket, _: &mut dyn Observer) {}

    fn on_ack(&mut self, _: &PathState, _: &RateSample, _: &mut dyn Observer) {}

    fn control(&self) -> Control {
        self.0
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::new(SPEC.name, "Fixed", self.0)
    }
}
