//! One path, the flows on it, and the figure that they are judged by.

use flow_sim::{Flow, Outcome, Scenario};
use std::io::{self, Write};
use std::time::Duration;
use units::{Bandwidth, Timestamp};

/// A path with flows of the controller that is tried.
pub(crate) struct Cell {
    pub(crate) name: String,
    pub(crate) link: String,
    pub(crate) return_link: String,
    /// What the link becomes, and when.
    pub(crate) changes: Vec<(Duration, String)>,
    pub(crate) flows: Vec<Start>,
    /// The times that count.
    pub(crate) counted: [Duration; 2],
    pub(crate) figure: Figure,
}

/// How a flow begins.
#[derive(Clone, Default)]
pub(crate) struct Start {
    pub(crate) at: Duration,
    /// Of another controller than the one that is tried.
    pub(crate) controller: Option<&'static str>,
    /// A link of its own, before the shared one.
    pub(crate) access: Option<String>,
}

/// What a cell is judged by.
#[derive(Clone, Copy)]
pub(crate) enum Figure {
    /// Goodput of all, of so many bits per second.
    Use(f64),
    /// 95th percentile of the smoothed RTT less the base RTT, in base RTTs.
    Queue(Duration),
    /// Jain's index of the flows.
    Jain,
    /// Goodput of the last flow, of an even share.
    LastShare,
    /// Goodput of the first flow, of what it has beside another one of its kind.
    Kept,
    /// Packets lost, of all that were sent, in percent, less those of `bbr3`.
    MoreLoss,
    /// Packets lost, of all that were sent, in percent.
    Loss,
    /// Goodput of the better of `cubic` and `bbr1` on this path.
    OfBetter,
}

impl Cell {
    /// Of each of the seeds 1 to `seeds`.
    pub(crate) fn figures(&self, controller: &str, seeds: u64) -> Vec<f64> {
        let seeds = 1..=seeds;
        seeds.map(|seed| self.of_seed(controller, seed)).collect()
    }

    fn of_seed(&self, controller: &str, seed: u64) -> f64 {
        let outcome = self.run(controller, seed);
        let rates = self.rates(&outcome);
        let sum: f64 = rates.iter().sum();
        match self.figure {
            Figure::Use(rate) => sum / rate,
            Figure::Queue(base) => self.queue(&outcome, base),
            Figure::Jain => {
                sum * sum / (rates.len() as f64 * rates.iter().map(|r| r * r).sum::<f64>())
            }
            Figure::LastShare => rates[rates.len() - 1] * rates.len() as f64 / sum,
            Figure::Kept => {
                let own = self.flows[0].controller.unwrap_or(controller);
                rates[0] / self.rates(&self.run(own, seed))[0]
            }
            Figure::Loss => loss(&outcome),
            Figure::MoreLoss => loss(&outcome) - loss(&self.run("bbr3", seed)),
            Figure::OfBetter => {
                let others = ["cubic", "bbr1"].map(|other| self.rates(&self.run(other, seed))[0]);
                sum / others[0].max(others[1])
            }
        }
    }

    fn run(&self, controller: &str, seed: u64) -> Outcome {
        let mut scenario = Scenario::new(&self.link)
            .return_link(&self.return_link)
            .seed(seed);
        for (at, link) in &self.changes {
            scenario = scenario.change_link(*at, link);
        }
        for (index, start) in self.flows.iter().enumerate() {
            // What begins at once does not begin in the same microsecond.
            let at = start.at + Duration::from_micros(1_300) * index as u32;
            let mut flow = Flow::of(start.controller.unwrap_or(controller)).start(at);
            if let Some(access) = &start.access {
                flow = flow.access(access);
            }
            scenario = scenario.flow(flow);
        }
        scenario.run_for(self.counted[1] + Duration::from_millis(200))
    }

    /// bit/s of each flow.
    fn rates(&self, outcome: &Outcome) -> Vec<f64> {
        let [from, to] = self.counted;
        let rate = |flow: &flow_sim::FlowOutcome| {
            flow.goodput_between(from, to).bytes_per_sec() as f64 * 8.0
        };
        outcome.flows.iter().map(rate).collect()
    }

    fn queue(&self, outcome: &Outcome, base: Duration) -> f64 {
        let [from, to] = self.counted.map(|time| Timestamp::ZERO + time);
        let points = outcome.flow(0).points.iter();
        let mut rtts: Vec<_> = points
            .filter(|point| (from..to).contains(&point.at))
            .filter_map(|point| point.srtt)
            .collect();
        rtts.sort_unstable();
        let rtt = rtts
            .get(rtts.len() * 95 / 100)
            .map_or(0.0, Duration::as_secs_f64);
        rtt / base.as_secs_f64() - 1.0
    }

    /// Prints the course of each flow.
    pub(crate) fn trace(
        &self,
        controller: &str,
        seed: u64,
        out: &mut impl Write,
    ) -> io::Result<()> {
        writeln!(
            out,
            "# {} {controller}, seed {seed}: {}",
            self.name, self.link
        )?;
        let outcome = self.run(controller, seed);
        for (index, (flow, start)) in outcome.flows.iter().zip(&self.flows).enumerate() {
            let mut before = 0;
            writeln!(
                out,
                "flow {index}: s state Mbit/s bandwidth pacing rtt_ms cwnd inflight lost queue"
            )?;
            let begin = Timestamp::ZERO + start.at;
            for point in flow.points.iter().filter(|point| point.at >= begin) {
                let delivered = point.delivered.get();
                writeln!(
                    out,
                    "{:.1} {} {:.2} {:.2} {:.2} {:.1} {} {} {} {}",
                    point.at.since(Timestamp::ZERO).as_secs_f64(),
                    point.state,
                    (delivered - before) as f64 * 80.0 / 1e6,
                    point.bandwidth.map_or(0.0, mbit),
                    mbit(point.pacing_rate),
                    point.srtt.map_or(0.0, |rtt| rtt.as_secs_f64() * 1e3),
                    point.cwnd.get(),
                    point.inflight.get(),
                    point.packets_lost,
                    point.queue.get(),
                )?;
                before = delivered;
            }
        }
        Ok(())
    }
}

fn mbit(rate: Bandwidth) -> f64 {
    rate.bytes_per_sec() as f64 * 8e-6
}

/// Of all flows, in percent.
fn loss(outcome: &Outcome) -> f64 {
    let [lost, sent] = [
        |flow: &flow_sim::FlowOutcome| flow.packets_lost,
        |flow: &flow_sim::FlowOutcome| flow.packets_sent,
    ]
    .map(|count| outcome.flows.iter().map(count).sum::<u64>());
    100.0 * lost as f64 / sent.max(1) as f64
}
