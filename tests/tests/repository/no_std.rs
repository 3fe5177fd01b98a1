//! cc-core needs neither std nor anybody else's code, and it and link-sim no operating system.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Command, Output};

#[test]
fn a_program_without_std_lives_by_every_controller() {
    build(&[]);
    let program = Path::new(TARGET).join("debug/no-std");
    let status = Command::new(program).status();
    let status = status.expect("what was built can be run");
    assert!(
        status.success(),
        "a controller stopped or memory ran out: {status}"
    );
}

#[test]
fn the_same_program_links_for_bare_metal() {
    if has_core_library(BARE) {
        build(&["--target", BARE]);
    }
}

/// The simulator runs in a browser, as controllers do.
#[test]
fn cc_core_and_link_sim_compile_for_web_assembly() {
    if !has_core_library(WASM) {
        return;
    }
    for (package, features) in [
        ("paceline-cc-core", "--no-default-features"),
        ("paceline-cc-core", "--features=serde"),
        ("paceline-link-sim", "--no-default-features"),
    ] {
        let package = format!("--package={package}");
        cargo(&[
            "check", "--locked", "--quiet", &package, features, "--target", WASM,
        ]);
    }
}

#[test]
fn cc_core_depends_on_nothing_but_units() {
    let output = cargo(&[
        "tree",
        "--package=paceline-cc-core",
        "--edges=normal,build",
        "--prefix=none",
    ]);
    let tree = String::from_utf8(output.stdout).expect("names are text");
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["paceline-cc-core", "paceline-units"]
    );
}

/// Whether there is one for this target; if not, the test says that it is skipped.
fn has_core_library(target: &str) -> bool {
    let libdir = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .output()
        .expect("there is a compiler");
    let libdir = String::from_utf8(libdir.stdout).expect("a path is text");
    let is_there = Path::new(libdir.trim()).exists();
    if !is_there {
        e2e::skipped(&format!(
            "no core library for {target} here; rustup target add {target} brings it"
        ));
    }
    is_there
}

fn build(target: &[&str]) {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/no_std/Cargo.toml");
    let fixed = ["build", "--locked", "--quiet", "--manifest-path", manifest];
    cargo(&[&fixed, target].concat());
}

fn cargo(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO"))
        .args(["--offline"])
        .args(arguments)
        .env("CARGO_TARGET_DIR", TARGET)
        .output()
        .expect("cargo runs this test, so there is one");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    output
}

/// Apart from the workspace's, whose lock cargo holds while it runs tests.
const TARGET: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/no_std");
const BARE: &str = "x86_64-unknown-none";
const WASM: &str = "wasm32-unknown-unknown";
