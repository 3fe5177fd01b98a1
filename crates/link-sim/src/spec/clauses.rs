//! The clauses of a link, a file for each: its type, how it is read and how it is written.

pub(crate) mod aqm;
pub(crate) mod chance;
pub(crate) mod delay;
pub(crate) mod loss;
pub(crate) mod queue;
pub(crate) mod radio;
pub(crate) mod reorder;
pub(crate) mod service;
pub(crate) mod slot;
pub(super) mod unsupported;

use super::error::SpecError;
use super::values::{PACKETS, positive};
use super::vocabulary::{CLAUSES, unknown};
use super::words::{Words, canonical};
use aqm::Aqm;
use chance::Chance;
use core::fmt;
use core::time::Duration;
use delay::Delay;
use loss::Loss;
use queue::{Capacity, Policer, QueueLimit};
use radio::Radio;
use reorder::Reorder;
use service::{Rate, Service};
use slot::Slot;
use units::Bandwidth;

/// What a link is at one moment: each clause, where it was given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Clauses {
    pub(crate) delay: Option<Delay>,
    pub(crate) loss: Option<Loss>,
    pub(crate) corrupt: Option<Chance>,
    pub(crate) duplicate: Option<Chance>,
    pub(crate) reorder: Option<Reorder>,
    pub(crate) service: Option<Service>,
    pub(crate) slot: Option<Slot>,
    pub(crate) limit: Option<u32>,
    pub(crate) policer: Option<Policer>,
    pub(crate) queue: Option<QueueLimit>,
    pub(crate) aqm: Option<Aqm>,
    pub(crate) radio: Option<Radio>,
    pub(crate) seed: Option<u64>,
}

impl Clauses {
    /// Reads clauses up to `at` or the end; each replaces what these clauses had.
    pub(super) fn read_over(self, words: &mut Words<'_>) -> Result<Self, SpecError> {
        let mut read = Self::default();
        let mut known = Vec::new();
        while let Some(word) = words.peek().filter(|word| word.text != "at") {
            words.next();
            let name = canonical(word.text);
            let Some(name) = CLAUSES.into_iter().find(|clause| *clause == name) else {
                return Err(unknown(words, word));
            };
            if known.contains(&name) {
                return Err(words.error(word, format!("`{name}` given twice")));
            }
            if SERVICES.contains(&name)
                && let Some(other) = &read.service
            {
                let problem = format!(
                    "the rate is already set by `{}`; give only one of them",
                    other.name()
                );
                return Err(words.error(word, problem));
            }
            known.push(name);
            read.read_clause(name, words)?;
        }
        Ok(self.overridden_by(&read))
    }

    /// Reads what follows the word `name`.
    fn read_clause(&mut self, name: &str, words: &mut Words<'_>) -> Result<(), SpecError> {
        match name {
            "delay" => self.delay = Some(Delay::read(words)?),
            "loss" => self.loss = Some(Loss::read(words)?),
            "corrupt" => self.corrupt = Some(Chance::read(words)?),
            "duplicate" => self.duplicate = Some(Chance::read(words)?),
            "reorder" => self.reorder = Some(Reorder::read(words)?),
            "slot" => self.slot = Some(Slot::read(words)?),
            "limit" => self.limit = Some(words.value(PACKETS, positive)?),
            "policer" => self.policer = Some(Policer::read(words)?),
            "queue" => self.queue = Some(QueueLimit::read(words)?),
            "aqm" => self.aqm = Some(Aqm::read(words)?),
            "radio" => self.radio = Some(Radio::read(words)?),
            "seed" => self.seed = Some(words.value(SEED, |text| text.parse().ok())?),
            service => self.service = Some(Service::read(service, words)?),
        }
        Ok(())
    }

    pub(super) fn check(&self, words: &Words<'_>) -> Result<(), SpecError> {
        let refuse = |name: &str, problem: &str| Err(words.error_at(name, problem));
        for (name, is_given) in [("queue", self.queue.is_some()), ("aqm", self.aqm.is_some())] {
            if is_given && self.service.is_none() {
                let problem = "a queue needs a `rate`, a `tbf` or a `trace`";
                return refuse(name, problem);
            }
        }
        if self.reorder.is_some() && self.delay().is_zero() {
            return refuse("reorder", "reordering needs a `delay`");
        }
        Ok(())
    }

    /// These clauses, but those that `other` has from there.
    pub(super) fn overridden_by(self, other: &Self) -> Self {
        Self {
            delay: other.delay.clone().or(self.delay),
            loss: other.loss.clone().or(self.loss),
            corrupt: other.corrupt.or(self.corrupt),
            duplicate: other.duplicate.or(self.duplicate),
            reorder: other.reorder.or(self.reorder),
            service: other.service.clone().or(self.service),
            slot: other.slot.or(self.slot),
            limit: other.limit.or(self.limit),
            policer: other.policer.or(self.policer),
            queue: other.queue.or(self.queue),
            aqm: other.aqm.or(self.aqm),
            radio: other.radio.or(self.radio),
            seed: other.seed.or(self.seed),
        }
    }

    pub(crate) fn delay(&self) -> Duration {
        self.delay.as_ref().map_or(Duration::ZERO, Delay::mean)
    }

    pub(crate) fn rate(&self) -> Option<Bandwidth> {
        self.service.as_ref().map(Service::rate)
    }

    /// How long a packet takes that meets a full queue, where that has a bound; on a path of this
    /// RTT.
    pub(crate) fn longest_delay(&self, base_rtt: Duration) -> Option<Duration> {
        let varies = self.delay.as_ref().is_some_and(Delay::varies);
        if varies || self.slot.is_some() || self.radio.is_some() {
            return None;
        }
        let queueing = match (&self.service, self.queue) {
            (None, _) => Duration::ZERO,
            (Some(Service::Rate(rate)), Some(queue)) if *rate == Rate::new(rate.rate) => {
                let Capacity::Bytes(bytes) = queue.capacity(rate.rate, base_rtt) else {
                    return None;
                };
                rate.rate.time_for(bytes)
            }
            _ => return None,
        };
        self.delay().checked_add(queueing)
    }

    /// Whether there is a bottleneck with a queue of its own, instead of netem's way in which the
    /// delay comes first and waiting is part of it.
    pub(crate) fn has_bottleneck(&self) -> bool {
        let is_netems = matches!(self.service, None | Some(Service::Rate(_)));
        self.queue.is_some() || self.aqm.is_some() || !is_netems
    }

    /// Whether nothing lets a packet overtake another.
    pub(crate) fn keep_order(&self) -> bool {
        let netem_rate = self.service.is_some() && !self.has_bottleneck();
        let delay = self.delay.as_ref();
        let jitters = delay.is_some_and(|delay| delay.varies() && !delay.is_ordered());
        let separates_flows = self.aqm.is_some_and(|aqm| aqm.separates_flows());
        self.reorder.is_none() && (netem_rate || !jitters) && !separates_flows
    }
}

impl fmt::Display for Clauses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut writer = Writer { f, first: true };
        writer.put("delay", self.delay.as_ref())?;
        writer.put("loss", self.loss.as_ref())?;
        writer.put("corrupt", self.corrupt.as_ref())?;
        writer.put("duplicate", self.duplicate.as_ref())?;
        writer.put("reorder", self.reorder.as_ref())?;
        let service = self.service.as_ref();
        writer.put(service.map_or("", Service::name), service)?;
        writer.put("slot", self.slot.as_ref())?;
        writer.put("limit", self.limit.as_ref())?;
        writer.put("policer", self.policer.as_ref())?;
        writer.put("queue", self.queue.as_ref())?;
        writer.put("aqm", self.aqm.as_ref())?;
        writer.put("radio", self.radio.as_ref())?;
        writer.put("seed", self.seed.as_ref())
    }
}

struct Writer<'a, 'b> {
    f: &'a mut fmt::Formatter<'b>,
    first: bool,
}

impl Writer<'_, '_> {
    fn put<V: fmt::Display>(&mut self, word: &str, value: Option<&V>) -> fmt::Result {
        let Some(value) = value else { return Ok(()) };
        let space = if self.first { "" } else { " " };
        self.first = false;
        write!(self.f, "{space}{word} {value}")
    }
}

/// tc's default for netem's `limit`, in packets.
pub(crate) const NETEM_LIMIT: u32 = 1_000;
/// Those of which a link has one.
const SERVICES: [&str; 3] = ["rate", "tbf", "trace"];
const SEED: &str = "a whole number";
