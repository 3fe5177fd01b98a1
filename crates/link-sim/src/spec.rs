//! The description of a link: words of tc's netem, and a few of our own where netem has none.

mod display;
mod error;
mod parse;

pub use error::SpecError;

use crate::Link;
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain};

/// A link, described: what `delay 50ms 10ms distribution normal loss 3% rate 100mbit queue 1bdp`
/// says.
///
/// It is made by parsing and therefore always valid; [`Display`](core::fmt::Display) writes it in
/// one canonical order, which parses to an equal value. The empty string, and
/// [`LinkSpec::default`], is a link that hands every packet on at once.
///
/// | words | meaning |
/// |---|---|
/// | `delay TIME [JITTER [distribution uniform\|normal\|pareto\|paretonormal] [ordered]]` | propagation; without `ordered`, jitter reorders |
/// | `loss [random] P%` | independent loss |
/// | `loss gemodel P% [R% [1-H% [1-K%]]]` | Gilbert–Elliott: P good→bad, R bad→good, then the loss in bad (100 %) and in good (0 %) |
/// | `duplicate P%` | a second copy follows |
/// | `reorder P% [gap N]` | sent at once instead of delayed, at most every Nth packet |
/// | `rate RATE` | bits per second at layer 2 |
/// | `limit PACKETS` | at most so many inside the link, delay included; 1000 unless `queue` is given |
/// | `queue Nbdp\|Np\|SIZE` | drop-tail limit of the queue before `rate`: N × rate × base RTT, N packets, or bytes with a unit (`250kb`) |
/// | `seed N` | overrules the seed given to [`build`](Self::build) |
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkSpec {
    pub(crate) delay: Option<Delay>,
    pub(crate) loss: Option<Loss>,
    pub(crate) duplicate: Option<Gain>,
    pub(crate) reorder: Option<Reorder>,
    pub(crate) rate: Option<Bandwidth>,
    pub(crate) limit: Option<u32>,
    pub(crate) queue: Option<QueueLimit>,
    pub(crate) seed: Option<u64>,
}

impl LinkSpec {
    /// An empty link of this description.
    ///
    /// `base_rtt` is what a `queue` in `bdp` multiplies the rate with, see
    /// [`base_rtt`](Self::base_rtt). Links that share a run take different seeds, or they lose the
    /// same packets.
    pub fn build<T: Clone>(&self, base_rtt: Duration, seed: u64) -> Link<T> {
        Link::new(self, base_rtt, seed)
    }

    /// The RTT of an empty path over this link and back over `return_link`, jitter and
    /// transmission left out.
    ///
    /// # Errors
    /// When one of the two has a queue in `bdp` and there is no delay in either, so that this
    /// queue would be empty.
    pub fn base_rtt(&self, return_link: &Self) -> Result<Duration, SpecError> {
        let base_rtt = self.delay().saturating_add(return_link.delay());
        if base_rtt.is_zero() {
            self.refuse_bdp()?;
            return_link.refuse_bdp()?;
        }
        Ok(base_rtt)
    }

    /// The mean delay, without transmission and queue; zero when none is asked for.
    pub fn delay(&self) -> Duration {
        self.delay.map_or(Duration::ZERO, |delay| delay.time)
    }

    /// The rate of the bottleneck, counting bytes at layer 2.
    pub fn rate(&self) -> Option<Bandwidth> {
        self.rate
    }

    fn refuse_bdp(&self) -> Result<(), SpecError> {
        match self.queue {
            Some(QueueLimit::Bdp(_)) => Err(SpecError::at_word(
                &self.to_string(),
                "queue",
                "a queue in bdp needs a delay, here or on the return link",
            )),
            _ => Ok(()),
        }
    }
}

/// `delay TIME [JITTER [distribution NAME] [ordered]]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delay {
    pub(crate) time: Duration,
    pub(crate) jitter: Duration,
    pub(crate) distribution: Distribution,
    /// Nothing overtakes: a packet leaves no earlier than the one before it.
    pub(crate) ordered: bool,
}

/// How delays spread around their mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Distribution {
    #[default]
    Uniform,
    Normal,
    Pareto,
    ParetoNormal,
}

impl Distribution {
    pub(crate) const ALL: [Self; 4] = [
        Self::Uniform,
        Self::Normal,
        Self::Pareto,
        Self::ParetoNormal,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Normal => "normal",
            Self::Pareto => "pareto",
            Self::ParetoNormal => "paretonormal",
        }
    }
}

/// Which packets the loss model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    Random(Gain),
    GilbertElliott(GilbertElliott),
}

/// A chain of two states, with netem's names for its four probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GilbertElliott {
    /// From good to bad.
    pub(crate) p: Gain,
    /// From bad to good.
    pub(crate) r: Gain,
    /// Loss in the bad state, 1−h.
    pub(crate) loss_in_bad: Gain,
    /// Loss in the good state, 1−k.
    pub(crate) loss_in_good: Gain,
}

impl GilbertElliott {
    /// tc's defaults: r = 1 − p, everything lost in the bad state and nothing in the good one.
    pub(crate) const fn new(p: Gain) -> Self {
        Self {
            p,
            r: p.complement(),
            loss_in_bad: Gain::ONE,
            loss_in_good: Gain::ZERO,
        }
    }
}

/// `reorder P% [gap N]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reorder {
    pub(crate) probability: Gain,
    pub(crate) gap: u32,
}

/// How much the drop-tail queue before the bottleneck holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueueLimit {
    /// Multiples of rate × base RTT.
    Bdp(Gain),
    Packets(u32),
    Bytes(Bytes),
}

#[cfg(test)]
pub(crate) mod tests;
