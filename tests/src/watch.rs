//! Looking at a controller's every ACK: what it was told and what it made of it.

use crate::sim::{Outcome, Scenario};
use cc_core::{
    Control, Controller, ControllerSpec, LostPacket, Observer, Params, PathState, RateSample,
    Registry, Setup, Snapshot,
};
use core::time::Duration;
use std::cell::RefCell;
use units::{Bytes, Timestamp};

/// One ACK.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// When it came.
    pub at: Timestamp,
    /// The connection, the ACK counted.
    pub path: PathState,
    /// What was sampled.
    pub sample: RateSample,
    /// State before the ACK.
    pub before: &'static str,
    /// The controller after it.
    pub after: Snapshot,
}

impl Seen {
    /// The state after the ACK.
    pub fn state(&self) -> &'static str {
        self.after.state
    }

    /// Whether this ACK led from state `from` to state `to`, however many lay between.
    pub fn leads(&self, from: &str, to: &str) -> bool {
        self.before == from && self.after.state == to
    }
}

/// The ACKs that end a packet-timed round trip (draft-ietf-ccwg-bbr-06 §5.5.1), if one begins with
/// the first of `acks`.
pub fn round_ends(acks: &[Seen]) -> impl Iterator<Item = &Seen> {
    let mut end = acks
        .first()
        .map_or(Bytes::ZERO, |first| first.path.delivered);
    acks.iter().filter(move |ack| {
        let is_end = ack.sample.prior_delivered >= end;
        if is_end {
            end = ack.path.delivered;
        }
        is_end
    })
}

/// Runs `scenario`, which has one flow under `bbr3`, for `limit` at most; every ACK is noted.
pub fn watch(scenario: &Scenario, limit: Duration) -> (Outcome, Vec<Seen>) {
    SEEN.take();
    let outcome = scenario.clone().registry(registry()).run_for(limit);
    (outcome, SEEN.take())
}

/// The standard registry, but that its `bbr3` is watched.
fn registry() -> Registry {
    let mut registry = Registry::standard();
    registry.register(ControllerSpec {
        build,
        ..watched_spec()
    });
    registry
}

fn watched_spec() -> ControllerSpec {
    let standard = Registry::standard();
    let spec = standard.specs().iter().find(|spec| spec.name == "bbr3");
    *spec.expect("bbr3 is a standard controller")
}

fn build(params: &Params, setup: &Setup) -> Box<dyn Controller> {
    Box::new(Watched {
        inner: (watched_spec().build)(params, setup),
    })
}

/// A controller whose ACKs are noted.
#[derive(Debug)]
struct Watched {
    inner: Box<dyn Controller>,
}

impl Controller for Watched {
    fn on_sent(&mut self, path: &PathState, bytes: Bytes) {
        self.inner.on_sent(path, bytes);
    }

    fn on_lost(&mut self, path: &PathState, packet: &LostPacket, observer: &mut dyn Observer) {
        self.inner.on_lost(path, packet, observer);
    }

    fn on_ack(&mut self, path: &PathState, sample: &RateSample, observer: &mut dyn Observer) {
        let before = self.inner.snapshot().state;
        self.inner.on_ack(path, sample, observer);
        let seen = Seen {
            at: path.now,
            path: *path,
            sample: *sample,
            before,
            after: self.inner.snapshot(),
        };
        SEEN.with_borrow_mut(|all| {
            assert!(all.len() < MOST_SEEN, "a shorter run shows as much");
            all.push(seen);
        });
    }

    fn on_spurious_loss(
        &mut self,
        path: &PathState,
        packet: &LostPacket,
        observer: &mut dyn Observer,
    ) {
        self.inner.on_spurious_loss(path, packet, observer);
    }

    fn on_persistent_congestion(&mut self, path: &PathState, observer: &mut dyn Observer) {
        self.inner.on_persistent_congestion(path, observer);
    }

    fn on_mtu(&mut self, path: &PathState) {
        self.inner.on_mtu(path);
    }

    fn is_self_limited(&self) -> bool {
        self.inner.is_self_limited()
    }

    fn wants_ect1(&self) -> bool {
        self.inner.wants_ect1()
    }

    fn control(&self) -> Control {
        self.inner.control()
    }

    fn snapshot(&self) -> Snapshot {
        self.inner.snapshot()
    }
}

thread_local! {
    /// A registry makes controllers by plain functions, which can hold no list of their own.
    static SEEN: RefCell<Vec<Seen>> = const { RefCell::new(Vec::new()) };
}

/// Half a gigabyte of them.
const MOST_SEEN: usize = 1_000_000;
