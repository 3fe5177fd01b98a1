use super::page::{self, Shell, figure, letter};
use super::{rounds, several, summary};
use crate::plot::{self, escape};
use crate::result::{AbResult, Variant};
use crate::stats::verdict;

/// The report of an A/B test.
pub(super) fn html(result: &AbResult) -> String {
    let mut main = String::new();
    page::parameters(&mut main, summary::entries(result));
    let has_many = result.variants.len() > 2;
    if has_many {
        // As wide as the page.
        main.push_str("<section>\n");
        summary::table(&mut main, result);
        main.push_str("</section>\n");
    }
    main.push_str("<section class=\"columns\">\n<div class=\"stack\">\n");
    if !has_many {
        summary::table(&mut main, result);
    }
    several::competition(&mut main, result);
    figure(&mut main, &plot::limits(result), LIMITS);
    main.push_str("</div>\n<div class=\"stack\">\n");
    figure(&mut main, &plot::forest(result), FOREST);
    figure(&mut main, &plot::goodput_delay(result), SCATTER);
    main.push_str("</div>\n</section>\n<section>\n<h2>Side by side</h2>\n");
    main.push_str("<div class=\"columns\">\n");
    if let Some(share) = plot::share(result) {
        figure(&mut main, &share, SHARE);
    }
    figure(&mut main, &plot::goodput(result), OVERLAY);
    figure(&mut main, &plot::rtt(result), OVERLAY);
    figure(&mut main, &plot::rtt_cdf(result), DISTRIBUTION);
    figure(&mut main, &plot::rtt_ccdf(result), TAIL);
    main.push_str("</div>\n</section>\n");
    courses(&mut main, result);
    rounds::table(&mut main, result);
    Shell {
        brand: "A/B test of congestion controllers",
        heading: &heading(result),
        verdict: &verdict(result),
        alert: alert(result),
        method: METHOD,
        version: &result.version,
    }
    .page(&main)
}

fn heading(result: &AbResult) -> String {
    if let Some(title) = &result.title {
        return title.clone();
    }
    match result.variants.as_slice() {
        [a, b] => format!("{} against {}", b.cc, a.cc),
        [a, others @ ..] if !others.is_empty() => {
            let others: Vec<&str> = others.iter().map(|other| other.cc.as_str()).collect();
            format!("{} against {}", others.join(", "), a.cc)
        }
        _ => "Nothing was compared".to_owned(),
    }
}

fn alert(result: &AbResult) -> Option<String> {
    let failed = result.variants.iter().flat_map(|variant| &variant.rounds);
    let failed = failed.filter(|round| !round.succeeded()).count();
    if result.complete && failed == 0 {
        return None;
    }
    let error = result
        .error
        .as_deref()
        .unwrap_or("not every round succeeded");
    let error = error.trim_end_matches('.');
    Some(format!(
        "{error}. Failed rounds: {failed}; they count for nothing."
    ))
}

/// What happened inside each variant, all in the same axes.
fn courses(page: &mut String, result: &AbResult) {
    page.push_str("<section>\n<h2>Inside the controllers</h2>\n<div class=\"columns\">\n");
    for (index, variant) in result.variants.iter().enumerate() {
        if let Some(course) = plot::course(result, index) {
            page.push_str(&format!(
                "<figure>\n<h3>{}</h3>\n{}<figcaption>{COURSE}</figcaption>\n</figure>\n",
                chip(variant),
                course.inline()
            ));
        }
    }
    page.push_str("</div>\n</section>\n");
}

/// The variant's letter in its colour, and its controller.
fn chip(variant: &Variant) -> String {
    format!("{}\u{a0}{}", letter(&variant.name), escape(&variant.cc))
}

const FOREST: &str = "Each metric against the same metric of a, paired by block: the median ratio \
                      and its 95 % interval.";
const SCATTER: &str = "A dot for each round, a ring at the medians.";
const SHARE: &str = "The block whose index of fairness is the median, over half seconds or more; \
                     the index is over the connections that had started. Thin: the other blocks.";
const OVERLAY: &str = "Bold: the round of the median goodput. Thin: others, at most eight. Grey: \
                       warm-up, left out of the figures.";
const DISTRIBUTION: &str = "All samples of a variant, each round weighing the same; the longest of \
                            two hundred are left to the figure beside.";
const TAIL: &str =
    "The same samples from the other end: how many are longer, on a logarithmic axis.";
const LIMITS: &str = "Why the sender was not sending, in the mean over the rounds. A controller is \
                      at work where window or pacing hold it back.";
const COURSE: &str = "Bold, the line without colour, the states and the losses: the round of the \
                      median goodput. Thin: others, at most eight. All columns have the same axes.";
const METHOD: &str = "Rounds run interleaved in mirrored blocks and are compared in pairs. Centres \
                      are medians. Intervals are seeded percentile bootstraps, widened for few \
                      rounds; at 95 % each, one metric in twenty may mislead. The same: the whole \
                      interval is within 5 % of a ratio of one. Too few to tell: the interval \
                      contains one and more, which is not the same as equal.";
