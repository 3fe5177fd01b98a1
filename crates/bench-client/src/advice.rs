//! What held a run back, and what to change.

use bench_kit::plan::Plan;
use bench_report::result::{LimitedBy, Round, RunResult};
use bench_report::text::{Scale, amount, significant};
use units::Bandwidth;

/// What the receiving machine dropped, its socket's buffer being full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Drops {
    batches: u64,
    /// Datagrams of `-u` that arrived and were dropped unread.
    unread: u64,
    /// The largest buffer that it gives, in bytes, as far as it is known.
    limit: Option<u64>,
}

impl Drops {
    pub(crate) fn of(result: &RunResult) -> Self {
        Self {
            batches: result.receiver_socket_drops.unwrap_or(0),
            unread: unread(result).unwrap_or(0),
            limit: result.receiver_socket_buffer_limit,
        }
    }

    /// A buffer as large as it was asked for is not made larger by a limit.
    fn remedy(self) -> String {
        if self
            .limit
            .is_some_and(|limit| limit >= SOCKET_BUFFER.into())
        {
            "use a faster core there, or limit the sender with -b or -w.".to_owned()
        } else {
            format!("run sysctl -w net.core.rmem_max={SOCKET_BUFFER} there, or use a faster core.")
        }
    }
}

/// What the receiver's transport acknowledged and its application did not get: a datagram travels
/// in a packet of its own, and one that was not lost with it was dropped behind it. Not known of a
/// video: its sender drops what would come too late, which is missing as well.
fn unread(result: &RunResult) -> Option<u64> {
    if result.result.frames.is_some() {
        return None;
    }
    let missing = result.end.sum.as_ref()?.lost_packets?;
    Some(missing.saturating_sub(result.result.packets_lost?))
}

/// A few lines for the end of a run over a link of `link_rate`, where that is known; `None` when
/// the sender did not report, the run failed, or nothing came of it. With `is_perf` the plan's
/// window is that of the client alone.
pub(crate) fn advice(
    round: &Round,
    drops: Drops,
    plan: &Plan,
    link_rate: Option<Bandwidth>,
    is_perf: bool,
) -> Option<String> {
    let is_whole = round.succeeded() && round.bytes > 0;
    let limited = round.limited_by.filter(|_| is_whole)?;
    let (limit, share) = largest(&limited);
    let mut parts = Vec::new();
    if !(limit == Limit::Application && is_over_by_bytes(plan)) {
        parts.push(format!(
            "Limited by {} {:.0} % of the time:\n{}",
            limit.name(round),
            share * 100.0,
            limit.remedy(round, plan, link_rate, is_perf)
        ));
    }
    if drops.batches > 0 {
        // The kernel counts what it handles as one, which with GRO, over loopback with GSO, is up
        // to 64 packets.
        parts.push(format!(
            "The receiver's full socket buffer dropped {} of up to 64 packets:\n{}",
            counted(drops.batches, "batch", "batches"),
            drops.remedy()
        ));
    }
    if drops.unread > 0 {
        parts.push(format!(
            "The receiver read too slowly; {} arrived and {} dropped unread:\n\
             limit the sender with -b, or use a faster core there.",
            counted(drops.unread, "datagram", "datagrams"),
            if drops.unread == 1 { "was" } else { "were" }
        ));
    }
    let busy = [
        ("sender", round.cpu_seconds_sender),
        ("receiver", round.cpu_seconds_receiver),
    ];
    for (side, cpu) in busy {
        let share = cpu.map_or(0.0, |cpu| cpu.get() / round.seconds.get());
        // Above what a thread can have, the two did not measure the same time.
        if (BUSY..POSSIBLE).contains(&share) {
            parts.push(format!(
                "The {side}'s thread used {:.0} % of a core.",
                share * 100.0
            ));
        }
    }
    (!parts.is_empty()).then(|| parts.join("\n"))
}

/// Whether the sender had no data in the end because all was sent.
fn is_over_by_bytes(plan: &Plan) -> bool {
    let is_bytes = matches!(plan.limit, bench_kit::plan::Limit::Bytes(_));
    is_bytes && plan.rate.is_none() && plan.extras.media.is_none()
}

/// From here on a thread has nothing left to give.
const BUSY: f64 = 0.9;

/// A thread has one core, and the clocks of both sides began about the same time.
const POSSIBLE: f64 = 1.1;

/// What the transport asks of the kernel for a socket's buffer.
const SOCKET_BUFFER: u32 = 4 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    Application,
    Congestion,
    FlowControl,
    Host,
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Window and pacing rate are two sides of the controller's one decision.
fn largest(limited: &LimitedBy) -> (Limit, f64) {
    let congestion = limited.congestion_window.get() + limited.pacing.get();
    [
        (Limit::Application, limited.application.get()),
        (Limit::Congestion, congestion),
        (Limit::FlowControl, limited.flow_control.get()),
        (Limit::Host, limited.host.get()),
    ]
    .into_iter()
    .max_by(|(_, a), (_, b)| a.total_cmp(b))
    .expect("there are four")
}

impl Limit {
    fn name(self, round: &Round) -> String {
        match self {
            Self::Application => "the application".to_owned(),
            Self::Congestion => format!("congestion control ({})", round.congestion),
            Self::FlowControl => "flow control".to_owned(),
            Self::Host => "the sending host".to_owned(),
        }
    }

    fn remedy(
        self,
        round: &Round,
        plan: &Plan,
        link_rate: Option<Bandwidth>,
        is_perf: bool,
    ) -> String {
        match self {
            Self::Application if plan.extras.media.is_some() => {
                "--source was the limit, as is usual for a video.".to_owned()
            }
            Self::Application if plan.rate.is_some() => {
                "-b was the limit; raise it, or leave it out.".to_owned()
            }
            Self::Application => {
                "the sender had no data to send; try -P or a larger -l.".to_owned()
            }
            Self::Congestion => fixed(round)
                .or_else(|| full_link(round, link_rate?))
                .or_else(|| standing_queue(round))
                .unwrap_or_else(|| {
                    format!(
                        "the {} was the limit{}; try another -C or --connections.",
                        decision(round),
                        loss(round)
                    )
                }),
            // Its client can only report on what it sends, and cannot choose the server's window.
            Self::FlowControl if is_perf => {
                "the server's receive window was the limit; raise it there, such as with \
                 bench-server --max-window."
                    .to_owned()
            }
            Self::FlowControl if plan.extras.window_follows => {
                "the receive window, which grows with the path, was the limit; set it with -w."
                    .to_owned()
            }
            Self::FlowControl => format!(
                "the receive window of {} was the limit; raise -w.",
                amount(plan.window)
            ),
            Self::Host => {
                "the sending thread or its socket was the limit; try larger packets with -M."
                    .to_owned()
            }
        }
    }
}

/// A controller that measures nothing sends what it is told to.
fn fixed(round: &Round) -> Option<String> {
    let is_fixed = round.congestion.split(':').next() == Some("fixed");
    let parameter = match decision(round) {
        "pacing rate" => "rate",
        _ => "cwnd",
    };
    is_fixed.then(|| format!("{parameter}= of -C fixed was the limit; raise it."))
}

fn full_link(round: &Round, rate: Bandwidth) -> Option<String> {
    let (got, rate) = (
        round.goodput_bits_per_second as f64,
        rate.bits_per_sec() as f64,
    );
    let scale = Scale::bits_per_second(rate);
    (got >= rate * FULL).then(|| {
        format!(
            "the link was full: {} of {} {}; raise the rate of --link for more.",
            scale.show(got),
            scale.show(rate),
            scale.unit
        )
    })
}

/// Headers and ACKs take up to 8 % of a link, and a run's first round trips do not fill it.
const FULL: f64 = 0.9;

/// A queue that lasts stands before a bottleneck that is busy all the time.
fn standing_queue(round: &Round) -> Option<String> {
    let (least, median) = (round.rtt_ms.min?.get(), round.rtt_ms.p50?.get());
    let queued = median - least;
    (median >= least * 2.0 && queued >= STANDING_MS).then(|| {
        format!(
            "the path was full, packets waited {} ms in its queue; another -C may queue less.",
            significant(queued)
        )
    })
}

/// Below this, queues in the hosts and jitter look the same, in milliseconds.
const STANDING_MS: f64 = 5.0;

/// What the controller limits longer.
fn decision(round: &Round) -> &'static str {
    match &round.limited_by {
        Some(limited) if limited.pacing.get() > limited.congestion_window.get() => "pacing rate",
        _ => "congestion window",
    }
}

/// ` (1.2 % loss)`, when there was a loss.
fn loss(round: &Round) -> String {
    match (round.packets_lost, round.packets_sent) {
        (Some(lost), Some(sent)) if lost > 0 && sent > 0 => {
            format!(" ({:.2} % loss)", lost as f64 * 100.0 / sent as f64)
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench_kit::plan::{Direction, Media};
    use bench_report::fixtures;
    use bench_report::result::{Frames, LimitedTimes};
    use std::time::Duration;

    fn plan() -> Plan {
        Plan {
            direction: Direction::Forward,
            limit: bench_kit::plan::Limit::Time(Duration::from_secs(1)),
            omit: Duration::ZERO,
            streams: 1,
            length: 1,
            rate: None,
            client_congestion: "cubic".to_owned(),
            server_congestion: "cubic".to_owned(),
            window: 32 << 20,
            step: Duration::from_secs(1),
            extras: bench_kit::plan::Extras::default(),
        }
    }

    fn line(times: LimitedTimes, plan: &Plan) -> String {
        let mut round = fixtures::round("cubic", 0, 20_000_000);
        round.limited_by = LimitedBy::from_times(times);
        advice(&round, Drops::default(), plan, None, false).unwrap()
    }

    #[test]
    fn the_largest_share_is_named_with_its_remedy() {
        let most = Duration::from_millis(700);
        let rest = Duration::from_millis(300);
        let window = LimitedTimes {
            congestion_window: rest,
            pacing: rest,
            application: Duration::from_millis(400),
            ..LimitedTimes::default()
        };
        assert_eq!(
            line(window, &plan()),
            "Limited by congestion control (cubic) 60 % of the time:\n\
             the congestion window was the limit (0.96 % loss); try another -C or --connections."
        );
        let flow_control = LimitedTimes {
            flow_control: most,
            host: rest,
            ..LimitedTimes::default()
        };
        assert!(
            line(flow_control, &plan())
                .ends_with("the receive window of 32.0 MBytes was the limit; raise -w.")
        );
        let mut round = fixtures::round("cubic", 0, 20_000_000);
        round.limited_by = LimitedBy::from_times(flow_control);
        let perf = advice(&round, Drops::default(), &plan(), None, true).unwrap();
        assert!(
            perf.contains("the server's receive window was the limit; raise it there"),
            "{perf}"
        );
        let mut follows = plan();
        follows.extras.window_follows = true;
        assert!(line(flow_control, &follows).ends_with(
            "the receive window, which grows with the path, was the limit; set it with -w."
        ));
        let application = LimitedTimes {
            application: most,
            ..LimitedTimes::default()
        };
        let mut video = plan();
        video.extras.media = Some(Media {
            video: "video:2mbit,30fps,key=2s".parse().unwrap(),
            late: Duration::from_millis(100),
            bulk: false,
        });
        assert!(
            line(application, &video)
                .ends_with("100 % of the time:\n--source was the limit, as is usual for a video.")
        );
        let rated = Plan {
            rate: Some(1_000),
            ..plan()
        };
        assert!(
            line(application, &rated)
                .ends_with("100 % of the time:\n-b was the limit; raise it, or leave it out.")
        );
    }

    #[test]
    fn a_full_socket_buffer_and_a_busy_core_are_named() {
        let mut round = fixtures::round("cubic", 0, 20_000_000);
        round.cpu_seconds_receiver = bench_report::result::Finite::new(round.seconds.get() * 0.95);
        let drops = |batches, limit| Drops {
            batches,
            limit,
            ..Drops::default()
        };
        let text = advice(&round, drops(17, None), &plan(), None, false).unwrap();
        for part in [
            "dropped 17 batches of up to 64 packets",
            "net.core.rmem_max=4194304",
        ] {
            assert!(text.contains(part), "{text}");
        }
        let with = |limit| advice(&round, drops(1, Some(limit)), &plan(), None, false).unwrap();
        assert!(with((4 << 20) - 1).contains("rmem_max"));
        assert!(
            with(4 << 20).contains(
                "dropped 1 batch of up to 64 packets:\nuse a faster core there, or limit"
            )
        );
        assert!(
            text.ends_with("The receiver's thread used 95 % of a core."),
            "{text}"
        );
        assert!(
            !advice(&round, drops(0, None), &plan(), None, false)
                .unwrap()
                .contains("dropped")
        );
    }

    #[test]
    fn of_a_run_that_ended_with_its_bytes_no_data_is_missed() {
        let mut round = fixtures::round("cubic", 0, 20_000_000);
        round.limited_by = LimitedBy::from_times(LimitedTimes {
            application: Duration::from_secs(1),
            ..LimitedTimes::default()
        });
        let mut plan = plan();
        assert!(advice(&round, Drops::default(), &plan, None, false).is_some());
        plan.limit = bench_kit::plan::Limit::Bytes(1 << 20);
        assert_eq!(advice(&round, Drops::default(), &plan, None, false), None);
        plan.rate = Some(1_000);
        assert!(advice(&round, Drops::default(), &plan, None, false).is_some());
    }

    #[test]
    fn datagrams_that_arrived_and_were_not_read_are_told_from_lost_ones() {
        let mut result = fixtures::run();
        assert_eq!(Drops::of(&result).unread, 0);
        result.result.packets_lost = Some(5);
        result.end.sum = Some(bench_report::result::iperf::Row {
            lost_packets: Some(105),
            ..result.end.sum_received.clone()
        });
        let drops = Drops::of(&result);
        let text = advice(&result.result, drops, &plan(), None, false).unwrap();
        assert!(text.contains("100 datagrams arrived and were dropped unread:\nlimit"));
        let one = Drops { unread: 1, ..drops };
        let text = advice(&result.result, one, &plan(), None, false).unwrap();
        assert!(text.contains("1 datagram arrived and was dropped unread:\nlimit"));
        result.result.packets_lost = Some(105);
        assert_eq!(Drops::of(&result).unread, 0);
        // What a video's sender drops, because it would be late, has not arrived.
        result.result.packets_lost = Some(5);
        result.result.frames = Some(Frames::default());
        assert_eq!(Drops::of(&result).unread, 0);
    }

    #[test]
    fn a_run_that_lost_nothing_has_no_advice_on_loss() {
        let mut round = fixtures::round("cubic", 0, 20_000_000);
        round.limited_by = LimitedBy::from_times(LimitedTimes {
            pacing: Duration::from_secs(1),
            ..LimitedTimes::default()
        });
        round.packets_lost = Some(0);
        let text = advice(&round, Drops::default(), &plan(), None, false).unwrap();
        assert!(text.contains("was the limit; try another -C"), "{text}");
    }

    #[test]
    fn what_is_full_is_said_and_no_other_controller_proposed() {
        let mut round = fixtures::round("cubic", 0, 18_700_000);
        round.limited_by = LimitedBy::from_times(LimitedTimes {
            congestion_window: Duration::from_secs(1),
            ..LimitedTimes::default()
        });
        let with = |round: &Round, megabits: u64| {
            let rate = Bandwidth::from_bits_per_sec(megabits * 1_000_000);
            let text = advice(round, Drops::default(), &plan(), Some(rate), false).unwrap();
            text.lines().nth(1).unwrap().to_owned()
        };
        assert_eq!(
            with(&round, 20),
            "the link was full: 18.7 of 20.0 Mbit/s; raise the rate of --link for more."
        );
        assert!(with(&round, 40).ends_with("try another -C or --connections."));
        let finite = bench_report::result::Finite::new;
        (round.rtt_ms.min, round.rtt_ms.p50) = (finite(10.0), finite(140.0));
        assert_eq!(
            with(&round, 40),
            "the path was full, packets waited 130 ms in its queue; another -C may queue less."
        );
    }

    #[test]
    fn the_parameter_of_a_fixed_controller_is_to_be_raised() {
        let mut round = fixtures::round("fixed:rate=5mbit", 0, 4_900_000);
        let mut line = |times| {
            round.limited_by = LimitedBy::from_times(times);
            let text = advice(&round, Drops::default(), &plan(), None, false).unwrap();
            text.lines().nth(1).unwrap().to_owned()
        };
        let long = Duration::from_secs(1);
        let (pacing, window) = (
            LimitedTimes {
                pacing: long,
                ..LimitedTimes::default()
            },
            LimitedTimes {
                congestion_window: long,
                ..LimitedTimes::default()
            },
        );
        assert_eq!(line(pacing), "rate= of -C fixed was the limit; raise it.");
        assert_eq!(line(window), "cwnd= of -C fixed was the limit; raise it.");
    }

    #[test]
    fn of_a_run_that_failed_nothing_is_claimed() {
        let mut round = fixtures::round("cubic", 0, 20_000_000);
        round.error = Some("the server died".to_owned());
        assert_eq!(advice(&round, Drops::default(), &plan(), None, false), None);
    }

    #[test]
    fn without_the_senders_report_nothing_is_claimed() {
        let mut round = fixtures::round("cubic", 0, 20_000_000);
        round.limited_by = None;
        assert_eq!(advice(&round, Drops::default(), &plan(), None, false), None);
    }

    #[test]
    fn of_a_run_that_moved_nothing_nothing_is_claimed() {
        let mut round = fixtures::round("cubic", 0, 20_000_000);
        round.bytes = 0;
        assert_eq!(advice(&round, Drops::default(), &plan(), None, false), None);
    }

    #[test]
    fn a_thread_is_not_busier_than_it_can_be() {
        let mut round = fixtures::round("cubic", 0, 20_000_000);
        let with = |round: &mut Round, share: f64| {
            round.cpu_seconds_sender =
                bench_report::result::Finite::new(round.seconds.get() * share);
            advice(round, Drops::default(), &plan(), None, false)
                .unwrap()
                .contains("of a core")
        };
        assert!(!with(&mut round, 0.89));
        assert!(with(&mut round, 0.91));
        assert!(with(&mut round, 1.01));
        assert!(!with(&mut round, 3_632.4));
    }
}
