use super::flow::Flow;
use super::outcome::{Label, Outcome};
use super::world::World;
use cc_core::Registry;
use core::fmt::Write as _;
use core::time::Duration;
use link_sim::LinkSpec;

/// Flows over one shared link, and what happens to that link.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub(crate) link: LinkSpec,
    pub(crate) return_link: LinkSpec,
    pub(crate) link_changes: Vec<(Duration, LinkSpec)>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) registry: Registry,
    pub(crate) sample_every: Duration,
    seed: u64,
}

impl Scenario {
    /// A shared link for the data of all flows; ACKs come back at once unless
    /// [`return_link`](Self::return_link) says otherwise.
    ///
    /// # Panics
    /// As every method with a link: when the description is wrong.
    pub fn new(link: &str) -> Self {
        Self {
            link: parse(link),
            return_link: LinkSpec::default(),
            link_changes: Vec::new(),
            flows: Vec::new(),
            registry: Registry::standard(),
            sample_every: Duration::from_millis(100),
            seed: 1,
        }
    }

    /// The link that all ACKs share.
    #[must_use]
    pub fn return_link(mut self, link: &str) -> Self {
        self.return_link = parse(link);
        self
    }

    /// One flow more.
    #[must_use]
    pub fn flow(mut self, flow: Flow) -> Self {
        self.flows.push(flow);
        self
    }

    /// At `at` the shared link becomes another one; what is inside stays.
    #[must_use]
    pub fn change_link(mut self, at: Duration, link: &str) -> Self {
        self.link_changes.push((at, parse(link)));
        self
    }

    /// Where flows look up their controllers: the standard registry unless said.
    #[must_use]
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Interval of the series: 100 ms unless said.
    #[must_use]
    pub fn sample_every(mut self, interval: Duration) -> Self {
        self.sample_every = interval;
        self
    }

    /// Seed of all that is random; `PACELINE_SEED` in the environment overrides it.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Runs until nothing is left to happen, but not longer than `limit`.
    ///
    /// # Panics
    /// When a controller's name or parameter is wrong, when the books do not balance, and when
    /// `PACELINE_SEED` is not a number.
    pub fn run_for(&self, limit: Duration) -> Outcome {
        let seed = seed_from_environment().unwrap_or(self.seed);
        let label = Label {
            scenario: self.to_string(),
            seed,
        };
        let mut world = World::new(self, seed);
        world.run(limit);
        world.finish(label)
    }
}

impl core::fmt::Display for Scenario {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "link `{}`, return link `{}`",
            self.link, self.return_link
        )?;
        for (at, link) in &self.link_changes {
            write!(f, ", from {at:?} `{link}`")?;
        }
        let mut flows = String::new();
        for flow in &self.flows {
            write!(flows, " {}", flow.controller)?;
        }
        write!(f, ", flows{flows}")
    }
}

fn parse(link: &str) -> LinkSpec {
    link.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn seed_from_environment() -> Option<u64> {
    let text = std::env::var("PACELINE_SEED").ok()?;
    let seed = text.parse();
    Some(seed.unwrap_or_else(|_| panic!("PACELINE_SEED is a whole number, `{text}` is none")))
}
