use std::time::Duration;
use units::Bandwidth;

/// What is known of a run's path, which its result names in the language of links alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Path {
    /// The rate of the link that the data took; `None` where it had none.
    pub rate: Option<Bandwidth>,
    /// The round-trip time of the empty path; `None` where it is not known.
    pub base_rtt: Option<Duration>,
}
