//! What a run has come to.

mod beginning;
mod ends;
mod frames;
mod side;
mod time_series;

pub(crate) use beginning::{About, Beginning};
pub(crate) use side::{Flow, Side};

use super::requests::{self, Probes};
use bench_kit::counters::Answer;
use bench_kit::plan::{Direction, Plan};
use bench_kit::rows::bits_per_second;
use bench_kit::sample::{RttReport, SideReport};
use bench_report::result::iperf;
use bench_report::result::{
    Finite, Frames, LimitedBy, QueueDelayMs, QueueDelaySource, Round, RttMs, RunKind, RunResult,
    SCHEMA_VERSION, Sha256,
};
use ends::Ends;
use frames::frames;
use paceline::PathMemory;
use side::{busy_percent, cpu, sum};
use std::time::Duration;
use time_series::time_series;

/// Everything that is known of a run when it is over, however it ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    /// The begin, as time since 1970.
    pub(crate) started: Duration,
    /// The connections, once the server has accepted the plan.
    pub(crate) flows: Vec<Flow>,
    pub(crate) rows: Vec<iperf::Interval>,
    /// What the requests of the run have come to, if it has any.
    pub(crate) answers: Vec<Answer>,
    /// The new connections that were made beside the load, if any were to be.
    pub(crate) probes: Option<Probes>,
    /// What each connection has learned of its path where it sent.
    pub(crate) memories: Vec<Option<PathMemory>>,
    /// Why the plan was not carried out.
    pub(crate) error: Option<String>,
}

impl Outcome {
    /// The run as the A/B test compares it; with `--bidir`, the direction from client to server.
    pub(crate) fn round(&self, plan: &Plan) -> Round {
        let sides = self.flows.iter().map(|flow| flow.sides(plan));
        let (sending, receiving): (Vec<&Side>, Vec<&Side>) = sides.unzip();
        let (sent, received) = (sum(&sending), sum(&receiving));
        let sender = sent.sender.as_ref();
        let bytes = received.total_received();
        let seconds = Finite::seconds(received.measured);
        let rtt = sender.and_then(|sender| sender.rtt);
        Round {
            congestion: plan.sender_congestion().to_owned(),
            streams: plan.streams.saturating_mul(self.connections()),
            error: self.error.clone(),
            seconds,
            planned_bytes: plan.bytes(),
            bytes,
            goodput_bits_per_second: bits_per_second(bytes, seconds).get() as u64,
            packets_sent: sender.map(|sender| sender.packets_sent),
            packets_lost: sender.map(|sender| sender.packets_lost),
            packets_spuriously_lost: sender.map(|sender| sender.packets_spuriously_lost),
            bytes_retransmitted: sender.map(|sender| sender.bytes_lost),
            ecn_ce_packets: sender.map(|sender| sender.ce_marked),
            rtt_ms: rtt.map(rtt_ms).unwrap_or_default(),
            queue_delay_ms: rtt.map(above_base).unwrap_or_default(),
            queue_delay_source: rtt.map(|_| QueueDelaySource::RttAboveLeast),
            rtt_distribution: sender.map_or_else(Vec::new, |s| s.rtt_distribution.shares()),
            frames: frames(plan, &sent, &received),
            cpu_seconds_sender: cpu(&sending),
            cpu_seconds_receiver: cpu(&receiving),
            limited_by: sender.and_then(|sender| LimitedBy::from_times(sender.limited)),
            intervals: time_series(&sending, &receiving),
            ..Round::default()
        }
    }

    /// The run with iperf3's `start`, `intervals` and `end`.
    pub(crate) fn run_result(&self, plan: &Plan, about: &About) -> RunResult {
        RunResult {
            schema_version: SCHEMA_VERSION,
            kind: RunKind::Run,
            complete: self.error.is_none(),
            error: self.error.clone(),
            title: about.title.clone(),
            note: about.note.clone(),
            command: about.command.clone(),
            seed: about.seed,
            is_virtual: false,
            link: about.link.clone(),
            return_link: about.return_link.clone(),
            start: self.start(plan, about),
            intervals: self.rows.clone(),
            end: self.end(plan),
            sha256: self.sha256(plan),
            server_output_text: self.server_output(),
            receiver_socket_drops: self.receiver(plan).socket_drops,
            receiver_socket_buffer_limit: self.receiver(plan).socket_buffer_limit,
            requests: requests::sum(plan, &self.answers, self.probes.as_ref()),
            frames_bidir_reverse: self.frames_of_server(plan),
            result: self.round(plan),
        }
    }

    /// What became of the frames of the server, where both sides send.
    fn frames_of_server(&self, plan: &Plan) -> Option<Frames> {
        let sides = self.flows.iter().map(|flow| (&flow.server, &flow.client));
        let (sending, receiving): (Vec<&Side>, Vec<&Side>) = sides.unzip();
        let is_both = plan.direction == Direction::Both;
        is_both.then(|| frames(plan, &sum(&sending), &sum(&receiving)))?
    }

    /// The closing rows.
    pub(crate) fn end(&self, plan: &Plan) -> iperf::End {
        let clients: Vec<&Side> = self.flows.iter().map(|flow| &flow.client).collect();
        let servers: Vec<&Side> = self.flows.iter().map(|flow| &flow.server).collect();
        let forward = Ends::new(&clients, &servers, 1, true);
        let reverse = Ends::new(&servers, &clients, forward.streams.len() + 1, false);
        let (main, other) = match plan.direction {
            Direction::Forward | Direction::Both => (forward, reverse),
            Direction::Reverse => (reverse, forward),
        };
        let is_both = plan.direction == Direction::Both;
        let (sender, receiver) = match plan.direction {
            Direction::Reverse => (&plan.server_congestion, &plan.client_congestion),
            _ => (&plan.client_congestion, &plan.server_congestion),
        };
        let [host_total, host_user, host_system] = busy_percent(&clients);
        let [remote_total, remote_user, remote_system] = busy_percent(&servers);
        iperf::End {
            sum: main.sum_received.packets.map(|_| main.sum_received.clone()),
            streams: [main.streams, other.streams].concat(),
            sum_sent: main.sum_sent,
            sum_received: main.sum_received,
            sum_sent_bidir_reverse: is_both.then_some(other.sum_sent),
            sum_received_bidir_reverse: is_both.then_some(other.sum_received),
            cpu_utilization_percent: iperf::CpuUtilization {
                host_total,
                host_user,
                host_system,
                remote_total,
                remote_user,
                remote_system,
            },
            sender_tcp_congestion: Some(sender.clone()),
            receiver_tcp_congestion: Some(receiver.clone()),
        }
    }

    /// The hashes of what was sent and of what came, if the plan asks for them.
    pub(crate) fn sha256(&self, plan: &Plan) -> Option<Sha256> {
        if !plan.extras.digest {
            return None;
        }
        let (sender, receiver) = self.flows.first()?.sides(plan);
        let hash = |side: &Side| side.report.as_ref()?.sha256.clone();
        Some(Sha256 {
            sender: hash(sender),
            receiver: hash(receiver),
        })
    }

    /// The sum of the receiving side; with `--bidir`, of what the client sends.
    fn receiver(&self, plan: &Plan) -> SideReport {
        let receivers = self.flows.iter().map(|flow| flow.sides(plan).1);
        sum(&receivers.collect::<Vec<_>>())
    }

    /// What the server has logged of the run, if the plan asks for it.
    fn server_output(&self) -> Option<String> {
        let reports = self
            .flows
            .iter()
            .filter_map(|flow| flow.server.report.as_ref());
        let outputs = reports.filter_map(|report| report.output.as_deref());
        outputs.map(str::to_owned).reduce(|all, next| all + &next)
    }

    fn start(&self, plan: &Plan, about: &About) -> iperf::Start {
        let addresses = self.flows.iter().filter_map(|flow| flow.addresses);
        let addresses: Vec<_> = addresses.collect();
        let beginning = Beginning {
            addresses: &addresses,
            kernel_pacing: &[],
            at: self.started,
        };
        beginning.start(plan, about)
    }

    /// How many connections there are; one before there are any.
    fn connections(&self) -> u32 {
        u32::try_from(self.flows.len()).unwrap_or(u32::MAX).max(1)
    }
}

fn rtt_ms(rtt: RttReport) -> RttMs {
    let millis = |time| Some(Finite::millis(time));
    RttMs {
        min: millis(rtt.min),
        p50: millis(rtt.p50),
        p95: millis(rtt.p95),
        p99: millis(rtt.p99),
        max: millis(rtt.max),
    }
}

/// The queue's delay as a sender can know it: the round-trip time above the least ever seen.
fn above_base(rtt: RttReport) -> QueueDelayMs {
    let millis = |time: Duration| Some(Finite::millis(time.saturating_sub(rtt.base)));
    QueueDelayMs {
        p50: millis(rtt.p50),
        p95: millis(rtt.p95),
        p99: millis(rtt.p99),
    }
}

#[cfg(test)]
mod tests;
