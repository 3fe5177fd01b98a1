//! The report of an A/B test: one HTML file that needs nothing else.
//!
//! No script, no font, no picture from elsewhere: its own content security policy forbids them, so
//! that the file opens without network and a hostile name in it can do nothing. It follows the
//! reader's light or dark scheme and prints in light.

mod rounds;
mod summary;

use crate::plot::{self, Figure, escape};
use crate::result::{AbResult, Variant};
use crate::stats::verdict;

/// The report of `result`.
///
/// The page is well-formed XML as well, so that any parser can check it. Its size is bounded by the
/// number of variants and the limits of [`plot`], except for the table of rounds, which has a row
/// for each.
pub fn html(result: &AbResult) -> String {
    let mut page = String::new();
    head(&mut page, result);
    header(&mut page, result);
    page.push_str("<main>\n");
    summary::parameters(&mut page, result);
    page.push_str("<section class=\"columns\">\n");
    summary::table(&mut page, result);
    page.push_str("<div class=\"stack\">\n");
    figure(&mut page, &plot::forest(result), FOREST);
    figure(&mut page, &plot::goodput_delay(result), SCATTER);
    figure(&mut page, &plot::limits(result), LIMITS);
    page.push_str("</div>\n</section>\n<section>\n<h2>Side by side</h2>\n");
    page.push_str("<div class=\"columns\">\n");
    figure(&mut page, &plot::goodput(result), OVERLAY);
    figure(&mut page, &plot::rtt(result), OVERLAY);
    figure(&mut page, &plot::rtt_cdf(result), DISTRIBUTION);
    figure(&mut page, &plot::rtt_ccdf(result), TAIL);
    page.push_str("</div>\n</section>\n");
    courses(&mut page, result);
    rounds::table(&mut page, result);
    page.push_str("</main>\n");
    footer(&mut page, result);
    page.push_str("</body>\n</html>\n");
    page
}

fn head(page: &mut String, result: &AbResult) {
    let title = escape(&heading(result));
    page.push_str(&format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <title>{title}</title>\n<style>\n{PAGE_STYLE}{}{}\n</style>\n</head>\n<body>\n",
        plot::chips(),
        plot::stylesheet()
    ));
}

fn header(page: &mut String, result: &AbResult) {
    page.push_str(&format!(
        "<header>\n<p class=\"brand\">Paceline \
         <span>A/B test of congestion controllers</span></p>\n\
         <h1>{}</h1>\n<p class=\"verdict\">{}</p>\n",
        escape(&heading(result)),
        escape(&verdict(result))
    ));
    let failed = result.variants.iter().flat_map(|variant| &variant.rounds);
    let failed = failed.filter(|round| !round.succeeded()).count();
    if !result.complete || failed > 0 {
        let error = result
            .error
            .as_deref()
            .unwrap_or("not every round succeeded");
        page.push_str(&format!(
            "<p class=\"alert\" role=\"alert\"><strong>Incomplete.</strong> {}. Failed rounds: \
             {failed}; they count for nothing.</p>\n",
            escape(error.trim_end_matches('.'))
        ));
    }
    page.push_str("</header>\n");
}

fn heading(result: &AbResult) -> String {
    match (&result.title, result.pair()) {
        (Some(title), _) => title.clone(),
        (None, Some((a, b))) => format!("{} against {}", b.cc, a.cc),
        (None, None) => "Nothing was compared".to_owned(),
    }
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

fn figure(page: &mut String, figure: &Figure, caption: &str) {
    page.push_str(&format!(
        "<figure>\n{}<figcaption>{caption}</figcaption>\n</figure>\n",
        figure.inline()
    ));
}

fn footer(page: &mut String, result: &AbResult) {
    page.push_str(&format!(
        "<footer>\n<p>{METHOD}</p>\n<p>{}</p>\n</footer>\n",
        escape(&result.version)
    ));
}

/// The variant's letter in its colour, and its controller.
fn chip(variant: &Variant) -> String {
    format!("{}\u{a0}{}", letter(variant), escape(&variant.cc))
}

/// The variant's letter in its colour.
fn letter(variant: &Variant) -> String {
    format!(
        "<span class=\"chip chip-{0}\">{0}</span>",
        escape(&variant.name)
    )
}

const PAGE_STYLE: &str = include_str!("report/style.css");

/// Styles of this file, and nothing else from anywhere.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

const FOREST: &str = "Each metric of b against the same metric of a, paired by block: the median \
                      ratio and its 95 % interval.";
const SCATTER: &str = "A dot for each round, a ring at the medians.";
const OVERLAY: &str = "Bold: the round of the median goodput. Thin: others, at most eight. Grey: \
                       warm-up, left out of the figures.";
const DISTRIBUTION: &str = "All samples of a variant, each round weighing the same; the longest of \
                            two hundred are left to the figure beside.";
const TAIL: &str =
    "The same samples from the other end: how many are longer, on a logarithmic axis.";
const LIMITS: &str = "Why the sender was not sending, in the mean over the rounds. A controller is at \
                      work where window or pacing hold it back.";
const COURSE: &str = "Bold, the line without colour, the states and the losses: the round of the \
                      median goodput. Thin: others, at most eight. All columns have the same axes.";
const METHOD: &str = "Rounds run interleaved in mirrored blocks and are compared in pairs. Centres \
                      are medians. Intervals are seeded percentile bootstraps, widened for few \
                      rounds; at 95 % each, one metric in twenty may mislead. The same: the whole \
                      interval is within 5 % of a ratio of one. Too few to tell: the interval \
                      contains one and more, which is not the same as equal.";

#[cfg(test)]
mod tests;
