//! What held a run back, and what to change.

use crate::plan::Plan;
use crate::result::{LimitedBy, Round};
use crate::table::amount;

/// A few lines for the end of a run; `None` when the sender did not tell. `dropped` is what the
/// receiving machine dropped at its socket.
pub(crate) fn advice(round: &Round, dropped: Option<u64>, plan: &Plan) -> Option<String> {
    let limited = round.limited_by?;
    let (limit, share) = largest(&limited);
    let mut text = format!(
        "Limited by {}, {:.0} % of the time.\n{}",
        limit.name(round),
        share * 100.0,
        limit.remedy(round, plan)
    );
    if let Some(dropped) = dropped.filter(|dropped| *dropped > 0) {
        text.push_str(&format!(
            "\nThe receiving machine dropped {dropped} packets, its socket's buffer being full:\n\
             there, sysctl -w net.core.rmem_max={SOCKET_BUFFER}, or a faster core."
        ));
    }
    let busy = [
        ("sender", round.cpu_seconds_sender),
        ("receiver", round.cpu_seconds_receiver),
    ];
    for (side, cpu) in busy {
        let share = cpu.map_or(0.0, |cpu| cpu.get() / round.seconds.get());
        if share >= BUSY {
            text.push_str(&format!(
                "\nThe {side}'s thread kept a core {:.0} % busy.",
                share * 100.0
            ));
        }
    }
    Some(text)
}

/// From here on a thread has nothing left to give.
const BUSY: f64 = 0.9;

/// What the transport asks of the kernel for a socket's buffer.
const SOCKET_BUFFER: u32 = 4 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    Application,
    Congestion,
    FlowControl,
    Host,
}

/// Window and pacing rate are two sides of the controller's one decision. But where the peer's
/// window runs out in each round trip, that is what makes the rate: pacing only spreads the window
/// over a part of the round trip, and its time goes with the window's.
fn largest(limited: &LimitedBy) -> (Limit, f64) {
    let (cwnd, pacing) = (limited.congestion_window.get(), limited.pacing.get());
    let flow_control = limited.flow_control.get();
    let (congestion, flow_control) = if flow_control > cwnd + pacing {
        (cwnd, flow_control + pacing)
    } else {
        (cwnd + pacing, flow_control)
    };
    [
        (Limit::Application, limited.application.get()),
        (Limit::Congestion, congestion),
        (Limit::FlowControl, flow_control),
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
            Self::Host => "the sending machine".to_owned(),
        }
    }

    fn remedy(self, round: &Round, plan: &Plan) -> String {
        match self {
            Self::Application if plan.rate.is_some() => "-b asks for no more.".to_owned(),
            Self::Application => "There was nothing to send: try -P or a larger -l.".to_owned(),
            Self::Congestion => format!(
                "It found no more room{}: try another -C, or -P on a lossy path.",
                loss(round)
            ),
            Self::FlowControl => format!(
                "The receiver took {} at a time: raise -w.",
                amount(plan.window)
            ),
            Self::Host => "It sent no faster: try larger packets, -M.".to_owned(),
        }
    }
}

/// `, with 1.2 % lost`, when there was a loss.
fn loss(round: &Round) -> String {
    match (round.packets_lost, round.packets_sent) {
        (Some(lost), Some(sent)) if lost > 0 && sent > 0 => {
            format!(", with {:.2} % lost", lost as f64 * 100.0 / sent as f64)
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::plan::Direction;
    use crate::result::LimitedTimes;
    use std::time::Duration;

    fn plan() -> Plan {
        Plan {
            direction: Direction::Forward,
            limit: crate::plan::Limit::Bytes(1),
            omit: Duration::ZERO,
            streams: 1,
            length: 1,
            rate: None,
            client_congestion: "cubic".to_owned(),
            server_congestion: "cubic".to_owned(),
            window: 32 << 20,
            step: Duration::from_secs(1),
            extras: crate::plan::Extras::default(),
        }
    }

    fn line(times: LimitedTimes, plan: &Plan) -> String {
        let mut round = fixtures::round("cubic", 0, 20_000_000);
        round.limited_by = LimitedBy::from_times(times);
        advice(&round, None, plan).unwrap()
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
            "Limited by congestion control (cubic), 60 % of the time.\n\
             It found no more room, with 0.96 % lost: try another -C, or -P on a lossy path."
        );
        let flow_control = LimitedTimes {
            flow_control: most,
            host: rest,
            ..LimitedTimes::default()
        };
        assert!(line(flow_control, &plan()).ends_with("took 32.0 MBytes at a time: raise -w."));
        let application = LimitedTimes {
            application: most,
            ..LimitedTimes::default()
        };
        let rated = Plan {
            rate: Some(1_000),
            ..plan()
        };
        assert!(line(application, &rated).ends_with("100 % of the time.\n-b asks for no more."));
    }

    #[test]
    fn pacing_inside_a_window_that_runs_out_goes_with_the_window() {
        // BBRv3 over 300 ms at 1 Gbit/s with a flow-control window of 6 MB, in virtual time.
        let times = LimitedTimes {
            congestion_window: Duration::from_millis(27),
            pacing: Duration::from_millis(302),
            flow_control: Duration::from_millis(671),
            ..LimitedTimes::default()
        };
        let text = line(times, &plan());
        assert!(
            text.starts_with("Limited by flow control, 97 % of the time.\n"),
            "{text}"
        );
    }

    #[test]
    fn a_full_socket_buffer_and_a_busy_core_are_named() {
        let mut round = fixtures::round("cubic", 0, 20_000_000);
        round.cpu_seconds_receiver = crate::result::Finite::new(round.seconds.get() * 0.95);
        let text = advice(&round, Some(17), &plan()).unwrap();
        for part in ["dropped 17 packets", "net.core.rmem_max=4194304"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(
            text.ends_with("The receiver's thread kept a core 95 % busy."),
            "{text}"
        );
        assert!(
            !advice(&round, Some(0), &plan())
                .unwrap()
                .contains("dropped")
        );
    }

    #[test]
    fn without_the_senders_report_nothing_is_claimed() {
        let mut round = fixtures::round("cubic", 0, 20_000_000);
        round.limited_by = None;
        assert_eq!(advice(&round, None, &plan()), None);
    }
}
