mod ranked;
mod rows;

use super::*;
use crate::fixtures::{self, finite};
use crate::result::iperf::Row;
use crate::result::{AbResult, CompetitionRound, MatrixCompetition, MatrixResult, Summary};
use crate::stats;
use crate::text::{Unit, amount, significant};
use rows::row;

#[test]
fn every_letter_of_iperf3_is_a_unit() {
    let rate = |letter: &str| letter.parse::<Unit>().unwrap().rate(8.0 * 1024.0 * 1024.0);
    assert_eq!(rate("k"), "8389 Kbits/sec");
    assert_eq!(rate("m"), "8.39 Mbits/sec");
    assert_eq!(rate("g"), "0.01 Gbits/sec");
    assert_eq!(rate("t"), "0.00 Tbits/sec");
    assert_eq!(rate("K"), "1024 KBytes/sec");
    assert_eq!(rate("M"), "1.00 MBytes/sec");
    assert_eq!(rate("G"), "0.00 GBytes/sec");
    assert_eq!(rate("T"), "0.00 TBytes/sec");
    assert_eq!("x".parse::<Unit>().unwrap_err().input(), "x");
}

#[test]
fn the_adaptive_unit_keeps_three_digits() {
    let rate = |bits| Unit::Adaptive.rate(bits);
    assert_eq!(rate(0.0), "0.00 bits/sec");
    assert_eq!(rate(999.4), "999 bits/sec");
    assert_eq!(rate(999.6), "1.00 Kbits/sec");
    assert_eq!(rate(94_049_000.0), "94.0 Mbits/sec");
    assert_eq!(rate(9.42e9), "9.42 Gbits/sec");
    assert_eq!(rate(5e18), "5000000 Tbits/sec");
    assert_eq!(amount(1_047_552), "1023 KBytes");
    assert_eq!(amount(1_048_576), "1.00 MBytes");
}

#[test]
fn figures_keep_three_significant_digits_where_people_read_them() {
    let shown = [
        0.0, 0.000_12, 0.012_34, 0.9996, 4.408, 9.996, 94.06, 1_234.4, -4.408,
    ];
    let shown: Vec<String> = shown.into_iter().map(significant).collect();
    assert_eq!(
        shown,
        [
            "0", "1e-4", "0.0123", "1.00", "4.41", "10.0", "94.1", "1234", "-4.41"
        ]
    );
}

#[test]
fn the_ab_table_fits_into_80_columns() {
    let mut result = fixtures::ab();
    result.variants[1].cc = "bbr3:a_very_long_parameter=1,and_another_one=2".to_owned();
    let table = ab_table(&result);
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    insta::assert_snapshot!(ab_table(&fixtures::ab()));
}

#[test]
fn a_busy_machine_leaves_no_marks_beside_the_figures() {
    let marks = |table: &str| {
        let ends = [" +", " -", " =", " ?"];
        table
            .lines()
            .filter(|line| ends.iter().any(|end| line.ends_with(end)))
            .count()
    };
    for mut result in [fixtures::ab(), three()] {
        let tables = |result: &AbResult| [80, 40].map(|width| ab_table_within(result, width));
        for table in tables(&result) {
            assert!(marks(&table) > 3 && table.contains("better"), "{table}");
        }
        result.variants[1].rounds[0].link_late = Some(finite(0.2));
        for table in tables(&result) {
            assert_eq!(marks(&table), 0, "{table}");
            assert!(!table.contains("better"), "{table}");
            assert!(table.contains("too busy for"), "{table}");
        }
    }
}

/// Three sides: the fixture's, and new_reno a tenth below cubic.
fn three() -> AbResult {
    let mut result = fixtures::ab();
    let third = fixtures::ab_of(&[], &[19_300_000, 17_600_000, 21_700_000]);
    let mut third = third.variants[1].clone();
    (third.name, third.cc) = ("c".to_owned(), "new_reno".to_owned());
    result.variants.push(third);
    stats::conclude(&mut result);
    result
}

#[test]
fn a_table_of_more_than_two_has_a_row_for_each_and_names_the_winner() {
    let mut result = three();
    let text = ab_table(&result);
    insta::assert_snapshot!(text);
    result.variants[1].cc = format!("bbr3:{}", "a_very_long_parameter=1,".repeat(3));
    for line in ab_table(&result).lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn no_winner_is_named_where_an_interval_leaves_it_open() {
    let mut result = fixtures::ab_of(&[20; 4], &[90; 4]);
    let mut third = fixtures::ab_of(&[], &[99, 80, 60, 95]).variants[1].clone();
    third.name = "c".to_owned();
    result.variants.push(third);
    stats::conclude(&mut result);
    let verdict = stats::verdict(&result);
    assert!(verdict.contains("has 4.50 times the goodput"), "{verdict}");
    assert!(
        verdict.ends_with("Too few rounds to rank goodput."),
        "{verdict}"
    );
}

#[test]
fn a_competition_has_its_shares_below_the_table() {
    let mut result = fixtures::ab();
    let shares = [0.18, 0.2, 0.23];
    let round = |(share, block)| CompetitionRound {
        block,
        jain_index: finite(0.68),
        shares: [("a", share), ("b", 1.0 - share)]
            .map(|(name, share)| (name.to_owned(), finite(share)))
            .into(),
        convergence_seconds: (block > 0).then(|| finite(3.5)),
        link_utilisation: Some(finite(0.987)),
    };
    let rounds = shares.into_iter().zip(0..).map(round).collect();
    result.competition = stats::competition(rounds, 1);
    let table = ab_table(&result);
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    let from = table.find("All at once").unwrap();
    insta::assert_snapshot!(&table[from..]);
}

#[test]
fn a_failed_round_and_an_early_end_are_said_below_the_table() {
    let mut result = fixtures::ab_of(&[20_000_000, 21_000_000], &[90_000_000, 91_000_000]);
    result.complete = false;
    result.error = Some("interrupted".to_owned());
    result.variants[1].rounds[1].error = Some("connection lost: timed out".to_owned());
    stats::conclude(&mut result);
    insta::assert_snapshot!(ab_table(&result));
}

#[test]
fn of_servers_only_what_arrived_and_the_links_queue_is_shown() {
    insta::assert_snapshot!(ab_table(&fixtures::servers()));
}

#[test]
fn what_came_from_outside_cannot_steer_the_terminal() {
    let mut result = fixtures::ab();
    result.error = Some("gone\u{1b}[2J\r\nall well".to_owned());
    result.variants[0].rounds[0].error = Some("\u{9b}31m".to_owned());
    result.variants[1].cc = "mine\u{1b}]0;title\u{7}".to_owned();
    stats::conclude(&mut result);
    let state = Row {
        state: Some("S\u{1b}[31m".to_owned()),
        ..row(0, 1)
    };
    let text = ab_table(&result) + &interval_row(&state, Unit::Adaptive, Columns::Wide);
    assert!(
        !text.contains(|c: char| c.is_control() && c != '\n'),
        "{text:?}"
    );
    assert!(!text.contains("\nall well"));
}

#[test]
fn the_verdict_says_what_the_interval_allows() {
    let verdict = |a: &[u64], b: &[u64]| {
        let mut result = fixtures::ab_of(a, b);
        // The fixture's round-trip times are the same on both sides.
        for round in &mut result.variants[1].rounds {
            round.rtt_ms.p95 = finite(round.rtt_ms.p95.unwrap().get() * 0.88).into();
        }
        stats::conclude(&mut result);
        stats::verdict(&result)
    };
    let mbit = |values: [u64; 4]| values.map(|value| value * 1_000_000);
    let verdicts = [
        verdict(&mbit([20, 21, 22, 21]), &mbit([90, 91, 92, 93])),
        verdict(&mbit([90, 91, 92, 93]), &mbit([20, 21, 22, 21])),
        verdict(&mbit([80, 81, 80, 82]), &mbit([90, 91, 92, 93])),
        verdict(&mbit([90, 91, 92, 93]), &mbit([80, 81, 80, 82])),
        verdict(&mbit([90, 20, 50, 70]), &mbit([60, 30, 20, 99])),
        verdict(&mbit([90, 91, 92, 93]), &mbit([91, 91, 91, 93])),
        verdict(&[90], &[91]),
        verdict(&[0, 0, 0, 0], &mbit([1, 2, 2, 1])),
        verdict(&[], &[]),
    ];
    insta::assert_snapshot!(verdicts.join("\n"));
}

#[test]
fn the_same_controller_on_both_sides_is_told_apart_by_name() {
    let mut result = fixtures::ab();
    result.variants[1].cc = "cubic".to_owned();
    let verdict = stats::verdict(&result);
    assert!(verdict.contains("goodput of a (cubic)"), "{verdict}");
}

/// Three controllers; the last cell failed.
fn sweep() -> MatrixResult {
    let mut matrix = fixtures::matrix();
    for cell in &mut matrix.cells {
        let mut third = cell.variants[1].clone();
        third.name = "c".to_owned();
        third.cc = "bbr3:adapts_down=on".to_owned();
        cell.variants.push(third);
        let comparison = cell.comparison.clone();
        cell.further_comparisons.insert("c".to_owned(), comparison);
    }
    let last = matrix.cells.last_mut().unwrap();
    last.error = Some("a round failed: a (cubic): no answer".to_owned());
    last.variants[0].summary.clear();
    last.comparison.clear();
    last.further_comparisons.clear();
    matrix
}

/// Two flows, of which the second has nine tenths where loss is high, and keeps them.
fn competition() -> MatrixResult {
    let mut matrix = fixtures::matrix();
    let summary = |value: f64| Summary {
        median: finite(value),
        mean: finite(value),
        low: None,
        high: None,
        rounds: 3,
    };
    for cell in &mut matrix.cells {
        let is_even = cell.at["loss"] != "10%";
        let share = if is_even { 0.5 } else { 0.1 };
        let shares = [("a", share), ("b", 1.0 - share)];
        cell.competition = Some(MatrixCompetition {
            jain_index: summary(if is_even { 1.0 } else { 0.61 }),
            shares: shares
                .map(|(name, share)| (name.to_owned(), summary(share)))
                .into(),
            convergence_seconds: is_even.then(|| summary(4.2)),
            link_utilisation: Some(summary(0.957)),
        });
    }
    matrix
}

#[test]
fn the_tables_of_a_matrix_fit_into_80_columns() {
    let text = matrix_table(&sweep());
    let competition = matrix_table(&competition());
    for line in text.lines().chain(competition.lines()) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    insta::assert_snapshot!(format!("{text}\n{competition}"));
}

#[test]
fn a_matrix_of_eight_controllers_with_long_names_fits_too() {
    let mut matrix = sweep();
    for cell in &mut matrix.cells {
        let last = cell.variants[2].clone();
        cell.variants.resize(8, last);
        let long = "delay 100ms rate 100mbit queue 1bdp";
        cell.at
            .insert("loss".to_owned(), format!("{long} {}", cell.index));
    }
    matrix.name = "n".repeat(60);
    let text = matrix_table(&matrix);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let row = text.lines().find(|line| line.contains('…')).unwrap();
    assert_eq!(
        row.split_whitespace()
            .filter(|word| word.parse::<f64>().is_ok())
            .count(),
        8
    );
}

#[test]
fn drawn_cells_have_a_table_of_shares_for_each_metric_in_80_columns() {
    let text = matrix_table(&fixtures::drawn());
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    insta::assert_snapshot!(text);
}

#[test]
fn variants_at_once_have_one_queue_and_few_rounds_are_shown() {
    let table = ab_table(&fixtures::competition());
    assert!(!table.contains("Queue p50"), "{table}");
    assert!(
        table.contains("Queue of all: p50 0.500 ms, p95 2.00 ms, p99 3.00 ms\n"),
        "{table}"
    );
    let rounds = "Each round: Goodput Mbit/s\n  a: 21.3  19.8  24.1\n";
    assert!(table.contains(rounds), "{table}");
    let six = ab_table(&fixtures::ab_of(&[1_000_000; 6], &[2_000_000; 6]));
    assert!(!six.contains("Each round"), "{six}");
}

#[test]
fn forty_columns_hold_every_table_with_its_units() {
    let mut tables = [
        fixtures::ab(),
        fixtures::five(),
        fixtures::competition(),
        fixtures::servers(),
    ]
    .map(|result| ab_table_within(&result, 40))
    .to_vec();
    tables.push(matrix_table_within(&fixtures::matrix(), 40));
    tables.push(matrix_table_within(&fixtures::drawn(), 40));
    for table in &tables {
        let longest = table.lines().map(|line| line.chars().count()).max();
        assert!(longest.unwrap() <= 40, "{table}");
    }
    assert!(
        tables[0].contains("Goodput Mbit/s\n  a: cubic"),
        "{}",
        tables[0]
    );
    assert!(tables[0].contains("  b / a "), "{}", tables[0]);
    assert!(tables[4].contains("Goodput, Mbit/s"), "{}", tables[4]);
    // A wide terminal changes nothing.
    assert_eq!(
        ab_table_within(&fixtures::ab(), 120),
        ab_table(&fixtures::ab())
    );
}

#[test]
fn responsiveness_is_said_in_round_trips_per_minute() {
    let times = crate::result::RequestTimes::default();
    let mut requests = crate::result::RunRequests {
        rtt_ms: times,
        responsiveness_rpm: Some(finite(1_234.4)),
        ..crate::result::RunRequests::default()
    };
    let last = |requests: &_| request_block(requests).lines().last().unwrap().to_owned();
    assert_eq!(
        last(&requests),
        "Responsiveness idle: 1234 round trips per minute"
    );
    requests.under_load = true;
    assert_eq!(
        last(&requests),
        "Responsiveness under load: 1234 round trips per minute"
    );
    requests.responsiveness_rpm = None;
    assert!(!request_block(&requests).contains("Responsiveness"));
}
