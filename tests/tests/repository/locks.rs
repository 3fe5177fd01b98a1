//! Workspaces beside the main one lock the versions that it locks, so that one target folder has
//! each dependency built once where features agree, too.

use crate::finding::Finding;
use crate::repository::SourceFile;
use toml::{Table, Value};

/// # Panics
/// When a lock file cannot be read, or the main one is not there.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let main = files.iter().find(|file| file.path == "Cargo.lock");
    let main = locked(main.expect("the root has a lock file"));
    let others = files.iter().filter(|f| f.path.ends_with("/Cargo.lock"));
    others.flat_map(|file| findings(file, &main)).collect()
}

/// A published package.
#[derive(Debug, PartialEq, Eq)]
struct Locked {
    name: String,
    version: String,
}

impl Locked {
    /// Whether cargo would take either for the other.
    fn could_be(&self, other: &Self) -> bool {
        self.name == other.name && compatible(&self.version) == compatible(&other.version)
    }
}

/// The part of a version that says what it is compatible with: up to its first number that is not
/// zero.
fn compatible(version: &str) -> &str {
    let is_end = |(_, c): &(usize, char)| c.is_ascii_digit() && *c != '0';
    let first = version.char_indices().find(is_end);
    let rest = first.map_or(0, |(at, _)| at);
    let end = version[rest..]
        .find('.')
        .map_or(version.len(), |at| rest + at);
    &version[..end]
}

fn locked(file: &SourceFile) -> Vec<Locked> {
    let lock: Table = toml::from_str(&file.text)
        .unwrap_or_else(|error| panic!("{}: no lock file: {error}", file.path));
    let packages = lock["package"].as_array().into_iter().flatten();
    let published = packages.filter(|package| package.get("source").is_some());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    published
        .map(|package| Locked {
            name: text(&package["name"]),
            version: text(&package["version"]),
        })
        .collect()
}

fn findings(file: &SourceFile, main: &[Locked]) -> Vec<Finding> {
    let here = locked(file);
    let differs = |one: &&Locked| !main.contains(one) && !NEWER.contains(&one.name.as_str());
    let findings = here.iter().filter(differs).filter_map(|one| {
        let other = main.iter().find(|other| one.could_be(other))?;
        let Locked { name, version } = one;
        (!here.contains(other)).then(|| Finding {
            path: file.path.clone(),
            line: 1,
            rule: format!("{name} {version}, where Cargo.lock has {}", other.version),
            remedy: "cargo update --manifest-path … -p NAME@THIS --precise THAT",
        })
    });
    findings.collect()
}

/// What needs a newer compiler than the main workspace may ask for.
const NEWER: [&str; 1] = ["s2n-quic"];

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(packages: &[(&str, &str)]) -> String {
        let package = |(name, version): &(&str, &str)| {
            format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"r\"\n")
        };
        packages.iter().map(package).collect()
    }

    fn found(here: &[(&str, &str)]) -> Vec<String> {
        let main = lock(&[
            ("a", "1.2.3"),
            ("b", "0.2.3"),
            ("b", "0.3.0"),
            ("c", "0.0.1"),
        ]);
        let files = [
            SourceFile::sample("Cargo.lock", &main),
            SourceFile::sample("x/Cargo.lock", &lock(here)),
        ];
        let findings = check(&files).into_iter();
        findings.map(|finding| finding.rule).collect()
    }

    #[test]
    fn another_version_is_found_where_the_main_one_would_do() {
        let rule = "a 1.3.0, where Cargo.lock has 1.2.3";
        assert_eq!(found(&[("a", "1.3.0"), ("b", "0.3.0")]), [rule]);
        let rule = "b 0.2.4, where Cargo.lock has 0.2.3";
        assert_eq!(found(&[("b", "0.2.4")]), [rule]);
    }

    #[test]
    fn versions_that_exclude_each_other_are_none() {
        let here = [
            ("a", "2.0.0"),
            ("b", "0.4.0"),
            ("c", "0.0.2"),
            ("d", "1.0.0"),
        ];
        assert_eq!(found(&here), [""; 0]);
        assert_eq!(found(&[("s2n-quic", "1.91.0")]), [""; 0]);
    }
}
