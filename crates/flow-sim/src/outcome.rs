use super::default_links::{LINK, RETURN};
use core::time::Duration;
use link_sim::{Histogram, LinkStats};
use units::{Bandwidth, Bytes, Timestamp};

/// What a run gave.
#[derive(Debug)]
pub struct Outcome {
    /// One for each flow, in the order of the scenario.
    pub flows: Vec<FlowOutcome>,
    /// What each link did, by its name, in the order of the scenario.
    pub links: Vec<(String, LinkStats)>,
    /// When the run ended: when nothing was left to happen, or at its limit.
    pub ended_at: Timestamp,
    pub(super) seed: u64,
}

impl Outcome {
    /// The flow of this index.
    ///
    /// # Panics
    /// When the scenario has no such flow.
    pub fn flow(&self, index: usize) -> &FlowOutcome {
        &self.flows[index]
    }

    /// The link that data takes unless its flow says otherwise.
    pub fn link(&self) -> &LinkStats {
        self.link_named(LINK)
    }

    /// The link that ACKs take unless their flow says otherwise.
    pub fn return_link(&self) -> &LinkStats {
        self.link_named(RETURN)
    }

    /// The link of this name.
    ///
    /// # Panics
    /// When the scenario has no such link.
    pub fn link_named(&self, name: &str) -> &LinkStats {
        let found = self.links.iter().find(|(known, _)| known == name);
        &found
            .unwrap_or_else(|| panic!("there is no link `{name}`"))
            .1
    }

    /// The seed that was used.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Bytes that all receivers together got, each byte counted once, over the length of the run.
    pub fn goodput(&self) -> Bandwidth {
        let delivered = self.flows.iter().map(|flow| flow.delivered).sum();
        Bandwidth::from_transfer(delivered, self.ended_at.since(Timestamp::ZERO))
    }
}

/// One flow's part of an [`Outcome`].
#[derive(Debug, Clone)]
pub struct FlowOutcome {
    /// Bytes that the receiver got, each counted once.
    pub delivered: Bytes,
    /// When the receiver had all that the application wrote.
    pub completed_at: Option<Timestamp>,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets that the receiver got.
    pub packets_received: u64,
    /// Packets that the receiver got marked Congestion Experienced.
    pub packets_marked: u64,
    /// Packets declared lost, whether they arrived later or not.
    pub packets_lost: u64,
    /// Packets declared lost that arrived after all.
    pub packets_spuriously_lost: u64,
    /// Bytes sent, first time or again.
    pub sent: Bytes,
    /// Bytes declared lost, less those that arrived after all.
    pub lost: Bytes,
    /// Bytes sent that had been sent before.
    pub retransmitted: Bytes,
    /// How often the probe timer fired.
    pub probe_timeouts: u64,
    /// How often persistent congestion was established.
    pub persistent_congestions: u64,
    /// Round-trip times as measured, the receiver's delay included.
    pub rtt: Histogram,
    /// The longest of them without the receiver's delay, which is what congestion control gets.
    pub longest_path_rtt: Duration,
    /// States of the controller in order, the first one included.
    pub states: Vec<StateVisit>,
    /// The series, one point per sampling interval from the start of the run.
    pub points: Vec<Point>,
}

impl FlowOutcome {
    /// Names of the states in order.
    pub fn state_names(&self) -> Vec<&'static str> {
        self.states.iter().map(|visit| visit.state).collect()
    }

    /// When the controller first entered `state`.
    pub fn entered(&self, state: &str) -> Option<Timestamp> {
        self.states
            .iter()
            .find(|visit| visit.state == state)
            .map(|visit| visit.at)
    }

    /// Bytes delivered between two times of the series, as a rate.
    ///
    /// # Panics
    /// When the series has no point at or after `to`, or none at or before `from`.
    pub fn goodput_between(&self, from: Duration, to: Duration) -> Bandwidth {
        let (from, to) = (self.point_at(from), self.point_at(to));
        Bandwidth::from_transfer(to.delivered - from.delivered, to.at.since(from.at))
    }

    /// The first point of the series at or after `time`.
    ///
    /// # Panics
    /// When the series ends before.
    pub fn point_at(&self, time: Duration) -> &Point {
        let time = Timestamp::ZERO + time;
        let index = self.points.partition_point(|point| point.at < time);
        let ended = || panic!("the series ended before {time}");
        self.points.get(index).unwrap_or_else(ended)
    }
}

/// A controller entered a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateVisit {
    /// When.
    pub at: Timestamp,
    /// Which.
    pub state: &'static str,
}

/// A flow at one moment, after all that happens at that moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// The moment.
    pub at: Timestamp,
    /// The controller's state.
    pub state: &'static str,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Bytes in flight.
    pub inflight: Bytes,
    /// Pacing rate; [`Bandwidth::MAX`] when unpaced.
    pub pacing_rate: Bandwidth,
    /// The controller's estimate of the bandwidth, if it has one.
    pub bandwidth: Option<Bandwidth>,
    /// The newest sample of the delivery rate.
    pub delivery_rate: Option<Bandwidth>,
    /// Smoothed RTT.
    pub srtt: Option<Duration>,
    /// Bytes that the receiver got so far, each counted once.
    pub delivered: Bytes,
    /// Packets declared lost so far.
    pub packets_lost: u64,
    /// Bytes that wait in the queues of the named links on the data's way, of all flows.
    pub queue: Bytes,
}

/// What has become of a flow's packets so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Packets {
    /// Sent.
    pub sent: u64,
    /// Received.
    pub received: u64,
    /// Acknowledged, as far as the sender knows.
    pub acked: u64,
    /// Declared lost, whether they arrived later or not.
    pub lost: u64,
}
