use super::page::{self, Shell, figure};
use crate::plot;
use crate::result::{AbKind, AbResult, Finite, Metric, RunResult, SCHEMA_VERSION, Variant};
use crate::table::Scale;
use std::collections::BTreeMap;

/// The report of one run.
pub(super) fn html(result: &RunResult) -> String {
    let ab = as_ab(result);
    let mut main = String::new();
    page::parameters(&mut main, entries(result));
    main.push_str("<section class=\"columns\">\n<div class=\"stack\">\n");
    if let Some(course) = plot::course(&ab, 0) {
        figure(&mut main, &course, COURSE);
    }
    main.push_str("</div>\n<div class=\"stack\">\n");
    figure(&mut main, &plot::limits(&ab), LIMITS);
    figure(&mut main, &plot::rtt_cdf(&ab), DISTRIBUTION);
    figure(&mut main, &plot::rtt_ccdf(&ab), TAIL);
    main.push_str("</div>\n</section>\n");
    let to = &result.start.connecting_to;
    let heading = result.title.clone();
    Shell {
        brand: "Run of one congestion controller",
        heading: &heading.unwrap_or_else(|| format!("{} to {}", result.result.congestion, to.host)),
        verdict: &verdict(result),
        alert: alert(result),
        method: METHOD,
        version: &result.start.version,
    }
    .page(&main)
}

/// The run as an A/B test of one variant, whose figures are the same.
pub(super) fn as_ab(result: &RunResult) -> AbResult {
    AbResult {
        schema_version: SCHEMA_VERSION,
        kind: AbKind::Ab,
        complete: result.complete,
        error: result.error.clone(),
        title: result.title.clone(),
        version: result.start.version.clone(),
        seed: result.seed,
        is_virtual: result.is_virtual,
        started_unix_seconds: None,
        link: result.link.clone(),
        return_link: result.return_link.clone(),
        link_rate_bits_per_second: None,
        base_rtt_ms: None,
        round_seconds: Some(result.result.seconds),
        omit_seconds: None,
        variants: vec![Variant {
            name: "a".to_owned(),
            cc: result.result.congestion.clone(),
            flows: 1,
            start_seconds: Finite::ZERO,
            extra_delay_ms: Finite::ZERO,
            rounds: vec![result.result.clone()],
            summary: BTreeMap::new(),
        }],
        ..AbResult::default()
    }
}

fn entries(result: &RunResult) -> Vec<(&'static str, String)> {
    let to = &result.start.connecting_to;
    let mut entries = vec![
        ("Server", format!("{} port {}", to.host, to.port)),
        ("Controller", result.result.congestion.clone()),
        ("Measured", format!("{:.1} s", result.result.seconds.get())),
        ("Streams", result.result.streams.to_string()),
        ("Link", page::link(&result.link)),
        ("Return link", page::link(&result.return_link)),
    ];
    for metric in [
        Metric::RttMsP50,
        Metric::RttMsP95,
        Metric::RttMsP99,
        Metric::LossRate,
        Metric::BytesRetransmitted,
    ] {
        if let Some(value) = metric.of(&result.result) {
            entries.push((metric.label(), shown(metric, value)));
        }
    }
    if let Some(start) = &result.start.timestamp {
        entries.push(("Started", crate::date::utc(start.timesecs)));
    }
    entries
}

fn shown(metric: Metric, value: Finite) -> String {
    let scale = Scale::of(metric, value.get());
    format!("{} {}", scale.show(value.get()), scale.unit)
}

fn verdict(result: &RunResult) -> String {
    let goodput = Metric::GoodputBitsPerSecond.of(&result.result);
    let goodput = goodput.map_or_else(String::new, |goodput| {
        shown(Metric::GoodputBitsPerSecond, goodput)
    });
    let rtt = Metric::RttMsP95
        .of(&result.result)
        .map(|rtt| format!(" with a p95 RTT of {}", shown(Metric::RttMsP95, rtt)));
    format!(
        "{} had a goodput of {goodput}{}.",
        result.result.congestion,
        rtt.unwrap_or_default()
    )
}

fn alert(result: &RunResult) -> Option<String> {
    if result.complete {
        return None;
    }
    let error = result
        .error
        .as_deref()
        .unwrap_or("the run did not end as planned");
    Some(format!(
        "{}. What was measured until then is below.",
        error.trim_end_matches('.')
    ))
}

const COURSE: &str = "In colour: goodput, RTT, window and pacing, over the controller's states.";
const LIMITS: &str = "Why the sender was not sending.";
const DISTRIBUTION: &str = "All samples; the longest of two hundred are left to the figure below.";
const TAIL: &str = "The same samples from the other end, on a logarithmic axis.";
const METHOD: &str = "Goodput is payload as the receiving application got it, in order. The \
                      round-trip time is the smoothed one in the course of the run, and every \
                      sample of the sender in the distributions.";
