//! The module tree of one crate, and which of its files imports which.

use super::paths::{Named, named};
use crate::finding::Finding;
use crate::repository::SourceFile;
use crate::syntax::{is_for_tests, parse};
use std::collections::{BTreeMap, BTreeSet};

/// The modules of a library or program without its tests. The first one is the root.
pub(crate) struct Modules<'a> {
    files: &'a BTreeMap<&'a str, &'a SourceFile>,
    modules: Vec<Module>,
    /// Where the macros are that `#[macro_export]` puts at the crate's root.
    exported_macros: BTreeMap<String, usize>,
    missing: Vec<Finding>,
}

/// A file, or a module written out inside of one.
struct Module {
    file: String,
    /// The path from the crate's root of the file's own module.
    path: Vec<String>,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// What is defined here, modules and imports excepted.
    items: BTreeSet<String>,
    named: Named,
}

/// One file that imports another one of the same crate.
#[derive(Debug, Clone)]
pub(crate) struct Edge {
    /// The file that imports, and its line.
    pub(crate) file: String,
    pub(crate) line: usize,
    /// What it imports, as it is written.
    pub(crate) name: String,
    /// The module paths of both files.
    pub(crate) from: Vec<String>,
    pub(crate) to: Vec<String>,
}

impl<'a> Modules<'a> {
    /// Follows the `mod` declarations from this file on.
    pub(crate) fn read(files: &'a BTreeMap<&'a str, &'a SourceFile>, root: &SourceFile) -> Self {
        let mut modules = Self {
            files,
            modules: Vec::new(),
            exported_macros: BTreeMap::new(),
            missing: Vec::new(),
        };
        let folder = root.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let place = Place {
            file: &root.path,
            folder: folder.to_owned(),
            path: Vec::new(),
            parent: None,
        };
        modules.add(&place, &parse(root).items);
        modules
    }

    /// Every module below the root, by its path.
    pub(crate) fn paths(&self) -> BTreeSet<&[String]> {
        let paths = self.modules.iter().map(|module| module.path.as_slice());
        paths.filter(|path| !path.is_empty()).collect()
    }

    /// `mod` declarations without a file.
    pub(crate) fn missing(&self) -> &[Finding] {
        &self.missing
    }

    /// Each import of another file, the first line for each pair of files.
    pub(crate) fn edges(&self) -> Vec<Edge> {
        let mut edges = Vec::new();
        let mut seen = BTreeSet::new();
        for (from, module) in self.modules.iter().enumerate() {
            for import in &module.named.imports {
                self.add_edges(from, &import.path, import.line, &mut seen, &mut edges);
            }
            let paths = module.named.paths.iter();
            let own = paths.filter(|(path, _)| is_of_this_crate(path));
            for (path, line) in own {
                self.add_edges(from, path, *line, &mut seen, &mut edges);
            }
        }
        edges
    }

    fn add_edges<'m>(
        &'m self,
        from: usize,
        path: &[String],
        line: usize,
        seen: &mut BTreeSet<(&'m str, &'m str)>,
        edges: &mut Vec<Edge>,
    ) {
        let mut targets = BTreeSet::new();
        self.resolve(from, from, path, MAX_REEXPORTS, &mut targets);
        let source = &self.modules[from];
        for target in targets {
            let target = &self.modules[target];
            if source.file != target.file && seen.insert((&source.file, &target.file)) {
                edges.push(Edge {
                    file: source.file.clone(),
                    line,
                    name: path.join("::"),
                    from: source.path.clone(),
                    to: target.path.clone(),
                });
            }
        }
    }

    /// The modules that `path`, written in `at`, makes `from` depend on.
    ///
    /// A module that re-exports is what its importers depend on. Only for its own descendants it is
    /// looked through: they depend on what it re-exports, as it depends on them.
    fn resolve(
        &self,
        from: usize,
        at: usize,
        path: &[String],
        depth: usize,
        found: &mut BTreeSet<usize>,
    ) {
        let Some((start, mut rest)) = self.start(at, path) else {
            return;
        };
        let mut at = start;
        while let Some((name, tail)) = rest.split_first() {
            match self.modules[at].children.get(name) {
                Some(child) => (at, rest) = (*child, tail),
                None => break,
            }
        }
        let Some((name, tail)) = rest.split_first() else {
            found.insert(at);
            return;
        };
        if at == 0 && self.exported_macros.contains_key(name) {
            found.insert(self.exported_macros[name]);
        } else if depth == 0 || self.modules[at].items.contains(name) || !self.is_within(from, at) {
            found.insert(at);
        } else {
            let imports = self.imports_of(at, name);
            if imports.is_empty() {
                found.insert(at);
            }
            for import in imports {
                self.resolve(from, at, &[&import, tail].concat(), depth - 1, found);
            }
        }
    }

    /// What the module imports by this name, or by a `*` that covers it.
    fn imports_of(&self, at: usize, name: &String) -> Vec<Vec<String>> {
        let imports = &self.modules[at].named.imports;
        let by_name = imports.iter().filter(|import| import.name == *name);
        let by_name: Vec<_> = by_name.map(|import| import.path.clone()).collect();
        if !by_name.is_empty() {
            return by_name;
        }
        let globs = imports.iter().filter(|import| import.name == GLOB);
        globs
            .filter(|glob| {
                let mut targets = BTreeSet::new();
                self.resolve(at, at, &glob.path, 0, &mut targets);
                targets.iter().any(|target| self.has(*target, name))
            })
            .map(|glob| [&glob.path, core::slice::from_ref(name)].concat())
            .collect()
    }

    /// Whether the name means something of this crate, rather than another crate.
    fn is_local(&self, module: usize, name: &String) -> bool {
        let module = &self.modules[module];
        let mut imports = module.named.imports.iter();
        module.items.contains(name)
            || module.children.contains_key(name)
            || imports.any(|import| import.name == *name && import.path.first() != Some(name))
    }

    fn has(&self, module: usize, name: &String) -> bool {
        let module = &self.modules[module];
        let mut imports = module.named.imports.iter();
        module.items.contains(name)
            || module.children.contains_key(name)
            || imports.any(|import| import.name == *name)
    }

    /// The module in which the path begins, and the rest; `None` for a path of another crate.
    fn start<'p>(&self, at: usize, path: &'p [String]) -> Option<(usize, &'p [String])> {
        let (first, mut rest) = path.split_first()?;
        let mut start = match first.as_str() {
            "crate" => 0,
            "self" => at,
            "super" => self.modules[at].parent?,
            _ if self.is_local(at, first) => return Some((at, path)),
            _ => return None,
        };
        while let Some((name, tail)) = rest.split_first() {
            if name != "super" {
                break;
            }
            (start, rest) = (self.modules[start].parent?, tail);
        }
        Some((start, rest))
    }

    fn is_within(&self, module: usize, ancestor: usize) -> bool {
        let mut next = Some(module);
        while let Some(at) = next {
            if at == ancestor {
                return true;
            }
            next = self.modules[at].parent;
        }
        false
    }

    fn add(&mut self, place: &Place<'_>, items: &[syn::Item]) -> usize {
        let id = self.modules.len();
        let compiled = || items.iter().filter(|item| !is_for_tests(attributes(item)));
        self.modules.push(Module {
            file: place.file.to_owned(),
            path: place.path.clone(),
            parent: place.parent,
            children: BTreeMap::new(),
            items: compiled().filter_map(defined).collect(),
            named: named(compiled()),
        });
        for item in compiled() {
            match item {
                syn::Item::Mod(module) => {
                    if let Some(child) = self.child(place, id, module) {
                        let name = module.ident.to_string();
                        self.modules[id].children.insert(name, child);
                    }
                }
                syn::Item::Macro(item) if is_exported(item) => {
                    let name = item.ident.as_ref().map(syn::Ident::to_string);
                    self.exported_macros.extend(name.map(|name| (name, id)));
                }
                _ => {}
            }
        }
        id
    }

    fn child(&mut self, place: &Place<'_>, id: usize, module: &syn::ItemMod) -> Option<usize> {
        let name = module.ident.to_string();
        let folder = format!("{}/{name}", place.folder);
        let mut child = Place {
            file: place.file,
            folder,
            path: place.path.clone(),
            parent: Some(id),
        };
        if let Some((_, items)) = &module.content {
            return Some(self.add(&child, items));
        }
        let path = format!("{}.rs", child.folder);
        let Some(file) = self.files.get(path.as_str()).copied() else {
            self.missing.push(Finding {
                path: place.file.to_owned(),
                line: module.ident.span().start().line,
                rule: format!("a module lies where its name says, there is no {path}"),
                remedy: "move the file there",
            });
            return None;
        };
        child.file = &file.path;
        child.path.push(name);
        Some(self.add(&child, &parse(file).items))
    }
}

/// Where a module's text stands, and where the files of its children are.
struct Place<'a> {
    file: &'a str,
    folder: String,
    path: Vec<String>,
    parent: Option<usize>,
}

fn is_of_this_crate(path: &[String]) -> bool {
    let first = path.first().map(String::as_str);
    matches!(first, Some("crate" | "self" | "super"))
}

fn is_exported(item: &syn::ItemMacro) -> bool {
    let mut attributes = item.attrs.iter();
    attributes.any(|attribute| attribute.path().is_ident("macro_export"))
}

/// The name that an item gives to something; modules and imports are none.
fn defined(item: &syn::Item) -> Option<String> {
    use syn::Item;
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

/// The attributes of an item of any kind.
pub(super) fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    use syn::Item;
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The name of an import that ends with `*`.
pub(super) const GLOB: &str = "*";

/// Re-exports of re-exports that are followed. Real code has two.
const MAX_REEXPORTS: usize = 8;
