//! The host of a sender: whether its process has a CPU.

use super::path::{Ack, Content};
use super::pauses::Pauses;
use super::sender::Sender;
use link_sim::sim::Transmit;
use units::Timestamp;

/// A sender that neither hears nor does anything while it has no CPU. What came meanwhile has the
/// time at which it came: kernels note that.
#[derive(Debug)]
pub(crate) struct Host {
    sender: Sender,
    pauses: Option<Pauses>,
    /// What has arrived since, and when.
    unread: Vec<(Timestamp, Ack)>,
    wakes_at: Option<Timestamp>,
}

impl Host {
    pub(crate) fn new(sender: Sender, pauses: Option<Pauses>) -> Self {
        Self {
            sender,
            pauses,
            unread: Vec::new(),
            wakes_at: None,
        }
    }

    pub(crate) fn sender(&self) -> &Sender {
        &self.sender
    }

    pub(crate) fn on_ack(&mut self, now: Timestamp, ack: &Ack) {
        let runs_from = self.runs_from(now);
        if runs_from > now {
            self.unread.push((now, ack.clone()));
            self.wakes_at = Some(runs_from);
        } else {
            self.read();
            self.sender.on_ack(now, ack);
            self.sender.on_time(now);
        }
    }

    pub(crate) fn on_time(&mut self, now: Timestamp) {
        if self.runs_from(now) == now {
            self.read();
            self.sender.on_time(now);
        }
    }

    pub(crate) fn next(&self) -> Option<Timestamp> {
        let timer = self.sender.next().map(|next| self.runs_from(next));
        match (self.wakes_at, timer) {
            (Some(wake), Some(timer)) => Some(wake.min(timer)),
            (one, other) => one.or(other),
        }
    }

    pub(crate) fn poll_transmit(&mut self) -> Option<Transmit<Content>> {
        self.sender.poll_transmit()
    }

    fn read(&mut self) {
        self.wakes_at = None;
        for (came_at, ack) in self.unread.drain(..) {
            self.sender.on_ack(came_at, &ack);
        }
    }

    fn runs_from(&self, time: Timestamp) -> Timestamp {
        self.pauses.map_or(time, |pauses| pauses.runs_from(time))
    }
}
