//! Examples whose arguments are wrong, or that are asked what they take.

use e2e::programs::example;
use std::process::{Command, Output};

const EXAMPLES: [&str; 7] = [
    "idle_connections",
    "live",
    "pacing",
    "probing",
    "shards",
    "short_flows",
    "startup_trace",
];

fn run(name: &str, args: &[&str]) -> Output {
    Command::new(example(name)).args(args).output().unwrap()
}

#[test]
fn help_is_the_usage_and_no_error() {
    for name in EXAMPLES {
        let Output {
            status,
            stdout,
            stderr,
        } = run(name, &["--help"]);
        let text = String::from_utf8_lossy(&stdout);
        assert_eq!((status.code(), stderr.len()), (Some(0), 0), "{name}");
        assert!(text.starts_with(&format!("usage: {name} [")), "{text}");
    }
}

#[test]
fn a_wrong_argument_is_named_in_a_line_above_the_usage() {
    let cases: [(&str, &[&str], &str); 13] = [
        ("live", &["bbr4"], "bbr4"),
        ("short_flows", &["bbr4"], "bbr4"),
        ("short_flows", &["cubic", "dely 20ms"], "dely"),
        ("short_flows", &["cubic", "delay 20ms", "many"], "many"),
        ("startup_trace", &["bbr4"], "bbr4"),
        (
            "startup_trace",
            &["bbr3", "delay 20ms", "1s", "extra"],
            "extra",
        ),
        ("idle_connections", &["10", "many", "100"], "many"),
        ("idle_connections", &["10"], "10"),
        ("shards", &["model", "0"], "0"),
        ("shards", &["scael"], "scael"),
        ("probing", &["bbr4"], "bbr4"),
        ("pacing", &["fast"], "fast"),
        ("pacing", &["1mbit", "long"], "long"),
    ];
    for (name, args, word) in cases {
        let ended = run(name, args);
        let text = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(
            (ended.status.code(), ended.stdout.len()),
            (Some(2), 0),
            "{text}"
        );
        let (error, usage) = text.trim_end().rsplit_once('\n').unwrap();
        assert!(
            error.starts_with("error: ") && error.contains(word),
            "{text}"
        );
        assert!(usage.starts_with(&format!("usage: {name} [")), "{text}");
    }
}
