//! Links of any description under any schedule: the fuzz targets' harness on random bytes, and on
//! the bytes with which libFuzzer once broke a promise.

#[path = "any_link/harness.rs"]
mod harness;

use proptest::prelude::*;
use std::fs;
use std::path::Path;

proptest! {
    #[test]
    fn any_link_keeps_its_promises_under_any_schedule(
        data in proptest::collection::vec(any::<u8>(), 0..600)
    ) {
        harness::link(&data);
    }

    #[test]
    fn any_text_is_a_link_or_a_refusal(text in "\\PC{0,200}") {
        harness::parse(&text);
    }
}

#[test]
fn what_broke_a_link_once_does_not_again() {
    regressions("link").for_each(|data| harness::link(&data));
}

#[test]
fn what_broke_the_parser_once_does_not_again() {
    regressions("parse").for_each(|data| harness::parse(&String::from_utf8_lossy(&data)));
}

/// The inputs that are kept for a target.
fn regressions(target: &str) -> impl Iterator<Item = Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions");
    let files = fs::read_dir(folder.join(target)).expect("there is a folder for each target");
    files.map(|file| {
        let file = file.expect("the folder is readable");
        fs::read(file.path()).expect("an input is a file")
    })
}
