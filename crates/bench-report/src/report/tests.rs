mod runs;

use super::*;
use crate::fixtures;
use crate::plot;
use crate::result::{
    BaselineComparison, Frames, IntervalDatagrams, LimitedBy, LimitedTimes, Metric, RequestTimes,
    Round, RttMs, RunRequests, StoppingRule, Variant, iperf,
};
use crate::stats::{self, verdict};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use roxmltree::{Document, ParsingOptions};
use sha2::{Digest, Sha256};
use std::time::Duration;
use units::Bandwidth;

fn parse(page: &str) -> Document<'_> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(page, options).unwrap_or_else(|error| panic!("{error}: {page}"))
}

fn text(document: &Document<'_>) -> String {
    let texts = document.descendants().filter_map(|node| node.text());
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_page_has_the_verdict_every_metric_and_every_figure() {
    let result = fixtures::ab();
    let page = html(&result);
    let document = parse(&page);
    let text = text(&document);
    assert!(text.contains(&verdict(&result)));
    assert!(text.contains(&result.link));
    for metric in fixtures::metrics() {
        assert!(text.contains(metric.label()), "{metric:?}");
    }
    assert!(page.contains("Goodput <span class=\"unit\">Mbit/s</span>"));
    let figures = document
        .descendants()
        .filter(|node| node.has_tag_name("figure"));
    // Ratios, goodput against delay, limits, goodput, boxes, RTT, window, RTT's distribution and
    // its tail, and a time series for each variant.
    assert_eq!(figures.count(), 11);
    let rows = document
        .descendants()
        .filter(|node| node.has_tag_name("tr"));
    // Two heads, the metrics, the rounds.
    assert_eq!(rows.count(), 2 + fixtures::metrics().count() + 6);
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let page = html(&fixtures::ab());
    for word in [
        "http:",
        "https:",
        "url(",
        "@import",
        "src=",
        "href=",
        "<script src",
        "<link",
    ] {
        assert!(!page.contains(word), "`{word}` in the report");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn the_policy_names_the_only_script_and_style_sheet_by_their_hashes() {
    let page = html(&fixtures::ab());
    let source = |name: &str| {
        let (_, text) = page.rsplit_once(&format!("<{name}>")).unwrap();
        let (text, _) = text.split_once(&format!("</{name}>")).unwrap();
        let hash = BASE64_STANDARD.encode(Sha256::digest(text));
        format!("{name}-src 'sha256-{hash}'")
    };
    let policy = format!(
        "content=\"default-src 'none'; {}; {}\"/>",
        source("style"),
        source("script")
    );
    assert!(page.contains(&policy), "{policy}");
    let document = parse(&page);
    assert_eq!(scripts(&document), 2);
    let mut nodes = document.descendants();
    // A browser that keeps to the policy would ignore it.
    assert!(nodes.all(|node| node.attribute("style").is_none()));
    let nodes = document.descendants();
    assert_eq!(nodes.filter(|node| node.has_tag_name("style")).count(), 1);
}

/// That of the page, and the data.
fn scripts(document: &Document<'_>) -> usize {
    let nodes = document.descendants();
    nodes.filter(|node| node.has_tag_name("script")).count()
}

#[test]
fn the_page_has_its_figures_as_json_and_its_command() {
    let mut result = fixtures::ab();
    let typed = "bench-client ab --title '</script><b>&'";
    result.command = Some(typed.to_owned());
    result.variants[0].cc = "</script><!--".to_owned();
    let page = html(&result);
    let document = parse(&page);
    let mut nodes = document.descendants();
    let code = nodes.find(|node| node.attribute("class") == Some("command"));
    assert_eq!(code.unwrap().text(), Some(typed));
    let mut nodes = document.descendants();
    let data = nodes.find(|node| node.attribute("id") == Some("data"));
    let data: serde_json::Value = serde_json::from_str(data.unwrap().text().unwrap()).unwrap();
    let rounds = &data["rounds"];
    let column = |name: &str| {
        let names = rounds["columns"].as_array().unwrap();
        names.iter().position(|other| other == name).unwrap()
    };
    let goodput = column("goodput_bits_per_second");
    let round = &result.variants[0].rounds[0];
    assert_eq!(rounds["rows"][0][goodput], round.goodput_bits_per_second);
    assert_eq!(rounds["rows"][0][column("cc")], "</script><!--");
    assert_eq!(rounds["rows"].as_array().unwrap().len(), 6);
    assert!(!data["samples"]["rows"].as_array().unwrap().is_empty());
    assert_eq!(scripts(&document), 2);
}

#[test]
fn several_variants_are_ranked_by_goodput_instead_of_prose() {
    let mut result = fixtures::ab();
    assert!(!html(&result).contains("result ranked\""));
    let mut third = result.variants[1].clone();
    (third.name, third.cc) = ("c".to_owned(), "copa".to_owned());
    for round in &mut third.rounds {
        round.goodput_bits_per_second *= 2;
    }
    result.variants.push(third);
    stats::conclude(&mut result);
    let page = html(&result);
    let (_, table) = page.split_once("result ranked\"").unwrap();
    let (table, _) = table.split_once("</table>").unwrap();
    let place = |name: &str| table.find(name).unwrap();
    assert!(
        place("copa") < place("bbr3") && place("bbr3") < place("cubic"),
        "{table}"
    );
    assert!(table.contains("the reference") && table.contains("goodput, "));
    let prose = "has more goodput than";
    assert!(!page.contains(prose) && !page.contains("times the goodput of"));
    parse(&page);
}

#[test]
fn behind_lines_the_usual_state_is_white() {
    let round = fixtures::round("bbr3", 0, 1);
    let bands = plot::time_series(&fixtures::ab(), 1).unwrap().inline();
    let mut states: Vec<_> = round.intervals.iter().map(|i| i.state.clone()).collect();
    states.dedup();
    assert!(states.len() > 1);
    let coloured = bands.matches("\"band ").count();
    // In each of the panels one state of those is left out.
    assert!(coloured > 0 && coloured.is_multiple_of(5), "{coloured}");
    assert!(coloured / 5 < states.len(), "{coloured} of {states:?}");
}

#[test]
fn a_point_names_its_round() {
    let page = html(&fixtures::ab());
    let document = parse(&page);
    assert!(text(&document).contains("b, round 2: "), "{page}");
}

#[test]
fn hostile_text_stays_text_wherever_it_comes_from() {
    let hostile = "\"'></title></style><script>alert(1)</script>&amp;\u{1}";
    let own = || hostile.to_owned();
    let mut result = fixtures::ab();
    (result.title, result.error, result.complete) = (Some(own()), Some(own()), false);
    (result.link, result.return_link, result.version) = (own(), own(), own());
    for variant in &mut result.variants {
        (variant.name, variant.cc) = (own(), own());
        variant.rounds[0].error = Some(own());
        variant.rounds[1].congestion = own();
        variant.rounds[1].intervals[0].state = Some(own());
    }
    stats::conclude(&mut result);
    let page = html(&result);
    let document = parse(&page);
    assert_eq!(scripts(&document), 2);
    let attributes = document.descendants().flat_map(|node| node.attributes());
    for attribute in attributes {
        assert!(!attribute.name().starts_with("on"), "{attribute:?}");
    }
    // What a reader sees is what was given, its control character apart.
    assert!(text(&document).contains(hostile.trim_end_matches('\u{1}')));
}

#[test]
fn an_incomplete_test_says_so_and_why() {
    let mut result = fixtures::ab();
    assert!(!html(&result).contains("Incomplete."));
    result.complete = false;
    result.error = Some("interrupted".to_owned());
    result.variants[0].rounds[2].error = Some("connection lost: timed out".to_owned());
    stats::conclude(&mut result);
    let page = html(&result);
    let text = text(&parse(&page));
    for part in [
        "Incomplete.",
        "interrupted",
        "Failed rounds, not counted: 1.",
        "connection lost: timed out",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn a_test_without_a_single_round_still_has_a_report() {
    let mut result = fixtures::ab_of(&[], &[]);
    stats::conclude(&mut result);
    parse(&html(&result));
    result.variants.clear();
    stats::conclude(&mut result);
    parse(&html(&result));
}

#[test]
fn long_rounds_make_no_larger_report() {
    let size = |intervals: u32| {
        let mut result = fixtures::ab();
        for round in result
            .variants
            .iter_mut()
            .flat_map(|variant| &mut variant.rounds)
        {
            round.intervals = (1..=intervals)
                .map(|tenth| fixtures::interval(tenth, 1_000_000 * u64::from(tenth % 97)))
                .collect();
        }
        html(&result).len()
    };
    let (usual, long) = (size(600), size(20_000));
    assert!(long < usual * 3 / 2, "{long} bytes against {usual}");
    assert!(long < 500_000, "{long} bytes");
}

#[test]
fn what_decided_how_the_test_ran_is_said() {
    let mut result = fixtures::ab();
    result.server = Some("measure.example:4433".to_owned());
    result.until = Some(StoppingRule {
        half_width: fixtures::finite(0.05),
        reached: false,
    });
    result.baseline = Some(BaselineComparison {
        paired: true,
        comparisons: [("b".to_owned(), result.comparison.clone())].into(),
    });
    let page = html(&result);
    let said = text(&parse(&page));
    for part in [
        "measure.example:4433",
        "ratio of goodput within ±5.00 %, not reached",
        "Compared with the baseline",
        "paired by round",
    ] {
        assert!(said.contains(part), "{part}");
    }
    let table = page.split("Compared with the baseline").nth(1).unwrap();
    let table = table.split("</table>").next().unwrap();
    // `a` was not there then; goodput is better than it was, and so on for each metric.
    assert!(
        !table.contains("chip-a") && table.contains("chip-b"),
        "{table}"
    );
    assert!(
        table.contains("<td>× 4.41 better<span class=\"interval\">"),
        "{table}"
    );
    assert!(table.contains("worse"), "{table}");
    result.until = Some(StoppingRule {
        half_width: fixtures::finite(0.05),
        reached: true,
    });
    assert!(text(&parse(&html(&result))).contains("±5.00 %, reached"));
}

#[test]
fn captions_speak_of_several_rounds_where_there_are_some() {
    let says = |result: &AbResult, part: &str| html(result).contains(part);
    let mut result = fixtures::ab();
    assert!(says(&result, "median goodput") && says(&result, "Thin: other rounds"));
    assert!(says(&result, "State in the median round") && !says(&result, "Grey: warm-up"));
    result.variants[1].rounds[0].intervals[0].omitted = true;
    assert!(says(&result, "Grey: warm-up"));
    let mut one = fixtures::ab_of(&[21_300_000], &[93_900_000]);
    stats::conclude(&mut one);
    assert!(!says(&one, "median goodput") && !says(&one, "Thin: other rounds"));
    assert!(says(&one, "State of the controller"));
    // In the axes of five all rounds would be a tangle; each time series has its own.
    let five = fixtures::five();
    let side_by_side = html(&five);
    let side_by_side = side_by_side.split("Inside the controllers").next().unwrap();
    assert!(
        side_by_side.contains("median goodput") && !side_by_side.contains("Thin: other rounds")
    );
}

#[test]
fn queues_that_were_timed_are_drawn_unless_all_have_the_same() {
    let timed = |mut result: AbResult| {
        for round in result.variants.iter_mut().flat_map(|v| &mut v.rounds) {
            round.queue_delay_distribution = round.rtt_distribution.clone();
        }
        html(&result).contains("Queueing delay at the link, ms")
    };
    assert!(timed(fixtures::ab()));
    assert!(!timed(fixtures::competition()));
    assert!(!html(&fixtures::ab()).contains("Queueing delay at the link, ms"));
}

#[test]
fn variants_at_once_have_one_queue_in_the_page() {
    let two = fixtures::competition();
    let mut three = two.clone();
    three.variants.push(Variant {
        name: "c".to_owned(),
        ..two.variants[1].clone()
    });
    for result in [two, three] {
        let page = html(&result);
        assert!(!page.contains("Queue p50"), "{page}");
        let queue = "<dt>Queue of all, p50, p95, p99</dt><dd>0.500, 2.00, 3.00 ms</dd>";
        assert!(page.contains(queue), "{page}");
    }
    assert!(html(&fixtures::ab()).contains("Queue p50"));
}

#[test]
fn a_competition_has_each_variants_delay() {
    let mut result = fixtures::competition();
    result.variants[1].flows = 3;
    let page = html(&result);
    let table = page.split("All at once").nth(1).unwrap();
    for fair in ["<td>25.0</td>", "<td>75.0</td>"] {
        assert!(table.contains(fair), "{table}");
    }
    let p95 = &fixtures::competition().variants[0].summary[&Metric::RttMsP95];
    let p95 = format!("<td>{}<span", crate::text::significant(p95.median.get()));
    assert!(table.contains(&p95), "{p95}: {table}");
}

#[test]
fn a_round_whose_link_was_late_is_marked() {
    let mut result = fixtures::ab();
    assert!(!html(&result).contains("link late"));
    assert!(html(&result).contains("class=\"word\"> better</span>"));
    result.variants[0].rounds[1].link_late = Some(fixtures::finite(0.05));
    let page = html(&result);
    assert!(page.contains("link late for 5.0 % of the packets"));
    assert!(page.contains("too busy for a verdict"));
    assert!(!page.contains("class=\"word\"> better</span>"));
}

#[test]
fn rounds_stand_in_their_order_with_what_limited_them_most() {
    let mut result = fixtures::ab();
    let millis = Duration::from_millis;
    result.variants[0].rounds[0].limited_by = LimitedBy::from_times(LimitedTimes {
        application: millis(4),
        congestion_window: millis(26),
        pacing: millis(70),
        ..LimitedTimes::default()
    });
    result.variants[0].rounds[1].limited_by = LimitedBy::from_times(LimitedTimes {
        host: millis(97),
        pacing: millis(3),
        ..LimitedTimes::default()
    });
    // The second of `a` ran last of all.
    result.variants[0].rounds[1].order = 99;
    let page = html(&result);
    let table = page.split("In the order run").nth(1).unwrap();
    let spaced = table.replace('\u{a0}', " ");
    assert!(
        spaced.contains(">pacing 70 %, congestion window 26 %<"),
        "{spaced}"
    );
    assert!(spaced.contains(">host 97 %<"), "{spaced}");
    let last = spaced.rfind("<tr>").unwrap();
    assert!(spaced[last..].contains(">host 97 %<"), "{spaced}");
}

#[test]
fn drawn_cells_have_their_worst_with_the_commands_that_run_them_again() {
    let mut result = fixtures::drawn();
    let page = matrix_html(&result);
    let document = parse(&page);
    let words = text(&document);
    assert!(
        words.contains("bench-client matrix fixture --only cell=2"),
        "{words}"
    );
    assert!(words.contains("bbr1 100 %, cubic 67 %."), "{words}");
    assert_eq!(page.matches("class=\"plot\"").count(), 3);
    // One controller more, whose name is hostile.
    for cell in &mut result.cells {
        cell.at.insert("cc".to_owned(), "<script>".to_owned());
    }
    result.complete = false;
    stats::conclude_drawn(&mut result);
    let page = matrix_html(&result);
    assert_eq!(page.matches("<script").count(), 1);
    assert!(page.contains("&lt;script"));
    assert!(text(&parse(&page)).contains("Incomplete."));
}

#[test]
fn a_draw_without_cells_still_has_a_report() {
    let mut result = fixtures::drawn();
    result.cells.clear();
    stats::conclude_drawn(&mut result);
    let page = matrix_html(&result);
    assert!(text(&parse(&page)).contains("Nothing to compare."));
}

#[test]
fn a_test_of_servers_has_no_figure_of_what_their_clients_cannot_know() {
    let result = fixtures::servers();
    let page = html(&result);
    let document = parse(&page);
    let words = text(&document);
    for part in [
        "A/B test of QUIC servers",
        "new against base",
        "a base (localhost:4433), b new (localhost:4434)",
        "losses, RTTs, windows and CPU times of the senders",
        "Queue p95",
    ] {
        assert!(words.contains(part), "{part}");
    }
    for part in ["RTT p95", "Retransmitted</th>", "CPU sender", "unknown</"] {
        let summary = page.split("Rounds</h2>").next().unwrap();
        assert!(!summary.contains(part), "{part}");
    }
    // Ratios and goodput, over time and as boxes.
    assert_eq!(page.matches("class=\"plot\"").count(), 3);
    let names: Vec<String> = plot::of_ab(&result)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["goodput", "boxes", "forest"]);
}

#[test]
fn saved_results_share_every_picture_and_nothing_is_concluded() {
    let mut test = fixtures::ab();
    test.started_unix_seconds = Some(1_790_000_000);
    let run = as_ab(&fixtures::run(), Path::default());
    let saved = [("yesterday", test), ("</h1><b>", run)].map(|(name, result)| Saved {
        name: name.to_owned(),
        result,
        is_idle: false,
    });
    let together = gathered(&saved);
    let labels: Vec<&str> = together.variants.iter().map(|v| v.label()).collect();
    assert_eq!(labels, ["yesterday: cubic", "yesterday: bbr3", "</h1><b>"]);
    let letters: Vec<&str> = together.variants.iter().map(|v| v.name.as_str()).collect();
    assert_eq!(letters, ["a", "b", "c"]);
    // One of them has no link.
    assert_eq!(
        (together.link_rate_bits_per_second, together.link.as_str()),
        (None, "")
    );
    assert!(together.comparison.is_empty());
    let page = saved_html(&saved, None, Some("on <two> days"));
    let document = parse(&page);
    let words = text(&document);
    for part in [
        "yesterday, </h1><b>",
        "on <two> days",
        "not measured in turn",
        "CDF of RTT, %",
    ] {
        assert!(words.contains(part), "{part}");
    }
    let alike = gathered(&saved[..1]);
    assert_eq!(alike.link, saved[0].result.link);
}

#[test]
fn a_saved_run_of_nothing_but_requests_has_no_goodput() {
    let mut result = as_ab(&fixtures::run(), Path::default());
    result.variants[0].rounds[0].goodput_bits_per_second = 0;
    let goodput = |is_idle| {
        let name = "ping".to_owned();
        let result = result.clone();
        let page = saved_html(
            &[Saved {
                name,
                result,
                is_idle,
            }],
            None,
            None,
        );
        let row = page.split_once("<tbody>").unwrap().1;
        let cells: Vec<&str> = row.split("<td>").collect();
        cells[1].split_once('<').unwrap().0.to_owned()
    };
    assert_eq!(goodput(true), "–");
    assert_eq!(goodput(false), "0");
}

#[test]
fn a_note_stands_below_the_title_of_a_page() {
    let mut result = fixtures::ab();
    assert!(!html(&result).contains("class=\"note\""));
    result.note = Some("<i>on battery</i>".to_owned());
    let page = html(&result);
    assert!(page.contains("<p class=\"note\">&lt;i&gt;on battery&lt;/i&gt;</p>"));
}
