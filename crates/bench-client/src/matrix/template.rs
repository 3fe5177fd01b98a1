//! Texts that name axes: `delay 20ms loss {loss} rate 100mbit queue 1bdp`.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A text, or a number as its author wrote it, in which `{word}` stands for a word's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Text(String);

pub(super) type Words = BTreeMap<String, Text>;

impl Text {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The text with every word replaced, also those inside what words stand for.
    ///
    /// # Errors
    /// When a word is not known, a brace has no partner, or words stand for each other.
    pub(super) fn expand(&self, words: &Words) -> Result<String, String> {
        let mut text = self.0.clone();
        for _ in 0..MAX_DEPTH {
            if !text.contains(['{', '}']) {
                return Ok(text);
            }
            text = expand_once(&text, words)?;
        }
        Err(format!("`{}` refers to itself", self.0))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let parts = self.0.split('{').skip(1);
        parts.filter_map(|part| part.split_once('}').map(|(name, _)| name))
    }
}

fn expand_once(text: &str, words: &Words) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let unpaired = || format!("unmatched brace in `{text}`");
        let (name, behind) = after.split_once('}').ok_or_else(unpaired)?;
        let word = words.get(name).ok_or_else(|| {
            let known: Vec<String> = words.keys().map(|name| format!("{{{name}}}")).collect();
            let known = match known.as_slice() {
                [] => "this matrix has no axes".to_owned(),
                _ => format!("known: {}", known.join(", ")),
            };
            format!("unknown axis `{{{name}}}`; {known}")
        })?;
        if before.contains('}') {
            return Err(unpaired());
        }
        expanded.push_str(before);
        expanded.push_str(word.as_str());
        rest = behind;
    }
    if rest.contains('}') {
        return Err(format!("unmatched brace in `{text}`"));
    }
    expanded.push_str(rest);
    Ok(expanded)
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
        if text.chars().any(char::is_control) {
            return Err(E::custom(
                "line breaks and other control characters are not allowed",
            ));
        }
        Ok(Text(text.to_owned()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Text, E> {
        Ok(Text(number.to_string()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Text, E> {
        Ok(Text(number.to_string()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Text, E> {
        Ok(Text(number.to_string()))
    }
}

/// A word may stand for a text with words, as a path of two shapes does; deeper is a circle.
const MAX_DEPTH: usize = 8;
