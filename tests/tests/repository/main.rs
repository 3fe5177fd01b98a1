//! The repository's own rules, as tests.
//!
//! | test | rule |
//! |---|---|
//! | [`import_law`] | which crate may depend on which, and which need no dependency at all |
//! | [`folder_law`] | inside a crate, which module may import which |
//! | [`controllers`] | one controller of cc-core never reaches into another |
//! | [`sizes`] | length of files, functions and lines |
//! | [`tokens`] | what Rust code must not contain |
//! | [`text`] | what no file must contain |
//! | [`locks`] | other workspaces lock the versions that the main one locks |
//! | [`metrics`] | docs/metrics.md lists the metrics that `paceline` reports |
//! | [`no_std`] | cc-core needs neither std nor a dependency, and compiles for WebAssembly, as link-sim does |
//! | [`architecture`] | ARCHITECTURE.md names every package, its floors, and only paths that exist |
//!
//! A rule is a function from files to [`Finding`]s; its own tests feed it a bad sample, so that
//! a rule that has stopped seeing anything fails as well.

mod architecture;
mod controllers;
mod finding;
mod folder_law;
mod import_law;
mod locks;
mod metrics;
mod no_std;
mod repository;
mod sizes;
mod syntax;
mod text;
mod tokens;

use finding::{Finding, assert_none};
use repository::{SourceFile, files};

#[test]
fn packages_depend_on_each_other_only_as_the_import_law_says() {
    assert_none(&import_law::check(&files()));
}

#[test]
fn modules_import_each_other_only_as_the_folder_law_says() {
    assert_none(&folder_law::check(&files()));
}

#[test]
fn controllers_do_not_import_each_other() {
    assert_none(&controllers::check(&files()));
}

#[test]
fn the_controllers_of_this_repository_are_recognised() {
    let found = controllers::modules(&files());
    for name in ["bbr", "cubic", "new_reno"] {
        assert!(found.iter().any(|module| module == name), "{found:?}");
    }
}

#[test]
fn files_functions_and_lines_keep_their_limits() {
    assert_none(&each(sizes::check));
}

#[test]
fn rust_code_has_no_stub_no_ignored_test_and_no_f32_where_integers_rule() {
    assert_none(&each(tokens::check));
}

#[test]
fn text_is_clean() {
    assert_none(&each(text::check));
}

#[test]
fn the_architecture_page_names_every_package_and_only_paths_that_exist() {
    assert_none(&architecture::check(&files()));
}

#[test]
fn workspaces_lock_the_same_versions() {
    assert_none(&locks::check(&files()));
}

#[test]
fn the_page_of_metrics_lists_what_is_reported() {
    assert_none(&metrics::check(&files()));
}

fn each(rule: fn(&SourceFile) -> Vec<Finding>) -> Vec<Finding> {
    files().iter().flat_map(rule).collect()
}
