use super::flow::Flow;
use cc_core::Registry;
use core::time::Duration;
use link_sim::LinkSpec;

/// What is to happen, whatever is drawn at random.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Each name once; those of the default links come first.
    pub(crate) links: Vec<(String, LinkSpec)>,
    pub(crate) link_changes: Vec<(Duration, String, LinkSpec)>,
    pub(crate) flows: Vec<Flow>,
    /// Where flows look up their controllers.
    pub(crate) registry: Registry,
    /// Interval of the series.
    pub(crate) sample_every: Duration,
}
