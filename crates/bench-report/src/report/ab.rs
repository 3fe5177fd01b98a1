use super::page::{self, BOXES, Shell, drawing, figure, letter, reason};
use super::{baseline, data, rounds, several, summary};
use crate::plot::{self, Figure, escape};
use crate::result::{AbResult, Variant};
use crate::stats::{headline, ranking, verdict};

pub(super) fn html(result: &AbResult) -> String {
    let mut main = String::new();
    let ranking = ranking(result);
    if let Some(ranking) = &ranking {
        several::ranked(&mut main, result, ranking);
    }
    page::parameters(&mut main, summary::entries(result));
    let has_many = result.variants.len() > 2;
    let knows_senders = !result.compares_servers();
    if has_many {
        // As wide as the page.
        main.push_str("<section>\n");
        summary::table(&mut main, result);
        main.push_str("</section>\n");
    }
    in_short(&mut main, result, has_many);
    side_by_side(&mut main, result);
    if knows_senders {
        series(&mut main, result);
    }
    baseline::section(&mut main, result);
    rounds::table(&mut main, result);
    Shell {
        brand: if knows_senders {
            "A/B test of congestion controllers"
        } else {
            "A/B test of QUIC servers"
        },
        heading: &heading(result),
        note: result.note.as_deref(),
        headline: match &ranking {
            Some(_) => None,
            None => headline(result),
        },
        verdict: &ranking.map_or_else(|| verdict(result), |ranking| ranking.summary),
        alert: alert(result),
        command: result.command.as_deref(),
        data: data::block(result),
        method: METHOD,
        version: &result.version,
    }
    .page(&main)
}

/// What the rounds come to, in two columns of about the same length.
fn in_short(page: &mut String, result: &AbResult, has_many: bool) {
    let knows_senders = !result.compares_servers();
    let of_senders = |page: &mut String, plot: fn(&AbResult) -> Figure, caption| {
        if knows_senders {
            figure(page, &plot(result), caption);
        }
    };
    let limits = |page: &mut String| of_senders(page, plot::limits, LIMITS);
    let scatter = |page: &mut String| of_senders(page, plot::goodput_delay, SCATTER);
    let competes = result.competition.is_some();
    if has_many && !knows_senders {
        page.push_str("<section class=\"columns\">\n");
        figure(page, &plot::forest(result), FOREST);
        page.push_str("</section>\n");
        return;
    }
    page.push_str("<section class=\"columns\">\n<div class=\"stack\">\n");
    if !has_many {
        summary::table(page, result);
    }
    several::competition(page, result);
    if !competes {
        limits(page);
    }
    if has_many {
        scatter(page);
    }
    page.push_str("</div>\n<div class=\"stack\">\n");
    figure(page, &plot::forest(result), FOREST);
    if !has_many {
        scatter(page);
    }
    if competes {
        limits(page);
    }
    page.push_str("</div>\n</section>\n");
}

fn side_by_side(page: &mut String, result: &AbResult) {
    let rounds = rounds_of(result);
    let lines = match (rounds, result.variants.len()) {
        (0 | 1, _) => String::new(),
        (_, 0..=2) => format!("{MEDIAN} {THIN} "),
        _ => format!("{MEDIAN} "),
    };
    let overlay = format!("{lines}{}", warm_up(result)).trim_end().to_owned();
    page.push_str("<section>\n<h2>Side by side</h2>\n<div class=\"columns\">\n");
    let share = plot::share(result);
    if let Some(share) = &share {
        figure(page, share, SHARE);
    }
    figure(
        page,
        &plot::arrivals(result),
        format!("{overlay} {}", arrivals(result)).trim_start(),
    );
    let knows_senders = !result.compares_servers();
    if let Some(boxes) = plot::boxes(result) {
        figure(page, &boxes, BOXES);
    }
    if knows_senders {
        figure(page, &plot::rtt(result), &overlay);
        figure(page, &plot::window(result), &overlay);
    }
    if let Some([loss, jitter]) = plot::datagrams(result) {
        figure(page, &loss, &overlay);
        figure(page, &jitter, &overlay);
    }
    // What runs at once waits in one queue.
    if let Some(queue) = plot::queue_cdf(result).filter(|_| share.is_none()) {
        figure(page, &queue, QUEUE);
    }
    if knows_senders {
        figure(page, &plot::rtt_cdf(result), DISTRIBUTION);
        figure(page, &plot::rtt_ccdf(result), TAIL);
    }
    page.push_str("</div>\n</section>\n");
}

/// What the figure of [`plot::arrivals`] counts.
fn arrivals(result: &AbResult) -> &'static str {
    match plot::reports_delivery_rate(result) {
        true => DELIVERY,
        false => PEAKS,
    }
}

/// What grey says, where there is any.
fn warm_up(result: &AbResult) -> &'static str {
    let rounds = result.variants.iter().flat_map(|variant| &variant.rounds);
    let mut intervals = rounds.flat_map(|round| &round.intervals);
    if intervals.any(|interval| interval.omitted) {
        "Grey: warm-up, not counted."
    } else {
        ""
    }
}

/// How many rounds the variant has that has most.
fn rounds_of(result: &AbResult) -> usize {
    let rounds = result.variants.iter().map(|variant| variant.rounds.len());
    rounds.max().unwrap_or(0)
}

fn heading(result: &AbResult) -> String {
    if let Some(title) = &result.title {
        return title.clone();
    }
    let short = |variant: &Variant| result.short_label(variant);
    match result.variants.as_slice() {
        [a, b] => format!("{} against {}", short(b), short(a)),
        [a, others @ ..] if !others.is_empty() => {
            let others: Vec<String> = others.iter().map(short).collect();
            format!("{} against {}", others.join(", "), short(a))
        }
        _ => "Nothing to compare".to_owned(),
    }
}

fn alert(result: &AbResult) -> Option<String> {
    let failed = result.variants.iter().flat_map(|variant| &variant.rounds);
    let failed = failed.filter(|round| !round.succeeded()).count();
    if result.complete && failed == 0 {
        return None;
    }
    let error = reason(result.error.as_deref(), "Some rounds failed");
    Some(format!("{error}. Failed rounds, not counted: {failed}."))
}

/// What happened inside each variant, all in the same axes.
fn series(page: &mut String, result: &AbResult) {
    let caption = match rounds_of(result) {
        0 | 1 => TIME_SERIES.to_owned(),
        _ => format!("{MEDIAN_SERIES} {THIN} {TIME_SERIES}"),
    };
    let caption = format!("{caption} {}", warm_up(result));
    let caption = caption.trim_end();
    page.push_str("<section>\n<h2>Inside the controllers</h2>\n<div class=\"columns\">\n");
    for (index, variant) in result.variants.iter().enumerate() {
        if let Some(time_series) = plot::time_series(result, index) {
            page.push_str(&format!("<figure>\n<h3>{}</h3>\n", chip(variant)));
            drawing(page, &time_series);
            page.push_str(&format!("<figcaption>{caption}</figcaption>\n</figure>\n"));
        }
    }
    page.push_str("</div>\n</section>\n");
}

/// The variant's letter in its colour, and what it is.
fn chip(variant: &Variant) -> String {
    format!("{}\u{a0}{}", letter(&variant.name), escape(variant.label()))
}

const FOREST: &str = "Each metric relative to a, paired by block: median ratio and its 95 % \
                      interval.";
const SCATTER: &str = "A dot per round, a ring at the medians.";
const SHARE: &str = "The block with the median fairness index, averaged over half a second or \
                     more; the index covers the connections started by then. Thin: the other \
                     blocks.";
const MEDIAN: &str = "Bold: the round with the median goodput.";
const THIN: &str = "Thin: other rounds, at most eight.";
const DELIVERY: &str = "Delivery rate: data acknowledged per time, as the sender samples it. \
                        Goodput in order differs: data behind a gap counts at once when the gap is \
                        filled, so that goodput falls before and can peak above the link's rate.";
const PEAKS: &str = "Payload counts once it can be read in order: filling a gap delivers all data \
                     received behind it, so goodput can peak above the link's rate.";
const QUEUE: &str = "All packets of a variant, timed by the emulated link; all rounds have equal \
                     weight. The longest 0.5 % are not shown.";
const DISTRIBUTION: &str = "All samples of a variant; all rounds have equal weight. The next \
                            figure shows the longest 0.5 %.";
const TAIL: &str = "The same samples as the share that is longer, on a logarithmic axis.";
const LIMITS: &str = "What kept the sender from sending, averaged over the rounds. Congestion \
                      window and pacing are the controller's limits.";
const MEDIAN_SERIES: &str = "Bold and uncoloured lines, states and losses: the round with the \
                             median goodput.";
const TIME_SERIES: &str = "Behind the lines the state of most of the time is white. All columns \
                           have the same axes.";
const METHOD: &str = "Rounds run interleaved, in blocks of mirrored order, and are compared in \
                      pairs within a block. Values are medians. Intervals are seeded percentile \
                      bootstraps, widened for few rounds; at 95 % each, one metric in twenty may \
                      be off. Same: the whole interval lies within 5 % of a ratio of 1. Too few \
                      rounds to tell: the interval contains 1 but reaches beyond 5 %, so neither a \
                      difference nor equality is shown.";
