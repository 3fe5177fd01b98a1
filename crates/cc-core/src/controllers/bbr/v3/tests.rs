//! Steps of the whole algorithm with samples made by hand; simulations over links are in the
//! package `e2e`.

mod draft_02;
mod history;
mod late;
mod loss;
mod probe_bw;
mod probe_rtt;
mod startup;
mod undo;

use super::draft_06::Draft06;
use super::params::DRAFT_06;
use super::*;
use crate::controller::Setup;
use crate::params::{ParamSpec, Params};
use crate::registry::Registry;
use crate::tests::controller_driver::{ControllerDriver, MSS, RTT, mbit};
use alloc::string::ToString;
use core::time::Duration;
use units::{Bandwidth, Rng, Timestamp};

/// 100 Mbit/s for 100 ms.
const BDP: Bytes = Bytes::new(1_250_000);

/// A flow of the newest revision.
type Bench = BenchOf<Draft06>;

type BenchOf<R> = ControllerDriver<Bbr<R>>;

impl Bench {
    fn new() -> Self {
        Self::of(DRAFT_06)
    }

    /// With the rule `adapts_down=on`.
    fn adapting_down() -> Self {
        Self::with(DRAFT_06, true)
    }

    /// In ProbeBW_CRUISE at 100 Mbit/s.
    fn cruising() -> Self {
        Self::new().cruise()
    }

    /// In ProbeBW_UP at 100 Mbit/s, with the feedback of the probe coming in.
    fn probing() -> Self {
        Self::new().cruise().probe()
    }
}

impl<R: Revision> BenchOf<R> {
    fn of(params: &'static [ParamSpec]) -> Self {
        Self::with(params, false)
    }

    fn with(params: &'static [ParamSpec], adapts_down: bool) -> Self {
        let params = Params::defaults(params);
        Self::build(|setup| Bbr::new(&params, adapts_down, setup))
    }

    /// From the beginning to ProbeBW_CRUISE at 100 Mbit/s.
    fn cruise(mut self) -> Self {
        for _ in 0..4 {
            self.round(mbit(100));
        }
        self.path.inflight = Bytes::ZERO;
        self.round(mbit(100));
        assert_eq!(self.state(), "ProbeBW_CRUISE");
        self
    }

    /// From there to ProbeBW_UP, with the feedback of the probe coming in.
    fn probe(mut self) -> Self {
        for _ in 0..40 {
            self.round(mbit(100));
            if self.state() == "ProbeBW_UP" {
                return self;
            }
        }
        panic!("no probe in 4 s");
    }
}

#[test]
fn the_send_quantum_is_a_millisecond_within_its_bounds() {
    let mut bench = Bench::new();
    let mut quantum_at = |rate: Bandwidth| {
        bench.bbr.pacing_rate = rate;
        bench.bbr.control().send_quantum
    };
    assert_eq!(quantum_at(mbit(1)), MSS * 2);
    assert_eq!(quantum_at(mbit(100)), Bytes::new(12_500));
    assert_eq!(quantum_at(mbit(2_000)), Bytes::new(65_536));
    assert_eq!(quantum_at(mbit(4_000)), Bytes::new(125_000));
    assert_eq!(quantum_at(mbit(10_000)), Bytes::new(262_144));
}

#[test]
fn a_larger_packet_raises_the_minimal_window() {
    let mut bench = Bench::cruising();
    bench.bbr.cwnd = MSS * 4;
    bench.path.mss = Bytes::new(9_000);
    bench.bbr.on_mtu(&bench.path);
    assert_eq!(bench.bbr.cwnd, Bytes::new(36_000));
}

#[test]
fn the_registry_makes_it_by_either_name_with_its_parameters() {
    let registry = Registry::standard();
    for text in ["bbr3", "bbr3:loss_thresh=0.05,probe_rtt_interval=10s"] {
        assert_eq!(registry.choose(text).unwrap().to_string(), text);
    }
    assert_eq!(registry.choose("bbr").unwrap().name(), "bbr3");
}

#[test]
fn the_snapshot_shows_the_model() {
    let bench = Bench::cruising();
    let snapshot = bench.bbr.snapshot();
    assert_eq!(snapshot.state, "ProbeBW_CRUISE");
    assert_eq!(snapshot.bandwidth, Some(mbit(100)));
    assert_eq!(snapshot.min_rtt, Some(RTT));
    assert_eq!(snapshot.pacing_gain, Some(Gain::ONE));
    assert_eq!(snapshot.inflight_longterm, None);
}

#[test]
#[should_panic(expected = "ProbeBW_CRUISE may not follow Startup")]
fn a_transition_that_the_diagram_lacks_is_refused() {
    let mut bench = Bench::new();
    let donor = Bench::cruising();
    let mut context = EventContext {
        path: &bench.path,
        observer: &mut bench.entered,
    };
    context.transition(&mut bench.bbr.state, donor.bbr.state);
}
