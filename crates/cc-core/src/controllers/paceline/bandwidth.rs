//! The estimate of the bandwidth that is there for this flow.

use crate::parts::windowed_max::WindowedMax;
use units::Bandwidth;

/// A control variable rather than a filter: it stays where it is until deliveries prove more or a
/// queue proves less. It is never below the best that an Up, or two round trips together, delivered
/// in this cycle and the one before, nor more than a quarter above what they would have delivered
/// for a host that was never late.
#[derive(Debug)]
pub(super) struct Estimate {
    /// B/s; zero in Startup, where [`proven`](Self::proven) stands in for it.
    value: f64,
    proven: WindowedMax<Bandwidth, 2>,
    /// The same of a host that was never late.
    on_time: WindowedMax<Bandwidth, 2>,
    /// The fastest delivery ever sampled: no ACKs that come together make it more.
    fastest: Bandwidth,
    cycle: u64,
}

impl Estimate {
    pub(super) fn new() -> Self {
        Self {
            value: 0.0,
            proven: WindowedMax::new(),
            on_time: WindowedMax::new(),
            fastest: Bandwidth::ZERO,
            cycle: 0,
        }
    }

    /// B/s; zero until there is a sample.
    pub(super) fn get(&self) -> f64 {
        if self.value > 0.0 {
            self.value
        } else {
            self.proven()
        }
    }

    /// The greatest delivery rate of two cycles, B/s.
    pub(super) fn proven(&self) -> f64 {
        self.proven.max_of(2).map_or(0.0, to_f64)
    }

    pub(super) fn begin_cycle(&mut self) {
        self.cycle += 1;
        self.proven.advance_to(self.cycle);
        self.on_time.advance_to(self.cycle);
    }

    /// A delivery was sampled at `rate`.
    pub(super) fn on_sample(&mut self, rate: Bandwidth) {
        self.fastest = self.fastest.max(rate);
    }

    /// `rate` was delivered, and `on_time` would have been if the host had not been late.
    pub(super) fn prove(&mut self, rate: Bandwidth, on_time: Bandwidth) {
        self.proven.insert(rate.min(self.fastest));
        self.on_time.insert(on_time.min(self.fastest));
    }

    /// An Up delivered `rate` where the flow had less, without a queue, or would have for a host on
    /// time.
    pub(super) fn raise(&mut self, rate: f64) {
        self.prove(from_f64(rate), from_f64(rate));
        self.set(self.value.max(rate));
    }

    /// Keeps the estimate beside what is proven.
    pub(super) fn bound(&mut self) {
        let proven = self.proven();
        if self.value > 0.0 && proven > 0.0 {
            let on_time = self.on_time.max_of(2).map_or(0.0, to_f64);
            self.set(self.value.min(MOST_ABOVE_PROVEN * on_time).max(proven));
        }
    }

    /// Sets the estimate and leaves alone what is proven. Without a sample it stays unknown.
    pub(super) fn set(&mut self, rate: f64) {
        self.value = rate.max(1.0).min(to_f64(self.fastest));
    }

    /// Sets the estimate and forgets what was proven but `proven`, which would have been `on_time`.
    pub(super) fn lower(&mut self, rate: f64, proven: f64, on_time: f64) {
        self.set(rate);
        for rates in [&mut self.proven, &mut self.on_time] {
            *rates = WindowedMax::new();
            rates.advance_to(self.cycle);
        }
        self.prove(from_f64(proven), from_f64(on_time));
    }
}

pub(super) fn from_f64(rate: f64) -> Bandwidth {
    Bandwidth::from_bytes_per_sec(rate as u64)
}

fn to_f64(rate: Bandwidth) -> f64 {
    rate.bytes_per_sec() as f64
}

const MOST_ABOVE_PROVEN: f64 = 1.25;
