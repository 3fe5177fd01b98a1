//! Every ACK of a run: the controller's input and its decision.

use crate::sim::{Outcome, Scenario};
use cc_core::{
    Control, Controller, ControllerSpec, LostPacket, Observer, PathState, RateSample, Registry,
    SharedSpec, Snapshot,
};
use core::time::Duration;
use std::cell::RefCell;
use units::{Bandwidth, Bytes, Gain, Timestamp};

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

/// When the third round since the start brought less than a quarter more than the round before
/// those three: the plateau of draft-ietf-ccwg-bbr-06 §5.3.1.2.
pub fn plateau(acks: &[Seen]) -> Option<Timestamp> {
    let first = acks.first()?;
    let (mut baseline, mut flat) = (Bandwidth::ZERO, 0);
    let later = round_ends(acks).skip_while(|ack| ack.at == first.at);
    let full = std::iter::once(first).chain(later).find(|ack| {
        let rate = ack.sample.delivery_rate.unwrap_or_default();
        if rate >= baseline * Gain::new(5, 4) {
            (baseline, flat) = (rate, 0);
        } else {
            flat += 1;
        }
        flat == 3
    });
    full.map(|ack| ack.at)
}

/// Runs `scenario`, which has one flow under one of [`WATCHED`], for `limit` at most; every ACK is
/// noted.
pub fn watch(scenario: &Scenario, limit: Duration) -> (Outcome, Vec<Seen>) {
    SEEN.take();
    let outcome = scenario.clone().registry(registry()).run_for(limit);
    (outcome, SEEN.take())
}

/// The standard registry, but that those of [`WATCHED`] are watched.
fn registry() -> Registry {
    let mut registry = Registry::standard();
    let standard = Registry::standard();
    let is_watched = |spec: &&SharedSpec| WATCHED.contains(&spec.name);
    for spec in standard.specs().iter().filter(is_watched).cloned() {
        let (aliases, params) = (spec.aliases, spec.params);
        let watched = ControllerSpec::sharing(spec.name, spec.summary, move |params, setup| {
            Box::new(Watched {
                inner: (spec.build)(params, setup),
            })
        });
        registry.register(watched.aliases(aliases).params(params));
    }
    registry
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
            assert!(all.len() < MAX_SEEN, "a shorter run shows as much");
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

    fn on_sends_ect1(&mut self, path: &PathState, sends_ect1: bool) {
        self.inner.on_sends_ect1(path, sends_ect1);
    }

    fn is_self_limited(&self) -> bool {
        self.inner.is_self_limited()
    }

    fn wants_fewer_acks(&self) -> bool {
        self.inner.wants_fewer_acks()
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
    /// The plain functions of a registry can hold no list of their own.
    static SEEN: RefCell<Vec<Seen>> = const { RefCell::new(Vec::new()) };
}

/// The controllers whose ACKs can be seen.
pub const WATCHED: [&str; 4] = ["bbr3", "bbr2", "bbr1", "bbrplus"];

/// Half a gigabyte of them.
const MAX_SEEN: usize = 1_000_000;
