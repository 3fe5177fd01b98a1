//! What held a run back, and what to change.

use crate::plan::Plan;
use crate::result::{LimitedBy, Round};
use crate::table::amount;

/// Two lines for the end of a run; `None` when the sender did not tell.
pub(crate) fn advice(round: &Round, plan: &Plan) -> Option<String> {
    let limited = round.limited_by?;
    let (limit, share) = largest(&limited);
    Some(format!(
        "Limited by {}, {:.0} % of the time.\n{}",
        limit.name(round),
        share * 100.0,
        limit.remedy(round, plan)
    ))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    Application,
    Congestion,
    FlowControl,
    Host,
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
        advice(&round, plan).unwrap()
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
    fn without_the_senders_report_nothing_is_claimed() {
        let mut round = fixtures::round("cubic", 0, 20_000_000);
        round.limited_by = None;
        assert_eq!(advice(&round, &plan()), None);
    }
}
