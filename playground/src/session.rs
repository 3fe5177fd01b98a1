//! A run under way, and all that is shown of it.

use super::setup::{LinkChange, MAX_CHANGES, Setup, link};
use flow_sim::{Packets, Point, Run, Scenario};
use link_sim::LinkSpec;
use serde::Serialize;
use std::time::Duration;
use units::{Bandwidth, Timestamp};

/// A run that goes on as long as the page asks for more.
#[derive(Debug)]
pub struct Session {
    /// With every change of the link so far, so that another session repeats this one.
    pub(crate) setup: Setup,
    /// Which of the setup's changes is next.
    next_change: usize,
    /// The link as it is now.
    pub(crate) link: LinkSpec,
    back: LinkSpec,
    pub(crate) base_rtt: Duration,
    run: Run,
    /// The series of each flow.
    pub(crate) points: Vec<Vec<Point>>,
    now: Timestamp,
}

/// What a flow has reached.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowSummary {
    /// Its controller.
    pub controller: String,
    /// The controller's state.
    pub state: &'static str,
    /// Mbit/s over the last second.
    pub goodput_mbit: f64,
    /// Smoothed RTT, ms; `null` before the first.
    pub srtt_ms: Option<f64>,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Bytes in flight.
    pub inflight: u64,
    /// bit/s; `null` when unpaced.
    pub pacing_rate: Option<u64>,
    /// The controller's estimate of the bandwidth, bit/s; `null` when it has none.
    pub bandwidth: Option<u64>,
    /// Bytes that the receiver got, each counted once.
    pub delivered: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets received.
    pub received: u64,
    /// Packets acknowledged.
    pub acked: u64,
    /// Packets declared lost.
    pub lost: u64,
}

/// What happened at one moment: the packets of one flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// When, in seconds.
    pub at: f64,
    /// The flow, from 0.
    pub flow: usize,
    /// Packets that left.
    pub sent: u64,
    /// Packets that arrived.
    pub received: u64,
    /// Packets whose acknowledgement arrived.
    pub acked: u64,
    /// Packets that were declared lost.
    pub lost: u64,
    /// The flow after that.
    pub after: FlowSummary,
}

impl Session {
    /// Begins the run.
    ///
    /// # Errors
    /// What is wrong with the setup, for a person.
    pub fn open(setup: Setup) -> Result<Self, String> {
        let run = setup.scenario()?.start();
        let [present, back] = setup.links()?;
        for change in &setup.changes {
            link(&change.link, &back)?;
        }
        Ok(Self {
            next_change: 0,
            base_rtt: present.delay() + back.delay(),
            link: present,
            back,
            run,
            points: vec![Vec::new(); setup.flows.len()],
            setup,
            now: Timestamp::ZERO,
        })
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.now.since(Timestamp::ZERO).as_secs_f64()
    }

    /// Lets everything happen that happens in the next `seconds`, at most one, within the
    /// first ten minutes. Returns whether the run may go on.
    pub fn advance(&mut self, seconds: f64) -> bool {
        let seconds = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let end = (self.now + seconds.min(MAX_ADVANCE)).min(END);
        while let Some(at) = self.change_due(end) {
            self.run.advance(at);
            self.make_change();
        }
        self.run.advance(end);
        self.reach(end);
        end < END
    }

    /// Goes on to the next moment at which a packet leaves, arrives, is acknowledged or given up,
    /// within the next second. Returns what happened then.
    pub fn step(&mut self) -> Vec<Step> {
        let before: Vec<Packets> = self.flows().map(|flow| self.run.packets(flow)).collect();
        let limit = (self.now + MAX_ADVANCE).min(END);
        let change = self.change_due(limit);
        if !self.run.step(change.unwrap_or(limit)) && change.is_some() {
            self.make_change();
        }
        self.reach(self.run.now().max(self.now));
        let flows = self.flows().zip(before);
        let steps = flows.filter_map(|(flow, before)| {
            let now = self.run.packets(flow);
            (now != before).then(|| Step {
                at: self.seconds(),
                flow,
                sent: now.sent - before.sent,
                received: now.received - before.received,
                acked: now.acked - before.acked,
                lost: now.lost - before.lost,
                after: self.summary(flow),
            })
        });
        steps.collect()
    }

    /// The data's link becomes another one; what is inside stays. What was to become of it later
    /// is forgotten.
    ///
    /// # Errors
    /// What is wrong with the link, for a person; and when it has changed too often.
    pub fn change_link(&mut self, text: &str) -> Result<(), String> {
        link(text, &self.back)?;
        if self.next_change == MAX_CHANGES {
            return Err(format!(
                "the link has changed {MAX_CHANGES} times; begin anew"
            ));
        }
        self.setup.changes.truncate(self.next_change);
        self.setup.changes.push(LinkChange {
            at: self.now.as_nanos(),
            link: text.to_owned(),
        });
        self.make_change();
        Ok(())
    }

    /// What repeats this run in another session.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// When the next change is, if that is not after `end`.
    fn change_due(&self, end: Timestamp) -> Option<Timestamp> {
        let change = self.setup.changes.get(self.next_change)?;
        let at = Timestamp::from_nanos(change.at).max(self.now);
        (at <= end).then_some(at)
    }

    fn make_change(&mut self) {
        let change = &self.setup.changes[self.next_change];
        self.next_change += 1;
        if let Ok(spec) = link(&change.link, &self.back) {
            self.base_rtt = spec.delay() + self.back.delay();
            self.run.change(Scenario::LINK, &spec, self.base_rtt);
            self.link = spec;
        }
    }

    /// What each flow has reached.
    pub fn summaries(&self) -> Vec<FlowSummary> {
        self.flows().map(|flow| self.summary(flow)).collect()
    }

    fn summary(&self, flow: usize) -> FlowSummary {
        let (point, packets) = (self.run.point(flow), self.run.packets(flow));
        let rate = |rate: Bandwidth| rate.bits_per_sec();
        FlowSummary {
            controller: self.setup.flows[flow].controller.clone(),
            state: point.state,
            goodput_mbit: self.goodput(flow).bits_per_sec() as f64 / 1e6,
            srtt_ms: point.srtt.map(|srtt| srtt.as_secs_f64() * 1e3),
            cwnd: point.cwnd.get(),
            inflight: point.inflight.get(),
            pacing_rate: (point.pacing_rate != Bandwidth::MAX).then(|| rate(point.pacing_rate)),
            bandwidth: point.bandwidth.map(rate),
            delivered: point.delivered.get(),
            sent: packets.sent,
            received: packets.received,
            acked: packets.acked,
            lost: packets.lost,
        }
    }

    /// Over the last second of the series.
    fn goodput(&self, flow: usize) -> Bandwidth {
        let points = &self.points[flow];
        let Some(last) = points.last() else {
            return Bandwidth::ZERO;
        };
        let before = &points[points.len().saturating_sub(SAMPLES_A_SECOND + 1)];
        if before.at == last.at {
            return Bandwidth::ZERO;
        }
        Bandwidth::from_transfer(last.delivered - before.delivered, last.at.since(before.at))
    }

    fn flows(&self) -> std::ops::Range<usize> {
        0..self.setup.flows.len()
    }

    fn reach(&mut self, now: Timestamp) {
        self.now = now;
        for flow in self.flows() {
            let fresh = self.run.take_points(flow);
            self.points[flow].extend(fresh);
        }
    }
}

const MAX_ADVANCE: Duration = Duration::from_secs(1);
/// Ten minutes: what a picture still shows.
const END: Timestamp = Timestamp::from_millis(600_000);
/// The scenario's sampling interval is 100 ms.
const SAMPLES_A_SECOND: usize = 10;
