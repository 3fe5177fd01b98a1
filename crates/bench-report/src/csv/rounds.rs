use super::line::{line, shown};
use crate::result::{AbResult, LimitedBy, Metric, QueueDelaySource, Round, Variant};

/// A row per round with all of its figures, below a row of names with their units. What is not
/// known is empty.
pub fn rounds(result: &AbResult) -> String {
    let mut text = String::new();
    for row in round_rows(result) {
        line(&mut text, row);
    }
    text
}

/// The same as fields, the names first.
pub(crate) fn round_rows(result: &AbResult) -> Vec<Vec<String>> {
    let columns = columns();
    let mut rows = vec![columns.iter().map(|(name, _)| name.clone()).collect()];
    for variant in &result.variants {
        for round in &variant.rounds {
            let fields = columns.iter();
            let fields = fields.map(|(_, of)| of(variant, round).unwrap_or_default());
            rows.push(fields.collect());
        }
    }
    rows
}

type Column = (String, Box<dyn Fn(&Variant, &Round) -> Option<String>>);

fn columns() -> Vec<Column> {
    let mut columns = vec![
        column("variant", |variant, _| Some(variant.name.clone())),
        column("cc", |variant, _| Some(variant.cc.clone())),
        column("block", |_, round| Some(round.block.to_string())),
        column("order", |_, round| Some(round.order.to_string())),
        column("error", |_, round| round.error.clone()),
        column("streams", |_, round| Some(round.streams.to_string())),
        column("seconds", |_, round| Some(round.seconds.to_string())),
        column("bytes", |_, round| Some(round.bytes.to_string())),
        column("packets_sent", |_, round| shown(round.packets_sent)),
        column("packets_lost", |_, round| shown(round.packets_lost)),
        column("ecn_ce_packets", |_, round| shown(round.ecn_ce_packets)),
        column("rtt_ms_min", |_, round| shown(round.rtt_ms.min)),
        column("rtt_ms_max", |_, round| shown(round.rtt_ms.max)),
        column("queue_delay_source", |_, round| {
            source(round.queue_delay_source?)
        }),
        column("cpu_seconds_sender", |_, round| {
            shown(round.cpu_seconds_sender)
        }),
        column("cpu_seconds_receiver", |_, round| {
            shown(round.cpu_seconds_receiver)
        }),
    ];
    for metric in Metric::ALL {
        columns.push((
            metric.name(),
            Box::new(move |_, round| shown(metric.of(round))),
        ));
    }
    for (name, of) in LIMITS {
        columns.push(column(name, move |_, round| {
            shown(round.limited_by.as_ref().map(of))
        }));
    }
    columns.push(column("server", |variant, _| {
        Some(variant.server.as_ref()?.name.clone())
    }));
    columns
}

fn column(name: &str, of: impl Fn(&Variant, &Round) -> Option<String> + 'static) -> Column {
    (name.to_owned(), Box::new(of))
}

fn source(source: QueueDelaySource) -> Option<String> {
    let value = serde_json::to_value(source).ok()?;
    value.as_str().map(str::to_owned)
}

type Limit = (&'static str, fn(&LimitedBy) -> crate::result::Finite);

const LIMITS: [Limit; 5] = [
    ("limited_by_application", |limited| limited.application),
    ("limited_by_congestion_window", |limited| {
        limited.congestion_window
    }),
    ("limited_by_pacing", |limited| limited.pacing),
    ("limited_by_flow_control", |limited| limited.flow_control),
    ("limited_by_host", |limited| limited.host),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::result::LimitedTimes;
    use std::time::Duration;

    #[test]
    fn every_round_has_a_row_with_its_figures_by_their_names() {
        let mut result = fixtures::ab();
        result.variants[0].rounds[1].error = Some("lost, \"gone\"".to_owned());
        let millis = Duration::from_millis;
        result.variants[0].rounds[0].limited_by = LimitedBy::from_times(LimitedTimes {
            application: millis(10),
            congestion_window: millis(50),
            pacing: millis(20),
            flow_control: millis(5),
            host: millis(15),
        });
        let text = rounds(&result);
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap().split(',').collect();
        let first: Vec<&str> = lines.next().unwrap().split(',').collect();
        assert_eq!(names.len(), first.len());
        let of = |name: &str| first[names.iter().position(|n| *n == name).unwrap()];
        assert_eq!(of("goodput_bits_per_second"), "21300000");
        assert_eq!((of("rtt_ms_min"), of("rtt_ms_p95")), ("40", "42"));
        assert_eq!(
            (of("queue_delay_source"), of("limited_by_pacing")),
            ("link", "0.2")
        );
        assert_eq!((of("error"), of("ecn_ce_packets")), ("", "0"));
        assert_eq!((of("rtt_ms_max"), of("rtt_ms_p99")), ("44", "43"));
        let limits = ["application", "congestion_window", "flow_control", "host"];
        let limits = limits.map(|limit| of(&format!("limited_by_{limit}")));
        assert_eq!(limits, ["0.1", "0.5", "0.05", "0.15"]);
        assert!(lines.next().unwrap().contains("\"lost, \"\"gone\"\"\""));
        assert_eq!(text.lines().count(), 1 + 6);
    }
}
