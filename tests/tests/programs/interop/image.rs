//! The image of our endpoint for the interop runner, as far as it can be read without building it.

use std::path::{Path, PathBuf};

#[test]
fn the_image_is_built_of_what_is_there() {
    let image = text("tests/interop/Dockerfile");
    let lines = |word: &'static str| {
        image
            .lines()
            .filter_map(move |line| line.strip_prefix(word))
    };

    let rust = lines("FROM rust:").next().unwrap();
    let rust = rust.split('-').next().unwrap();
    let least = format!("rust-version = \"{rust}\"");
    assert!(text("Cargo.toml").contains(&least), "no {least}");

    let build = lines("RUN cargo build ").next().unwrap();
    let example = build.split("--example ").nth(1).unwrap();
    let manifest = text("crates/transport/Cargo.toml").replace('\n', " ");
    let (_, needed) = manifest
        .split_once(&format!("name = \"{example}\" required-features = ["))
        .unwrap();
    let needed = needed.split_once(']').unwrap().0.split(", ");
    let (_, defaults) = manifest.split_once(" default = [").unwrap();
    let defaults = defaults.split_once(']').unwrap().0;
    let given = build.split("--features ").nth(1).unwrap();
    let given: Vec<_> = given.split(' ').next().unwrap().split(',').collect();
    for feature in needed {
        let is_given = given.contains(&feature.trim_matches('"')) || defaults.contains(feature);
        assert!(is_given, "{feature} is not built in: {build}");
    }

    for copied in lines("COPY ") {
        let mut words = copied.rsplit(' ');
        let (into, what) = (words.next().unwrap(), words.next().unwrap());
        match what.strip_prefix("/paceline/target/release/examples/") {
            // What is built is where the script looks for it.
            Some(program) => assert_eq!((program, into), (example, "/usr/local/bin/")),
            None => assert!(root().join(what).exists(), "{what} is not there"),
        }
    }

    let script = text("tests/interop/run_endpoint.sh");
    assert!(script.contains(&format!("${{INTEROP_ENDPOINT:-{example}}}")));
    let entry = lines("ENTRYPOINT ").next().unwrap();
    assert!(image.contains(&format!(
        "run_endpoint.sh {}",
        entry.trim_matches(['[', ']', '"'])
    )));
}

fn text(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
