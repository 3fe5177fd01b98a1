//! What a package installs beside the programs.

use e2e::programs::{run, scratch_file};
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
    ] {
        let script = scratch_file("completions.bash");
        let ended = match program {
            "link-relay" => run(program, ["completions", "bash"]),
            _ => run("bench-client", ["completions", "bash", program]),
        };
        assert_eq!(ended.code, Some(0), "{ended:?}");
        std::fs::write(&script, &ended.stdout).unwrap();
        let completions = completions(&script, program, words);
        assert!(
            completions.split_whitespace().any(|word| word == completed),
            "{program} {words}: {completions}"
        );
    }
}

/// What bash offers at the end of these words.
fn completions(script: &Path, program: &str, words: &str) -> String {
    let ask = r#"
        source "$1"
        COMP_WORDS=($2 $3); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE="$2 $3"
        function=$(complete -p "$2" | sed 's/.*-F \([^ ]*\).*/\1/')
        "$function" "$2" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        echo "${COMPREPLY[@]}"
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
