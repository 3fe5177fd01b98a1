use super::Path;
use super::data;
use super::page::{self, Shell, figure, reason};
use crate::plot::{self, NamedFigure};
use crate::result::{
    AbKind, AbResult, ComparedServer, Figures, Finite, Frames, Interval, Metric, RequestTimes,
    Round, RunRequests, RunResult, SCHEMA_VERSION, Variant, iperf,
};
use crate::text::{Scale, significant};
use std::collections::BTreeMap;

pub(super) fn html(result: &RunResult, path: Path) -> String {
    let mut main = String::new();
    page::parameters(&mut main, entries(result));
    if let Some(requests) = &result.requests {
        answers(&mut main, result, path, requests);
    }
    if result.has_payload() {
        let directions = directions(result, path);
        payload(&mut main, &as_ab(result, path), directions.as_ref());
    }
    let to = &result.start.connecting_to;
    let heading = result.title.clone();
    Shell {
        brand: "Run of one congestion controller",
        heading: &heading.unwrap_or_else(|| format!("{} to {}", result.result.congestion, to.host)),
        note: result.note.as_deref(),
        headline: None,
        verdict: &verdict(result),
        alert: alert(result),
        command: result.command.as_deref(),
        data: data::block(&as_ab(result, path)),
        method: METHOD,
        version: &result.start.version,
    }
    .page(&main)
}

fn payload(page: &mut String, ab: &AbResult, directions: Option<&AbResult>) {
    page.push_str("<section class=\"columns\">\n<div class=\"stack\">\n");
    if let Some(time_series) = plot::time_series(ab, 0) {
        let caption = match directions {
            Some(_) => format!("Data to the server. {TIME_SERIES}"),
            None => TIME_SERIES.to_owned(),
        };
        figure(page, &time_series, &caption);
    }
    page.push_str("</div>\n<div class=\"stack\">\n");
    if let Some(directions) = directions {
        figure(page, &plot::goodput(directions), DIRECTIONS);
        let from = directions.variants.get(1);
        let is_known = |interval: &Interval| interval.sender != Figures::default();
        let is_known = |round: &Round| round.intervals.iter().any(is_known);
        let is_known = from.is_some_and(|from| from.rounds.iter().any(is_known));
        if let Some(back) = plot::time_series(directions, 1).filter(|_| is_known) {
            figure(page, &back, FROM_SERVER);
        }
    }
    if let Some([loss, jitter]) = plot::datagrams(ab) {
        figure(page, &loss, DATAGRAM_LOSS);
        figure(page, &jitter, JITTER);
    }
    figure(page, &plot::limits(ab), LIMITS);
    figure(page, &plot::rtt_cdf(ab), DISTRIBUTION);
    figure(page, &plot::rtt_ccdf(ab), TAIL);
    page.push_str("</div>\n</section>\n");
}

/// How long requests took, whose answers stand in the place of the sender's round-trip times.
fn answers(page: &mut String, result: &RunResult, path: Path, requests: &RunRequests) {
    let mut ab = as_ab(result, path);
    let rounds = ab
        .variants
        .iter_mut()
        .flat_map(|variant| &mut variant.rounds);
    for round in rounds {
        round
            .rtt_distribution
            .clone_from(&requests.rtt_distribution);
    }
    let distributions = |page: &mut String| {
        figure(page, &plot::answer_cdf(&ab), ANSWERS);
        figure(page, &plot::answer_ccdf(&ab), ANSWERS_TAIL);
    };
    page.push_str("<section class=\"columns\">\n");
    match plot::loaded(result) {
        None => distributions(page),
        Some(loaded) => {
            page.push_str("<div class=\"stack\">\n");
            figure(page, &loaded, LOADED);
            page.push_str("</div>\n<div class=\"stack\">\n");
            distributions(page);
            page.push_str("</div>\n");
        }
    }
    page.push_str("</section>\n");
}

/// The run as an A/B test of one variant, whose figures are the same.
pub(super) fn as_ab(result: &RunResult, path: Path) -> AbResult {
    AbResult {
        schema_version: SCHEMA_VERSION,
        kind: AbKind::Ab,
        complete: result.complete,
        error: result.error.clone(),
        title: result.title.clone(),
        note: result.note.clone(),
        version: result.start.version.clone(),
        seed: result.seed,
        is_virtual: result.is_virtual,
        started_unix_seconds: result.start.timestamp.as_ref().map(|start| start.timesecs),
        link: result.link.clone(),
        return_link: result.return_link.clone(),
        link_rate_bits_per_second: path.rate.map(units::Bandwidth::bits_per_sec),
        base_rtt_ms: path.base_rtt.map(Finite::millis),
        round_seconds: Some(result.result.seconds),
        omit_seconds: None,
        variants: vec![Variant {
            name: "a".to_owned(),
            cc: result.result.congestion.clone(),
            server: None,
            run: None,
            flows: 1,
            start_seconds: Finite::ZERO,
            extra_delay_ms: Finite::ZERO,
            duplicate: 1,
            rounds: vec![result.result.clone()],
            summary: BTreeMap::new(),
        }],
        ..AbResult::default()
    }
}

/// Every figure of a run, that of both directions with them where both sides sent.
pub(super) fn figures(result: &RunResult, path: Path) -> Vec<NamedFigure> {
    let mut figures = plot::of_ab(&as_ab(result, path));
    let both = directions(result, path).map(|both| plot::goodput(&both));
    figures.extend(both.map(|figure| ("both-directions".to_owned(), figure)));
    figures.extend(plot::loaded(result).map(|figure| ("loaded".to_owned(), figure)));
    figures
}

/// Both directions where both sides sent: the client's, and the server's as the rows of iperf3's
/// have it.
fn directions(result: &RunResult, path: Path) -> Option<AbResult> {
    let back = result.intervals.iter();
    let warm_up = plot::warm_up(&result.intervals);
    let back = back.filter_map(|interval| received(interval, warm_up));
    let back: Vec<Interval> = back.collect();
    if back.is_empty() {
        return None;
    }
    let mut both = as_ab(result, path);
    let to = both.variants.pop()?;
    let named = |name: &str, rounds| Variant {
        name: name.to_owned(),
        server: Some(ComparedServer {
            name: "server".to_owned(),
            address: String::new(),
        }),
        rounds,
        ..to.clone()
    };
    let from = Round {
        intervals: back,
        ..Round::default()
    };
    both.variants = vec![named("to", to.rounds.clone()), named("from", vec![from])];
    // A picture has room for one.
    if result.link != result.return_link {
        both.link_rate_bits_per_second = None;
    }
    Some(both)
}

/// The row of what the client received, whose warm-up had so many seconds.
fn received(interval: &iperf::Interval, warm_up: f64) -> Option<Interval> {
    let row = interval.sum_bidir_reverse.as_ref()?;
    // Of several streams nobody knows whether they share a connection.
    let mut streams = interval.streams.iter().filter(|row| !row.sender);
    let sender = streams.next().filter(|_| streams.next().is_none());
    Some(Interval {
        t: Finite::new(plot::since_begin(row, warm_up)).unwrap_or(row.end),
        seconds: row.seconds,
        omitted: row.omitted == Some(true),
        goodput_bits_per_second: row.bits_per_second.get() as u64,
        sender: sender.map(|row| row.figures).unwrap_or_default(),
        state: sender.and_then(|row| row.state.clone()),
        datagrams: None,
        frames: None,
    })
}

fn entries(result: &RunResult) -> Vec<(&'static str, String)> {
    let to = &result.start.connecting_to;
    let mut entries = vec![
        ("Server", format!("{} port {}", to.host, to.port)),
        ("Controller", result.result.congestion.clone()),
        ("Measured", format!("{:.1} s", result.result.seconds.get())),
        ("Link", page::link(&result.link)),
        ("Return link", page::link(&result.return_link)),
    ];
    if result.has_payload() {
        entries.insert(3, ("Streams", result.result.streams.to_string()));
    }
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
    if let Some(datagrams) = &result.end.sum {
        entries.extend(of_datagrams(datagrams));
    }
    if let Some(frames) = &result.result.frames {
        entries.extend(of_frames(frames));
    }
    if let Some(requests) = &result.requests {
        entries.extend(of_requests(requests));
    }
    if let Some(start) = &result.start.timestamp {
        entries.push(("Started", crate::date::utc(start.timesecs)));
    }
    entries
}

fn of_datagrams(datagrams: &iperf::Row) -> Vec<(&'static str, String)> {
    let mut entries = Vec::new();
    if let Some(jitter) = datagrams.jitter_ms {
        entries.push(("Jitter", format!("{} ms", significant(jitter.get()))));
    }
    if let (Some(lost), Some(packets)) = (datagrams.lost_packets, datagrams.packets) {
        entries.push(("Datagrams lost", format!("{lost} of {packets}")));
    }
    if let Some(late) = datagrams.out_of_order.filter(|late| *late > 0) {
        entries.push(("Out of order", late.to_string()));
    }
    entries
}

fn of_frames(frames: &Frames) -> Vec<(&'static str, String)> {
    let ms = |time: Option<Finite>| time.map_or_else(|| "-".to_owned(), |t| significant(t.get()));
    let latency = &frames.latency_ms;
    let latency = [latency.p50, latency.p95, latency.p99, latency.max].map(ms);
    vec![
        ("Source", frames.source.clone()),
        (
            "Frames",
            format!("{} of {} complete", frames.complete, frames.count),
        ),
        (
            "Frames late",
            format!("{} (over {} ms)", frames.late, frames.late_after_ms),
        ),
        ("Frames lost", frames.lost.to_string()),
        (
            "Frame latency, p50, p95, p99, max",
            format!("{} ms ({})", latency.join(", "), frames.clock),
        ),
        (
            "Longest freeze",
            format!("{} ms", significant(frames.longest_freeze_ms.get())),
        ),
    ]
}

fn of_requests(requests: &RunRequests) -> Vec<(&'static str, String)> {
    let interval = format!("one every {} ms", requests.interval_ms);
    let mut entries = vec![("Requests", format!("{}, {interval}", requests.rtt_ms.count))];
    if let Some(times) = three(&requests.rtt_ms) {
        entries.push(("Response time, p50, p95, p99", times));
    }
    if let Some(foreign) = &requests.foreign {
        if let Some(times) = three(&foreign.handshake_ms) {
            entries.push(("Handshake under load, p50, p95, p99", times));
        }
        entries.extend(match foreign.failed {
            0 => None,
            failed => Some(("Failed connections", failed.to_string())),
        });
    }
    if let Some(rpm) = requests.responsiveness_rpm {
        entries.push((
            "Responsiveness",
            format!("{:.0} round trips/min", rpm.get()),
        ));
    }
    entries
}

fn three(times: &RequestTimes) -> Option<String> {
    let [p50, p95, p99] = [times.p50?, times.p95?, times.p99?].map(|time| significant(time.get()));
    Some(format!("{p50}, {p95}, {p99} ms"))
}

fn shown(metric: Metric, value: Finite) -> String {
    let scale = Scale::of(metric, value.get());
    format!("{} {}", scale.show(value.get()), scale.unit)
}

fn verdict(result: &RunResult) -> String {
    let cc = &result.result.congestion;
    let answered = result.requests.as_ref().and_then(answered);
    if !result.has_payload() {
        return answered.unwrap_or_else(|| "No responses received.".to_owned());
    }
    let goodput = Metric::GoodputBitsPerSecond.of(&result.result);
    let goodput = goodput.map_or_else(String::new, |goodput| {
        shown(Metric::GoodputBitsPerSecond, goodput)
    });
    let rtt = Metric::RttMsP95.of(&result.result);
    let rtt = rtt.map_or_else(String::new, |rtt| {
        format!(", p95 RTT {}", shown(Metric::RttMsP95, rtt))
    });
    let back = result.end.sum_received_bidir_reverse.as_ref();
    let both = match back {
        Some(_) => " to the server",
        None => "",
    };
    let mut sentences = vec![format!("{cc}: goodput {goodput}{both}{rtt}.")];
    sentences.extend(back.map(|back| {
        let scale = Scale::bits_per_second(back.bits_per_second.get());
        let rate = scale.show(back.bits_per_second.get());
        format!("From the server: {rate} {}.", scale.unit)
    }));
    sentences.extend(answered);
    sentences.join(" ")
}

fn answered(requests: &RunRequests) -> Option<String> {
    let (p50, p95) = (requests.rtt_ms.p50?.get(), requests.rtt_ms.p95?.get());
    Some(format!(
        "Response time: median {} ms, p95 {} ms.",
        significant(p50),
        significant(p95)
    ))
}

fn alert(result: &RunResult) -> Option<String> {
    if result.complete {
        return None;
    }
    let error = reason(result.error.as_deref(), "the run did not complete");
    Some(format!("{error}. Results up to then are below."))
}

const TIME_SERIES: &str = "Delivery rate, RTT, congestion window and pacing rate, above the \
                           controller's states. Goodput in order can peak above the link's rate: \
                           data behind a gap counts at once when the gap is filled.";
const DIRECTIONS: &str = "Both directions: data to the server, and data from it in the client's \
                          report intervals. Goodput is of data in order: an interval in which a \
                          gap is filled may exceed the link's rate.";
const FROM_SERVER: &str = "Data from the server, one point per report interval of the client.";
const LIMITS: &str = "What kept the sender from sending.";
const DATAGRAM_LOSS: &str = "Datagrams that did not arrive, by their numbers: lost on the path, \
                             dropped by the receiving host, or overtaken until later.";
const JITTER: &str = "Variation of the one-way delay, smoothed (RFC 3550, 6.4.1).";
const DISTRIBUTION: &str = "All samples; the figure below shows the longest 0.5 %.";
const TAIL: &str = "The same samples as the share that is longer, on a logarithmic axis.";
const LOADED: &str = "The load, one point per report interval and each stream thin, and what \
                      requests took meanwhile on a stream of their own, ahead of the load.";
const ANSWERS: &str = "All requests; the next figure shows the longest 0.5 %.";
const ANSWERS_TAIL: &str = "The same requests as the share that is longer, on a logarithmic axis.";
const METHOD: &str = "Goodput is payload delivered in order to the receiving application. RTT over \
                      time is the smoothed RTT; the distributions contain every RTT sample of the \
                      sender.";
