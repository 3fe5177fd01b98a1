//! What the text of a module names: its imports and its paths.

use super::modules::{GLOB, attributes};
use crate::syntax::is_for_tests;
use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// Imports and paths of one module, without those of modules inside it and without test code.
#[derive(Default)]
pub(crate) struct Named {
    pub(crate) imports: Vec<Import>,
    /// Paths of two segments or more as they are written, with their lines.
    pub(crate) paths: Vec<(Vec<String>, usize)>,
}

/// What one `use` brings in: the path as it is written, and the name that it gets here.
pub(crate) struct Import {
    pub(crate) path: Vec<String>,
    pub(crate) name: String,
    pub(crate) line: usize,
}

/// What these items name.
pub(crate) fn named<'a>(items: impl Iterator<Item = &'a syn::Item>) -> Named {
    let mut named = Named::default();
    items.for_each(|item| named.visit_item(item));
    named
}

impl Named {
    /// Imports and other paths alike, with their lines.
    pub(crate) fn all(self) -> impl Iterator<Item = (Vec<String>, usize)> {
        let imports = self.imports.into_iter();
        let imports = imports.map(|import| (import.path, import.line));
        imports.chain(self.paths)
    }

    fn use_tree(&mut self, prefix: &[String], tree: &syn::UseTree) {
        let joined = |ident: &syn::Ident| [prefix, &[ident.to_string()]].concat();
        let (mut path, mut name) = match tree {
            syn::UseTree::Path(path) => return self.use_tree(&joined(&path.ident), &path.tree),
            syn::UseTree::Group(group) => {
                let items = group.items.iter();
                return items.for_each(|item| self.use_tree(prefix, item));
            }
            syn::UseTree::Name(name) => (joined(&name.ident), name.ident.to_string()),
            syn::UseTree::Rename(name) => (joined(&name.ident), name.rename.to_string()),
            syn::UseTree::Glob(_) => (prefix.to_owned(), GLOB.to_owned()),
        };
        // `a::{self}` is `a`.
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
            if name == "self" {
                name = path.last().cloned().unwrap_or_default();
            }
        }
        let line = tree.span().start().line;
        self.imports.push(Import { path, name, line });
    }

    /// Paths in what a macro is given: its tokens are not parsed.
    fn tokens(&mut self, stream: TokenStream) {
        let mut path = Vec::new();
        let mut line = 0;
        let mut colons = 0;
        for token in stream {
            match &token {
                TokenTree::Ident(ident) if path.is_empty() || colons == 2 => {
                    if path.is_empty() {
                        line = ident.span().start().line;
                    }
                    path.push(ident.to_string());
                    colons = 0;
                    continue;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => {
                    colons += 1;
                    continue;
                }
                _ => {}
            }
            self.path(core::mem::take(&mut path), line);
            colons = 0;
            match token {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(ident) => {
                    line = ident.span().start().line;
                    path.push(ident.to_string());
                }
                _ => {}
            }
        }
        self.path(path, line);
    }

    fn path(&mut self, path: Vec<String>, line: usize) {
        if path.len() > 1 {
            self.paths.push((path, line));
        }
    }
}

impl<'ast> Visit<'ast> for Named {
    fn visit_item(&mut self, node: &'ast syn::Item) {
        if !is_for_tests(attributes(node)) {
            visit::visit_item(self, node);
        }
    }

    fn visit_item_mod(&mut self, _: &'ast syn::ItemMod) {}

    fn visit_item_use(&mut self, node: &'ast syn::ItemUse) {
        if node.leading_colon.is_none() {
            self.use_tree(&[], &node.tree);
        }
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        if !is_for_tests(&node.attrs) {
            visit::visit_impl_item_fn(self, node);
        }
    }

    fn visit_field(&mut self, node: &'ast syn::Field) {
        if !is_for_tests(&node.attrs) {
            visit::visit_field(self, node);
        }
    }

    fn visit_local(&mut self, node: &'ast syn::Local) {
        if !is_for_tests(&node.attrs) {
            visit::visit_local(self, node);
        }
    }

    fn visit_field_value(&mut self, node: &'ast syn::FieldValue) {
        if !is_for_tests(&node.attrs) {
            visit::visit_field_value(self, node);
        }
    }

    /// `pub(in super::a)` depends on nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, node: &'ast syn::Path) {
        if node.leading_colon.is_none() {
            let segments = node.segments.iter();
            let path = segments.map(|segment| segment.ident.to_string());
            self.path(path.collect(), node.span().start().line);
        }
        visit::visit_path(self, node);
    }

    fn visit_macro(&mut self, node: &'ast syn::Macro) {
        visit::visit_macro(self, node);
        self.tokens(node.tokens.clone());
    }

    /// `#[serde(with = "crate::a")]`, and the like.
    fn visit_attribute(&mut self, node: &'ast syn::Attribute) {
        let syn::Meta::List(list) = &node.meta else {
            return;
        };
        for token in list.tokens.clone() {
            let line = token.span().start().line;
            let text = token.to_string();
            let inner = text
                .strip_prefix('"')
                .and_then(|text| text.strip_suffix('"'));
            if let Some(inner) = inner {
                let path: Vec<String> = inner.split("::").map(str::to_owned).collect();
                self.path(path, line);
            }
        }
    }
}
