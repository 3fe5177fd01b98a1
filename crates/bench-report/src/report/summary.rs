use super::page::{link, named};
use super::reading::{reading, scale, singles, singles_caption};
use super::several;
use crate::date;
use crate::result::{AbResult, Finite, Metric, StoppingRule, Variant};
use crate::text::{self, amount, significant};

pub(super) fn entries(result: &AbResult) -> Vec<(&'static str, String)> {
    let rounds = result.variants.iter().map(|variant| variant.rounds.len());
    let rounds = rounds.max().unwrap_or(0);
    let length = match result.round_seconds {
        Some(seconds) if result.round_bytes.is_some() => {
            let bytes = amount(result.round_bytes.unwrap_or_default());
            format!("{rounds} × {bytes}, at most {seconds} s each")
        }
        Some(seconds) => format!("{rounds} × {seconds} s each"),
        None => format!("{rounds} per variant"),
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
        entries.insert(2, ("Base RTT", format!("{rtt} ms")));
    }
    if let Some(server) = &result.server {
        entries.insert(0, ("Server", server.clone()));
    }
    if result.compares_servers() {
        entries.insert(0, ("Senders", senders(result)));
        entries.push(("Unknown", UNKNOWN.to_owned()));
    }
    if let Some(until) = &result.until {
        entries.push(("Until", until_said(until)));
    }
    if let Some(omitted) = result
        .omit_seconds
        .filter(|omitted| *omitted > Finite::ZERO)
    {
        entries.push(("Warm-up", format!("{omitted} s, not counted")));
    }
    if let Some(source) = result.queue_delay_source() {
        entries.push(("Queueing delay", source.to_string()));
    }
    if let Some(started) = result.started_unix_seconds {
        entries.push(("Started", date::utc(started)));
    }
    entries
}

/// The servers with their addresses, where they have names beside those.
fn senders(result: &AbResult) -> String {
    let servers = result.variants.iter().filter_map(|variant| {
        let server = variant.server.as_ref()?;
        Some(match server.name == server.address {
            true => format!("{} {}", variant.name, server.address),
            false => format!("{} {} ({})", variant.name, server.name, server.address),
        })
    });
    servers.collect::<Vec<_>>().join(", ")
}

fn until_said(until: &StoppingRule) -> String {
    let percent = significant(until.half_width.get() * 100.0);
    let reached = if until.reached {
        "reached"
    } else {
        "not reached"
    };
    format!("ratio of goodput within ±{percent} %, {reached}")
}

/// Medians, intervals and ratios; nothing without two variants, and another table with more.
pub(super) fn table(page: &mut String, result: &AbResult) {
    let Some((a, challengers)) = result.challengers() else {
        return;
    };
    let b = match challengers.as_slice() {
        [b] => b.variant,
        _ => return several::table(page, result, a, &challengers),
    };
    page.push_str(&format!(
        "<div class=\"scroll\">\n<table class=\"result\">\n<caption>Median of the rounds and its \
         95 % interval{}</caption>\n<thead><tr><th scope=\"col\">Metric</th><th \
         scope=\"col\">{}</th><th scope=\"col\">{}</th><th scope=\"col\">b / a</th><th \
         scope=\"col\"><span class=\"word\">Reading</span></th></tr></thead>\n<tbody>\n",
        singles_caption(result),
        named(result, a),
        named(result, b)
    ));
    for metric in result.own_metrics() {
        let sides = [a.summary.get(&metric), b.summary.get(&metric)];
        if sides != [None, None] {
            row(page, result, metric, [a, b]);
        }
    }
    page.push_str("</tbody>\n</table>\n</div>\n");
}

fn row(page: &mut String, result: &AbResult, metric: Metric, variants: [&Variant; 2]) {
    let comparison = result.comparison.get(&metric);
    let scale = scale(metric, variants.map(|variant| variant.summary.get(&metric)));
    page.push_str(&format!(
        "<tr><th scope=\"row\">{} <span class=\"unit\">{}</span></th>",
        metric.label(),
        scale.unit
    ));
    for variant in variants {
        let side = variant.summary.get(&metric);
        let side = side.map(|s| (s.median, s.low, s.high));
        cell(
            page,
            side,
            |v| scale.show(v),
            &singles(variant, metric, scale),
        );
    }
    let ratio = comparison.and_then(|c| Some((c.ratio_b_over_a?, c.low, c.high)));
    cell(page, ratio, text::ratio, "");
    let reading = comparison.map(|comparison| reading(result, metric, comparison.decision, "b"));
    let reading = reading.unwrap_or_default();
    page.push_str(&format!("<td class=\"reading\">{reading}</td></tr>\n"));
}

type Estimate = (Finite, Option<Finite>, Option<Finite>);

fn cell(
    page: &mut String,
    estimate: Option<Estimate>,
    show: impl Fn(f64) -> String,
    singles: &str,
) {
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
    page.push_str(&format!("{singles}</td>"));
}

const UNKNOWN: &str = "losses, RTTs, windows and CPU times of the senders";
