//! The files that rustdoc writes as JSON, one for each crate.

use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

pub(crate) struct Docs {
    crates: Vec<Crate>,
}

pub(crate) struct Crate {
    file: String,
    docs: Value,
    /// The own items, by the path of their definition.
    defined: HashMap<String, String>,
}

impl Docs {
    /// All files of a folder.
    ///
    /// # Errors
    /// What cannot be read.
    pub(crate) fn read(folder: &Path, files: &[&str]) -> Result<Self, String> {
        let crates = files.iter().map(|file| Crate::read(folder, file));
        let crates = crates.collect::<Result<_, _>>()?;
        Ok(Self { crates })
    }

    pub(crate) fn file(&self, name: &str) -> &Crate {
        let found = self.crates.iter().find(|one| one.file == name);
        found.expect("the file is among those that were read")
    }

    /// The item that the crate knows by this number, and the crate that defines it.
    pub(crate) fn resolve<'a>(
        &'a self,
        at: &'a Crate,
        id: &Value,
    ) -> Option<(&'a Crate, &'a Value)> {
        let id = id.to_string();
        if let Some(item) = at.docs["index"].get(&id) {
            return Some((at, item));
        }
        let path = path_of(at.docs["paths"].get(&id)?);
        self.crates.iter().find_map(|other| {
            let item = other.docs["index"].get(other.defined.get(&path)?)?;
            Some((other, item))
        })
    }
}

impl Crate {
    fn read(folder: &Path, file: &str) -> Result<Self, String> {
        let place = folder.join(file).with_extension("json");
        let text = fs::read(&place).map_err(|error| {
            format!(
                "{} cannot be read: {error}; run `just quinn-api`",
                place.display()
            )
        })?;
        let docs: Value = serde_json::from_slice(&text).map_err(|error| {
            format!(
                "{} is no JSON: {error}; delete it and try again",
                place.display()
            )
        })?;
        let format = &docs["format_version"];
        if *format != FORMAT {
            return Err(format!(
                "rustdoc's JSON has format {format}, and this program was written for {FORMAT}; \
                 compare the two in the crate rustdoc-types, and set FORMAT"
            ));
        }
        let paths = docs["paths"].as_object().into_iter().flatten();
        let own = paths.filter(|(_, path)| path["crate_id"] == 0);
        let defined = own.map(|(id, path)| (path_of(path), id.clone())).collect();
        Ok(Self {
            file: file.to_owned(),
            docs,
            defined,
        })
    }

    pub(crate) fn root(&self) -> &Value {
        &self.docs["index"][self.docs["root"].to_string()]
    }

    /// Those of a list of numbers that are documented.
    pub(crate) fn items<'a>(&'a self, ids: &'a Value) -> impl Iterator<Item = &'a Value> {
        let ids = ids.as_array().into_iter().flatten();
        ids.filter_map(|id| self.docs["index"].get(id.to_string()))
    }
}

/// With its kind, as a trait and a macro may have one name.
fn path_of(entry: &Value) -> String {
    format!("{} {}", entry["kind"], entry["path"])
}

/// Of rustdoc 1.95. The number rises with every change of the format.
const FORMAT: u64 = 57;
