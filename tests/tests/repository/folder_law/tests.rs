use super::*;
use crate::repository::files;

/// The findings for a crate `x` of these files, with this order of its `src`.
fn findings(order: &str, files: &[(&str, &str)]) -> Vec<String> {
    let data = format!("[order]\n\"crates/x/src\" = [{order}]\n[may_name]\n");
    found(&data, files)
}

fn found(data: &str, files: &[(&str, &str)]) -> Vec<String> {
    let findings = check(&sample(data, files));
    findings.iter().map(Finding::to_string).collect()
}

/// The data, and files of a crate `x`.
fn sample(data: &str, files: &[(&str, &str)]) -> Vec<SourceFile> {
    let mut sample = vec![SourceFile::sample(DATA, data)];
    let files = files.iter();
    sample.extend(
        files.map(|(path, text)| SourceFile::sample(&format!("crates/x/src/{path}"), text)),
    );
    sample
}

/// Whether a crate with `a` before `b` breaks the law when `a` has this text.
fn is_back_edge(text: &str) -> bool {
    let files = [
        ("lib.rs", "mod a;\nmod b;\npub use b::{B, B as C};\n"),
        ("a.rs", text),
        ("b.rs", "pub struct B;\n"),
    ];
    !findings("'a', 'b'", &files).is_empty()
}

#[test]
fn an_import_against_the_order_is_found_and_named() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\n"),
        ("a.rs", "mod deep;\n"),
        ("a/deep.rs", "\nuse crate::b::B;\n"),
        ("b.rs", "pub struct B;\n"),
    ];
    assert_eq!(
        findings("'a', 'b'", &files),
        [
            "crates/x/src/a/deep.rs:2: in crates/x/src `a` stands before `b` and imports it, as \
             `crate::b::B`; move what both need to a module that stands before both"
        ]
    );
    assert_eq!(findings("'b', 'a'", &files), [""; 0]);
}

#[test]
fn an_import_is_found_however_it_is_written() {
    assert!(is_back_edge("use crate::b::B;\n"));
    assert!(is_back_edge("use crate::{\n    b::{self},\n};\n"));
    assert!(is_back_edge("use super::b as other;\n"));
    assert!(is_back_edge("use crate::B;\n"));
    assert!(is_back_edge("use crate::C as D;\n"));
    assert!(is_back_edge("fn f() -> crate::b::B {\n    todo()\n}\n"));
    assert!(is_back_edge("fn f() {\n    use self::super::b;\n}\n"));
    assert!(is_back_edge(
        "fn f() {\n    print!(\"{:?}\", [crate::b::B]);\n}\n"
    ));
    assert!(is_back_edge("mod inner {\n    use super::super::b;\n}\n"));
    assert!(is_back_edge("#[serde(with = \"crate::b\")]\nstruct A;\n"));
}

#[test]
fn tests_other_crates_and_visibilities_are_no_imports() {
    assert!(!is_back_edge("use core::b::B;\nuse b::B;\n"));
    assert!(!is_back_edge(
        "#[cfg(test)]\nmod tests {\n    use crate::b;\n}\n"
    ));
    assert!(!is_back_edge("#[cfg(test)]\nuse crate::b;\n"));
    assert!(!is_back_edge(
        "#[cfg(all(test, unix))]\nfn f() {\n    crate::b::B;\n}\n"
    ));
    assert!(!is_back_edge(
        "/// Like [`crate::b::B`].\npub(in crate::b) struct A;\n"
    ));
}

#[test]
fn a_circle_below_the_lists_is_found_and_named() {
    let files = [
        ("lib.rs", "mod a;\n"),
        ("a.rs", "mod one;\nmod three;\nmod two;\nuse one::One;\n"),
        ("a/one.rs", "use super::two::Two;\n"),
        ("a/two.rs", "mod deep;\n"),
        ("a/two/deep.rs", "use crate::a::one::{\n    One,\n};\n"),
        ("a/three.rs", "use super::one;\n"),
    ];
    assert_eq!(
        findings("'a'", &files),
        [
            "crates/x/src/a/one.rs:1: no circle in crates/x/src/a, here `one` imports \
             `super::two::Two` (crates/x/src/a/one.rs:1), `two` imports `crate::a::one::One` \
             (crates/x/src/a/two/deep.rs:2); move what both need to a module of its own that all \
             of them import"
        ]
    );
}

#[test]
fn a_file_that_imports_what_its_parent_defines_is_found() {
    let with = |child: &str| {
        let parent = "mod one;\nmod two;\nuse crate::low::Low;\npub use two::Two;\nstruct A;\n";
        let files = [
            ("lib.rs", "mod low;\nmod a;\nfn of_root() {}\n"),
            ("low.rs", "pub struct Low;\n"),
            ("a.rs", parent),
            ("a/one.rs", child),
            ("a/two.rs", "pub struct Two;\n"),
        ];
        findings("'low', 'a'", &files)
    };
    assert_eq!(
        with("\nuse super::A;\n"),
        [
            "crates/x/src/a/one.rs:2: a file imports nothing that a file above it defines, as \
             `super::A`; move it to a file of its own, which both import"
        ]
    );
    assert_eq!(with("use super::*;\n").len(), 1);
    assert_eq!(with("impl super::A {}\n").len(), 1);
    assert_eq!(with("use crate::of_root;\n").len(), 1);
    // What the parent imports or re-exports itself is not the parent's.
    assert_eq!(with("use super::{Low, Two, two};\n"), [""; 0]);
}

#[test]
fn a_re_export_is_the_module_that_has_it_for_all_but_those_below_it() {
    let files = |user: &'static str| {
        [
            ("lib.rs", "mod result;\nmod user;\npub use result::*;\n"),
            ("result.rs", "mod round;\npub use round::Round;\n"),
            ("result/round.rs", user),
            ("user.rs", "use crate::Round;\n"),
        ]
    };
    assert_eq!(findings("'result', 'user'", &files("")), [""; 0]);
    assert_eq!(findings("'user', 'result'", &files("")).len(), 1);
    let back = "use crate::user::x;\n";
    assert_eq!(findings("'result', 'user'", &files(back)).len(), 1);
}

#[test]
fn modules_without_a_place_and_places_without_a_module_are_found() {
    let files = [("lib.rs", "mod a;\nmod b;\n"), ("a.rs", ""), ("b.rs", "")];
    let missing = findings("'a'", &files);
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert!(missing[0].contains("every module of crates/x/src has a place, `b` has none"));
    let stale = findings("'a', 'b', 'c'", &files);
    assert_eq!(stale.len(), 1, "{stale:?}");
    assert!(stale[0].contains("crates/x/src has no `c`"));
    let unlisted = found("[order]\n[may_name]\n", &files);
    assert_eq!(unlisted.len(), 1, "{unlisted:?}");
    assert!(unlisted[0].contains("does not list: \"a\", \"b\" would hold"));
    let lost = findings("'a', 'b'", &files[..2]);
    assert!(lost[0].starts_with("crates/x/src/lib.rs:2: "), "{lost:?}");
}

#[test]
fn macros_are_where_they_are_defined() {
    let files = [
        ("lib.rs", "#[macro_use]\nmod a;\nmod b;\n"),
        (
            "a.rs",
            "#[macro_export]\nmacro_rules! m {\n    () => {};\n}\n",
        ),
        ("b.rs", "crate::m!();\n"),
    ];
    assert_eq!(findings("'a', 'b'", &files), [""; 0]);
    assert_eq!(findings("'b', 'a'", &files).len(), 1);
}

#[test]
fn a_module_of_another_crate_that_may_not_be_named_is_found() {
    let data = "[order]\n[may_name.x]\nother = ['result']\n'std::net' = []\n";
    let with = |text| found(data, &[("lib.rs", text)]).len();
    assert_eq!(with("use other::result::Round;\nuse third::table;\n"), 0);
    assert_eq!(with("use other::{result, table};\n"), 1);
    assert_eq!(with("fn f() {\n    other::table::g();\n}\n"), 1);
    assert_eq!(with("use other::*;\n"), 1);
    assert_eq!(with("use std::{fs, net::IpAddr};\n"), 1);
    assert_eq!(with("use std::net;\n"), 1);
    assert_eq!(with("use std::fs;\n"), 0);
    assert_eq!(with("#[cfg(test)]\nuse other::table;\n"), 0);
}

#[test]
fn a_module_stands_on_the_lowest_floor_above_all_that_it_imports() {
    let data = "[order]\n'crates/x/src' = ['a', 'b', 'c', 'd', 'e']\n[may_name]\n";
    let files = [
        ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\nmod e;\n"),
        ("a.rs", ""),
        ("b.rs", "use crate::a::A;\n"),
        ("c.rs", ""),
        ("d.rs", "use crate::{b::B, c::C};\n"),
        ("e.rs", "use crate::c::C;\n"),
    ];
    let floors = floors(&sample(data, &files));
    let expected: [&[&str]; 3] = [&["a", "c"], &["b", "e"], &["d"]];
    assert_eq!(floors["crates/x/src"], expected);
}

/// In each crate as it is, one import more: of the last module of the list by the first one.
#[test]
fn an_import_against_the_order_is_found_in_each_crate_of_this_repository() {
    let files = files();
    for (folder, order) in &Law::read(&files).order {
        let [first, .., last] = order.as_slice() else {
            continue;
        };
        let is_read = |file: &&SourceFile| file.path.starts_with(folder) || file.path == DATA;
        let mut planted: Vec<SourceFile> = files.iter().filter(is_read).cloned().collect();
        let path = format!("{folder}/{first}.rs");
        let file = planted.iter_mut().find(|file| file.path == path);
        let file = file.unwrap_or_else(|| panic!("{path}:1: the list names it; add it"));
        file.text += &format!("\nfn planted() {{\n    super::{last}::planted();\n}}\n");
        let line = file.text.lines().count() - 1;
        let found = check(&planted);
        let is_planted = |f: &Finding| f.path == path && f.line == line;
        assert!(found.iter().any(is_planted), "{path}: {found:?}");
    }
}
