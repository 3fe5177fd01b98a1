use crate::spec::clauses::aqm::Aqm;
use crate::spec::clauses::delay::{Delay, Distribution, NetemDelay};
use crate::spec::clauses::loss::LossModel;
use crate::spec::clauses::queue::{Capacity, FULL_FRAME, Policer};
use crate::spec::clauses::service::{Rate, Service, TokenBucketFilter};
use crate::spec::clauses::slot::SlotInterval;
use crate::spec::clauses::unsupported::Unsupported;
use crate::spec::clauses::{Clauses, NETEM_LIMIT};
use crate::spec::values::RateText;
use core::fmt::Display;
use core::time::Duration;
use units::{Bandwidth, Bytes};

/// A qdisc at the root of a device, and its queue where that is another one.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::spec) struct Qdisc {
    root: String,
    queue: Option<String>,
}

impl Qdisc {
    fn new(root: String) -> Self {
        Self { root, queue: None }
    }

    pub(super) fn commands(&self, device: &str) -> Vec<String> {
        let Some(queue) = &self.queue else {
            return vec![format!("tc qdisc replace dev {device} root {}", self.root)];
        };
        vec![
            format!("tc qdisc replace dev {device} root handle 1: {}", self.root),
            format!("tc qdisc replace dev {device} parent 1:1 handle 10: {queue}"),
        ]
    }
}

pub(super) fn refuse(clauses: &Clauses) -> Result<(), Unsupported> {
    let loss = clauses.loss.as_ref().map(|loss| &loss.model);
    match clauses {
        Clauses { seed: Some(_), .. } => Err(Unsupported::new("seed", "tc cannot be given a seed")),
        Clauses { radio: Some(_), .. } => Err(Unsupported::new("radio", "tc has no radios")),
        _ if matches!(loss, Some(LossModel::Packets(_))) => Err(Unsupported::new(
            "packets",
            "tc cannot drop packets by number",
        )),
        _ if matches!(loss, Some(LossModel::Trace(_))) => {
            Err(Unsupported::new("loss trace", NO_TRACES))
        }
        _ if matches!(clauses.delay, Some(Delay::Recorded(_))) => {
            Err(Unsupported::new("delay trace", NO_TRACES))
        }
        _ => Ok(()),
    }
}

/// A whole link as netem has it.
pub(super) fn netem(clauses: &Clauses) -> Result<Option<Qdisc>, Unsupported> {
    let mut netem = Netem::new(clauses.limit.unwrap_or(NETEM_LIMIT));
    netem.put_delay(clauses);
    if clauses.service.is_none() {
        netem.put_order(clauses);
    }
    netem.put_loss(clauses);
    if let Some(service) = &clauses.service {
        netem.put("rate", service);
    }
    netem.put_slot(clauses)?;
    Ok(netem.unless_idle(clauses.limit.is_none()))
}

/// What comes before the bottleneck.
pub(super) fn loss(clauses: &Clauses) -> Option<Qdisc> {
    let mut netem = Netem::new(ROOMY_LIMIT);
    netem.put_loss(clauses);
    netem.unless_idle(true)
}

/// What comes behind the bottleneck.
pub(super) fn delay(clauses: &Clauses) -> Result<Option<Qdisc>, Unsupported> {
    let mut netem = Netem::new(clauses.limit.unwrap_or(ROOMY_LIMIT));
    netem.put_delay(clauses);
    netem.put_order(clauses);
    netem.put_slot(clauses)?;
    Ok(netem.unless_idle(true))
}

/// An action that drops what exceeds the rate.
pub(super) fn police(Policer { rate, burst }: Policer) -> String {
    let (rate, burst) = (RateText(rate), burst.get());
    format!("police rate {rate} burst {burst} mtu {MAX_PACKET} conform-exceed drop/ok")
}

pub(super) fn bottleneck(clauses: &Clauses, base_rtt: Duration) -> Result<Qdisc, Unsupported> {
    let service = clauses.service.as_ref().expect("a queue has a service");
    let rate = service.rate();
    let aqm = clauses.aqm.unwrap_or(Aqm::DropTail);
    let limit = clauses.queue.unwrap_or_else(|| aqm.default_limit(rate));
    let capacity = limit.capacity(rate, base_rtt);
    match (service, aqm, capacity) {
        (Service::Trace(_), ..) => Err(Unsupported::new("trace", NO_TRACES)),
        (Service::Rate(rate), Aqm::Cake(cake), _) => {
            let shaper = cake_shaper(*rate)?;
            let words = cake.tc_words(capacity)?;
            Ok(Qdisc::new(format!("cake {shaper} {words}")))
        }
        (Service::Rate(rate), Aqm::DropTail, Capacity::Packets(packets)) => {
            // netem counts the packet in transmission too.
            let limit = packets.saturating_add(1).min(u64::from(u32::MAX));
            Ok(Qdisc::new(format!("netem rate {rate} limit {limit}")))
        }
        (Service::Rate(service), ..) => below(&tbf_of_rate(*service)?, aqm, capacity, rate),
        (Service::TokenBucket(filter), ..) => below(&tbf(*filter), aqm, capacity, rate),
    }
}

/// A queue below a tbf, whose own counts bytes.
fn below(tbf: &str, aqm: Aqm, capacity: Capacity, rate: Bandwidth) -> Result<Qdisc, Unsupported> {
    if let (Aqm::DropTail, Capacity::Bytes(bytes)) = (aqm, capacity) {
        if bytes < FULL_FRAME || bytes > MAX_TBF {
            let problem = format!(
                "tbf's queue of {bytes} is not between {FULL_FRAME} and \
                 {MAX_TBF}"
            );
            return Err(Unsupported::new("queue", problem));
        }
        return Ok(Qdisc::new(format!("{tbf} limit {}", bytes.get())));
    }
    let queue = aqm.tc_words(capacity, rate)?;
    Ok(Qdisc {
        root: format!("{tbf} limit {}", FULL_FRAME.get()),
        queue: Some(queue),
    })
}

/// A tbf that comes near to a transmitter: what it saves up is 1 ms of its rate, as timers fire
/// late, and room for two frames.
fn tbf_of_rate(service: Rate) -> Result<String, Unsupported> {
    let Rate { rate, overhead, .. } = service;
    let burst = (rate * Duration::from_millis(1))
        .max(FULL_FRAME * 2)
        .min(MAX_TBF);
    let mut words = format!("tbf rate {} burst {}", RateText(rate), burst.get());
    match overhead {
        0 => {}
        1..=MAX_PACKET => words.push_str(&format!(" overhead {overhead}")),
        _ => return Err(Unsupported::new("rate", "tbf has no overhead below zero")),
    }
    if has_atm_cells(service)? {
        words.push_str(" linklayer atm");
    }
    Ok(words)
}

fn tbf(filter: TokenBucketFilter) -> String {
    let TokenBucketFilter { rate, burst, peak } = filter;
    let words = format!("tbf rate {} burst {}", RateText(rate), burst.get());
    match peak {
        Some((peak, mtu)) => format!("{words} peakrate {} mtu {}", RateText(peak), mtu.get()),
        None => words,
    }
}

fn cake_shaper(service: Rate) -> Result<String, Unsupported> {
    let atm = if has_atm_cells(service)? { " atm" } else { "" };
    let rate = RateText(service.rate);
    if service.overhead == 0 && atm.is_empty() {
        return Ok(format!("bandwidth {rate}"));
    }
    // With an overhead given, cake counts from the IP header on.
    match service.overhead + ETHERNET_HEADER {
        overhead @ -64..=256 => Ok(format!("bandwidth {rate} overhead {overhead}{atm}")),
        _ => Err(Unsupported::new(
            "rate",
            "cake's overhead is limited to -78 to 242",
        )),
    }
}

fn has_atm_cells(rate: Rate) -> Result<bool, Unsupported> {
    match (rate.cell, rate.cell_overhead) {
        (0, _) => Ok(false),
        (48, 5) => Ok(true),
        _ => Err(Unsupported::new(
            "rate",
            "before a queue, tc supports only ATM's cells, 48 5",
        )),
    }
}

struct Netem {
    limit: u32,
    words: String,
}

impl Netem {
    fn new(limit: u32) -> Self {
        let words = String::new();
        Self { limit, words }
    }

    fn put(&mut self, word: &str, value: impl Display) {
        self.words.push_str(&format!(" {word} {value}"));
    }

    fn put_delay(&mut self, clauses: &Clauses) {
        if let Some(Delay::Netem(delay)) = clauses.delay {
            let ordered = false;
            self.put("delay", NetemDelay { ordered, ..delay });
        }
        if let Some(reorder) = clauses.reorder {
            self.put("reorder", reorder);
        }
    }

    fn put_loss(&mut self, clauses: &Clauses) {
        match &clauses.loss {
            Some(loss) if matches!(loss.model, LossModel::Random(_)) => {
                self.put("loss random", loss);
            }
            Some(loss) => self.put("loss", loss),
            None => {}
        }
        if let Some(chance) = clauses.corrupt {
            self.put("corrupt", chance);
        }
        if let Some(chance) = clauses.duplicate {
            self.put("duplicate", chance);
        }
    }

    /// With any rate netem lets no packet overtake; this one is too fast to be felt.
    fn put_order(&mut self, clauses: &Clauses) {
        if clauses.delay.as_ref().is_some_and(Delay::is_ordered) {
            self.put("rate", "1tbit");
        }
    }

    /// tc has no table of the uniform distribution, but that is its usual slot.
    fn put_slot(&mut self, clauses: &Clauses) -> Result<(), Unsupported> {
        let Some(mut slot) = clauses.slot else {
            return Ok(());
        };
        if let SlotInterval::Distributed(Distribution::Uniform, mean, jitter) = slot.interval {
            let min = mean.checked_sub(jitter).ok_or_else(|| {
                Unsupported::new("slot", "a uniform distance of slots cannot go below zero")
            })?;
            slot.interval = SlotInterval::Between(min, mean + jitter);
        }
        self.put("slot", slot);
        Ok(())
    }

    /// `None` when it says nothing but a limit that says nothing either.
    fn unless_idle(self, is_idle: bool) -> Option<Qdisc> {
        let Self { limit, words } = self;
        (!words.is_empty() || !is_idle).then(|| Qdisc::new(format!("netem limit {limit}{words}")))
    }
}

const NO_TRACES: &str = "tc cannot play traces";
/// Beyond any delay × rate that a veth carries.
const ROOMY_LIMIT: u32 = 100_000;
/// tbf counts bytes with 32 bits.
const MAX_TBF: Bytes = Bytes::new(u32::MAX as u64);
/// What an IP header can say.
const MAX_PACKET: i32 = 65_535;
const ETHERNET_HEADER: i32 = 14;
