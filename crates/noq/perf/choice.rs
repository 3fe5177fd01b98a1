//! noq in which CUBIC is the controller that `PERF_CONTROLLER` names, for programs that offer no
//! controllers but noq's own; without the variable it is noq's CUBIC.

pub use noq::*;

/// noq's, with another CUBIC.
pub mod congestion {
    use noq::congestion;
    pub use noq::congestion::*;
    use std::sync::Arc;
    use std::time::Instant;

    /// What `PERF_CONTROLLER` names.
    pub struct CubicConfig(Arc<dyn ControllerFactory + Send + Sync>);

    impl Default for CubicConfig {
        fn default() -> Self {
            Self(match std::env::var("PERF_CONTROLLER") {
                Ok(text) => paceline_noq::controller(&text)
                    .unwrap_or_else(|error| panic!("PERF_CONTROLLER={text}: {error}")),
                Err(_) => Arc::new(congestion::CubicConfig::default()),
            })
        }
    }

    impl ControllerFactory for CubicConfig {
        fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
            Arc::clone(&self.0).build(now, current_mtu)
        }
    }
}
