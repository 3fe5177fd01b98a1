//! The tc commands that shape the same link on a kernel.
//!
//! ```text
//!  loss device                  rate device                           delay device
//!  netem loss, corrupt,     ──▶ police, then netem or tbf with its ──▶ netem delay, reorder, slot
//!        duplicate              queue
//! ```
//!
//! A link without a queue of its own is netem's: one netem on the last device is all of it.

mod qdiscs;
#[cfg(test)]
mod tests;

use super::clauses::Clauses;
use super::clauses::unsupported::Unsupported;
use super::error::SpecError;
use super::link_spec::LinkSpec;
use core::time::Duration;
use qdiscs::Qdisc;

/// The devices through which packets leave, one after another, the first nearest to the sender.
///
/// None of them is the sender's own: there, netem takes a batch of UDP segmentation offload for
/// one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcDevices<'a> {
    /// Where packets are lost, damaged and duplicated.
    pub loss: &'a str,
    /// Where they wait for the bottleneck.
    pub rate: &'a str,
    /// Where they are delayed and reordered.
    pub delay: &'a str,
}

impl LinkSpec {
    /// The commands, one a line for a shell, that make a kernel shape this link; they `sleep` until
    /// something changes `at` a time. Which words become which qdisc is in `docs/links.md`.
    ///
    /// `base_rtt` is that of [`build`](Self::build).
    ///
    /// # Errors
    /// When tc has no such link, by the word that tc lacks.
    pub fn tc_commands(
        &self,
        base_rtt: Duration,
        devices: TcDevices<'_>,
    ) -> Result<Vec<String>, SpecError> {
        let mut times = self.changes.times();
        times.insert(Duration::ZERO);
        let mut commands = Vec::new();
        let mut before = Hops::default();
        let mut time = Duration::ZERO;
        for at in times {
            let clauses = self.changes.clauses_at(&self.clauses, at);
            let hops =
                Hops::new(&clauses, base_rtt).map_err(|unsupported| self.refusal(unsupported))?;
            let changes = hops.commands(&before, devices);
            if at > time && !changes.is_empty() {
                commands.push(format!("sleep {}", seconds(at - time)));
                time = at;
            }
            commands.extend(changes);
            before = hops;
        }
        Ok(commands)
    }

    fn refusal(&self, Unsupported { word, problem }: Unsupported) -> SpecError {
        SpecError::at_word(&self.to_string(), word, problem)
    }
}

#[derive(Debug, Default)]
struct Hops {
    loss: Hop,
    rate: Hop,
    delay: Hop,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Hop {
    policer: Option<String>,
    qdisc: Option<Qdisc>,
}

impl Hops {
    fn new(clauses: &Clauses, base_rtt: Duration) -> Result<Self, Unsupported> {
        qdiscs::refuse(clauses)?;
        let policer = clauses.policer.map(qdiscs::police);
        if clauses.has_bottleneck() {
            return Ok(Self {
                loss: Hop::of(qdiscs::loss(clauses)),
                rate: Hop {
                    policer,
                    qdisc: Some(qdiscs::bottleneck(clauses, base_rtt)?),
                },
                delay: Hop::of(qdiscs::delay(clauses)?),
            });
        }
        if policer.is_none() {
            return Ok(Self {
                delay: Hop::of(qdiscs::netem(clauses)?),
                ..Self::default()
            });
        }
        // A policer comes behind the loss model and before everything else.
        let rest = Clauses {
            loss: None,
            corrupt: None,
            duplicate: None,
            ..clauses.clone()
        };
        Ok(Self {
            loss: Hop::of(qdiscs::loss(clauses)),
            rate: Hop {
                policer,
                qdisc: None,
            },
            delay: Hop::of(qdiscs::netem(&rest)?),
        })
    }

    /// What leads from `before` to these.
    fn commands(&self, before: &Self, devices: TcDevices<'_>) -> Vec<String> {
        let hops = [
            (devices.loss, &self.loss, &before.loss),
            (devices.rate, &self.rate, &before.rate),
            (devices.delay, &self.delay, &before.delay),
        ];
        let of_hop = |(device, hop, before): (&str, &Hop, &Hop)| hop.commands(before, device);
        hops.into_iter().flat_map(of_hop).collect()
    }
}

impl Hop {
    fn of(qdisc: Option<Qdisc>) -> Self {
        let policer = None;
        Self { policer, qdisc }
    }

    fn commands(&self, before: &Self, device: &str) -> Vec<String> {
        let mut commands = Vec::new();
        match (&before.policer, &self.policer) {
            (before, after) if before == after => {}
            (before, Some(police)) => {
                if before.is_none() {
                    commands.push(format!("tc qdisc replace dev {device} clsact"));
                }
                commands.push(format!(
                    "tc filter replace dev {device} egress pref 1 handle 1 matchall action {police}"
                ));
            }
            (_, None) => commands.push(format!("tc qdisc del dev {device} clsact")),
        }
        match (&before.qdisc, &self.qdisc) {
            (before, after) if before == after => {}
            (_, Some(qdisc)) => commands.extend(qdisc.commands(device)),
            (_, None) => commands.push(format!("tc qdisc del dev {device} root")),
        }
        commands
    }
}

/// For `sleep`, which takes decimals.
fn seconds(time: Duration) -> String {
    let text = format!("{}.{:09}", time.as_secs(), time.subsec_nanos());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
