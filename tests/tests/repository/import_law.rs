//! The import law: which package of this workspace may depend on which.
//!
//! Dev-dependencies are free but for one thing: a crate may not test itself with a crate that
//! depends on it, because cargo then builds it twice and its types are no longer one type. So
//! cc-core tests itself with link-sim, and neither does so with paceline.
//!
//! Packages go by their short names, as the workspace's dependencies do: `cc-core` is the package
//! `paceline-cc-core`.

use crate::finding::Finding;
use crate::repository::SourceFile;
use toml::{Table, Value};

/// Reads every Cargo.toml below the root's.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let manifests = files
        .iter()
        .filter(|file| file.path.ends_with("/Cargo.toml"));
    manifests
        .flat_map(|file| match Manifest::read(file) {
            Ok(manifest) => manifest.check(),
            Err(error) => vec![finding(file, 1, error, "mend the manifest")],
        })
        .collect()
}

/// What one package may depend on.
struct Rule {
    package: &'static str,
    /// Packages of this workspace.
    may_use: &'static [&'static str],
    /// One more package of this workspace, optional.
    gated: Option<(&'static str, Gate)>,
    foreign: Foreign,
}

/// The only feature that may turn an optional dependency on.
struct Gate {
    feature: &'static str,
    may_be_default: bool,
}

/// Dependencies from outside this workspace.
enum Foreign {
    Any,
    None,
    /// Optional ones.
    Behind(Gate),
}

const LAW: [Rule; 20] = [
    Rule {
        package: "units",
        may_use: &[],
        gated: None,
        foreign: Foreign::Behind(Gate {
            feature: "serde",
            may_be_default: false,
        }),
    },
    Rule {
        package: "cc-core",
        may_use: &["units"],
        gated: None,
        foreign: Foreign::Behind(Gate {
            feature: "serde",
            may_be_default: false,
        }),
    },
    Rule {
        package: "cc-ffi",
        may_use: &["units", "cc-core"],
        gated: None,
        foreign: Foreign::None,
    },
    Rule {
        package: "link-sim",
        may_use: &["units"],
        gated: None,
        foreign: Foreign::Behind(Gate {
            feature: "relay",
            may_be_default: true,
        }),
    },
    Rule {
        package: "flow-sim",
        may_use: &["units", "cc-core", "link-sim"],
        gated: None,
        foreign: Foreign::None,
    },
    Rule {
        package: "paceline",
        may_use: &["units", "cc-core"],
        gated: Some((
            "link-sim",
            Gate {
                feature: "testing",
                may_be_default: false,
            },
        )),
        foreign: Foreign::Any,
    },
    Rule {
        package: "bench-report",
        may_use: &["units"],
        gated: None,
        foreign: Foreign::Any,
    },
    // A page for browsers, which nothing here depends on.
    Rule {
        package: "playground",
        may_use: &["units", "cc-core", "link-sim", "flow-sim", "bench-report"],
        gated: None,
        foreign: Foreign::Any,
    },
    Rule {
        package: "bench-kit",
        may_use: &["units", "cc-core", "link-sim", "paceline", "bench-report"],
        gated: None,
        foreign: Foreign::Any,
    },
    // What libFuzzer runs; a workspace of its own, so that nothing here can depend on it.
    Rule {
        package: "fuzz",
        may_use: &["units", "cc-core", "link-sim", "paceline", "bench-kit"],
        gated: None,
        foreign: Foreign::Any,
    },
    // A program without std, for which the same holds.
    Rule {
        package: "no-std",
        may_use: &["units", "cc-core"],
        gated: None,
        foreign: Foreign::None,
    },
    // Other libraries beside this one, likewise.
    Rule {
        package: "peers",
        may_use: &["paceline"],
        gated: None,
        foreign: Foreign::Any,
    },
    // Other libraries' endpoints, likewise.
    Rule {
        package: "interop-endpoints",
        may_use: &[],
        gated: None,
        foreign: Foreign::Any,
    },
    // ring without aws-lc-rs, likewise.
    Rule {
        package: "ring-alone",
        may_use: &["paceline"],
        gated: None,
        foreign: Foreign::Any,
    },
    // Other libraries with ring in one program with this one, likewise.
    Rule {
        package: "side-by-side",
        may_use: &["paceline"],
        gated: None,
        foreign: Foreign::Any,
    },
    // Controllers for another transport, likewise.
    Rule {
        package: NAMESAKES[1].1,
        may_use: &["units", "cc-core"],
        gated: None,
        foreign: Foreign::Any,
    },
    // Published libraries on the shim that has quinn's name, likewise.
    Rule {
        package: "in-place-of-quinn",
        may_use: &["quinn-shim"],
        gated: None,
        foreign: Foreign::Any,
    },
    Rule {
        package: NAMESAKES[0].1,
        may_use: &["paceline"],
        gated: None,
        foreign: Foreign::Any,
    },
    Rule {
        package: "bench-server",
        may_use: &["units", "cc-core", "paceline", "bench-report", "bench-kit"],
        gated: None,
        foreign: Foreign::Any,
    },
    Rule {
        package: "bench-client",
        may_use: &[
            "units",
            "cc-core",
            "link-sim",
            "paceline",
            "bench-report",
            "bench-kit",
            "bench-server",
        ],
        gated: None,
        foreign: Foreign::Any,
    },
];

/// The manifests of the packages `quinn` and `paceline-noq`, and what the law calls them: where
/// others depend on `quinn` or `noq`, they mean the registry's.
const NAMESAKES: [(&str, &str); 2] = [
    ("crates/quinn-shim/Cargo.toml", "quinn-shim"),
    ("crates/noq/Cargo.toml", "noq-adapter"),
];

/// The package of whole-system tests may use everything.
const UNBOUND: &str = "e2e";

struct Manifest<'a> {
    file: &'a SourceFile,
    name: String,
    run: Vec<Dependency>,
    dev: Vec<Dependency>,
    features: Table,
}

struct Dependency {
    name: String,
    is_optional: bool,
}

impl<'a> Manifest<'a> {
    fn read(file: &'a SourceFile) -> Result<Self, String> {
        let table: Table = file.text.parse().map_err(|e| format!("no TOML: {e}"))?;
        let name = table.get("package").and_then(|package| package.get("name"));
        let name = name
            .and_then(Value::as_str)
            .ok_or("a package has a name, this one none")?;
        let mut namesakes = NAMESAKES.iter();
        let name = namesakes
            .find(|(path, _)| file.path == *path)
            .map_or(name, |(_, name)| name);
        let mut run = dependencies(&table, "dependencies");
        run.extend(dependencies(&table, "build-dependencies"));
        let features = table.get("features").and_then(Value::as_table);
        Ok(Self {
            file,
            name: short(name).to_owned(),
            run,
            dev: dependencies(&table, "dev-dependencies"),
            features: features.cloned().unwrap_or_default(),
        })
    }

    fn check(&self) -> Vec<Finding> {
        if self.name == UNBOUND {
            return Vec::new();
        }
        let Some(rule) = LAW.iter().find(|rule| rule.package == self.name) else {
            let problem = format!("the import law says nothing of `{}`", self.name);
            return vec![finding(
                self.file,
                1,
                problem,
                "add its rule to the law, here and in ARCHITECTURE.md",
            )];
        };
        let run = self
            .run
            .iter()
            .filter_map(|dependency| self.judge(rule, dependency));
        run.chain(self.cycles()).collect()
    }

    fn judge(&self, rule: &Rule, dependency: &Dependency) -> Option<Finding> {
        let name = dependency.name.as_str();
        if LAW.iter().any(|other| other.package == name) {
            return match &rule.gated {
                _ if rule.may_use.contains(&name) => None,
                Some((optional, gate)) if *optional == name => self.not_behind(dependency, gate),
                _ => Some(self.refuse(
                    name,
                    format!("`{}` never depends on `{name}`", self.name),
                    "move what is needed to the lower crate, or pass it in",
                )),
            };
        }
        match &rule.foreign {
            Foreign::Any => None,
            Foreign::Behind(gate) => self.not_behind(dependency, gate),
            Foreign::None => Some(self.refuse(
                name,
                format!(
                    "`{}` has no dependency at run time, here `{name}`",
                    self.name
                ),
                "do without it, or use it in tests alone",
            )),
        }
    }

    /// A finding unless the gate's feature, and nothing else, turns this dependency on.
    fn not_behind(&self, dependency: &Dependency, gate: &Gate) -> Option<Finding> {
        let (name, feature) = (dependency.name.as_str(), gate.feature);
        let activators = [format!("dep:{name}"), format!("{name}/"), name.to_owned()];
        let is_activator =
            |feature: &str| activators.iter().any(|item| self.turns_on(feature, item));
        let is_alone = self
            .features
            .keys()
            .all(|other| other == feature || !is_activator(other));
        let is_default = self.turns_on("default", feature);
        let holds = dependency.is_optional
            && self.turns_on(feature, &activators[0])
            && is_alone
            && (gate.may_be_default || !is_default);
        (!holds).then(|| {
            self.refuse(
                name,
                format!(
                    "`{}` has `{name}` only behind its feature `{feature}`",
                    self.name
                ),
                "make it optional and let that feature alone name it with `dep:`",
            )
        })
    }

    /// Whether the feature lists an item that is, or for a trailing slash begins with, this one.
    fn turns_on(&self, feature: &str, item: &str) -> bool {
        let items = self.features.get(feature).and_then(Value::as_array);
        items.is_some_and(|items| {
            items
                .iter()
                .filter_map(Value::as_str)
                .any(|listed| listed == item || (item.ends_with('/') && listed.starts_with(item)))
        })
    }

    fn cycles(&self) -> impl Iterator<Item = Finding> {
        let backward = self
            .dev
            .iter()
            .filter(|dependency| reaches(&dependency.name, &self.name));
        backward.map(|dependency| {
            self.refuse(
                &dependency.name,
                format!(
                    "`{}` tests itself with nothing that depends on it, as `{}` does",
                    self.name, dependency.name
                ),
                "move the test to the package e2e",
            )
        })
    }

    fn refuse(&self, dependency: &str, rule: String, remedy: &'static str) -> Finding {
        let line = line_naming(&self.file.text, dependency);
        finding(self.file, line, rule, remedy)
    }
}

fn finding(file: &SourceFile, line: usize, rule: String, remedy: &'static str) -> Finding {
    Finding {
        path: file.path.clone(),
        line,
        rule,
        remedy,
    }
}

/// The dependencies of one kind, those for single targets included.
fn dependencies(manifest: &Table, kind: &str) -> Vec<Dependency> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let per_target = targets.into_iter().flat_map(Table::values);
    let tables = per_target
        .filter_map(|target| target.get(kind))
        .chain(manifest.get(kind))
        .filter_map(Value::as_table);
    tables
        .flatten()
        .map(|(key, value)| Dependency {
            name: match value.get("package").and_then(Value::as_str) {
                Some(package) => short(package).to_owned(),
                None => key.clone(),
            },
            is_optional: value.get("optional").and_then(Value::as_bool) == Some(true),
        })
        .collect()
}

/// The package's name without the prefix that it has on the registry.
fn short(package: &str) -> &str {
    package.strip_prefix("paceline-").unwrap_or(package)
}

/// Whether the law lets `from` depend on `to`, directly or through others, or they are one.
fn reaches(from: &str, to: &str) -> bool {
    if from == to {
        return true;
    }
    let Some(rule) = LAW.iter().find(|rule| rule.package == from) else {
        return false;
    };
    let gated = rule.gated.as_ref().map(|(package, _)| *package);
    let mut next = rule.may_use.iter().copied().chain(gated);
    next.any(|package| reaches(package, to))
}

/// The first line on which a dependency of this name is written.
fn line_naming(manifest: &str, dependency: &str) -> usize {
    let is_named = |line: &str| {
        let key = line.trim_start_matches(|c| c != '"' && c != '.' && !char::is_alphanumeric(c));
        key.strip_prefix(dependency)
            .is_some_and(|rest| rest.starts_with([' ', '.', '=']))
            || line.contains(&format!("dependencies.{dependency}]"))
            || line.contains(&format!("package = \"{dependency}\""))
            || line.contains(&format!("package = \"paceline-{dependency}\""))
    };
    manifest.lines().position(is_named).map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings for a manifest of this package with these lines behind `[package]`.
    fn findings(package: &str, rest: &str) -> Vec<String> {
        let text = format!("[package]\nname = \"{package}\"\n{rest}");
        let found = check(&[SourceFile::sample("crates/x/Cargo.toml", &text)]);
        found.iter().map(Finding::to_string).collect()
    }

    #[test]
    fn arrows_that_point_up_are_found() {
        let found = findings(
            "cc-core",
            "[dependencies]\nunits.workspace = true\nlink-sim = {}\n",
        );
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("crates/x/Cargo.toml:5: `cc-core` never depends on `link-sim`"),
            "{found:?}"
        );
        let rest = "[dependencies]\npaceline.workspace = true\n";
        assert_eq!(findings("bench-report", rest).len(), 1);
        let rest = "[target.'cfg(unix)'.dependencies]\nbench-kit = {}\n";
        assert_eq!(findings("paceline", rest).len(), 1);
        let rest = "[dependencies]\nother = { package = \"paceline\", path = \"\" }\n";
        assert_eq!(findings("paceline-link-sim", rest).len(), 1);
        assert_eq!(findings("bench-kit", rest).len(), 0);
        let rest = "[dependencies]\n\nother = { package = \"paceline-bench-kit\" }\n";
        let found = findings("paceline", rest);
        assert!(
            found[0].starts_with("crates/x/Cargo.toml:5: `paceline` never depends on `bench-kit`"),
            "{found:?}"
        );
    }

    #[test]
    fn foreign_dependencies_of_the_exact_crates_are_found() {
        for kind in ["dependencies", "build-dependencies"] {
            let rest = format!("[{kind}]\nserde = \"1\"\n");
            assert_eq!(findings("units", &rest).len(), 1);
            assert_eq!(findings("cc-core", &rest).len(), 1);
            assert_eq!(findings("bench-kit", &rest).len(), 0);
        }
    }

    #[test]
    fn the_exact_crates_have_serde_behind_its_feature_alone() {
        let optional = "[dependencies]\nserde = { version = \"1\", optional = true }\n";
        for package in ["units", "cc-core"] {
            let with = |features: &str| findings(package, &format!("{optional}{features}")).len();
            assert_eq!(with("[features]\nserde = [\"dep:serde\"]\n"), 0);
            let default = "[features]\ndefault = [\"serde\"]\nserde = [\"dep:serde\"]\n";
            assert_eq!(with(default), 1);
        }
    }

    #[test]
    fn link_sim_has_foreign_dependencies_behind_relay_alone() {
        let optional = "[dependencies]\ntokio = { version = \"1\", optional = true }\n[features]\n";
        let with = |features: &str| findings("link-sim", &format!("{optional}{features}")).len();
        assert_eq!(with("relay = [\"dep:tokio\"]\n"), 0);
        assert_eq!(with(""), 1);
        assert_eq!(
            with("relay = [\"dep:tokio\"]\nother = [\"dep:tokio\"]\n"),
            1
        );
        assert_eq!(
            with("relay = [\"dep:tokio\"]\nother = [\"tokio/net\"]\n"),
            1
        );
        assert_eq!(with("other = [\"dep:tokio\"]\n"), 1);
        assert_eq!(
            findings("link-sim", "[dependencies]\ntokio = \"1\"\n").len(),
            1
        );
    }

    #[test]
    fn paceline_has_link_sim_behind_testing_alone() {
        let optional = "[dependencies]\nlink-sim = { workspace = true, optional = true }\n";
        let with = |features: &str| findings("paceline", &format!("{optional}{features}")).len();
        assert_eq!(with("[features]\ntesting = [\"dep:link-sim\"]\n"), 0);
        let default = "[features]\ndefault = [\"testing\"]\ntesting = [\"dep:link-sim\"]\n";
        assert_eq!(with(default), 1);
        assert_eq!(
            findings("paceline", "[dependencies]\nlink-sim = {}\n").len(),
            1
        );
    }

    #[test]
    fn dev_dependencies_are_free_unless_they_close_a_cycle() {
        let with = |package, dev| findings(package, &format!("[dev-dependencies]\n{dev} = {{}}\n"));
        assert_eq!(with("cc-core", "link-sim").len(), 0);
        assert_eq!(with("cc-core", "criterion").len(), 0);
        assert_eq!(with("cc-core", "paceline").len(), 1);
        assert_eq!(with("link-sim", "paceline").len(), 1);
        assert_eq!(with("units", "cc-core").len(), 1);
        assert_eq!(with("e2e", "bench-client").len(), 0);
    }

    #[test]
    fn our_packages_are_not_their_namesakes_of_the_registry() {
        let text = "[package]\nname = \"quinn\"\n[dependencies]\nlink-sim = {}\n";
        let found = check(&[SourceFile::sample(NAMESAKES[0].0, text)]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0]
                .rule
                .contains("`quinn-shim` never depends on `link-sim`")
        );
        assert_eq!(findings("quinn", "").len(), 1);
        let dev = "[dev-dependencies]\nquinn = {}\n";
        assert_eq!(findings("paceline", dev).len(), 0);
        let text = "[package]\nname = \"paceline-noq\"\n[dev-dependencies]\nnoq = {}\n";
        assert_eq!(check(&[SourceFile::sample(NAMESAKES[1].0, text)]).len(), 0);
        let text = "[package]\nname = \"paceline-noq\"\n[dependencies]\npaceline = {}\n";
        assert_eq!(check(&[SourceFile::sample(NAMESAKES[1].0, text)]).len(), 1);
    }

    #[test]
    fn a_package_without_a_rule_is_found() {
        assert_eq!(findings("extras", "").len(), 1);
        assert_eq!(
            check(&[SourceFile::sample("crates/x/Cargo.toml", "[package\n")]).len(),
            1
        );
    }
}
