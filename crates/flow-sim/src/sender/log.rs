use crate::outcome::StateVisit;
use cc_core::{Event, Observer};
use core::time::Duration;
use link_sim::Histogram;
use units::{Bandwidth, Timestamp};

/// What a sender notes for its outcome.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) states: Vec<StateVisit>,
    pub(crate) rtt: Histogram,
    pub(crate) longest_path_rtt: Duration,
    pub(crate) delivery_rate: Option<Bandwidth>,
}

impl Log {
    pub(super) fn new(at: Timestamp, state: &'static str) -> Self {
        Self {
            states: vec![StateVisit { at, state }],
            rtt: Histogram::default(),
            longest_path_rtt: Duration::ZERO,
            delivery_rate: None,
        }
    }

    pub(super) fn enter(&mut self, at: Timestamp, state: &'static str) {
        if self.states.len() < MAX_VISITS {
            self.states.push(StateVisit { at, state });
        }
    }

    pub(super) fn on_rtt(&mut self, rtt: Duration) {
        self.rtt.record(rtt);
    }
}

impl Observer for Log {
    fn on_event(&mut self, event: &Event) {
        match event {
            Event::StateChanged { at, to, .. } => self.enter(*at, to),
            Event::Sampled { sample, .. } => {
                let rtt = sample.rtt.unwrap_or_default();
                self.longest_path_rtt = self.longest_path_rtt.max(rtt);
                self.delivery_rate = sample.delivery_rate.or(self.delivery_rate);
            }
            _ => {}
        }
    }
}

/// Ten a second for the longest of runs.
const MAX_VISITS: usize = 10_000;
