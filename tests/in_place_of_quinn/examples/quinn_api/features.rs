//! The features of the packages, from `cargo metadata`.

use crate::interface::Interface;
use serde_json::Value;
use std::fs;
use std::path::Path;

pub(crate) struct Features {
    metadata: Value,
}

impl Features {
    /// # Errors
    /// What cannot be read.
    pub(crate) fn read(folder: &Path) -> Result<Self, String> {
        let place = folder.join("metadata.json");
        let unread = |error| {
            let place = place.display();
            format!("{place} cannot be read: {error}; run `just quinn-api`")
        };
        let text = fs::read(&place).map_err(|error| unread(error.to_string()))?;
        let metadata = serde_json::from_slice(&text).map_err(|error| unread(error.to_string()))?;
        Ok(Self { metadata })
    }

    /// Those that dependents may name, which are those without underscores before them.
    pub(crate) fn add_to(&self, interface: &mut Interface, file: &str) {
        let packages = self.metadata["packages"].as_array().into_iter().flatten();
        for package in packages.filter(|package| is(package, file)) {
            let features = package["features"].as_object().into_iter().flatten();
            let public = features.filter(|(name, _)| !name.starts_with("__"));
            interface.extend(public.map(|(name, _)| (format!("feature {name}"), String::new())));
        }
    }
}

/// Whether the package is the one that `file` describes. The shim is the quinn that is not of a
/// registry.
fn is(package: &Value, file: &str) -> bool {
    let local = package["source"].is_null();
    match file {
        "published" => package["name"] == "quinn" && !local,
        "shim" => package["name"] == "quinn" && local,
        _ => package["name"] == file,
    }
}
