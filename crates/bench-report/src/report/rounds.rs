use super::page::letter;
use crate::plot::escape;
use crate::result::{AbResult, Finite, LimitedBy, Metric, Round, Variant};
use crate::text::Scale;

pub(super) fn table(page: &mut String, result: &AbResult) {
    let mut rounds: Vec<(&Variant, &Round)> = result
        .variants
        .iter()
        .flat_map(|variant| variant.rounds.iter().map(move |round| (variant, round)))
        .collect();
    rounds.sort_by_key(|(_, round)| round.order);
    page.push_str(
        "<section>\n<h2>Rounds</h2>\n<div class=\"scroll\">\n<table class=\"rounds\">\n<caption>In \
         the order run</caption>\n<thead><tr><th scope=\"col\">Block</th><th \
         scope=\"col\">Variant</th>",
    );
    let has_frames = rounds.iter().any(|(_, round)| round.frames.is_some());
    let frames = FRAMES.into_iter().filter(|_| has_frames);
    let scales = COLUMNS.into_iter().chain(frames);
    let scales: Vec<_> = scales
        .map(|metric| (metric, scale(metric, &rounds)))
        .collect();
    for (metric, scale) in &scales {
        page.push_str(&format!(
            "<th scope=\"col\">{} <span class=\"unit\">{}</span></th>",
            metric.label(),
            scale.unit
        ));
    }
    page.push_str("<th scope=\"col\">Limited by</th></tr></thead>\n<tbody>\n");
    for (variant, round) in rounds {
        row(page, variant, round, &scales);
    }
    page.push_str("</tbody>\n</table>\n</div>\n</section>\n");
}

fn scale(metric: Metric, rounds: &[(&Variant, &Round)]) -> Scale {
    let values = rounds.iter().filter_map(|(_, round)| metric.of(round));
    Scale::of(metric, values.map(Finite::get).fold(0.0, f64::max))
}

fn row(page: &mut String, variant: &Variant, round: &Round, scales: &[(Metric, Scale)]) {
    page.push_str(&format!(
        "<tr><td>{}</td><td class=\"text\">{}</td>",
        round.block + 1,
        letter(&variant.name)
    ));
    for (metric, scale) in scales {
        let text = match metric.of(round) {
            Some(value) => scale.show(value.get()),
            None => "–".to_owned(),
        };
        page.push_str(&format!("<td>{text}</td>"));
    }
    let last = match &round.error {
        Some(error) => format!("<strong>failed:</strong> {}", escape(error)),
        None => round.limited_by.as_ref().map(limits).unwrap_or_default(),
    };
    let last = match round.link_late {
        Some(late) => format!(
            "<strong>link late for {:.1} % of the packets</strong> {last}",
            late.get() * 100.0
        ),
        None => last,
    };
    page.push_str(&format!("<td class=\"text\">{last}</td></tr>\n"));
}

/// The two largest shares of the time, as far as they are worth a word.
fn limits(limited_by: &LimitedBy) -> String {
    let mut shares = [
        (limited_by.application, "application"),
        (limited_by.congestion_window, "congestion window"),
        (limited_by.pacing, "pacing"),
        (limited_by.flow_control, "flow control"),
        (limited_by.host, "host"),
    ];
    shares.sort_by(|a, b| b.0.get().total_cmp(&a.0.get()));
    let worth = shares
        .into_iter()
        .take(2)
        .filter(|(share, _)| share.get() >= 0.05);
    let words: Vec<String> = worth
        .map(|(share, name)| format!("{name} {:.0} %", share.get() * 100.0))
        .map(|words| words.replace(' ', "\u{a0}"))
        .collect();
    words.join(", ")
}

/// More where the payload is a video.
const FRAMES: [Metric; 3] = [
    Metric::FramesMissed,
    Metric::FrameLatencyMsP95,
    Metric::LongestFreezeMs,
];

const COLUMNS: [Metric; 6] = [
    Metric::GoodputBitsPerSecond,
    Metric::RttMsP50,
    Metric::RttMsP95,
    Metric::QueueDelayMsP95,
    Metric::LossRate,
    Metric::BytesRetransmitted,
];
