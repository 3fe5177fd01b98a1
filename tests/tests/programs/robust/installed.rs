//! What a package installs beside the programs.

use e2e::programs::{bench_server, run, scratch_file};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The manual pages, which two programs have written to one folder.
fn pages() -> Vec<PathBuf> {
    let folder = scratch_file("man");
    for program in ["bench-client", "link-relay"] {
        let ended = run(program, ["man", folder.to_str().unwrap()]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let pages = std::fs::read_dir(&folder).unwrap();
    pages.map(|page| page.unwrap().path()).collect()
}

#[test]
fn the_documented_service_starts_and_its_limits_fit_its_flags() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/deployment.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, unit) = page
        .split_once("# /etc/systemd/system/bench-server")
        .unwrap();
    let (unit, _) = unit.split_once("```").unwrap();
    let unit = unit.replace("\\\n", " ");
    let value = |key: &str| unit.lines().find_map(|line| line.strip_prefix(key));
    let command = value("ExecStart=").unwrap();
    let token = scratch_file("token");
    std::fs::write(&token, "0123456789abcdef0123456789abcdef").unwrap();
    let command = command.replace("%d/token", token.to_str().unwrap());
    // Of the flags those with files that only an owner of a name has are left out.
    let flags = command.replace("--cert %d/cert --key %d/key", "");
    let flags: Vec<&str> = flags.split_whitespace().skip(1).collect();
    let (server, _) = bench_server(&flags);
    server.terminate();
    assert_eq!(server.wait().code, Some(0));

    let flag = |name: &str| -> u64 {
        let at = flags.iter().position(|flag| *flag == name).unwrap();
        flags[at + 1].trim_end_matches('M').parse().unwrap()
    };
    let clients = flag("--max-connections");
    let tasks: u64 = value("TasksMax=").unwrap().parse().unwrap();
    assert!(tasks >= MOST_THREADS + clients + OTHER_THREADS, "{tasks}");
    let memory: u64 = value("MemoryMax=")
        .unwrap()
        .trim_end_matches('G')
        .parse()
        .unwrap();
    let windows = clients * 3 * flag("--max-window");
    assert!(memory * 1_024 > windows, "{memory} GiB for {windows} MiB");
}

/// What `--threads` may be.
const MOST_THREADS: u64 = 256;
/// For signals, the end, the log and files.
const OTHER_THREADS: u64 = 16;

#[test]
fn manual_pages_are_there_for_each_command_and_render_without_a_warning() {
    let pages = pages();
    let names: Vec<&str> = pages
        .iter()
        .map(|page| page.file_name().unwrap().to_str().unwrap())
        .collect();
    for name in [
        "bench-client.1",
        "bench-client-run.1",
        "bench-client-ab.1",
        "bench-server.1",
        "link-relay.1",
        "link-relay-tun.1",
    ] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    if !is_there("groff") {
        e2e::skipped("there is no groff, so nothing was rendered");
        return;
    }
    for page in &pages {
        let output = Command::new("groff")
            .args(["-man", "-Tutf8", "-ww"])
            .arg(page)
            .output()
            .unwrap();
        let warnings = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && warnings.is_empty(),
            "{page:?}: {warnings}"
        );
        assert!(output.stdout.len() > 500, "{page:?}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        // Headings stand at the margin, which the first and the last line of a page reach as well.
        let is_empty = |pair: &&[&str]| !pair.iter().any(|line| line.starts_with(' '));
        let empty = lines[1..lines.len() - 1].windows(2).find(is_empty);
        assert_eq!(empty, None, "a heading has nothing below it in {page:?}");
    }
}

#[test]
fn bash_completes_commands_flags_and_values() {
    if !is_there("bash") {
        e2e::skipped("there is no bash");
        return;
    }
    for (program, words, completed) in [
        ("bench-client", "ru", "run"),
        ("bench-client", "run --con", "--connect-timeout"),
        ("bench-client", "completions f", "fish"),
        ("bench-server", "--max-per", "--max-per-address"),
        ("link-relay", "--list-p", "--list-presets"),
        ("link-relay", "tun --ser", "--server"),
        ("link-relay", "--link del", "delay"),
        ("link-relay", "exec lte-d", "lte-down"),
        ("link-relay", "exec delay 20ms -- bash --nor", ""),
        ("bench-client", "run -C bbr", "bbr3"),
        // bash replaces what stands behind a `:`, a `=` or a quote, and nothing else.
        ("bench-client", "ab --b bbr3:loss_t", "loss_thresh="),
        ("bench-client", "ab --b=bbr3:loss_t", "loss_thresh="),
        (
            "bench-client",
            "ab --b bbr3:cwnd_gain=2,loss_t",
            "2,loss_thresh=",
        ),
        (
            "bench-client",
            "ab --link \"delay 20ms rat",
            "delay 20ms rate",
        ),
        ("bench-client", "ab --link lte-d", "lte-down"),
        ("bench-client", "matrix bbr-p", "bbr-paper"),
        ("bench-server", "-C led", "ledbat_pp"),
    ] {
        let script = script("bash", program);
        let completions = completions(&script, program, words);
        assert!(
            completions.lines().any(|word| word == completed),
            "{program} {words}: {completions}"
        );
    }
}

#[test]
fn fish_completes_values_of_options_and_of_commands() {
    if !is_there("fish") {
        e2e::skipped("there is no fish");
        return;
    }
    for (program, words, completed) in [
        ("link-relay", "--link lte-d", "lte-down"),
        ("link-relay", "--seed 1 --return-link lte-d", "lte-down"),
        ("link-relay", "tun lte-d", "lte-down"),
        ("bench-client", "ab --b bbr3:loss_t", "bbr3:loss_thresh="),
        ("bench-client", "matrix bbr-p", "bbr-paper"),
    ] {
        let script = script("fish", program);
        let ask = "source $argv[1]; complete -C \"$argv[2] $argv[3]\"";
        let output = Command::new("fish")
            .args(["--no-config", "-c", ask])
            .arg(&script)
            .args([program, words])
            .output()
            .unwrap();
        let offered = String::from_utf8_lossy(&output.stdout);
        let mut values = offered.lines().map(|line| line.split('\t').next());
        assert!(
            values.any(|value| value == Some(completed)),
            "{program} {words}: {offered}"
        );
    }
}

/// A file of a shell's completions of the program.
fn script(shell: &str, program: &str) -> PathBuf {
    let file = scratch_file(&format!("completions.{shell}"));
    let ended = match program {
        "link-relay" => run(program, ["completions", shell]),
        _ => run("bench-client", ["completions", shell, program]),
    };
    assert_eq!(ended.code, Some(0), "{ended:?}");
    std::fs::write(&file, &ended.stdout).unwrap();
    file
}

/// What bash offers at the end of these words, a line each. As bash does it, the function is given
/// the text behind the last character that ends a word, or behind a quote that is open.
fn completions(script: &Path, program: &str, words: &str) -> String {
    let ask = r#"
        source "$1"
        COMP_LINE="$2 $3"; COMP_POINT=${#COMP_LINE}; COMP_CWORD=0
        function=$(complete -p "$2" | sed 's/.*-F \([^ ]*\).*/\1/')
        [[ $3 == *\"* ]] && last=${3##*\"} || last=${3##*[ :=]}
        "$function" "$2" "$last" ""
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let output = Command::new("bash")
        .args(["--norc", "-c", ask, "bash"])
        .arg(script)
        .args([program, words])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}
