//! quinn-proto's controllers, as names of paceline's.

pub use quinn_proto::congestion::{
    Bbr, BbrConfig, Controller, ControllerFactory, ControllerMetrics, Cubic, CubicConfig, NewReno,
    NewRenoConfig,
};

use paceline::cc_core::{self, ControllerChoice, Registry};
use paceline::units::{Bandwidth, Bytes};
use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What [`Connection::congestion_state`](crate::Connection::congestion_state) gives: numbers of one
/// moment, which nothing changes any more.
#[derive(Debug, Clone)]
pub struct State {
    window: u64,
    ssthresh: Option<u64>,
    pacing_rate: Option<u64>,
}

impl State {
    pub(crate) fn of(connection: &paceline::Connection) -> Self {
        let snapshot = connection.congestion();
        let pacing_rate = snapshot.control.pacing_rate;
        Self {
            window: snapshot.control.cwnd.get(),
            ssthresh: snapshot.ssthresh.map(Bytes::get),
            pacing_rate: (pacing_rate != Bandwidth::MAX).then(|| pacing_rate.bits_per_sec()),
        }
    }
}

impl Controller for State {
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}

    fn on_mtu_update(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        self.window
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window;
        metrics.ssthresh = self.ssthresh;
        metrics.pacing_rate = self.pacing_rate;
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        cc_core::initial_window(Bytes::new(MTU.into())).get()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// The controller of paceline's that takes the place of the one that `factory` makes.
///
/// # Panics
/// When that is none of quinn's own.
#[expect(
    clippy::disallowed_methods,
    reason = "quinn-proto's controllers are made at a time, which decides nothing here"
)]
pub(crate) fn chosen(factory: Arc<dyn ControllerFactory + Send + Sync>) -> ControllerChoice {
    let now = Instant::now();
    let controller = factory.build(now, MTU);
    let window = controller.initial_window();
    let controller = controller.into_any();
    let (name, default_window) = if controller.is::<Cubic>() {
        (
            "cubic".to_owned(),
            initial_window_of(CubicConfig::default(), now),
        )
    } else if controller.is::<Bbr>() {
        (
            "bbr".to_owned(),
            initial_window_of(BbrConfig::default(), now),
        )
    } else if let Ok(new_reno) = controller.downcast::<NewReno>() {
        let name = format!("new_reno:beta={}", loss_reduction_factor(*new_reno, now));
        (name, initial_window_of(NewRenoConfig::default(), now))
    } else {
        panic!("{UNKNOWN_FACTORY}");
    };
    if window != default_window {
        tracing::warn!(
            initial_window = window,
            "paceline begins with the window of RFC 9002 section 7.2 instead"
        );
    }
    let choice = Registry::standard().choose(&name);
    choice.unwrap_or_else(|error| panic!("quinn's controller has no equal in paceline: {error}"))
}

fn initial_window_of(config: impl ControllerFactory, now: Instant) -> u64 {
    Arc::new(config).build(now, MTU).initial_window()
}

/// What is left of the window after a loss, which the configuration does not show: exact to a part
/// of the initial window.
fn loss_reduction_factor(mut controller: NewReno, now: Instant) -> f64 {
    // The smallest window is two packets.
    controller.on_mtu_update(1);
    let before = controller.window();
    let later = now + Duration::from_secs(1);
    controller.on_congestion_event(later, later, false, 1);
    let factor = controller.window() as f64 / before as f64;
    (factor * 1_000.0).round() / 1_000.0
}

/// Bytes of a UDP payload, with which quinn-proto's controllers begin.
const MTU: u16 = 1_200;

const UNKNOWN_FACTORY: &str = "congestion_controller_factory: paceline, in quinn's place here, \
    knows CubicConfig, NewRenoConfig and BbrConfig, this is none of them; \
    choose by name with TransportConfig::congestion, or implement paceline::cc_core::Controller";

#[cfg(test)]
mod tests;
