//! Conditions drawn at random: the same for the same seed, whole or in parts.

use super::{Place, parse};
use serde_json::Value;
use std::fs;

#[test]
fn the_same_seed_gives_the_same_bytes_whole_resumed_or_in_parts() {
    let place = drawn("drawn-parts");
    let whole = place.run(&["--json", "whole.json", "--jobs", "1"]);
    assert_eq!(whole.code, Some(0), "{whole:?}");
    assert!(
        whole
            .stdout
            .lines()
            .all(|line| line.chars().count() <= 80 || line.contains("--only cell=N")),
        "{}",
        whole.stdout
    );
    assert!(whole.stderr.contains("cells: 24;"), "{whole:?}");
    let again = place.run(&["--json", "again.json"]);
    assert!(
        again.stderr.contains("24 cells already done, 0 to run"),
        "{again:?}"
    );
    assert_eq!(place.text("again.json"), place.text("whole.json"));
    let folders = ["one", "two"].map(str::to_owned);
    for (folder, part) in folders.iter().zip(["1/2", "2/2"]) {
        let ended = place.run_in(folder, &["--shard", part]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let ended = place.merge(&folders, "merged.json");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(place.text("merged.json"), place.text("whole.json"));
    let other = place.run_in("other", &["--seed", "4", "--json", "other.json"]);
    assert_eq!(other.code, Some(0), "{other:?}");
    let link = |name: &str| parse(&place.text(name))["cells"][0]["link"].clone();
    assert_ne!(link("whole.json"), link("other.json"));
}

#[test]
fn the_command_of_a_cell_gives_its_figures_to_the_byte() {
    let place = drawn("drawn-command");
    place.run(&["--json", "whole.json"]);
    let whole = parse(&place.text("whole.json"));
    let file = place.path("small.toml");
    let command = whole["drawn"]["command"].as_str().unwrap();
    let expected = format!(
        "bench-client matrix {} --virtual --draw 12 --seed 3",
        file.display()
    );
    assert_eq!(command, expected);
    let worst = &whole["drawn"]["summaries"][0]["distributions"]["regret"]["worst_cells"][0];
    let only = format!("cell={worst}");
    let words = [
        "--draw",
        "12",
        "--seed",
        "3",
        "--only",
        only.as_str(),
        "--json",
        "one.json",
    ];
    let ended = place.run_in("one", &words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let one = parse(&place.text("one.json"));
    let of_cell = |result: &Value, key: [&str; 2]| -> Vec<Value> {
        let all = if key[0].is_empty() {
            &result[key[1]]
        } else {
            &result[key[0]][key[1]]
        };
        let all = all.as_array().unwrap().iter();
        let is_it = |entry: &&Value| {
            entry["cell"] == *worst || entry["at"]["cell"].as_str() == Some(&worst.to_string())
        };
        all.filter(is_it).cloned().collect()
    };
    for key in [["", "cells"], ["drawn", "measures"]] {
        assert_eq!(of_cell(&whole, key), of_cell(&one, key));
        assert_eq!(of_cell(&one, key).len(), 2);
    }
}

#[test]
fn a_draw_has_uses_of_its_own_and_can_be_narrowed() {
    let place = drawn("drawn-uses");
    let measures = |only: &str, file: &str| -> Vec<Value> {
        let words = [
            "--only",
            only,
            "--only",
            "loss=none",
            "--draw",
            "2",
            "--json",
            file,
        ];
        let ended = place.run_in(file.trim_end_matches(".json"), &words);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let result = parse(&place.text(file));
        let cells = result["cells"].as_array().unwrap();
        assert!(cells.iter().all(|cell| cell["at"]["loss"] == "none"));
        result["drawn"]["measures"].as_array().unwrap().clone()
    };
    let of_cubic = |measures: &[Value], key: &str| measures[0][key].clone();
    let alone = measures("use=alone", "alone.json");
    assert_eq!(of_cubic(&alone, "jain_index"), Value::Null);
    assert_eq!(of_cubic(&alone, "neighbour_over_beside_cubic"), Value::Null);
    let beside = measures("use=beside-cubic", "beside.json");
    assert_eq!(of_cubic(&beside, "neighbour_over_beside_cubic"), 1.0);
    let transfer = measures("use=transfer", "transfer.json");
    assert!(of_cubic(&transfer, "seconds").as_f64() > Some(0.0));
    let kind = measures("use=two-of-a-kind", "kind.json");
    assert!(of_cubic(&kind, "jain_index").as_f64() > Some(0.5));
    // A tenth of the rate for a second, then all of it.
    let limited = measures("use=limited", "limited.json");
    for (limited, alone) in limited.iter().zip(&alone) {
        let [limited, alone] =
            [limited, alone].map(|one| one["goodput_bits_per_second"].as_f64().unwrap());
        assert!((0.3..0.8).contains(&(limited / alone)), "{limited} {alone}");
    }
}

#[test]
fn a_draw_is_reported_with_pictures_tables_and_commands() {
    let place = drawn("drawn-report");
    let words = ["--draw", "2", "--json", "r.json", "--csv", "r.csv"];
    assert_eq!(place.run(&words).code, Some(0));
    assert!(
        place
            .text("r.csv")
            .starts_with("row_cell,cell,use,loss,cc,link,")
    );
    let folder = place.path("plots");
    let json = place.path("r.json");
    let html = place.path("r.html");
    let words = [
        "report".as_ref(),
        json.as_os_str(),
        "--html".as_ref(),
        html.as_os_str(),
    ];
    let words = words
        .into_iter()
        .chain(["--svg".as_ref(), folder.as_os_str()]);
    let ended = e2e::programs::run("bench-client", words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        fs::read_to_string(folder.join("regret.svg"))
            .unwrap()
            .contains("<svg")
    );
    let page = place.text("r.html");
    for text in ["worst cells", "--only cell=0</td>", "CDF of the regret"] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn what_cannot_be_drawn_is_refused_in_a_line() {
    let place = Place::new("drawn-wrong");
    let ended = place.run(&["--draw", "3"]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("--draw: matrix small has axes"),
        "{ended:?}"
    );
    let refused = |from: &str, to: &str, more: &[&str]| {
        assert!(DRAWN.contains(from), "{from}");
        fs::write(place.path("small.toml"), DRAWN.replacen(from, to, 1)).unwrap();
        let ended = place.run(more);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        ended.stderr
    };
    let cell = refused("x", "x", &["--only", "cell=12"]);
    assert!(cell.contains("cell 12: the last of 12 is 11"), "{cell}");
    let none = refused("draw = 12", "draw = 0", &[]);
    assert!(none.contains("draw: 0 is not between 1 and 1250"), "{none}");
    let word = refused("delay {rtt}", "delay {ttr}", &[]);
    assert!(
        word.contains("cell 0: link: unknown axis `{ttr}`"),
        "{word}"
    );
    let axis = refused("cc = [", "rtt = [\"1ms\"]\ncc = [", &[]);
    assert!(
        axis.contains("axes: with `[draws]` there is one, `cc`"),
        "{axis}"
    );
    let bulk = refused("bitrate = \"{app_rate}\"", "", &["--only", "use=limited"]);
    assert!(bulk.contains("bulk_after: needs `bitrate`"), "{bulk}");
    let compete = refused("name =", "compete = true\nname =", &[]);
    assert!(compete.contains("these are keys of `[[use]]`"), "{compete}");
}

fn drawn(name: &str) -> Place {
    let place = Place::new(name);
    fs::write(place.path("small.toml"), DRAWN).unwrap();
    place
}

const DRAWN: &str = r#"
name = "drawn"
draw = 12
seed = 3
rounds = 1
seconds = 2
omit = 0
link = "delay {rtt} {loss_words} rate {rate} queue {buffer}"

[axes]
cc = ["cubic", "bbr1"]

[draws]
rate = { log_uniform = ["1mbit", "5mbit"] }
rtt = { uniform = ["10ms", "40ms"] }
buffer = { value = 1, times = ["rate", "rtt"], at_least = "3028b" }
app_rate = { value = 0.1, times = ["rate"] }
loss = { choose = [{ at = "none", loss_words = "" }, { at = "some", loss_words = "loss 1%" }] }

[[use]]
at = "alone"

[[use]]
at = "two-of-a-kind"
compete = true
variants = [{ cc = "{cc}" }, { cc = "{cc}", start = 0.5 }]

[[use]]
at = "beside-cubic"
compete = true
variants = [{ cc = "{cc}" }, { cc = "cubic" }]

[[use]]
at = "limited"
bitrate = "{app_rate}"
bulk_after = 1

[[use]]
at = "transfer"
bytes = 100000
"#;
