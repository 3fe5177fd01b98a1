//! docs/tutorial.md as a new user would follow it: every command of its `console` blocks is run as
//! it stands there, one after the other in one shell, and prints what is shown. Figures may differ,
//! `...` stands for any lines or the rest of one, and the order counts. The examples of `--help`
//! work as well.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use e2e::programs::{Ended, Running, bench_server, program, run, scratch_file};
use std::net::UdpSocket;
use std::path::Path;

#[test]
fn every_command_of_the_tutorial_works_as_written_and_prints_what_is_shown() {
    if UdpSocket::bind("127.0.0.1:4433").is_err() {
        return e2e::skipped("the tutorial's port, UDP 4433, is in use");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let text = std::fs::read_to_string(root.join("docs/tutorial.md")).unwrap();
    let commands = commands(&text);
    assert!(commands.len() > 8, "{} commands", commands.len());
    let ended = Running::start_system("bash", ["-c", &script(&commands)]).wait_long();
    let mut printed = ended.stdout.split(MARK).skip(1);
    for command in &commands {
        let printed = printed.next().unwrap_or_default();
        let (output, code) = printed.rsplit_once(CODE).unwrap_or((printed, "none"));
        let line = &command.line;
        assert_eq!(
            code.trim(),
            "0",
            "`{line}` ends with {code}, after:\n{output}"
        );
        let mut printed = output.lines().map(shape);
        for shown in command.output.iter().filter(|line| *line != "...") {
            let (shown, is_cut) = match shown.strip_suffix(",...") {
                Some(begin) => (begin, true),
                None => (shown.as_str(), false),
            };
            let wanted = shape(shown);
            let fits = |line: &String| is_cut && line.starts_with(&wanted) || *line == wanted;
            let is_there = printed.any(|line| fits(&line));
            assert!(
                is_there,
                "`{line}` does not print `{shown}`, but:\n{output}"
            );
        }
    }
}

#[test]
fn what_the_tutorial_installs_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let text = std::fs::read_to_string(root.join("docs/tutorial.md")).unwrap();
    let installs = text
        .lines()
        .filter_map(|line| line.split_once("cargo install "));
    let mut count = 0;
    for (_, arguments) in installs {
        let path = arguments
            .split_whitespace()
            .skip_while(|word| *word != "--path")
            .nth(1);
        let manifest = root.join(path.unwrap()).join("Cargo.toml");
        assert!(manifest.is_file(), "{}", manifest.display());
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn the_examples_of_help_work_as_typed() {
    let (_server, port) = bench_server(&[]);
    let here = format!("127.0.0.1:{port}");
    let mut count = 0;
    for help in [&["bench-client", "run"][..], &["bench-client", "ab"]] {
        for example in examples(help) {
            let example = example.replace("HOST:PORT", &here).replace("HOST", &here);
            let ended = in_shell(&shortened(&example));
            assert_eq!(ended.code, Some(0), "{example}: {ended:?}");
            count += 1;
        }
    }
    let token = scratch_file("token");
    std::fs::write(&token, "a token for the examples").unwrap();
    for example in examples(&["bench-server"]) {
        let example = example
            .replacen("bench-server", "bench-server --port 0", 1)
            .replace("FILE", token.to_str().unwrap());
        count += 1;
        if example.contains("; kill ") {
            let here = scratch_file("background");
            std::fs::create_dir(&here).unwrap();
            let ended = in_shell(&format!("cd {}; {example}", here.display()));
            assert_eq!(ended.code, Some(0), "{example}: {ended:?}");
            let log = std::fs::read_to_string(here.join("server.log")).unwrap();
            assert!(log.contains("listening on UDP"), "{log}");
            continue;
        }
        let script = format!("{}exec {example}", path());
        let mut server = Running::start_system("bash", ["-c", script.as_str()]);
        server.line_with("listening on UDP");
        server.terminate();
        assert_eq!(server.wait().code, Some(0), "{example}");
    }
    assert!(count >= 10, "{count} examples");
}

/// The commands under `Examples:`, without what is said of them.
fn examples(command: &[&str]) -> Vec<String> {
    let help = run(command[0], [&command[1..], &["--help"]].concat());
    let (_, examples) = help.stdout.split_once("\nExamples:\n").unwrap();
    let lines = examples.lines().map(str::trim);
    let commands = lines.filter(|line| line.starts_with(command[0]));
    let bare = |line: &str| line.split("  ").next().unwrap_or_default().to_owned();
    commands.map(bare).collect()
}

/// The same with shorter runs.
fn shortened(example: &str) -> String {
    let words = example.split(' ').collect::<Vec<_>>();
    let mut short = String::new();
    for (index, word) in words.iter().enumerate() {
        let flag = index.checked_sub(1).map(|before| words[before]);
        short += match flag {
            Some("-t" | "--rounds") => "1",
            _ => word,
        };
        short.push(' ');
    }
    if !example.contains(" -t ") && !example.contains(" -n ") {
        short += "-t 1 ";
    }
    if example.contains("bench-client ab") {
        short += if example.contains("--rounds") {
            ""
        } else {
            "--rounds 1 "
        };
        short += "--no-report";
    }
    short
}

fn in_shell(command: &str) -> Ended {
    let script = format!("{}{command}", path());
    Running::start_system("bash", ["-c", script.as_str()]).wait_long()
}

/// Has a shell find the built programs.
fn path() -> String {
    let programs = program("bench-client");
    format!("PATH={}:$PATH; ", programs.parent().unwrap().display())
}

/// A command and the lines that it is said to print.
struct Command {
    line: String,
    output: Vec<String>,
}

fn commands(text: &str) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    let mut is_console = false;
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(kind) => is_console = kind == "console",
            None if !is_console => {}
            None => match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(line), _) => commands.push(Command {
                    line: line.to_owned(),
                    output: Vec::new(),
                }),
                (None, Some(command)) => command.output.push(line.to_owned()),
                (None, None) => panic!("output without a command: {line}"),
            },
        }
    }
    commands
}

/// All commands in a shell of their own, with the built programs and nothing else of this test.
fn script(commands: &[Command]) -> String {
    let folder = scratch_file("tutorial");
    let mut script = format!(
        "exec 2>&1; {}mkdir -p {folder} && cd {folder} || exit\n",
        path(),
        folder = folder.display()
    );
    for command in commands {
        script += &format!("printf '%s' '{MARK}'\n{}\n", command.line);
        let log = command
            .line
            .strip_suffix(" &")
            .and_then(|line| line.rsplit_once("> "));
        if let Some((_, log)) = log {
            // Whoever types the next command gives the server a moment.
            let listens = format!("grep -qs listening {log}");
            script += &format!("for try in {{1..100}}; do {listens} && break; sleep 0.1; done\n");
            script += &format!("{listens}\n");
        }
        script += &format!("printf '%s\\n' \"{CODE}$?\"\n");
    }
    script
}

/// The line without its figures: digits are `#`, units have no prefix, and blanks are one.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for c in line.chars() {
        let is_number = shape.ends_with('#');
        match c {
            '0'..='9' if is_number => {}
            '.' | 'K' | 'M' | 'G' if is_number => {}
            '0'..='9' => shape.push('#'),
            c if c.is_whitespace() && shape.ends_with(' ') => {}
            c if c.is_whitespace() => shape.push(' '),
            c => shape.push(c),
        }
    }
    for unit in ["bits", "Bytes"] {
        for prefix in ["K", "M", "G"] {
            shape = shape.replace(&format!("# {prefix}{unit}"), &format!("# {unit}"));
        }
    }
    shape.trim().to_owned()
}

const MARK: &str = "=====command=====";
const CODE: &str = "=====ended with ";
