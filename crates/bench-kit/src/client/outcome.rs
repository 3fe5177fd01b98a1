//! What a run has come to.

use super::rows::{bits_per_second, micros};
use crate::plan::{Direction, Limit, Plan};
use crate::result::iperf::{self, Row};
use crate::result::{
    Finite, Interval, LimitedBy, LimitedTimes, QueueDelayMs, QueueDelaySource, Round, RttMs,
    RunKind, RunResult, SCHEMA_VERSION,
};
use crate::sample::{RttReport, Sample, Series, SideReport, total};
use std::net::SocketAddr;
use std::time::Duration;

/// Everything that is known of a run when it is over, however it ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    /// The client's address and the server's, once connected.
    pub(crate) connected: Option<(SocketAddr, SocketAddr)>,
    /// The begin, as time since 1970.
    pub(crate) started: Duration,
    pub(crate) client: Side,
    pub(crate) server: Side,
    pub(crate) rows: Vec<iperf::Interval>,
    /// Why the plan was not carried out.
    pub(crate) error: Option<String>,
}

/// One side's account.
#[derive(Debug, Clone, Default)]
pub(crate) struct Side {
    pub(crate) series: Series,
    /// The side's own sum; `None` when it did not live to tell.
    pub(crate) report: Option<SideReport>,
}

impl Side {
    /// The side's own sum, or that of its samples so far.
    fn totals(&self) -> SideReport {
        self.report.clone().unwrap_or_else(|| {
            let measured = self
                .series
                .samples()
                .iter()
                .filter(|sample| !sample.omitted);
            let mut sum = Sample::default();
            measured.for_each(|sample| sum.extend(sample));
            SideReport {
                measured: sum.length,
                sent: sum.sent,
                received: sum.received,
                ..SideReport::default()
            }
        })
    }
}

impl Outcome {
    /// The run as the A/B test compares it; with `--bidir`, the direction from client to server.
    pub(crate) fn round(&self, plan: &Plan) -> Round {
        let (sending, receiving) = self.sides(plan);
        let (sent, received) = (sending.totals(), receiving.totals());
        let sender = sent.sender.as_ref();
        let bytes = received.total_received();
        let seconds = Finite::seconds(received.measured);
        let rtt = sender.and_then(|sender| sender.rtt);
        Round {
            congestion: congestion(plan).to_owned(),
            streams: plan.streams,
            error: self.error.clone(),
            seconds,
            bytes,
            goodput_bits_per_second: bits_per_second(bytes, seconds).get() as u64,
            packets_sent: sender.map(|sender| sender.packets_sent),
            packets_lost: sender.map(|sender| sender.packets_lost),
            bytes_retransmitted: sender.map(|sender| sender.bytes_lost),
            ecn_ce_packets: sender.map(|sender| sender.ce_marked),
            rtt_ms: rtt.map(rtt_ms).unwrap_or_default(),
            queue_delay_ms: rtt.map(above_base).unwrap_or_default(),
            queue_delay_source: rtt.map(|_| QueueDelaySource::RttAboveLeast),
            cpu_seconds_sender: cpu(sending),
            cpu_seconds_receiver: cpu(receiving),
            limited_by: sender.and_then(|sender| {
                let limited = sender.limited;
                LimitedBy::from_times(LimitedTimes {
                    application: limited.application,
                    congestion_window: limited.congestion_window,
                    pacing: limited.pacing,
                    flow_control: limited.flow_control,
                    host: limited.host,
                })
            }),
            intervals: course(sending.series.samples(), receiving.series.samples()),
            ..Round::default()
        }
    }

    /// The run with iperf3's `start`, `intervals` and `end`.
    pub(crate) fn run_result(&self, plan: &Plan, about: About) -> RunResult {
        RunResult {
            schema_version: SCHEMA_VERSION,
            kind: RunKind::Run,
            complete: self.error.is_none(),
            error: self.error.clone(),
            title: about.title,
            seed: about.seed,
            is_virtual: false,
            link: about.link,
            return_link: about.return_link,
            start: self.start(plan, about.connecting_to, about.interval),
            intervals: self.rows.clone(),
            end: self.end(plan),
            result: self.round(plan),
        }
    }

    /// The closing rows.
    pub(crate) fn end(&self, plan: &Plan) -> iperf::End {
        let (client, server) = (self.client.totals(), self.server.totals());
        let forward = ends(&client, &server, 1, true, &self.client);
        let reverse = ends(
            &server,
            &client,
            forward.streams.len() + 1,
            false,
            &self.server,
        );
        let (main, other) = match plan.direction {
            Direction::Forward | Direction::Both => (forward, reverse),
            Direction::Reverse => (reverse, forward),
        };
        let is_both = plan.direction == Direction::Both;
        let (sender, receiver) = match plan.direction {
            Direction::Reverse => (&plan.server_congestion, &plan.client_congestion),
            _ => (&plan.client_congestion, &plan.server_congestion),
        };
        let percent = |side: &SideReport, is_known: bool| {
            let share = side.cpu.as_secs_f64() / side.measured.as_secs_f64() * 100.0;
            is_known.then(|| Finite::new(share))?
        };
        iperf::End {
            streams: [main.streams, other.streams].concat(),
            sum_sent: main.sum_sent,
            sum_received: main.sum_received,
            sum_sent_bidir_reverse: is_both.then_some(other.sum_sent),
            sum_received_bidir_reverse: is_both.then_some(other.sum_received),
            cpu_utilization_percent: iperf::CpuUtilization {
                host_total: percent(&client, self.client.report.is_some()),
                remote_total: percent(&server, self.server.report.is_some()),
                ..iperf::CpuUtilization::default()
            },
            sender_tcp_congestion: Some(sender.clone()),
            receiver_tcp_congestion: Some(receiver.clone()),
        }
    }

    fn start(
        &self,
        plan: &Plan,
        connecting_to: iperf::HostPort,
        interval: Duration,
    ) -> iperf::Start {
        let connected = self
            .connected
            .iter()
            .map(|(local, remote)| iperf::Connected {
                socket: 1,
                local_host: local.ip().to_string(),
                local_port: local.port(),
                remote_host: remote.ip().to_string(),
                remote_port: remote.port(),
            });
        let (duration, bytes) = match plan.limit {
            Limit::Time(time) => (Finite::seconds(time), 0),
            Limit::Bytes(bytes) => (Finite::ZERO, bytes),
        };
        let rate = plan.rate.unwrap_or(0);
        iperf::Start {
            connected: connected.collect(),
            version: crate::VERSION.to_owned(),
            system_info: system_info(),
            timestamp: Some(iperf::StartTime {
                time: crate::date::http(self.started.as_secs()),
                timesecs: self.started.as_secs(),
                timemillisecs: u64::try_from(self.started.as_millis()).unwrap_or(u64::MAX),
            }),
            connecting_to,
            target_bitrate: rate,
            test_start: iperf::TestStart {
                protocol: "QUIC".to_owned(),
                num_streams: plan.streams,
                blksize: plan.length,
                omit: Finite::seconds(plan.omit),
                duration,
                bytes,
                blocks: 0,
                reverse: u8::from(plan.direction == Direction::Reverse),
                tos: 0,
                target_bitrate: rate,
                bidir: u8::from(plan.direction == Direction::Both),
                interval: Finite::seconds(interval),
            },
        }
    }

    /// The sending side and the receiving one; with `--bidir`, of the direction to the server.
    fn sides(&self, plan: &Plan) -> (&Side, &Side) {
        if plan.direction.client_sends() {
            (&self.client, &self.server)
        } else {
            (&self.server, &self.client)
        }
    }
}

/// What a result says of a run beside its figures.
#[derive(Debug, Clone)]
pub(crate) struct About {
    pub(crate) title: Option<String>,
    pub(crate) seed: u64,
    pub(crate) link: String,
    pub(crate) return_link: String,
    pub(crate) connecting_to: iperf::HostPort,
    pub(crate) interval: Duration,
}

/// The controller of the side that sends; with `--bidir`, the client's.
pub(crate) fn congestion(plan: &Plan) -> &str {
    if plan.direction.client_sends() {
        &plan.client_congestion
    } else {
        &plan.server_congestion
    }
}

struct Ends {
    streams: Vec<iperf::EndStream>,
    sum_sent: Row,
    sum_received: Row,
}

/// One direction from both of its ends; `is_here` says whether its sender writes this result.
fn ends(
    sender: &SideReport,
    receiver: &SideReport,
    first: usize,
    is_here: bool,
    side: &Side,
) -> Ends {
    let lost = sender.sender.as_ref().map(|sender| sender.packets_lost);
    let sum_sent = Row {
        retransmits: lost,
        ..maxima(
            side,
            end_row(None, sender.total_sent(), sender.measured, is_here),
        )
    };
    let sum_received = end_row(None, receiver.total_received(), receiver.measured, is_here);
    let streams = sender.sent.len().max(receiver.received.len());
    let stream = |index: usize| {
        let id = u32::try_from(first + index).ok();
        let bytes = |all: &[u64]| all.get(index).copied().unwrap_or(0);
        let sent = end_row(id, bytes(&sender.sent), sender.measured, is_here);
        iperf::EndStream {
            sender: Row {
                retransmits: lost.filter(|_| streams == 1),
                ..maxima(side, sent)
            },
            receiver: end_row(id, bytes(&receiver.received), receiver.measured, is_here),
        }
    };
    Ends {
        streams: (0..streams).map(stream).collect(),
        sum_sent,
        sum_received,
    }
}

fn end_row(socket: Option<u32>, bytes: u64, measured: Duration, sender: bool) -> Row {
    let seconds = Finite::seconds(measured);
    Row {
        socket,
        start: Finite::ZERO,
        end: seconds,
        seconds,
        bytes,
        bits_per_second: bits_per_second(bytes, seconds),
        sender,
        ..Row::default()
    }
}

/// `row` with the largest window and the round-trip times of the course.
fn maxima(side: &Side, row: Row) -> Row {
    let sendings = side
        .series
        .samples()
        .iter()
        .filter_map(|sample| sample.sending.as_ref());
    let windows = sendings.clone().map(|sending| sending.cwnd);
    let rtts: Vec<Duration> = sendings.filter_map(|sending| sending.srtt).collect();
    let count = u32::try_from(rtts.len()).unwrap_or(u32::MAX);
    let mean = rtts.iter().sum::<Duration>().checked_div(count);
    Row {
        max_snd_cwnd: windows.max(),
        max_rtt: rtts.iter().max().copied().map(micros),
        min_rtt: rtts.iter().min().copied().map(micros),
        mean_rtt: mean.map(micros),
        ..row
    }
}

/// The course of a run: the sender's samples beside the receiver's of the same place. Each side
/// counts time from its own begin, which is half a round trip apart.
fn course(sender: &[Sample], receiver: &[Sample]) -> Vec<Interval> {
    let mut senders = sender.iter();
    let interval = |received: &Sample| {
        let sending = senders.next().and_then(|sample| sample.sending.as_ref());
        let seconds = Finite::seconds(received.length);
        let bytes = total(&received.received);
        Interval {
            t: Finite::seconds(received.at),
            seconds,
            omitted: received.omitted,
            goodput_bits_per_second: bits_per_second(bytes, seconds).get() as u64,
            rtt_ms: sending.and_then(|sending| Some(Finite::millis(sending.srtt?))),
            cwnd_bytes: sending.map(|sending| sending.cwnd),
            bytes_in_flight: sending.map(|sending| sending.in_flight),
            pacing_rate_bits_per_second: sending.and_then(|sending| sending.pacing_rate),
            delivery_rate_bits_per_second: sending.and_then(|sending| sending.delivery_rate),
            packets_lost: sending.map(|sending| sending.packets_lost),
            ecn_ce_packets: None,
            state: sending.map(|sending| sending.state.clone()),
        }
    };
    receiver.iter().map(interval).collect()
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

fn cpu(side: &Side) -> Option<Finite> {
    side.report
        .as_ref()
        .map(|report| Finite::seconds(report.cpu))
}

fn system_info() -> String {
    let name = rustix::system::uname();
    [
        name.sysname(),
        name.nodename(),
        name.release(),
        name.version(),
        name.machine(),
    ]
    .map(|part| part.to_string_lossy().into_owned())
    .join(" ")
}
