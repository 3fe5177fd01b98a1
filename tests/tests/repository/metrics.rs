//! docs/metrics.md lists the metrics that `paceline` reports, and no others.

use crate::finding::Finding;
use crate::repository::SourceFile;

/// # Panics
/// When one of the files has no metric, so that nothing is compared.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let of = |paths: &[&str], quote| {
        let files = files.iter().filter(|file| paths.contains(&&*file.path));
        let names: Vec<Name> = files.flat_map(|file| names(file, quote)).collect();
        assert!(
            !names.is_empty(),
            "{paths:?} have no metric; name the files that do"
        );
        names
    };
    let (reported, listed) = (of(&SOURCES, '"'), of(&[PAGE], '`'));
    let mut findings = missing(&reported, &listed, "docs/metrics.md does not list");
    findings.extend(missing(&listed, &reported, "`paceline` does not report"));
    findings
}

/// A metric, and where it is named.
struct Name {
    text: String,
    path: String,
    line: usize,
}

/// The names of metrics in a file that stand between two of these quotes.
fn names(file: &SourceFile, quote: char) -> Vec<Name> {
    let is_name = |part: &&str| {
        let rest = part.strip_prefix("paceline_").unwrap_or_default();
        !rest.is_empty() && rest.chars().all(|c| c == '_' || c.is_ascii_lowercase())
    };
    let lines = file.text.lines().zip(1..);
    let names = lines.flat_map(|(text, line)| {
        let parts = text.split(quote).filter(is_name);
        parts.map(move |part| Name {
            text: part.to_owned(),
            path: file.path.clone(),
            line,
        })
    });
    names.collect()
}

fn missing(names: &[Name], among: &[Name], fault: &str) -> Vec<Finding> {
    let is_missing = |name: &&Name| among.iter().all(|other| other.text != name.text);
    let findings = names.iter().filter(is_missing).map(|name| Finding {
        path: name.path.clone(),
        line: name.line,
        rule: format!("{fault} {}", name.text),
        remedy: "make the two agree",
    });
    findings.collect()
}

const PAGE: &str = "docs/metrics.md";
const SOURCES: [&str; 3] = [
    "crates/transport/src/totals.rs",
    "crates/transport/src/endpoint/metrics.rs",
    "crates/transport/src/sharded/metrics.rs",
];

#[test]
fn a_metric_that_only_one_of_the_two_has_is_found() {
    let page = "| `paceline_a_total` | `paceline` | `paceline_b` |\n";
    let source = "counter(\"paceline_a_total\");\n\ncounter(\"paceline_c\");\n";
    let files = [
        SourceFile::sample(PAGE, page),
        SourceFile::sample(SOURCES[0], source),
    ];
    let found = check(&files);
    let found: Vec<_> = found.iter().map(|f| (&*f.path, f.line)).collect();
    assert_eq!(found, [(SOURCES[0], 3), (PAGE, 1)]);
}
