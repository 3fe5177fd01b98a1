//! The public interface of a crate, item by item, from what rustdoc writes as JSON.

use crate::docs::{Crate, Docs};
use crate::signature::{function, name_of_type, trait_impl, written};
use serde_json::Value;
use std::collections::BTreeMap;

/// Every public item, by the path under which users of the crate know it, and its signature:
/// `Connection::open_bi` and `fn(&Connection) -> OpenBi`, `PathStats.rtt` and `Duration`,
/// `OpenBi: Future` and `Output = …`.
pub(crate) type Interface = BTreeMap<String, String>;

/// The interface of the crate in the file `file`, with all that it re-exports from crates whose
/// files are there.
pub(crate) fn interface(docs: &Docs, file: &str) -> Interface {
    let mut listing = Listing {
        docs,
        found: Interface::new(),
    };
    let root = docs.file(file);
    listing.module(root, root.root(), "");
    listing.found
}

struct Listing<'a> {
    docs: &'a Docs,
    found: Interface,
}

impl<'a> Listing<'a> {
    fn module(&mut self, at: &'a Crate, module: &'a Value, prefix: &str) {
        for item in at.items(&module["inner"]["module"]["items"]) {
            if item["visibility"] != "public" {
                continue;
            }
            let Some(import) = item["inner"].get("use") else {
                let path = format!("{prefix}{}", item["name"].as_str().unwrap_or_default());
                self.item(at, item, &path);
                continue;
            };
            let path = format!("{prefix}{}", import["name"].as_str().unwrap_or_default());
            match self.docs.resolve(at, &import["id"]) {
                Some((at, item)) if import["is_glob"] == true => self.module(at, item, prefix),
                Some((at, item)) => self.item(at, item, &path),
                None => self.add(path, "not followed"),
            }
        }
    }

    fn item(&mut self, at: &'a Crate, item: &'a Value, path: &str) {
        let (kind, inner) = kind_of(item);
        match kind {
            "module" => {
                self.add(path, kind);
                self.module(at, item, &format!("{path}::"));
            }
            "struct" => {
                self.add(path, structure(at, item, inner));
                self.fields(at, &inner["kind"], path, true);
                self.implementations(at, inner, path);
            }
            "enum" => {
                self.add(path, enumeration(at, item, inner));
                for variant in at.items(&inner["variants"]) {
                    self.variant(at, variant, path);
                }
                self.implementations(at, inner, path);
            }
            "trait" => {
                self.add(
                    path,
                    format!("trait {}", names(at, &inner["items"], is_required)),
                );
                for member in at.items(&inner["items"]) {
                    self.member(member, path);
                }
            }
            "function" => self.add(path, function(inner, path)),
            "constant" => self.add(path, written(&inner["type"], path)),
            other => self.add(path, other),
        }
    }

    fn variant(&mut self, at: &'a Crate, variant: &'a Value, path: &str) {
        let name = variant["name"].as_str().unwrap_or_default();
        let path = format!("{path}::{name}");
        self.add(&*path, "variant");
        self.fields(at, &variant["inner"]["variant"]["kind"], &path, false);
    }

    /// Those that are `public`, or all, which those of a variant are.
    fn fields(&mut self, at: &'a Crate, kind: &'a Value, path: &str, public: bool) {
        let named = kind.get("plain").or_else(|| kind.get("struct"));
        let ids = named.map_or(&kind["tuple"], |kind| &kind["fields"]);
        for field in at.items(ids) {
            if !public || field["visibility"] == "public" {
                let name = field["name"].as_str().unwrap_or_default();
                let type_of = written(&field["inner"]["struct_field"], path);
                self.add(format!("{path}.{name}"), type_of);
            }
        }
    }

    /// Methods and traits, and the methods of what it dereferences to.
    fn implementations(&mut self, at: &'a Crate, inner: &'a Value, path: &str) {
        for item in at.items(&inner["impls"]) {
            let one = &item["inner"]["impl"];
            if !one["blanket_impl"].is_null() || one["is_negative"] == true {
                continue;
            }
            let Some(name) = trait_impl(&one["trait"], path) else {
                for member in at.items(&one["items"]) {
                    if member["visibility"] == "public" {
                        self.member(member, path);
                    }
                }
                continue;
            };
            if name == "Deref" {
                self.dereferenced(at, one, path);
            }
            if !OF_THE_COMPILER.contains(&&*name) {
                let types = at.items(&one["items"]).filter_map(|item| {
                    let assigned = &item["inner"].get("assoc_type")?["type"];
                    let name = item["name"].as_str()?;
                    Some(format!("{name} = {}", written(assigned, path)))
                });
                let types: Vec<_> = types.collect();
                self.add(format!("{path}: {name}"), types.join(", "));
            }
        }
    }

    /// What can be called on a type because it can on the one that it dereferences to. What the
    /// type has itself comes first.
    fn dereferenced(&mut self, at: &'a Crate, deref: &'a Value, path: &str) {
        let target = at.items(&deref["items"]).find_map(|item| {
            let target = item["inner"].get("assoc_type")?;
            let id = &target["type"]["resolved_path"]["id"];
            self.docs.resolve(at, id)
        });
        let Some((at, target)) = target else {
            return;
        };
        let (_, inner) = kind_of(target);
        self.fields(at, &inner["kind"], path, true);
        for one in at.items(&inner["impls"]) {
            let one = &one["inner"]["impl"];
            if !one["trait"].is_null() {
                continue;
            }
            for member in at.items(&one["items"]) {
                let first = &member["inner"]["function"]["sig"]["inputs"][0][0];
                if member["visibility"] == "public" && first == "self" {
                    self.member(member, path);
                }
            }
        }
    }

    /// A method, constant or type of a type or a trait.
    fn member(&mut self, member: &'a Value, path: &str) {
        let (kind, inner) = kind_of(member);
        let signature = match kind {
            "function" => function(inner, name_of_type(path)),
            _ => written(&inner["type"], path),
        };
        let name = member["name"].as_str().unwrap_or_default();
        self.add(format!("{path}::{name}"), signature);
    }

    fn add(&mut self, path: impl Into<String>, signature: impl Into<String>) {
        let entry = self.found.entry(path.into());
        entry.or_insert_with(|| signature.into());
    }
}

fn kind_of(item: &Value) -> (&str, &Value) {
    let inner = item["inner"].as_object();
    let first = inner.and_then(|inner| inner.iter().next());
    first.map_or(("", &Value::Null), |(kind, inner)| (kind.as_str(), inner))
}

/// A structure that users can write field by field, now and later, differs from one that they
/// cannot.
fn structure(at: &Crate, item: &Value, inner: &Value) -> String {
    let plain = inner["kind"].get("plain");
    match plain.filter(|plain| plain["has_stripped_fields"] == false && !may_grow(item)) {
        Some(plain) => format!("struct {}", names(at, &plain["fields"], |_| true)),
        None => "struct".to_owned(),
    }
}

/// Likewise one of which users can match all variants.
fn enumeration(at: &Crate, item: &Value, inner: &Value) -> String {
    if may_grow(item) {
        return "enum".to_owned();
    }
    format!("enum {}", names(at, &inner["variants"], |_| true))
}

fn may_grow(item: &Value) -> bool {
    let attributes = item["attrs"].as_array();
    attributes.is_some_and(|all| all.iter().any(|one| one == "non_exhaustive"))
}

/// What an implementation has to bring.
fn is_required(member: &Value) -> bool {
    member["inner"]["function"]["has_body"] == false
}

fn names(at: &Crate, ids: &Value, chosen: impl Fn(&Value) -> bool) -> String {
    let items = at.items(ids).filter(|item| chosen(item));
    let mut names: Vec<_> = items.filter_map(|item| item["name"].as_str()).collect();
    names.sort_unstable();
    format!("{{ {} }}", names.join(", "))
}

/// Traits that say how a type is made, and `Deref`, which is followed.
const OF_THE_COMPILER: [&str; 5] = [
    "Deref",
    "Drop",
    "Freeze",
    "StructuralPartialEq",
    "UnsafeUnpin",
];
