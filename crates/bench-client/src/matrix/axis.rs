//! What changes from cell to cell.

use super::template::{Text, Words};
use bench_report::result::MatrixAxis;
use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use units::ParseError;

/// The axes in the order of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Axes(Vec<Axis>);

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    pub(super) name: String,
    /// At least one, no two of the same name.
    pub(super) values: Vec<AxisValue>,
}

/// One of the values of an axis: a text, or a name for several texts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AxisValue {
    /// What it is called by, and what the word with the axis's name stands for.
    pub(super) at: Text,
    pub(super) words: Words,
}

impl Axes {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Axis> {
        self.0.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Axis> {
        self.0.iter().find(|axis| axis.name == name)
    }

    /// Keeps those values alone that `only` names, of the axes that it names.
    ///
    /// # Errors
    /// When there is no such axis or value.
    pub(crate) fn narrow<'a>(
        &mut self,
        only: impl IntoIterator<Item = &'a Only>,
    ) -> Result<(), String> {
        let only: Vec<&Only> = only.into_iter().collect();
        for wanted in &only {
            let Some(axis) = self.get(&wanted.axis) else {
                let names = self.0.iter().map(|axis| axis.name.as_str());
                let names: Vec<&str> = names.collect();
                let names = names.join(", ");
                return Err(format!("unknown axis `{}`; known: {names}", wanted.axis));
            };
            if !axis
                .values
                .iter()
                .any(|value| value.at.as_str() == wanted.value)
            {
                let values: Vec<&str> = axis.values.iter().map(|value| value.at.as_str()).collect();
                let (axis, values) = (&axis.name, values.join(", "));
                return Err(format!(
                    "unknown value `{}` of axis `{axis}`; known: {values}",
                    wanted.value
                ));
            }
        }
        for axis in &mut self.0 {
            let wanted = only.iter().filter(|only| only.axis == axis.name);
            let wanted: Vec<&str> = wanted.map(|only| only.value.as_str()).collect();
            if !wanted.is_empty() {
                axis.values
                    .retain(|value| wanted.contains(&value.at.as_str()));
            }
        }
        Ok(())
    }
}

impl Axis {
    pub(super) fn to_result(&self) -> MatrixAxis {
        let values = self.values.iter().map(|value| value.at.to_string());
        MatrixAxis {
            name: self.name.clone(),
            values: values.collect(),
        }
    }
}

/// `AXIS=VALUE`: what `--only` keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Only {
    pub(super) axis: String,
    pub(super) value: String,
}

impl fmt::Display for Only {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.axis, self.value)
    }
}

impl FromStr for Only {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError::new(text, "AXIS=VALUE, such as loss=1%");
        let (axis, value) = text.split_once('=').ok_or_else(error)?;
        Ok(Self {
            axis: axis.trim().to_owned(),
            value: value.trim().to_owned(),
        })
    }
}

impl<'de> Deserialize<'de> for Axes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AxesVisitor)
    }
}

struct AxesVisitor;

impl<'de> Visitor<'de> for AxesVisitor {
    type Value = Axes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("axes, each a name with an array of values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Axes, A::Error> {
        let mut axes: Vec<Axis> = Vec::new();
        while let Some((name, values)) = map.next_entry::<String, Vec<AxisValue>>()? {
            if values.is_empty() {
                return Err(A::Error::custom(format!("axis `{name}` has no values")));
            }
            for (index, value) in values.iter().enumerate() {
                if values[..index].iter().any(|other| other.at == value.at) {
                    let value = &value.at;
                    return Err(A::Error::custom(format!(
                        "axis `{name}` has `{value}` twice"
                    )));
                }
            }
            axes.push(Axis { name, values });
        }
        Ok(Axes(axes))
    }
}

impl Serialize for Axes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for axis in &self.0 {
            map.serialize_entry(&axis.name, &axis.values)?;
        }
        map.end()
    }
}

/// How a value is written: alone, or as a table with its name under `at`.
#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a value is a string, a number, or a table with the key `at`"
)]
enum Written {
    Alone(Text),
    Table(BTreeMap<String, Text>),
}

impl<'de> Deserialize<'de> for AxisValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Alone(at) => Ok(Self {
                at,
                words: Words::new(),
            }),
            Written::Table(mut words) => {
                let at = words.remove(AT);
                let at =
                    at.ok_or_else(|| D::Error::custom("an axis's table lacks the key `at`"))?;
                Ok(Self { at, words })
            }
        }
    }
}

impl Serialize for AxisValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.words.is_empty() {
            return self.at.serialize(serializer);
        }
        let mut table = self.words.clone();
        table.insert(AT.to_owned(), self.at.clone());
        table.serialize(serializer)
    }
}

/// The key of a table that says its name.
const AT: &str = "at";
