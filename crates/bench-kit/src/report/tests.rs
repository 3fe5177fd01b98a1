use super::*;
use crate::fixtures;
use crate::result::Metric;
use crate::stats::{self, verdict};
use roxmltree::{Document, ParsingOptions};

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
    for metric in Metric::ALL {
        assert!(text.contains(metric.label()), "{metric:?}");
    }
    let figures = document
        .descendants()
        .filter(|node| node.has_tag_name("figure"));
    // Ratios, goodput against delay, limits, goodput, RTT, its distribution and its tail, and a
    // course for each variant.
    assert_eq!(figures.count(), 9);
    let rows = document
        .descendants()
        .filter(|node| node.has_tag_name("tr"));
    // Two heads, the metrics, the rounds.
    assert_eq!(rows.count(), 2 + Metric::ALL.len() + 6);
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let page = html(&fixtures::ab());
    for word in [
        "http:", "https:", "url(", "@import", "src=", "href=", "<script", "<link",
    ] {
        assert!(!page.contains(word), "`{word}` in the report");
    }
    assert!(page.contains("default-src 'none'"));
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
    assert!(
        !document
            .descendants()
            .any(|node| node.has_tag_name("script"))
    );
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
        "Failed rounds: 1",
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
