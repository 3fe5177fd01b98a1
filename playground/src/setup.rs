//! What a page asks for, checked.

use cc_core::Registry;
use flow_sim::{Flow, Scenario};
use link_sim::LinkSpec;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A whole run, as the page's address has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The link that data takes, in netem's words: `rate 50mbit delay 20ms queue 1bdp`.
    pub link: String,
    /// The link that ACKs take.
    pub return_link: String,
    /// One to [`MAX_FLOWS`].
    pub flows: Vec<FlowSetup>,
    /// Seed of all that is random.
    pub seed: u64,
    /// What becomes of the data's link, earliest first.
    #[serde(default)]
    pub changes: Vec<LinkChange>,
}

/// The data's link becomes another one; what is inside stays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkChange {
    /// When, in nanoseconds since the start.
    pub at: u64,
    /// The link from then on.
    pub link: String,
}

/// A flow that always has something to send.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowSetup {
    /// Its controller, as the registry reads it: `bbr3:loss_thresh=5%`.
    pub controller: String,
    /// When it starts, in seconds.
    pub start: f64,
}

impl Setup {
    /// The same as a scenario.
    ///
    /// # Errors
    /// What is wrong with a link, a controller or the number of flows, for a person.
    pub fn scenario(&self) -> Result<Scenario, String> {
        self.links()?;
        if self.changes.len() > MAX_CHANGES {
            return Err(format!(
                "{} changes of the link; there can be {MAX_CHANGES}",
                self.changes.len()
            ));
        }
        if self.flows.is_empty() || self.flows.len() > MAX_FLOWS {
            return Err(format!(
                "{} flows; there can be 1 to {MAX_FLOWS}",
                self.flows.len()
            ));
        }
        let mut scenario = Scenario::new(&self.link)
            .return_link(&self.return_link)
            .seed(self.seed);
        for flow in &self.flows {
            let choice = Registry::standard().choose(&flow.controller);
            choice.map_err(|error| format!("the controller `{}`: {error}", flow.controller))?;
            let start = Duration::try_from_secs_f64(flow.start);
            let start = start.ok().filter(|start| *start <= LATEST_START);
            let start = start.ok_or_else(|| {
                let latest = LATEST_START.as_secs();
                format!("the start {} s; it can be 0 to {latest} s", flow.start)
            })?;
            scenario = scenario.flow(Flow::of(&flow.controller).start(start));
        }
        Ok(scenario)
    }

    /// The link of the data and that of the ACKs.
    ///
    /// # Errors
    /// What is wrong with them, for a person.
    pub(crate) fn links(&self) -> Result<[LinkSpec; 2], String> {
        let back: LinkSpec = self
            .return_link
            .parse()
            .map_err(|error| format!("the return link: {error}"))?;
        let link = link(&self.link, &back)?;
        let sized = back.base_rtt(&link);
        sized.map_err(|error| format!("the return link: {error}"))?;
        Ok([link, back])
    }
}

/// Reads a link for data whose ACKs come over `back`. Where it sizes its queue in BDP, the base RTT
/// has to be known. Without any delay a flow's own answers would keep virtual time where it is.
pub(crate) fn link(text: &str, back: &LinkSpec) -> Result<LinkSpec, String> {
    let link: Result<LinkSpec, _> = text.parse();
    let link = link.map_err(|error| format!("the link: {error}"))?;
    let sized = link.base_rtt(back);
    sized.map_err(|error| format!("the link: {error}"))?;
    if link.delay() + back.delay() == Duration::ZERO {
        return Err(format!(
            "the link: `{text}` has no delay, nor has the return link; add one, such as \
             `delay 20ms`"
        ));
    }
    Ok(link)
}

/// As many as a picture tells apart.
pub const MAX_FLOWS: usize = 8;
/// A slider that is dragged for a while makes hundreds.
pub(crate) const MAX_CHANGES: usize = 2_000;
const LATEST_START: Duration = Duration::from_secs(3600);
