//! Scorecards as a user has them, and those in docs/scorecards.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use e2e::programs::{Ended, Running, run, scratch_file};
use serde_json::Value;
use std::fs;
use std::path::Path;

#[test]
fn the_pages_in_the_documentation_are_what_the_program_measures() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/scorecards");
    for cc in ["cubic", "bbr3"] {
        let recorded = fs::read_to_string(Path::new(folder).join(cc).with_extension("md"));
        let recorded = recorded.unwrap();
        let mut args = vec!["scorecard", cc];
        args.extend(CHEAP.iter().flat_map(|id| ["--only", id]));
        let page = bench_client(&args);
        let rows: Vec<&str> = page.stdout.lines().filter(|line| is_row(line)).collect();
        assert_eq!(rows.len(), CHEAP.len(), "{}", page.stdout);
        for row in rows {
            let is_recorded = recorded.lines().any(|line| line == row);
            assert!(
                is_recorded,
                "docs/scorecards/{cc}.md does not have this row; run `just scorecards`:\n{row}"
            );
        }
    }
}

#[test]
fn who_ends_a_scorecard_is_told_of_no_error() {
    let mut card = Running::start("bench-client", ["scorecard", "cubic", "--rounds", "30"]);
    card.note_with("   1/");
    card.interrupt();
    let ended = card.wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let said = "interrupted: the scorecard of cubic was ended early, by Ctrl-C or a signal, with ";
    assert!(ended.stderr.contains(said), "{ended:?}");
    assert!(!ended.stderr.contains("error:"), "{ended:?}");
}

#[test]
fn a_pasted_command_gives_the_figure_to_the_byte() {
    let [card, test] = ["card.json", "test.json"].map(|name| {
        let file = scratch_file(name);
        file.to_str().unwrap().to_owned()
    });
    let only = ["--only", "short-1m", "--only", "collapse-loss"];
    let page = ["scorecard", "bbr3", "--rounds", "3", "--json", &card];
    bench_client(&[&page[..], &only].concat());
    let card = json(&card);
    let rows = card["sections"].as_array().unwrap().iter();
    let rows: Vec<&Value> = rows
        .flat_map(|section| section["rows"].as_array().unwrap())
        .collect();
    assert_eq!(rows.len(), 2);
    let tests = rows.iter().map(|row| {
        let command = row["commands"][0].as_str().unwrap();
        let words = words(command);
        let mut words: Vec<&str> = words.iter().map(String::as_str).skip(1).collect();
        words.extend(["--json", &test]);
        bench_client(&words);
        json(&test)
    });
    let tests: Vec<Value> = tests.collect();

    let packets = tests[0]["variants"][1]["rounds"].as_array().unwrap().iter();
    let packets = packets.map(|round| round["packets_sent"].as_f64().unwrap());
    let mut packets: Vec<f64> = packets.collect();
    packets.sort_by(f64::total_cmp);
    // Of 20 seconds with round trips of 40 ms.
    let figure = rows[0]["figure"]["value"].as_f64().unwrap();
    assert!(
        (figure - packets[1] / 500.0).abs() < 1e-9,
        "{figure}: {packets:?}"
    );

    let compared = &tests[1]["comparison"]["seconds"];
    let figure = &rows[1]["figure"];
    assert_eq!(figure["value"], compared["ratio_b_over_a"]);
    assert_eq!(figure["low"], compared["low"]);
    assert_eq!(figure["high"], compared["high"]);
}

#[test]
fn a_wrong_word_is_named_with_what_is_known() {
    let refused = |args: &[&str]| {
        let ended = run("bench-client", args);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        ended.stderr
    };
    let unknown = refused(&["scorecard", "bbr3", "--only", "collaps"]);
    assert!(unknown.contains("unknown criterion `collaps`; known: collapse-loss, "));
    let unknown = refused(&["scorecard", "bbr9"]);
    assert!(
        unknown.contains("`bbr9` is not a congestion controller"),
        "{unknown}"
    );
    let unknown = refused(&["scorecard", "bbr3", "--against", "rno"]);
    assert!(unknown.contains("--against: `rno`"), "{unknown}");
}

fn bench_client(args: &[&str]) -> Ended {
    let ended = run("bench-client", args);
    assert_eq!(ended.code, Some(0), "{args:?}: {ended:?}");
    ended
}

fn json(path: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// A line of a table of criteria.
fn is_row(line: &str) -> bool {
    line.starts_with("| `")
}

/// The words of a command with quotes around some.
fn words(command: &str) -> Vec<String> {
    let parts = command.split('\'').enumerate();
    let words = parts.flat_map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

/// Of all criteria those that take the least time.
const CHEAP: [&str; 3] = ["collapse-loss", "short-100k", "long-beside-new"];
