//! The header and the example in a C compiler's hands, and in a C++ compiler's.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs, io};

#[test]
fn the_example_links_and_fills_a_link() {
    let Some(compiler) = compiler("CC", "cc") else {
        return;
    };
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("paceline_cc_bulk");
    let mut compile = Command::new(&compiler);
    compile.args([
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pedantic",
        "-O1",
    ]);
    compile.arg("-I").arg(root().join("include"));
    compile.arg(root().join("examples/bulk.c"));
    compile.arg(static_library());
    compile
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program);
    succeed(&mut compile);

    for (controller, least_mbit) in [("bbr3", 17.0), ("paceline", 19.0), ("cubic", 19.0)] {
        let output = succeed(Command::new(&program).args([controller, "10"]));
        let output = String::from_utf8(output.stdout).unwrap();
        assert!(output.contains(controller), "{output}");
        let rows: Vec<Vec<&str>> = output
            .lines()
            .skip(2)
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(rows.len(), 10, "{output}");
        for row in &rows[1..] {
            let goodput: f64 = row[1].parse().unwrap();
            assert!((least_mbit..20.1).contains(&goodput), "{output}");
            let rtt_ms: f64 = row[2].parse().unwrap();
            assert!((40.0..81.0).contains(&rtt_ms), "{output}");
        }
    }
    for (args, expected) in [
        (["nope", "10"], "`nope` is not a congestion controller"),
        (["bbr3", "ten"], "`ten` is no time to run for; give seconds"),
        (["bbr3", "-1"], "`-1` is no time to run for; give seconds"),
    ] {
        let refused = Command::new(&program).args(args).output().unwrap();
        assert!(!refused.status.success(), "{args:?}");
        let message = String::from_utf8(refused.stderr).unwrap();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn the_header_is_cxx_as_well() {
    let Some(compiler) = compiler("CXX", "c++") else {
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join("paceline_cc_header.cc");
    let program = folder.join("paceline_cc_header");
    let text = "#include \"paceline_cc.h\"\n\
                int main() { return paceline_cc_name(0) == nullptr; }\n";
    fs::write(&source, text).unwrap();
    let mut compile = Command::new(&compiler);
    compile.args(["-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic"]);
    compile.arg("-I").arg(root().join("include")).arg(&source);
    compile.arg(static_library());
    compile
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program);
    succeed(&mut compile);
    succeed(&mut Command::new(&program));
}

/// The compiler that the environment or else custom names, if it is there.
fn compiler(variable: &str, usual: &str) -> Option<String> {
    let name = env::var(variable).unwrap_or_else(|_| usual.to_owned());
    let is_there = Command::new(&name).arg("--version").output().is_ok();
    if cfg!(windows) || !is_there {
        // Past the harness, which shows output only of tests that fail.
        let why = "install a C and a C++ compiler, or set";
        writeln!(
            io::stderr(),
            "SKIPPED: `{name}` is not here; {why} {variable}"
        )
        .expect("stderr is open");
        return None;
    }
    Some(name)
}

/// Cargo puts it beside this test.
fn static_library() -> PathBuf {
    let test = env::current_exe().expect("a running test has a path");
    let library = test.with_file_name("libpaceline_cc.a");
    assert!(library.exists(), "{} is missing", library.display());
    library
}

fn succeed(command: &mut Command) -> Output {
    let output = command.output().expect("the program starts");
    assert!(
        output.status.success(),
        "{command:?}\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
