//! `include/paceline_cc.h` is what cbindgen makes of the sources.

use std::path::Path;
use std::{env, fs};

/// `PACELINE_WRITE_HEADER=1` writes it.
#[test]
fn the_header_is_that_of_the_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let sources = ["packets", "status", "structs", "handle", "exports"];
    let builder = cbindgen::Builder::new().with_config(config);
    let builder = sources.iter().fold(builder, |builder, source| {
        builder.with_src(root.join(format!("src/{source}.rs")))
    });
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();

    let path = root.join("include/paceline_cc.h");
    if env::var_os("PACELINE_WRITE_HEADER").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written, made,
        "include/paceline_cc.h is out of date; write it with \
         `PACELINE_WRITE_HEADER=1 cargo test -p paceline-cc-ffi --test header`"
    );
}

#[test]
fn the_header_declares_every_function_that_the_library_exports() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = fs::read_to_string(root.join("include/paceline_cc.h")).unwrap();
    let exports = fs::read_to_string(root.join("src/exports.rs")).unwrap();
    let mut functions = 0;
    for (_, rest) in exports
        .match_indices("extern \"C\" fn ")
        .map(|(at, found)| (at, &exports[at + found.len()..]))
    {
        let name = rest.split('(').next().unwrap();
        assert!(
            header.contains(&format!("{name}(")),
            "{name} is not declared"
        );
        functions += 1;
    }
    assert_eq!(functions, 17);
}
