use super::page::{letter, link};
use crate::date;
use crate::plot::escape;
use crate::result::{AbResult, Comparison, Decision, Finite, Metric, Summary, Variant};
use crate::table::{Scale, queue_delay_source, significant};

/// What was tested, as names and values.
pub(super) fn entries(result: &AbResult) -> Vec<(&'static str, String)> {
    let rounds = result.variants.iter().map(|variant| variant.rounds.len());
    let rounds = rounds.max().unwrap_or(0);
    let length = match result.round_seconds {
        Some(seconds) => format!("{rounds} × {seconds} s each"),
        None => format!("{rounds} each"),
    };
    let mut entries = vec![
        ("Link", link(&result.link)),
        ("Return link", link(&result.return_link)),
        ("Rounds", length),
        ("Seed", result.seed.to_string()),
        (
            "Time",
            if result.is_virtual { "virtual" } else { "real" }.to_owned(),
        ),
    ];
    if let Some(rtt) = result.base_rtt_ms {
        entries.insert(2, ("Empty path", format!("{rtt} ms round trip")));
    }
    if let Some(omitted) = result
        .omit_seconds
        .filter(|omitted| *omitted > Finite::ZERO)
    {
        entries.push(("Warm-up", format!("{omitted} s left out")));
    }
    if let Some(source) = queue_delay_source(result) {
        entries.push(("Queueing delay", source.to_string()));
    }
    if let Some(started) = result.started_unix_seconds {
        entries.push(("Started", date::utc(started)));
    }
    entries
}

/// Medians, intervals and ratios; nothing without two variants.
pub(super) fn table(page: &mut String, result: &AbResult) {
    let Some((a, b)) = result.pair() else { return };
    page.push_str(&format!(
        "<div class=\"scroll\">\n<table class=\"result\">\n<caption>Median of the rounds, below it \
         its 95 % interval</caption>\n<thead><tr><th scope=\"col\">Metric</th>\
         <th scope=\"col\">{}</th><th scope=\"col\">{}</th><th scope=\"col\">b / a</th>\
         <th scope=\"col\"><span class=\"word\">Reading</span></th></tr></thead>\n<tbody>\n",
        side(a),
        side(b)
    ));
    for metric in Metric::ALL {
        let sides = [a.summary.get(&metric), b.summary.get(&metric)];
        if sides != [None, None] {
            row(page, metric, sides, result.comparison.get(&metric));
        }
    }
    page.push_str("</tbody>\n</table>\n</div>\n");
}

/// A variant in the head of a column, without the parameters of its controller.
fn side(variant: &Variant) -> String {
    format!(
        "{}\u{a0}{}",
        letter(&variant.name),
        escape(variant.controller())
    )
}

fn row(
    page: &mut String,
    metric: Metric,
    sides: [Option<&Summary>; 2],
    comparison: Option<&Comparison>,
) {
    let largest = sides.into_iter().flatten().map(|side| side.median.get());
    let scale = Scale::of(metric, largest.fold(0.0, f64::max));
    page.push_str(&format!(
        "<tr><th scope=\"row\">{} <span class=\"unit\">{}</span></th>",
        metric.label(),
        scale.unit
    ));
    for side in sides {
        cell(page, side.map(|s| (s.median, s.low, s.high)), |v| {
            scale.show(v)
        });
    }
    let ratio = comparison.and_then(|c| Some((c.ratio_b_over_a?, c.low, c.high)));
    cell(page, ratio, significant);
    let reading = comparison.map_or("", |comparison| reading(metric, comparison.decision));
    page.push_str(&format!("<td class=\"reading\">{reading}</td></tr>\n"));
}

type Estimate = (Finite, Option<Finite>, Option<Finite>);

fn cell(page: &mut String, estimate: Option<Estimate>, show: impl Fn(f64) -> String) {
    let Some((centre, low, high)) = estimate else {
        page.push_str("<td>–</td>");
        return;
    };
    page.push_str(&format!("<td>{}", show(centre.get())));
    if let (Some(low), Some(high)) = (low, high) {
        page.push_str(&format!(
            "<span class=\"interval\">{}–{}</span>",
            show(low.get()),
            show(high.get())
        ));
    }
    page.push_str("</td>");
}

fn reading(metric: Metric, decision: Decision) -> &'static str {
    let b_is_better = match decision {
        Decision::TooFewRounds => return TOO_FEW,
        Decision::Same => return SAME,
        Decision::BHigher => metric.higher_is_better(),
        Decision::BLower => !metric.higher_is_better(),
    };
    if b_is_better {
        "<span class=\"chip chip-b\">b</span><span class=\"word\"> better</span>"
    } else {
        "<span class=\"chip chip-a\">a</span><span class=\"word\"> better</span>"
    }
}

/// A phone has room for a sign only.
const TOO_FEW: &str =
    "<span class=\"unit word\">too few to tell</span><span class=\"sign\">?</span>";
const SAME: &str = "<span class=\"unit word\">the same</span><span class=\"sign\">=</span>";
