//! The folder law: inside a crate, imports go one way.
//!
//! 1. A folder has an order, and a module imports only modules that stand before its own: those
//!    of a crate's `src` by the list in `folders.toml`, those of other folders by a list there or
//!    by any order, which is to say without a circle.
//! 2. A file imports nothing that one of its parents defines: the parent imports it.
//! 3. Where `folders.toml` says so, a package names only some modules of another crate.
//!
//! Test code is free. A module that re-exports counts as what is imported, except for the files
//! below it: there, it is the file behind the re-export.

mod modules;
mod paths;

use crate::finding::Finding;
use crate::repository::SourceFile;
use crate::syntax::parse;
use modules::{Edge, Modules};
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// Holds every crate below `crates` to the law, with `folders.toml` as its data.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let law = Law::read(files);
    let sources = sources(files);
    let Tree {
        folders,
        mut findings,
    } = Tree::read(&sources);
    for (path, folder) in &folders {
        match law.order.get(path) {
            Some(order) => findings.extend(folder.follows(path, order)),
            None => findings.extend(folder.has_an_order(path)),
        }
    }
    let lists = law.order.iter();
    findings.extend(lists.filter_map(|(path, order)| absent(path, order, &folders)));
    findings.extend(law.foreign_names(&sources));
    findings
}

/// For each crate that has a list, its floors from the ground up: a module stands on the lowest
/// floor that is above all that it imports.
pub(crate) fn floors(files: &[SourceFile]) -> BTreeMap<String, Vec<Vec<String>>> {
    let law = Law::read(files);
    let Tree { folders, .. } = Tree::read(&sources(files));
    let crates = law.order.iter().filter(|(path, _)| is_source(path));
    crates
        .filter_map(|(path, order)| Some((path.clone(), folders.get(path)?.floors(order))))
        .collect()
}

fn sources(files: &[SourceFile]) -> BTreeMap<&str, &SourceFile> {
    let files = files.iter();
    files
        .filter(|file| file.path.starts_with("crates/") && file.is_rust())
        .map(|file| (file.path.as_str(), file))
        .collect()
}

/// The folders of all crates, and what is found while they are read.
#[derive(Default)]
struct Tree {
    folders: BTreeMap<String, Folder>,
    findings: Vec<Finding>,
}

impl Tree {
    fn read(sources: &BTreeMap<&str, &SourceFile>) -> Self {
        let mut tree = Self::default();
        for root in sources.values().filter(|file| is_root(&file.path)) {
            let source = root.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let modules = Modules::read(sources, root);
            tree.findings.extend(modules.missing().iter().cloned());
            for path in modules.paths() {
                if let Some((name, above)) = path.split_last() {
                    tree.folder(source, above).add(name, root);
                }
            }
            for edge in modules.edges() {
                let finding = tree.place(source, edge);
                tree.findings.extend(finding);
            }
        }
        tree
    }

    /// Adds the edge to the folder that holds both files; a finding when one of them is above the
    /// other and imported by it.
    fn place(&mut self, source: &str, edge: Edge) -> Option<Finding> {
        let (from, to) = (&edge.from, &edge.to);
        let common = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        match (from.get(common), to.get(common)) {
            (Some(module), Some(imported)) => {
                let key = (module.clone(), imported.clone());
                let folder = self.folder(source, &from[..common]);
                folder.edges.entry(key).or_insert(edge);
                None
            }
            (Some(_), None) => Some(edge.finding(
                "a file imports nothing that a file above it defines".to_owned(),
                "move it to a file of its own, which both import",
            )),
            (None, _) => None,
        }
    }

    fn folder(&mut self, source: &str, above: &[String]) -> &mut Folder {
        let path = [&[source.to_owned()], above].concat().join("/");
        self.folders.entry(path).or_default()
    }
}

/// The content of `folders.toml`.
struct Law {
    /// The modules of folders from bottom to top.
    order: BTreeMap<String, Vec<String>>,
    /// For a package and another crate, or a module of one, what it may name of that.
    may_name: BTreeMap<(String, String), Vec<String>>,
}

impl Law {
    /// # Panics
    /// When the data are not there, or not what this expects.
    fn read(files: &[SourceFile]) -> Self {
        let data = files.iter().find(|file| file.path == DATA);
        let data = data.unwrap_or_else(|| panic!("{DATA}:1: there is no such file; write it"));
        let tables: Table = data
            .text
            .parse()
            .unwrap_or_else(|error| panic!("{DATA}:1: this is not TOML: {error}"));
        let mut law = Self {
            order: BTreeMap::new(),
            may_name: BTreeMap::new(),
        };
        for (folder, modules) in table(&tables, "order") {
            law.order.insert(folder.clone(), names(modules).collect());
        }
        for (package, crates) in table(&tables, "may_name") {
            for (name, modules) in crates.as_table().into_iter().flatten() {
                let key = (package.clone(), name.clone());
                law.may_name.insert(key, names(modules).collect());
            }
        }
        law
    }

    fn foreign_names(&self, sources: &BTreeMap<&str, &SourceFile>) -> Vec<Finding> {
        let mut findings = Vec::new();
        for ((package, foreign), modules) in &self.may_name {
            let folder = format!("crates/{package}/src/");
            let own = sources.iter().filter(|(path, _)| path.starts_with(&folder));
            for (_, file) in own.filter(|(_, file)| !file.is_test()) {
                let named = paths::named(parse(file).items.iter()).all();
                let refused = named.filter(|(path, _)| {
                    let mut path = path.iter();
                    foreign
                        .split("::")
                        .all(|part| path.next().is_some_and(|name| name == part))
                        && !path.next().is_some_and(|module| modules.contains(module))
                });
                findings.extend(refused.map(|(path, line)| Finding {
                    path: file.path.clone(),
                    line,
                    rule: format!(
                        "of `{foreign}` `{package}` names {}, here `{}`",
                        if modules.is_empty() {
                            "nothing".to_owned()
                        } else {
                            format!("only {}", modules.join(", "))
                        },
                        path.join("::")
                    ),
                    remedy: "do without it, or change the list in folders.toml",
                }));
            }
        }
        findings
    }
}

/// One folder of modules.
#[derive(Default)]
struct Folder {
    /// The root file of the crate, for findings that are of no file.
    root: String,
    modules: BTreeSet<String>,
    /// Imports from one of the modules, or what is below it, to another one.
    edges: BTreeMap<(String, String), Edge>,
}

impl Folder {
    fn add(&mut self, module: &str, root: &SourceFile) {
        self.root.clone_from(&root.path);
        self.modules.insert(module.to_owned());
    }

    /// The findings where this folder is not as its list says.
    fn follows(&self, path: &str, order: &[String]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for module in &self.modules {
            if !order.contains(module) {
                findings.push(Finding {
                    path: self.root.clone(),
                    line: 1,
                    rule: format!("every module of {path} has a place, `{module}` has none"),
                    remedy: "add it to its list in folders.toml, behind all that it imports",
                });
            }
        }
        let position = |module: &String| order.iter().position(|listed| listed == module);
        for ((from, to), edge) in &self.edges {
            let places = position(from).zip(position(to));
            if places.is_some_and(|(from, to)| to > from) {
                findings.push(edge.finding(
                    format!("in {path} `{from}` stands before `{to}` and imports it"),
                    "move what both need to a module that stands before both",
                ));
            }
        }
        findings
    }

    /// A finding unless there is an order in which each module imports only earlier ones. The
    /// `src` of a crate has one that is written down.
    fn has_an_order(&self, path: &str) -> Option<Finding> {
        let mut order: Vec<&String> = Vec::new();
        let mut left: BTreeSet<&String> = self.modules.iter().collect();
        while let Some(next) = left.iter().copied().find(|module| {
            let mut imported = self.imported_by(module);
            imported.all(|(to, _)| !left.contains(to))
        }) {
            left.remove(next);
            order.push(next);
        }
        if let Some(first) = left.first() {
            return Some(self.circle(path, first, &left));
        }
        let modules: Vec<&str> = order.into_iter().map(String::as_str).collect();
        (is_source(path) && modules.len() > 1).then(|| Finding {
            path: self.root.clone(),
            line: 1,
            rule: format!(
                "the modules of {path} have an order, which folders.toml does not list: \
                 \"{}\" would hold",
                modules.join("\", \"")
            ),
            remedy: "add the list",
        })
    }

    /// The circle that is met when imports are followed from here among modules that have no order.
    fn circle(&self, path: &str, first: &String, left: &BTreeSet<&String>) -> Finding {
        let mut walk: Vec<(&String, &Edge)> = Vec::new();
        let mut at = first;
        let start = loop {
            let (to, edge) = self
                .imported_by(at)
                .find(|(to, _)| left.contains(to))
                .expect("a module without such an import would have a place in the order");
            walk.push((at, edge));
            at = to;
            if let Some(start) = walk.iter().position(|(seen, _)| *seen == to) {
                break start;
            }
        };
        let steps: Vec<String> = walk[start..]
            .iter()
            .map(|(module, edge)| {
                let Edge {
                    file, line, name, ..
                } = edge;
                format!("`{module}` imports `{name}` ({file}:{line})")
            })
            .collect();
        Finding {
            path: walk[start].1.file.clone(),
            line: walk[start].1.line,
            rule: format!("no circle in {path}, here {}", steps.join(", ")),
            remedy: "move what both need to a module of its own that all of them import",
        }
    }

    /// The modules of this list on as few floors as there can be, from the ground up.
    fn floors(&self, order: &[String]) -> Vec<Vec<String>> {
        let mut height: BTreeMap<&str, usize> = BTreeMap::new();
        let mut floors: Vec<Vec<String>> = Vec::new();
        for module in order {
            let below = self
                .imported_by(module)
                .map(|(to, _)| height.get(to.as_str()));
            let floor = below.flatten().map(|below| below + 1).max().unwrap_or(0);
            height.insert(module, floor);
            floors.resize(floors.len().max(floor + 1), Vec::new());
            floors[floor].push(module.clone());
        }
        floors
    }

    fn imported_by(&self, module: &str) -> impl Iterator<Item = (&String, &Edge)> {
        let edges = self.edges.iter();
        edges
            .filter(move |((from, _), _)| from == module)
            .map(|((_, to), edge)| (to, edge))
    }
}

impl Edge {
    fn finding(&self, rule: String, remedy: &'static str) -> Finding {
        Finding {
            path: self.file.clone(),
            line: self.line,
            rule: format!("{rule}, as `{}`", self.name),
            remedy,
        }
    }
}

/// A finding when a list is of no folder, or names a module that does not exist.
fn absent(path: &str, order: &[String], folders: &BTreeMap<String, Folder>) -> Option<Finding> {
    let exists = |module: &&String| {
        let folder = folders.get(path);
        folder.is_some_and(|folder| folder.modules.contains(*module))
    };
    let module = order.iter().find(|module| !exists(module))?;
    Some(Finding {
        path: DATA.to_owned(),
        line: 1,
        rule: format!("the lists name only what exists, {path} has no `{module}`"),
        remedy: "take it out of the list, or write its new name",
    })
}

/// Whether this is the top folder of a crate.
fn is_source(path: &str) -> bool {
    path.starts_with("crates/") && path.ends_with("/src")
}

/// `lib.rs`, `main.rs`, and the programs of `src/bin`.
fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["crates", _, "src", file] => ["lib.rs", "main.rs"].contains(file),
        ["crates", _, "src", "bin", _] | ["crates", _, "src", "bin", _, "main.rs"] => true,
        _ => false,
    }
}

fn table<'t>(tables: &'t Table, name: &str) -> &'t Table {
    let table = tables.get(name).and_then(Value::as_table);
    table.unwrap_or_else(|| panic!("{DATA}:1: it has no table `{name}`; add it"))
}

fn names(list: &Value) -> impl Iterator<Item = String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned)
}

const DATA: &str = "tests/tests/repository/folders.toml";

#[cfg(test)]
mod tests;
