use super::default_links::{LINK, RETURN};
use super::flow::Flow;
use super::outcome::Outcome;
use super::plan::Plan;
use super::run::Run;
use super::seed;
use super::world::World;
use cc_core::Registry;
use core::time::Duration;
use link_sim::LinkSpec;

/// Flows over links that they share, and what happens to those links.
///
/// Data goes over the link called [`LINK`](Self::LINK) and ACKs come back over
/// [`RETURN`](Self::RETURN), unless a flow names other ways. The base RTT of a queue in `bdp` is
/// that of the longest path of a flow across its link.
#[derive(Debug, Clone)]
pub struct Scenario {
    plan: Plan,
    seed: u64,
}

impl Scenario {
    /// Name of the link that data takes unless its flow says otherwise.
    pub const LINK: &str = LINK;
    /// Name of the link that ACKs take unless their flow says otherwise.
    pub const RETURN: &str = RETURN;

    /// A shared link for the data of all flows; ACKs come back at once unless
    /// [`return_link`](Self::return_link) says otherwise.
    ///
    /// # Panics
    /// As every method with a link: when the description is wrong.
    pub fn new(link: &str) -> Self {
        let named = |name: &str, spec| (name.to_owned(), spec);
        let plan = Plan {
            links: vec![
                named(Self::LINK, parse(link)),
                named(Self::RETURN, LinkSpec::default()),
            ],
            link_changes: Vec::new(),
            flows: Vec::new(),
            registry: Registry::standard(),
            sample_every: Duration::from_millis(100),
        };
        Self { plan, seed: 1 }
    }

    /// The link that ACKs share.
    #[must_use]
    pub fn return_link(mut self, link: &str) -> Self {
        let [_, (_, spec), ..] = &mut *self.plan.links else {
            unreachable!("a scenario begins with two links")
        };
        *spec = parse(link);
        self
    }

    /// Another link, for the ways of flows: [`Flow::via`] and [`Flow::back`].
    ///
    /// # Panics
    /// When there is a link of this name.
    #[must_use]
    pub fn link(mut self, name: &str, link: &str) -> Self {
        assert!(
            self.plan.links.iter().all(|(known, _)| known != name),
            "there is a link `{name}` already"
        );
        self.plan.links.push((name.to_owned(), parse(link)));
        self
    }

    /// One flow more.
    #[must_use]
    pub fn flow(mut self, flow: Flow) -> Self {
        self.plan.flows.push(flow);
        self
    }

    /// At `at` the link that data takes becomes another one; what is inside stays.
    #[must_use]
    pub fn change_link(self, at: Duration, link: &str) -> Self {
        self.change(at, Self::LINK, link)
    }

    /// At `at` the link called `name` becomes another one; what is inside stays.
    #[must_use]
    pub fn change(mut self, at: Duration, name: &str, link: &str) -> Self {
        self.plan
            .link_changes
            .push((at, name.to_owned(), parse(link)));
        self
    }

    /// Where flows look up their controllers: the standard registry unless said.
    #[must_use]
    pub fn registry(mut self, registry: Registry) -> Self {
        self.plan.registry = registry;
        self
    }

    /// Interval of the series: 100 ms unless said.
    #[must_use]
    pub fn sample_every(mut self, interval: Duration) -> Self {
        self.plan.sample_every = interval;
        self
    }

    /// Seed of all that is random; `PACELINE_SEED` in the environment shifts it: [`crate::seed`].
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Runs until nothing is left to happen, but not longer than `limit`.
    ///
    /// # Panics
    /// When a controller's name or parameter is wrong, when a way names no link or one that there
    /// is not, when the books do not balance, and when `PACELINE_SEED` is not a number.
    pub fn run_for(&self, limit: Duration) -> Outcome {
        let seed = seed::choose(self.seed, self);
        let mut world = World::new(&self.plan, seed);
        world.run(limit);
        world.finish(seed)
    }

    /// Begins a run that the caller takes further, piece by piece, with exactly this seed.
    ///
    /// # Panics
    /// As [`run_for`](Self::run_for), but for the environment, which it does not read.
    pub fn start(&self) -> Run {
        Run::new(World::new(&self.plan, self.seed), self.seed)
    }
}

impl core::fmt::Display for Scenario {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        for (name, link) in &self.plan.links {
            write!(f, "{name} `{link}`, ")?;
        }
        for (at, name, link) in &self.plan.link_changes {
            write!(f, "from {at:?} {name} `{link}`, ")?;
        }
        f.write_str("flows")?;
        for flow in &self.plan.flows {
            write!(f, " {flow}")?;
        }
        Ok(())
    }
}

fn parse(link: &str) -> LinkSpec {
    link.parse().unwrap_or_else(|error| panic!("{error}"))
}
