//! A controller of cc-core can be read, tested and removed without the others.

use crate::finding::Finding;
use crate::repository::SourceFile;
use crate::syntax::{is_for_tests, parse};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// A child of cc-core's module `controllers` is a controller. Neither it nor its child modules name
/// another one, under its own path or under the crate root's; their tests may.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let sources: Vec<Source<'_>> = files.iter().filter_map(Source::read).collect();
    let controllers: Vec<Module> = sources.iter().filter_map(Source::controller).collect();
    let exports: Vec<Import> = sources
        .iter()
        .filter(|source| source.module.is_empty())
        .flat_map(|root| imports(&root.tree))
        .collect();
    sources
        .iter()
        .flat_map(|source| source.findings(&controllers, &exports))
        .collect()
}

/// The modules that [`check`] takes for controllers, without the path before them.
pub(crate) fn modules(files: &[SourceFile]) -> Vec<String> {
    let sources = files.iter().filter_map(Source::read);
    sources.filter_map(|s| s.controller()?.pop()).collect()
}

/// A path below the crate's root.
type Module = Vec<String>;

/// A file of cc-core's library that is not test code.
struct Source<'a> {
    file: &'a SourceFile,
    module: Module,
    tree: syn::File,
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

    fn controller(&self) -> Option<Module> {
        let is_one = matches!(self.module.as_slice(), [folder, _] if folder == FOLDER);
        is_one.then(|| self.module.clone())
    }

    fn findings(&self, controllers: &[Module], exports: &[Import]) -> Vec<Finding> {
        let is_own = |controller: &&Module| self.module.starts_with(controller);
        if !controllers.iter().any(|controller| is_own(&controller)) {
            return Vec::new();
        }
        let mut findings = Vec::new();
        for (path, line) in paths(&self.tree) {
            let Some(path) = absolute(&self.module, &path) else {
                continue;
            };
            let path = exported(exports, path);
            let named = |controller: &&Module| path.starts_with(controller);
            if let Some(other) = controllers.iter().find(|c| named(c) && !is_own(c)) {
                findings.push(Finding {
                    path: self.file.path.clone(),
                    line,
                    rule: format!(
                        "controllers do not import each other, `{}` is another one",
                        other.join("::")
                    ),
                    remedy: "move what both need to `parts`",
                });
            }
        }
        findings
    }
}

/// What one `use` brings in: the path as it is written, and the name that it gets here.
struct Import {
    path: Vec<String>,
    name: String,
    line: usize,
}

/// Every import outside test modules, one by one.
fn imports(tree: &syn::File) -> Vec<Import> {
    let mut named = Named::default();
    named.visit_file(tree);
    named.imports
}

/// Every path outside test modules as it is written, imports included, with its line.
fn paths(tree: &syn::File) -> Vec<(Vec<String>, usize)> {
    let mut named = Named::default();
    named.visit_file(tree);
    let imports = named.imports.into_iter();
    let mut paths = named.paths;
    paths.extend(imports.map(|import| (import.path, import.line)));
    paths
}

#[derive(Default)]
struct Named {
    imports: Vec<Import>,
    paths: Vec<(Vec<String>, usize)>,
}

impl Named {
    fn use_tree(&mut self, prefix: &[String], tree: &syn::UseTree) {
        let joined = |ident: &syn::Ident| [prefix, &[ident.to_string()]].concat();
        let (path, name) = match tree {
            syn::UseTree::Path(path) => return self.use_tree(&joined(&path.ident), &path.tree),
            syn::UseTree::Group(group) => {
                return group
                    .items
                    .iter()
                    .for_each(|item| self.use_tree(prefix, item));
            }
            syn::UseTree::Name(name) => (joined(&name.ident), name.ident.to_string()),
            syn::UseTree::Rename(name) => (joined(&name.ident), name.rename.to_string()),
            syn::UseTree::Glob(_) => (prefix.to_owned(), String::new()),
        };
        self.imports.push(Import {
            path,
            name,
            line: tree.span().start().line,
        });
    }
}

impl<'ast> Visit<'ast> for Named {
    fn visit_item_mod(&mut self, node: &'ast syn::ItemMod) {
        if !is_for_tests(&node.attrs) {
            visit::visit_item_mod(self, node);
        }
    }

    fn visit_item_use(&mut self, node: &'ast syn::ItemUse) {
        self.use_tree(&[], &node.tree);
    }

    fn visit_path(&mut self, node: &'ast syn::Path) {
        let segments = node
            .segments
            .iter()
            .map(|segment| segment.ident.to_string());
        let line = node.span().start().line;
        self.paths.push((segments.collect(), line));
        visit::visit_path(self, node);
    }
}

/// The path from the crate's root; `None` when it is not written relative to this crate.
fn absolute(module: &[String], segments: &[String]) -> Option<Module> {
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

/// The path behind a name that the crate's root exports, or the path itself.
fn exported(exports: &[Import], path: Module) -> Module {
    let export = exports
        .iter()
        .find(|export| path.first() == Some(&export.name));
    match export {
        Some(export) => absolute(&[], &export.path).unwrap_or_else(|| export.path.clone()),
        None => path,
    }
}

const LIBRARY: &str = "crates/cc-core/src/";
const FOLDER: &str = "controllers";

#[cfg(test)]
mod tests {
    use super::*;

    const DRAIN: &str = "crates/cc-core/src/controllers/bbr/v3/drain.rs";

    /// The lines found in [`DRAIN`] with this text, beside a Cubic and a Bbr.
    fn lines_found(text: &str) -> Vec<usize> {
        let lists_all = "use self::{bbr::Bbr, cubic::Cubic};\n";
        let files = [
            (
                "crates/cc-core/src/lib.rs",
                "pub use self::controllers::cubic::Cubic as Curve;\n",
            ),
            ("crates/cc-core/src/controllers.rs", lists_all),
            ("crates/cc-core/src/controllers/cubic.rs", ""),
            ("crates/cc-core/src/controllers/cubic/curve.rs", ""),
            ("crates/cc-core/src/controllers/bbr.rs", ""),
            (DRAIN, text),
        ];
        let files = files.map(|(path, text)| SourceFile::sample(path, text));
        assert_eq!(modules(&files), ["cubic", "bbr"]);
        let findings = check(&files);
        assert!(findings.iter().all(|f| f.path == DRAIN));
        findings.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn another_controller_is_found_however_it_is_named() {
        assert_eq!(lines_found("use crate::controllers::cubic;\n"), [1]);
        assert_eq!(
            lines_found("use crate::controllers::{\n    cubic::Cubic,\n};\n"),
            [2]
        );
        assert_eq!(lines_found("use super::super::super::cubic::*;\n"), [1]);
        assert_eq!(
            lines_found("fn f() {\n    crate::controllers::cubic::g();\n}\n"),
            [2]
        );
        assert_eq!(lines_found("use crate::Curve as C;\n"), [1]);
    }

    #[test]
    fn the_own_controller_shared_modules_and_tests_are_free() {
        assert_eq!(
            lines_found("use super::super::v1::Round;\nuse super::round;\n"),
            []
        );
        assert_eq!(
            lines_found("use crate::parts::round::Round;\nuse cubic::x;\n"),
            []
        );
        let test = "#[cfg(test)]\nmod tests {\n    use crate::controllers::cubic::Cubic;\n}\n";
        assert_eq!(lines_found(test), []);
    }
}
