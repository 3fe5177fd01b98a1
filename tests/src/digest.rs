//! One number for all that a run did, to compare with the number that was written down.

use crate::sim::{Outcome, Point};
use core::time::Duration;
use link_sim::{Count, LinkStats};
use units::Gain;

/// FNV-1a with 64 bits over the integers it is given, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// Of nothing yet.
    pub const fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    /// Adds a number.
    pub fn add(&mut self, number: u64) -> &mut Self {
        for byte in number.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
        self
    }

    /// Adds a number that there may be.
    pub fn add_maybe(&mut self, number: Option<u64>) -> &mut Self {
        self.add(number.is_some().into())
            .add(number.unwrap_or_default())
    }

    /// Adds a time in nanoseconds.
    pub fn add_time(&mut self, time: Duration) -> &mut Self {
        self.add(units::duration::nanos(time))
    }

    /// Adds a name.
    pub fn add_name(&mut self, name: &str) -> &mut Self {
        name.bytes().for_each(|byte| {
            self.add(byte.into());
        });
        self.add(name.len() as u64)
    }

    /// Adds all that a link counted.
    pub fn add_link(&mut self, link: &LinkStats) -> &mut Self {
        let drops = link.dropped;
        for Count { packets, bytes } in [
            link.arrived,
            link.duplicated,
            link.delivered,
            link.marked,
            link.corrupted,
            drops.loss,
            drops.limit,
            drops.policer,
            drops.queue,
            drops.aqm,
            link.held,
            link.max_queue,
        ] {
            self.add(packets).add(bytes.get());
        }
        let delay = &link.queue_delay;
        self.add(delay.count()).add_time(delay.max());
        for percent in [1, 50, 99] {
            self.add_time(delay.quantile(Gain::percent(percent)));
        }
        self
    }

    /// Adds all that a run of the small transport gave.
    pub fn add_outcome(&mut self, outcome: &Outcome) -> &mut Self {
        self.add(outcome.ended_at.as_nanos());
        for (_, link) in &outcome.links {
            self.add_link(link);
        }
        for flow in &outcome.flows {
            self.add(flow.delivered.get())
                .add_maybe(flow.completed_at.map(units::Timestamp::as_nanos))
                .add(flow.packets_sent)
                .add(flow.packets_received)
                .add(flow.packets_marked)
                .add(flow.packets_lost)
                .add(flow.packets_spuriously_lost)
                .add(flow.sent.get())
                .add(flow.lost.get())
                .add(flow.retransmitted.get())
                .add(flow.probe_timeouts)
                .add(flow.persistent_congestions)
                .add(flow.rtt.count())
                .add_time(flow.rtt.max());
            for visit in &flow.states {
                self.add(visit.at.as_nanos()).add_name(visit.state);
            }
            flow.points.iter().for_each(|point| self.add_point(point));
        }
        self
    }

    fn add_point(&mut self, point: &Point) {
        let rate = |rate: units::Bandwidth| rate.bytes_per_sec();
        self.add(point.at.as_nanos())
            .add_name(point.state)
            .add(point.cwnd.get())
            .add(point.inflight.get())
            .add(rate(point.pacing_rate))
            .add_maybe(point.bandwidth.map(rate))
            .add_maybe(point.delivery_rate.map(rate))
            .add_maybe(point.srtt.map(units::duration::nanos))
            .add(point.delivered.get())
            .add(point.packets_lost)
            .add(point.queue.get());
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Display for Digest {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
