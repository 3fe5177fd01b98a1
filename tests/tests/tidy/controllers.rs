//! A controller of cc-core is a plug: it can be read, tested and taken out without the others.

use crate::finding::Finding;
use crate::repository::SourceFile;
use crate::syntax::{is_for_tests, parse};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// A module that implements `Controller` for a type of its own is a controller. Neither it nor
/// its child modules name another controller's module or type; their tests may.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let sources: Vec<Source<'_>> = files.iter().filter_map(Source::read).collect();
    let controllers: Vec<Controller> = sources.iter().flat_map(Source::controllers).collect();
    sources
        .iter()
        .flat_map(|source| source.findings(&controllers))
        .collect()
}

/// The modules that [`check`] takes for controllers, as `a::b`.
pub(crate) fn modules(files: &[SourceFile]) -> Vec<String> {
    let sources = files.iter().filter_map(Source::read);
    let controllers = sources.flat_map(|source| source.controllers());
    controllers.map(|found| found.module.join("::")).collect()
}

/// A file of cc-core's library that is not test code.
struct Source<'a> {
    file: &'a SourceFile,
    module: Vec<String>,
    tree: syn::File,
}

/// A controller's module, from the crate's root, and the type it exports.
struct Controller {
    module: Vec<String>,
    name: String,
}

impl<'a> Source<'a> {
    fn read(file: &'a SourceFile) -> Option<Self> {
        let path = file.path.strip_prefix(LIBRARY)?.strip_suffix(".rs")?;
        if file.is_test() {
            return None;
        }
        let is_root = path == "lib";
        let module = path.split('/').filter(|_| !is_root).map(str::to_owned);
        Some(Self {
            file,
            module: module.collect(),
            tree: parse(file),
        })
    }

    fn controllers(&self) -> Vec<Controller> {
        let own_types: Vec<&syn::Ident> = self.tree.items.iter().filter_map(type_name).collect();
        let implementors = self.tree.items.iter().filter_map(implementor);
        implementors
            .filter(|name| own_types.contains(name))
            .map(|name| Controller {
                module: self.module.clone(),
                name: name.to_string(),
            })
            .collect()
    }

    fn findings(&self, controllers: &[Controller]) -> Vec<Finding> {
        let belongs_to = |controller: &Controller| self.module.starts_with(&controller.module);
        if !controllers.iter().any(belongs_to) {
            return Vec::new();
        }
        let mut paths = Paths {
            module: &self.module,
            found: Vec::new(),
        };
        paths.visit_file(&self.tree);
        let others: Vec<&Controller> = controllers.iter().filter(|c| !belongs_to(c)).collect();
        let found = paths.found.iter();
        found
            .filter_map(|(path, line)| {
                let other = others
                    .iter()
                    .find(|other| path.starts_with(&other.module) || path.contains(&other.name))?;
                Some(Finding {
                    path: self.file.path.clone(),
                    line: *line,
                    rule: format!(
                        "controllers do not import each other, `{}` is another one",
                        other.module.join("::")
                    ),
                    remedy: "move what both need to a module that is no controller",
                })
            })
            .collect()
    }
}

fn type_name(item: &syn::Item) -> Option<&syn::Ident> {
    match item {
        syn::Item::Struct(item) => Some(&item.ident),
        syn::Item::Enum(item) => Some(&item.ident),
        _ => None,
    }
}

/// The type for which this item implements `Controller`.
fn implementor(item: &syn::Item) -> Option<&syn::Ident> {
    let syn::Item::Impl(item) = item else {
        return None;
    };
    let (_, path, _) = item.trait_.as_ref()?;
    let syn::Type::Path(implementor) = item.self_ty.as_ref() else {
        return None;
    };
    let is_controller = path.segments.last()?.ident == TRAIT;
    implementor.path.get_ident().filter(|_| is_controller)
}

/// Every path of this crate that a file names, from the crate's root, with its line.
struct Paths<'a> {
    module: &'a [String],
    found: Vec<(Vec<String>, usize)>,
}

impl Paths<'_> {
    fn record(&mut self, segments: &[String], line: usize) {
        if let Some(path) = absolute(self.module, segments) {
            self.found.push((path, line));
        }
    }

    fn use_tree(&mut self, prefix: &[String], tree: &syn::UseTree) {
        let joined = |ident: &syn::Ident| [prefix, &[ident.to_string()]].concat();
        let line = tree.span().start().line;
        match tree {
            syn::UseTree::Path(path) => self.use_tree(&joined(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.record(&joined(&name.ident), line),
            syn::UseTree::Rename(rename) => self.record(&joined(&rename.ident), line),
            syn::UseTree::Glob(_) => self.record(prefix, line),
            syn::UseTree::Group(group) => {
                for item in &group.items {
                    self.use_tree(prefix, item);
                }
            }
        }
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item_mod(&mut self, node: &'ast syn::ItemMod) {
        if !is_for_tests(&node.attrs) {
            visit::visit_item_mod(self, node);
        }
    }

    fn visit_item_use(&mut self, node: &'ast syn::ItemUse) {
        self.use_tree(&[], &node.tree);
    }

    fn visit_path(&mut self, node: &'ast syn::Path) {
        let segments: Vec<String> = node.segments.iter().map(|s| s.ident.to_string()).collect();
        self.record(&segments, node.span().start().line);
        visit::visit_path(self, node);
    }
}

/// The path from the crate's root; `None` when it is not written relative to this crate.
fn absolute(module: &[String], segments: &[String]) -> Option<Vec<String>> {
    let (first, rest) = segments.split_first()?;
    let base = match first.as_str() {
        "crate" => &[],
        "self" => module,
        "super" => module.split_last()?.1,
        _ => return None,
    };
    let ups = rest
        .iter()
        .take_while(|segment| *segment == "super")
        .count();
    let base = &base[..base.len().checked_sub(ups)?];
    Some([base, &rest[ups..]].concat())
}

const LIBRARY: &str = "crates/cc-core/src/";
const TRAIT: &str = "Controller";

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines found in `bbr/drain.rs` with this text, beside a Cubic and a Bbr.
    fn lines_found(text: &str) -> Vec<usize> {
        let controller = |name| format!("struct {name};\nimpl Controller for {name} {{}}\n");
        let files = [
            ("crates/cc-core/src/lib.rs", "pub use cubic::Cubic;\n"),
            ("crates/cc-core/src/cubic.rs", &controller("Cubic")),
            ("crates/cc-core/src/bbr.rs", &controller("Bbr")),
            ("crates/cc-core/src/bbr/drain.rs", text),
            (
                "crates/cc-core/src/registry.rs",
                "use crate::{bbr::Bbr, cubic::Cubic};\n",
            ),
        ];
        let files = files.map(|(path, text)| SourceFile::sample(path, text));
        let findings = check(&files);
        assert!(findings.iter().all(|f| f.path.ends_with("bbr/drain.rs")));
        findings.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn another_controller_is_found_however_it_is_named() {
        assert_eq!(lines_found("use crate::cubic;\n"), [1]);
        assert_eq!(lines_found("use crate::{\n    cubic::Cubic,\n};\n"), [2]);
        assert_eq!(lines_found("use super::super::cubic::*;\n"), [1]);
        assert_eq!(lines_found("fn f() {\n    crate::cubic::g();\n}\n"), [2]);
        assert_eq!(lines_found("use crate::Cubic as C;\n"), [1]);
    }

    #[test]
    fn the_own_controller_shared_modules_and_tests_are_free() {
        assert_eq!(lines_found("use crate::bbr::Bbr;\nuse super::round;\n"), []);
        assert_eq!(lines_found("use crate::pacer::Pacer;\nuse cubic::x;\n"), []);
        let test = "#[cfg(test)]\nmod tests {\n    use crate::cubic::Cubic;\n}\n";
        assert_eq!(lines_found(test), []);
    }
}
