use super::page::named;
use super::reading::{reading, scale, singles, singles_caption};
use crate::result::{
    AbResult, Challenger, Comparison, Competition, Finite, Metric, Summary, Variant,
};
use crate::stats::Ranking;
use crate::text::{self, Scale, significant};

/// Who is where by goodput, and what that costs against `a`.
pub(super) fn ranked(page: &mut String, result: &AbResult, ranking: &Ranking<'_>) {
    let metrics = [Metric::GoodputBitsPerSecond, Metric::RttMsP95];
    let scales = metrics.map(|metric| {
        let summaries = result.variants.iter();
        scale(
            metric,
            summaries.map(|variant| variant.summary.get(&metric)),
        )
    });
    page.push_str(
        "<section>\n<div class=\"scroll\">\n<table class=\"result ranked\">\n<caption>By median \
         goodput; where the intervals of two overlap, their order may be chance\
         </caption>\n<thead><tr><th scope=\"col\">No.</th><th scope=\"col\">Variant</th>",
    );
    for (metric, scale) in metrics.iter().zip(&scales) {
        page.push_str(&format!(
            "<th scope=\"col\">{} <span class=\"unit\">{}</span></th>",
            metric.label(),
            scale.unit
        ));
    }
    page.push_str("<th scope=\"col\">Against a</th></tr></thead>\n<tbody>\n");
    for (place, (variant, against)) in (1..).zip(&ranking.places) {
        page.push_str(&format!(
            "<tr><td>{place}</td><th scope=\"row\">{}</th>",
            named(result, variant)
        ));
        for (metric, scale) in metrics.iter().zip(&scales) {
            let side = variant.summary.get(metric);
            let side = side.map(|side| summary(side, |value| scale.show(value)));
            page.push_str(&format!("<td>{}</td>", side.as_deref().unwrap_or("–")));
        }
        let against = against.as_deref().unwrap_or("the reference");
        page.push_str(&format!("<td class=\"text\">{against}</td></tr>\n"));
    }
    page.push_str("</tbody>\n</table>\n</div>\n</section>\n");
}

/// Medians and intervals of more than two variants, each with its ratio to `a`: a column per
/// variant.
pub(super) fn table(
    page: &mut String,
    result: &AbResult,
    a: &Variant,
    challengers: &[Challenger<'_>],
) {
    page.push_str(&format!(
        "<div class=\"scroll\">\n<table class=\"result several\">\n<caption>Median of the rounds, \
         its 95 % interval{}, and the ratio to a</caption>\n<thead><tr><th \
         scope=\"col\">Metric</th>",
        singles_caption(result)
    ));
    let variants = || [a].into_iter().chain(challengers.iter().map(|c| c.variant));
    for variant in variants() {
        page.push_str(&format!(
            "<th scope=\"col\">{}</th>",
            named(result, variant)
        ));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for metric in result.own_metrics() {
        let summaries = variants().map(|variant| variant.summary.get(&metric));
        let summaries: Vec<Option<&Summary>> = summaries.collect();
        if summaries.iter().any(Option::is_some) {
            row(page, result, metric, challengers);
        }
    }
    page.push_str("</tbody>\n</table>\n</div>\n");
}

fn row(page: &mut String, result: &AbResult, metric: Metric, challengers: &[Challenger<'_>]) {
    let a = &result.variants[0];
    let variants = || [a].into_iter().chain(challengers.iter().map(|c| c.variant));
    let scale = scale(
        metric,
        variants().map(|variant| variant.summary.get(&metric)),
    );
    page.push_str(&format!(
        "<tr><th scope=\"row\">{} <span class=\"unit\">{}</span></th>",
        metric.label(),
        scale.unit
    ));
    let comparisons = challengers.iter().map(|challenger| {
        let comparison = challenger.comparison?.get(&metric)?;
        Some((challenger.variant.name.as_str(), comparison))
    });
    let comparisons = [None].into_iter().chain(comparisons);
    for (variant, comparison) in variants().zip(comparisons) {
        cell(page, result, metric, variant, scale, comparison);
    }
    page.push_str("</tr>\n");
}

fn cell(
    page: &mut String,
    result: &AbResult,
    metric: Metric,
    variant: &Variant,
    scale: Scale,
    comparison: Option<(&str, &Comparison)>,
) {
    let Some(summary) = variant.summary.get(&metric) else {
        page.push_str("<td>–</td>");
        return;
    };
    page.push_str(&format!("<td>{}", scale.show(summary.median.get())));
    if let Some((low, high)) = summary.low.zip(summary.high) {
        page.push_str(&interval(low, high, |value| scale.show(value)));
    }
    page.push_str(&singles(variant, metric, scale));
    if let Some((name, comparison)) = comparison {
        let ratio = comparison.ratio_b_over_a;
        let ratio = ratio.map_or_else(String::new, |r| format!("× {} ", text::ratio(r.get())));
        page.push_str(&format!(
            "<span class=\"ratio\">{ratio}{}</span>",
            reading(result, metric, comparison.decision, name)
        ));
    }
    page.push_str("</td>");
}

fn interval(low: Finite, high: Finite, show: impl Fn(f64) -> String) -> String {
    format!(
        "<span class=\"interval\">{}–{}</span>",
        show(low.get()),
        show(high.get())
    )
}

/// How variants that ran at once shared the link; nothing for those that did not.
pub(super) fn competition(page: &mut String, result: &AbResult) {
    let Some(competition) = &result.competition else {
        return;
    };
    shares(page, result, competition);
    page.push_str("</tbody>\n</table>\n<dl class=\"parameters\">\n");
    let seconds = |value: f64| format!("{} s", significant(value));
    let percent = |value: f64| format!("{} %", significant(value * 100.0));
    let converged = competition.convergence_seconds.as_ref();
    let converged = converged.map(|time| {
        let (of, all) = (time.rounds, competition.rounds.len());
        format!(
            "{} after the last flow started, in {of} of {all} rounds",
            summary(time, seconds)
        )
    });
    let used = competition
        .link_utilisation
        .as_ref()
        .map(|used| summary(used, percent));
    let figures = [
        (
            "Jain's index",
            Some(summary(&competition.jain_index, significant)),
        ),
        (
            "Fair after",
            Some(converged.unwrap_or_else(|| "never, in any round".to_owned())),
        ),
        ("Link utilisation", used),
        ("Queue of all, p50, p95, p99", queue_of_all(result)),
    ];
    for (name, value) in figures {
        if let Some(value) = value {
            page.push_str(&format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n"));
        }
    }
    page.push_str("</dl>\n</div>\n");
}

/// The quantiles of the queue that all variants had, where it is one.
fn queue_of_all(result: &AbResult) -> Option<String> {
    let quantiles = result.shared_queue()?;
    let quantiles = quantiles.iter().map(|(_, ms)| significant(ms.get()));
    Some(format!("{} ms", quantiles.collect::<Vec<_>>().join(", ")))
}

/// The rows of a table without its end: every variant's share, and its delay.
fn shares(page: &mut String, result: &AbResult, competition: &Competition) {
    let flows: u32 = result.variants.iter().map(|variant| variant.flows).sum();
    page.push_str(
        "<div class=\"scroll\">\n<table class=\"result several\">\n<caption>All at once: shares of \
         goodput</caption>\n<thead><tr><th scope=\"col\">Variant</th>",
    );
    for (name, unit) in [
        ("Flows", ""),
        ("Start", "s"),
        ("Share", "%"),
        ("Fair", "%"),
        ("RTT p95", "ms"),
    ] {
        page.push_str(&format!(
            "<th scope=\"col\">{name} <span class=\"unit\">{unit}</span></th>"
        ));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    let percent = |value: f64| significant(value * 100.0);
    for variant in &result.variants {
        let share = competition.shares.get(&variant.name);
        let delay = variant.summary.get(&Metric::RttMsP95);
        let fair = f64::from(variant.flows) / f64::from(flows.max(1));
        page.push_str(&format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{}</td></tr>\n",
            named(result, variant),
            variant.flows,
            variant.start_seconds,
            share.map_or_else(|| "–".to_owned(), |share| summary(share, percent)),
            percent(fair),
            delay.map_or_else(|| "–".to_owned(), |delay| summary(delay, significant))
        ));
    }
}

fn summary(summary: &Summary, show: impl Fn(f64) -> String) -> String {
    let median = show(summary.median.get());
    match summary.low.zip(summary.high) {
        Some((low, high)) => format!("{median}{}", interval(low, high, show)),
        None => median,
    }
}
