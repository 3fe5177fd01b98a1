//! Against an earlier result, as CI does it.

use super::parse;
use e2e::programs::{Ended, run, scratch_file};
use std::path::Path;

const LINK: [&str; 2] = ["--link", "delay 20ms rate 10mbit queue 1bdp"];

fn ab(b: &str, more: &[&str]) -> Ended {
    let plan = ["ab", "--virtual", "--no-report", "-t", "2", "--rounds", "4"];
    let controllers = ["--a", "fixed:rate=4mbit", "--b", b];
    run(
        "bench-client",
        [&plan[..], &LINK, &controllers, more].concat(),
    )
}

fn write(name: &str) -> std::path::PathBuf {
    let file = scratch_file(name);
    let ended = ab("cubic", &["--json", file.to_str().expect("UTF-8")]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    file
}

fn text(file: &Path) -> &str {
    file.to_str().expect("UTF-8")
}

#[test]
fn what_has_not_changed_passes_and_what_has_is_named_with_its_figure() {
    let file = write("before.json");
    let rules = ["--fail-if", "goodput < -5%", "--fail-if", "rtt_p95 > 10%"];
    let json = scratch_file("now.json");
    let out = ["--baseline", text(&file), "--json", text(&json)];
    let same = ab("cubic", &[&out[..], &rules].concat());
    assert_eq!(same.code, Some(0), "{same:?}");
    let result = parse(&std::fs::read_to_string(&json).expect("it was written"));
    assert_eq!(result["baseline"]["paired"], true);
    let goodput = &result["baseline"]["comparisons"]["b"]["goodput_bits_per_second"];
    assert_eq!(goodput["ratio_b_over_a"], 1.0);

    // The file says that the fixed rate was a third higher than it is.
    let before = std::fs::read_to_string(&file).expect("it was written");
    let mut before = parse(&before);
    for round in before["variants"][0]["rounds"]
        .as_array_mut()
        .expect("a list")
    {
        let goodput = round["goodput_bits_per_second"].as_u64().expect("a number");
        round["goodput_bits_per_second"] = (goodput * 4 / 3).into();
    }
    std::fs::write(&file, before.to_string()).expect("it can be written");
    let worse = ab("cubic", &[&out[..], &rules].concat());
    assert_eq!(worse.code, Some(1), "{worse:?}");
    let errors = worse
        .stderr
        .lines()
        .filter(|line| line.starts_with("error: "));
    let errors: Vec<&str> = errors.collect();
    assert_eq!(errors.len(), 1, "{worse:?}");
    for part in [
        "`goodput < -5%`",
        "a (fixed:rate=4mbit)",
        "-25.0 %",
        "95 % interval",
    ] {
        assert!(errors[0].contains(part), "{part}: {}", errors[0]);
    }
    assert!(!errors[0].contains("cubic"), "{}", errors[0]);
}

#[test]
fn a_rule_needs_every_variant_in_the_baseline() {
    let file = write("partners.json");
    let baseline = ["--baseline", text(&file)];
    let compared = ab("bbr3", &baseline);
    assert_eq!(compared.code, Some(0), "{compared:?}");
    let ended = ab(
        "bbr3",
        &[&baseline[..], &["--fail-if", "goodput < -5%"]].concat(),
    );
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("has no b (bbr3)"), "{ended:?}");
}

#[test]
fn intervals_that_stay_too_wide_have_an_exit_code_of_their_own() {
    let lossy = "delay 20ms rate 10mbit queue 1bdp loss 3%";
    let plan = ["ab", "--virtual", "--no-report", "-t", "2", "--link", lossy];
    let ab = |more: &[&str]| run("bench-client", [&plan[..], more].concat());
    let missed = ab(&["--until", "0.1%", "--max-rounds", "6"]);
    assert_eq!(missed.code, Some(3), "{missed:?}");
    let error = "error: --until: the intervals of goodput are wider than 0.1";
    assert!(missed.stderr.contains(error), "{missed:?}");
    assert_eq!(ab(&["--until", "99%", "--max-rounds", "8"]).code, Some(0));
    let refused = ab(&["--until", "5%", "--rounds", "8", "--max-rounds", "7"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("--max-rounds 7 is below the 8 rounds"),
        "{refused:?}"
    );
}

#[test]
fn what_cannot_be_compared_is_refused_before_the_test() {
    let file = write("refused.json");
    let text = text(&file);
    for (args, word) in [
        (
            &["--baseline", "/nonexistent.json"][..],
            "/nonexistent.json",
        ),
        (&["--baseline", text, "-t", "3"], "round length"),
        (&["--baseline", text, "--compete"], "all at once"),
        (
            &["--baseline", text, "--return-link", "delay 1ms"],
            "return link",
        ),
        (
            &["--baseline", text, "--fail-if", "godput < -5%"],
            "`godput`",
        ),
        (&["--fail-if", "goodput < -5%"], "--baseline"),
    ] {
        let plan = ["ab", "--virtual", "--no-report", "--rounds", "1"];
        let time = if args.contains(&"-t") {
            &[][..]
        } else {
            &["-t", "2"]
        };
        let ended = run("bench-client", [&plan[..], &LINK, time, args].concat());
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        assert!(ended.stderr.contains(word), "{args:?}: {}", ended.stderr);
    }
}
