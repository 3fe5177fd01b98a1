//! Results that were saved, in one page.

use super::data;
use super::page::{self, BOXES, Shell, figure, named};
use crate::plot::{self, escape};
use crate::result::{AbResult, Finite, Metric, SCHEMA_VERSION, Variant};
use crate::text::Scale;

/// A result that was saved, by the name that it has beside others.
#[derive(Debug, Clone)]
pub struct Saved {
    /// What the reader tells it from the others by.
    pub name: String,
    /// The result, a run as [`as_ab`](super::as_ab) has it.
    pub result: AbResult,
    /// Whether nothing was sent but requests, as by `run --ping`: such a run has no goodput, rather
    /// than one of zero.
    pub is_idle: bool,
}

/// Saved results as the variants of one, in their order: a run is one variant, and an A/B test as
/// many as it has. Nothing is concluded. What belongs to the path is kept where all have the same.
pub fn gathered(saved: &[Saved]) -> AbResult {
    let variants = saved.iter().flat_map(|Saved { name, result, .. }| {
        let is_alone = result.variants.len() == 1;
        result.variants.iter().map(move |variant| Variant {
            run: Some(match is_alone {
                true => name.clone(),
                false => format!("{name}: {}", variant.label()),
            }),
            ..variant.clone()
        })
    });
    let letters = ('a'..='z').map(String::from);
    let variants = letters.zip(variants);
    let variants = variants.map(|(name, variant)| Variant { name, ..variant });
    AbResult {
        schema_version: SCHEMA_VERSION,
        complete: saved.iter().all(|saved| saved.result.complete),
        version: common(saved, |result| result.version.clone()),
        is_virtual: saved.iter().all(|saved| saved.result.is_virtual),
        link: common(saved, |result| result.link.clone()),
        return_link: common(saved, |result| result.return_link.clone()),
        link_rate_bits_per_second: common(saved, |result| result.link_rate_bits_per_second),
        base_rtt_ms: common(saved, |result| result.base_rtt_ms),
        variants: variants.collect(),
        ..AbResult::default()
    }
}

/// What all have, or else the default.
fn common<T: PartialEq + Default>(saved: &[Saved], of: impl Fn(&AbResult) -> T) -> T {
    let mut values = saved.iter().map(|saved| of(&saved.result));
    let first = values.next().unwrap_or_default();
    if values.all(|value| value == first) {
        first
    } else {
        T::default()
    }
}

/// The page of [`gathered`] results. `title` and `note` are the reader's.
pub(super) fn html(saved: &[Saved], title: Option<&str>, note: Option<&str>) -> String {
    let result = &gathered(saved);
    let mut main = String::new();
    table(&mut main, saved, result);
    main.push_str("<section class=\"columns\">\n");
    figure(&mut main, &plot::arrivals(result), BOLD);
    let with_caption = [
        (plot::boxes(result), BOXES),
        (Some(plot::rtt(result)), BOLD),
        (Some(plot::window(result)), BOLD),
        (Some(plot::rtt_cdf(result)), CDF),
        (Some(plot::rtt_ccdf(result)), TAIL),
    ];
    for (drawn, caption) in with_caption {
        if let Some(drawn) = drawn {
            figure(&mut main, &drawn, caption);
        }
    }
    for drawn in plot::datagrams(result).into_iter().flatten() {
        figure(&mut main, &drawn, BOLD);
    }
    figure(&mut main, &plot::limits(result), "");
    main.push_str("</section>\n");
    let names: Vec<&str> = saved.iter().map(|saved| saved.name.as_str()).collect();
    Shell {
        brand: "Saved results",
        heading: &title.map_or_else(|| names.join(", "), str::to_owned),
        note,
        headline: None,
        verdict: VERDICT,
        alert: alert(saved),
        command: None,
        data: data::block(result),
        method: METHOD,
        version: &result.version,
    }
    .page(&main)
}

/// A row for each variant.
fn table(page: &mut String, saved: &[Saved], result: &AbResult) {
    let sources = saved
        .iter()
        .flat_map(|saved| saved.result.variants.iter().map(move |_| saved));
    let figures: Vec<[Option<Finite>; METRICS.len()]> = result
        .variants
        .iter()
        .zip(sources.clone())
        .map(|(variant, source)| METRICS.map(|metric| figure_of(source, variant, metric)))
        .collect();
    let scale = |place: usize| {
        let values = figures.iter().filter_map(|row| Some(row[place]?.get()));
        Scale::of(METRICS[place], values.fold(0.0, f64::max))
    };
    page.push_str(
        "<section>\n<div class=\"scroll\">\n<table class=\"result saved\">\n<caption>Medians over \
         the rounds</caption>\n<thead><tr><th scope=\"col\">Result</th><th \
         scope=\"col\">Controller</th>",
    );
    for (place, metric) in METRICS.iter().enumerate() {
        page.push_str(&format!(
            "<th scope=\"col\">{} <span class=\"unit\">{}</span></th>",
            metric.label(),
            scale(place).unit
        ));
    }
    page.push_str(
        "<th scope=\"col\">Link</th><th scope=\"col\">Started</th></tr></thead>\n<tbody>\n",
    );
    let sources = sources.map(|saved| &saved.result);
    for ((variant, row), source) in result.variants.iter().zip(&figures).zip(sources) {
        page.push_str(&format!(
            "<tr><th scope=\"row\">{}</th><td class=\"text\">{}</td>",
            named(result, variant),
            escape(&variant.cc)
        ));
        for (place, value) in row.iter().enumerate() {
            let value = value.map(|value| scale(place).show(value.get()));
            page.push_str(&format!("<td>{}</td>", value.as_deref().unwrap_or("–")));
        }
        let started = source.started_unix_seconds.map(crate::date::utc);
        let started = match (source.is_virtual, started) {
            (true, _) => "virtual time".to_owned(),
            (false, started) => started.unwrap_or_else(|| "–".to_owned()),
        };
        page.push_str(&format!(
            "<td class=\"text\">{}</td><td class=\"text\">{started}</td></tr>\n",
            escape(&page::link(&source.link))
        ));
    }
    page.push_str("</tbody>\n</table>\n</div>\n</section>\n");
}

fn figure_of(source: &Saved, variant: &Variant, metric: Metric) -> Option<Finite> {
    let is_absent = source.is_idle && metric == Metric::GoodputBitsPerSecond;
    (!is_absent).then(|| median(variant, metric)).flatten()
}

/// Of the rounds that did not fail; the lower of the middle two.
fn median(variant: &Variant, metric: Metric) -> Option<Finite> {
    let rounds = variant.rounds.iter().filter(|round| round.succeeded());
    let mut values: Vec<Finite> = rounds.filter_map(|round| metric.of(round)).collect();
    values.sort_by(|one, other| one.get().total_cmp(&other.get()));
    values.get(values.len().saturating_sub(1) / 2).copied()
}

fn alert(saved: &[Saved]) -> Option<String> {
    let incomplete = saved.iter().filter(|saved| !saved.result.complete);
    let names: Vec<&str> = incomplete.map(|saved| saved.name.as_str()).collect();
    (!names.is_empty()).then(|| format!("Ended early: {}.", names.join(", ")))
}

const METRICS: [Metric; 4] = [
    Metric::GoodputBitsPerSecond,
    Metric::RttMsP50,
    Metric::RttMsP95,
    Metric::LossRate,
];
const VERDICT: &str = "These results were not measured in turn, so a difference may be that of the \
                       path or the machine; bench-client ab compares controllers.";
const BOLD: &str = "Of an A/B test the round with the median goodput.";
const CDF: &str = "All samples; the next figure shows the longest 0.5 %.";
const TAIL: &str = "The same samples as the share that is longer, on a logarithmic axis.";
const METHOD: &str = "Goodput is payload delivered in order to the receiving application. Rates of \
                      links and base RTTs are drawn where all results have the same.";
