use super::variable::Variable;
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The variables of `[draws]`, in the order of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Draws(pub(super) Vec<(String, Variable)>);

impl Draws {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Those that choose between alternatives, and what these are called.
    pub(crate) fn choices(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &str>)> {
        self.0.iter().filter_map(|(name, variable)| {
            let alternatives = variable.choose.as_ref()?.iter();
            let values = alternatives.map(|alternative| alternative.at.as_str());
            Some((name.as_str(), values))
        })
    }
}

impl<'de> Deserialize<'de> for Draws {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(DrawsVisitor)
    }
}

struct DrawsVisitor;

impl<'de> Visitor<'de> for DrawsVisitor {
    type Value = Draws;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("variables, each a name with a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Draws, A::Error> {
        let mut draws = Vec::new();
        while let Some(entry) = map.next_entry::<String, Variable>()? {
            draws.push(entry);
        }
        Ok(Draws(draws))
    }
}

impl Serialize for Draws {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, variable) in &self.0 {
            map.serialize_entry(name, variable)?;
        }
        map.end()
    }
}
