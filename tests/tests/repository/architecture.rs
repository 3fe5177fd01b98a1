//! ARCHITECTURE.md is a map: what it names exists, every package is on it, and its pictures of the
//! crates' floors are true.

use crate::finding::Finding;
use crate::folder_law;
use crate::repository::{SourceFile, root};

/// # Panics
/// When there is no ARCHITECTURE.md.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let page = files
        .iter()
        .find(|file| file.path == PAGE)
        .unwrap_or_else(|| panic!("{PAGE}:1: the repository has an architecture page; write it"));
    let mut findings = missing_paths(page, |path| root().join(path).exists());
    findings.extend(unnamed_packages(page, files));
    let floors = folder_law::floors(files);
    findings.extend(
        floors
            .iter()
            .filter_map(|(folder, floors)| other_floors(page, folder, floors)),
    );
    findings
}

/// A finding unless the page shows these floors as [`picture`] does.
fn other_floors(page: &SourceFile, folder: &str, floors: &[Vec<String>]) -> Option<Finding> {
    let picture = picture(folder, floors);
    (!page.text.contains(&picture)).then(|| {
        let of_folder = |line: &str| line == folder;
        Finding {
            path: page.path.clone(),
            line: page.text.lines().position(of_folder).map_or(1, |at| at + 1),
            rule: format!("the page shows the floors of {folder} as\n```text\n{picture}```"),
            remedy: "put these lines there",
        }
    })
}

/// The folder, and below it the modules of each floor, the highest one first, as a house is drawn.
fn picture(folder: &str, floors: &[Vec<String>]) -> String {
    let mut picture = format!("{folder}\n");
    for (floor, modules) in floors.iter().enumerate().rev() {
        let mut line = format!("{:>3} ", floor + 1);
        for module in modules {
            if line.len() + 1 + module.len() > PICTURE_CHARS {
                picture.push_str(&line);
                line = format!("\n{:>4}", "");
            }
            line.push(' ');
            line.push_str(module);
        }
        picture.push_str(&line);
        picture.push('\n');
    }
    picture
}

fn missing_paths(page: &SourceFile, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in page.text.lines().enumerate() {
        for path in code_spans(line).filter(|span| is_path(span)) {
            if !exists(before_glob(path)) {
                findings.push(Finding {
                    path: page.path.clone(),
                    line: index + 1,
                    rule: format!("a path on this page exists, `{path}` does not"),
                    remedy: "name the file that took its place, from the repository's root",
                });
            }
        }
    }
    findings
}

fn unnamed_packages(page: &SourceFile, files: &[SourceFile]) -> Vec<Finding> {
    let manifests = files
        .iter()
        .filter_map(|file| file.path.strip_suffix("/Cargo.toml"));
    manifests
        .filter(|package| {
            let spans = [format!("`{package}`"), format!("`{package}/")];
            !spans.iter().any(|span| page.text.contains(span))
        })
        .map(|package| Finding {
            path: page.path.clone(),
            line: 1,
            rule: format!("the page names every package, `{package}` is missing"),
            remedy: "add it to the code map",
        })
        .collect()
}

/// What stands between pairs of backticks on one line.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Whether this is meant as a path: it has a slash or the ending of a source file, and neither
/// spaces nor `::`.
fn is_path(span: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/*".contains(c);
    let has_ending = |ending: &&str| span.len() > ending.len() && span.ends_with(*ending);
    span.chars().all(is_plain)
        && span.contains(|c: char| c.is_ascii_alphabetic())
        && (span.contains('/') || ENDINGS.iter().any(has_ending))
}

/// The part of a path that can be looked up: all of it, or what stands before the first `*`.
fn before_glob(path: &str) -> &str {
    match path.split_once('*') {
        None => path,
        Some((before, _)) => before.rsplit_once('/').map_or(".", |(folder, _)| folder),
    }
}

const PAGE: &str = "ARCHITECTURE.md";
/// Lines of the picture are no longer than others.
const PICTURE_CHARS: usize = 99;
const ENDINGS: [&str; 5] = [".rs", ".toml", ".md", ".sh", ".yml"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_do_not_exist_are_found() {
        let text = "`a/b.rs` and `c.md`, `a/*.rs`, `d/*`, `a/b.rs::f`\n\n`x/`, `Gain`, `1/2`\n";
        let page = SourceFile::sample(PAGE, text);
        let findings = missing_paths(&page, |path| ["a", "a/b.rs"].contains(&path));
        let found: Vec<_> = findings.iter().map(|f| (f.line, f.rule.as_str())).collect();
        assert_eq!(
            found,
            [
                (1, "a path on this page exists, `c.md` does not"),
                (1, "a path on this page exists, `d/*` does not"),
                (3, "a path on this page exists, `x/` does not"),
            ]
        );
    }

    #[test]
    fn packages_that_the_page_does_not_name_are_found() {
        let page = SourceFile::sample(PAGE, "`crates/a` and `crates/b/src/lib.rs`\n");
        let manifests = ["Cargo.toml", "crates/a/Cargo.toml", "crates/c/Cargo.toml"];
        let files = manifests.map(|path| SourceFile::sample(path, ""));
        let findings = unnamed_packages(&page, &files);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].rule.contains("`crates/c`"));
    }

    #[test]
    fn a_picture_of_floors_that_is_missing_or_old_is_found() {
        let floors = [vec!["a".to_owned(), "c".to_owned()], vec!["b".to_owned()]];
        let found = |text: &str| {
            let page = SourceFile::sample(PAGE, text);
            other_floors(&page, "crates/x/src", &floors).map(|finding| finding.line)
        };
        let right = "crates/x/src\n  2  b\n  1  a c\n";
        assert_eq!(found(&format!("```text\n{right}```\n")), None);
        assert_eq!(found(""), Some(1));
        assert_eq!(found("\ncrates/x/src\n  2  b\n  1  a\n"), Some(2));
    }

    #[test]
    fn floors_with_many_modules_take_several_lines() {
        let floors = [vec!["module".to_owned(); 20]];
        let picture = picture("crates/x/src", &floors);
        assert_eq!(picture.lines().count(), 3);
        assert!(picture.lines().all(|line| line.len() <= PICTURE_CHARS));
        assert_eq!(picture.matches(" module").count(), 20);
    }
}
