use super::*;
use bench_report::text::Unit;
use std::time::Duration;
use units::{Bandwidth, Bytes};

fn words(line: &str) -> impl Iterator<Item = OsString> + use<'_> {
    line.split_whitespace().map(OsString::from)
}

fn run_args(line: &str) -> RunArgs {
    match parse(words(line)).unwrap().command {
        Command::Run(args) => *args,
        other => panic!("{other:?}"),
    }
}

fn refusal(line: &str) -> String {
    match parse(words(line)).unwrap_err() {
        Exit::Refused(failure) => failure.to_string(),
        Exit::Asked(text) => panic!("{text}"),
    }
}

#[test]
fn letters_mean_what_they_mean_in_iperf3() {
    let args = run_args(
        "bench-client run host -p 5201 -t 2.5 -i 0.5 -P 4 -R -C new_reno -b 20M -l 64K -w 1M -O 1 \
         -f K -J",
    );
    assert_eq!((args.server.host.as_str(), args.port), ("host", 5201));
    assert_eq!(args.time, Some(Duration::from_millis(2_500)));
    assert_eq!(args.interval, Duration::from_millis(500));
    assert_eq!(args.omit, Duration::from_secs(1));
    assert_eq!(args.transfer.parallel, 4);
    assert!(args.transfer.reverse && args.print_json);
    assert_eq!(args.congestion, "new_reno");
    assert_eq!(
        args.transfer.bitrate,
        Some(Bandwidth::from_bits_per_sec(20_000_000))
    );
    assert_eq!(args.transfer.length, Bytes::new(65_536));
    assert_eq!(args.transfer.window.most, Bytes::new(1 << 20));
    assert_eq!(args.format, Some(Unit::Bytes(1)));
}

#[test]
fn the_defaults_are_iperf3s_but_for_the_port() {
    let args = run_args("bench-client run host");
    assert_eq!((args.port, args.interval), (4433, Duration::from_secs(1)));
    assert_eq!(args.transfer.length, Bytes::new(131_072));
    assert_eq!((args.time, args.bytes), (None, None));
}

#[test]
fn a_wrong_word_is_named_in_one_line() {
    let lines = [
        "bench-client",
        "bench-client rum host",
        "bench-client run",
        "bench-client run host --revers",
        "bench-client run host:0",
        "bench-client run host -P 200",
        "bench-client run host -p x",
        "bench-client run host --port 65536",
        "bench-client run host --seed x",
        "bench-client run host --version",
        "bench-client run host -t ten",
        "bench-client run host -n 64q",
        "bench-client run host -n 1M -t 5",
        "bench-client run host -R --bidir",
        "bench-client run host -w 1K",
        "bench-client run host -M 100",
        "bench-client run host --cipher rot13",
        "bench-client run host --fingerprint 12",
        "bench-client ab --rounds 0",
        "bench-client ab --seed -1",
        "bench-client ab -t 0",
        "bench-client ab -n 0",
        "bench-client ab -n 1M -O 1",
        "bench-client ab -n 1M --compete",
        "bench-client ab --bitrate-of b",
        "bench-client scorecard",
        "bench-client scorecard bbr3 --rounds 0",
        "bench-client scorecard bbr3 --all pages",
        "bench-client matrix",
        "bench-client matrix bbr-paper --shard 0/4",
        "bench-client matrix bbr-paper --shard 5/4",
        "bench-client matrix bbr-paper --only loss",
        "bench-client matrix bbr-paper --jobs 2",
        "bench-client matrix merge",
    ];
    let refusals: Vec<String> = lines
        .iter()
        .map(|line| format!("{line}\n    {}", refusal(line)))
        .collect();
    for refusal in &refusals {
        assert_eq!(refusal.lines().count(), 2, "{refusal}");
    }
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn what_was_typed_is_shown_and_not_obeyed_by_the_terminal() {
    let words = ["bench-client", "run", "host", "-p", "\x1b[31mx"].map(OsString::from);
    let Err(Exit::Refused(failure)) = parse(words) else {
        panic!("accepted");
    };
    let text = failure.to_string();
    assert!(
        text.starts_with(r"invalid value '\u{1b}[31mx' for '--port <PORT>': expected"),
        "{text}"
    );
}

#[test]
fn a_wrong_link_is_refused_by_its_word() {
    let words = ["bench-client", "ab", "--link", "dely 40ms"].map(OsString::from);
    let Err(Exit::Refused(failure)) = parse(words) else {
        panic!("accepted");
    };
    let text = failure.to_string();
    assert!(text.contains("--link") && text.contains("`dely`"), "{text}");
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn the_help_is_readable_at_80_columns() {
    for (name, line) in [
        ("help", "bench-client --help"),
        ("help_run", "bench-client run --help"),
        ("help_ab", "bench-client ab --help"),
        ("help_matrix", "bench-client matrix --help"),
        ("help_matrix_merge", "bench-client matrix merge --help"),
        ("help_scorecard", "bench-client scorecard --help"),
        ("help_report", "bench-client report --help"),
    ] {
        let Err(Exit::Asked(text)) = parse(words(line)) else {
            panic!("no help");
        };
        check_help(name, &text);
    }
}

fn check_help(name: &str, text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= HELP_WIDTH, "{line}");
    }
    insta::assert_snapshot!(name, text);
}
