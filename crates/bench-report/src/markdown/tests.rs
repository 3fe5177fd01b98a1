use super::*;
use crate::fixtures::finite;
use crate::result::{Measure, NotCovered, SCHEMA_VERSION, ScorecardCell, ScorecardKind};

fn figure(value: f64, interval: Option<(f64, f64)>) -> ScorecardFigure {
    ScorecardFigure {
        value: finite(value),
        low: interval.map(|(low, _)| finite(low)),
        high: interval.map(|(_, high)| finite(high)),
        rounds: 5,
    }
}

fn bound(at_least: f64) -> ScorecardBound {
    ScorecardBound {
        at_least: Some(finite(at_least)),
        at_most: None,
        reason: "a fifth is much.".to_owned(),
    }
}

fn row(id: &str, figure: Option<ScorecardFigure>) -> ScorecardRow {
    let bound = bound(80.0);
    ScorecardRow {
        id: id.to_owned(),
        title: "one flow".to_owned(),
        against: "cubic".to_owned(),
        measure: Measure::Utilisation,
        unit: "%".to_owned(),
        relative: false,
        verdict: figure.map(|figure| bound.judge(&figure)),
        figure,
        reference: None,
        bound: Some(bound),
        words: "Uses some | of the link.".to_owned(),
        commands: vec!["bench-client ab".to_owned()],
        cells: None,
        error: None,
    }
}

fn result() -> ScorecardResult {
    ScorecardResult {
        schema_version: SCHEMA_VERSION,
        kind: ScorecardKind::Scorecard,
        complete: true,
        error: None,
        cc: "bbr3".to_owned(),
        against: vec!["cubic".to_owned()],
        version: "Paceline 0".to_owned(),
        seed: 1,
        rounds: 5,
        command: "bench-client scorecard bbr3".to_owned(),
        url: "https://example.org".to_owned(),
        intro: None,
        sections: vec![
            ScorecardSection {
                number: "6.1".to_owned(),
                title: "Paths".to_owned(),
                rows: vec![
                    row("good", Some(figure(90.0, Some((85.0, 95.0))))),
                    row("bad", Some(figure(50.0, Some((40.0, 60.0))))),
                    row("open", Some(figure(80.0, Some((70.0, 90.0))))),
                    row("missing", None),
                ],
                not_covered: Vec::new(),
            },
            ScorecardSection {
                number: "6.2".to_owned(),
                title: "Tunnels".to_owned(),
                rows: Vec::new(),
                not_covered: vec![NotCovered {
                    what: "tunnels".to_owned(),
                    why: "links have none".to_owned(),
                }],
            },
        ],
    }
}

#[test]
fn a_page_is_as_recorded() {
    insta::assert_snapshot!(scorecard(&result()));
}

#[test]
fn a_criterion_with_cells_says_how_many_are_within_and_shows_the_worst() {
    let mut result = result();
    result.intro = Some("What it promises.\n".to_owned());
    result.sections.truncate(1);
    let cell = |at: &str, value: Option<f64>| ScorecardCell {
        at: at.to_owned(),
        figure: value.map(|value| figure(value, None)),
        reference: value.map(|_| figure(70.0, None)),
        commands: vec![format!("bench-client ab {at}")],
    };
    let mut several = row("several", None);
    several.verdict = Some(BoundVerdict::Beyond);
    several.error = Some("rtt=60ms: a round failed".to_owned());
    several.cells = Some(ScorecardCells {
        over: OverCells::Worst,
        within: 2,
        cells: vec![
            cell("rtt=20ms", Some(90.0)),
            cell("rtt=60ms", None),
            cell("rtt=200ms", Some(80.0)),
            cell("rtt=600ms", Some(20.0)),
        ],
    });
    result.sections[0].rows = vec![several];
    insta::assert_snapshot!(scorecard(&result));
}

#[test]
fn the_table_of_all_has_a_row_for_each_controller_and_marks_what_is_beyond() {
    let summary = scorecard_summary(&[result()]);
    let table = summary.strip_prefix(READING).unwrap();
    let expected = "\n### 6.1 Paths\n\n\
        | controller | `good`, % | `bad`, % | `open`, % | `missing`, % |\n|---|---|---|---|---|\n\
        | [`bbr3`](bbr3.md) | 90.0 | **50.0** | 80.0 | – |\n";
    assert_eq!(table, expected);
}

#[test]
fn no_cell_is_wider_than_it_may_be() {
    let mut row = row("good", None);
    row.words = "word ".repeat(80);
    let line = scorecard_row(&row);
    let cells: Vec<&str> = line.trim().split(" | ").collect();
    assert_eq!(cells.len(), 4, "{line}");
    assert!(
        cells
            .iter()
            .all(|cell| cell.chars().count() <= MAX_CELL + 2)
    );
}

#[test]
fn a_bound_is_judged_by_the_whole_interval() {
    let judge = |interval| bound(80.0).judge(&figure(80.0, interval));
    assert_eq!(judge(Some((80.0, 90.0))), BoundVerdict::Within);
    assert_eq!(judge(Some((79.9, 90.0))), BoundVerdict::Undecided);
    assert_eq!(judge(Some((70.0, 79.9))), BoundVerdict::Beyond);
    assert_eq!(judge(None), BoundVerdict::Undecided);
}
