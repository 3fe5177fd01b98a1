use super::draws::Draws;
use super::strata::place;
use super::usage::{USE, UseFile};
use super::variable::weighted;
use crate::matrix::template::{Text, Words};
use std::collections::BTreeSet;

/// What one cell has drawn.
#[derive(Debug)]
pub(crate) struct Sample<'a> {
    pub(crate) usage: &'a UseFile,
    /// The value of each variable, and the words that came with it.
    pub(crate) words: Words,
}

/// # Errors
/// Names the variable that makes no sense, or is called like another word.
pub(crate) fn check(draws: &Draws, uses: &[UseFile]) -> Result<(), String> {
    if uses.iter().all(|usage| usage.weight == 0) {
        return Err("use: missing, or the weights add up to 0".to_owned());
    }
    let mut known = BTreeSet::from([USE, CELL, CC]);
    for (name, variable) in &draws.0 {
        variable
            .check()
            .map_err(|error| format!("draws.{name}: {error}"))?;
        for word in variable.words().chain([name.as_str()]) {
            if !known.insert(word) {
                return Err(format!(
                    "draws.{name}: `{word}` is defined twice; rename one of the two"
                ));
            }
        }
    }
    Ok(())
}

/// What cell `number` of the matrix with this seed has drawn.
///
/// # Errors
/// Names the variable that makes no sense.
pub(crate) fn sample<'a>(
    draws: &Draws,
    uses: &'a [UseFile],
    seed: u64,
    number: u32,
) -> Result<Sample<'a>, String> {
    let place = |name: &str| place(seed, number, name);
    let mut words = Words::new();
    for (name, variable) in &draws.0 {
        if let Some(chosen) = variable.choose(place(name)) {
            words.insert(name.clone(), chosen.at.clone());
            words.extend(chosen.words.clone());
        } else {
            let number = variable.number(place(name), &words);
            let number = number.map_err(|error| format!("draws.{name}: {error}"))?;
            words.insert(name.clone(), Text::from(number.to_string().as_str()));
        }
    }
    let chosen = weighted(uses.iter().map(|usage| usage.weight), place(USE));
    let usage = uses.get(chosen).ok_or("use: missing")?;
    words.insert(USE.to_owned(), usage.at.clone());
    words.insert(CELL.to_owned(), Text::from(number.to_string().as_str()));
    Ok(Sample { usage, words })
}

impl Sample<'_> {
    /// The variables that the words in `texts` lead to, and those that these are made from, in the
    /// order of the file.
    pub(crate) fn used<'s>(
        &'s self,
        draws: &'s Draws,
        texts: impl Iterator<Item = &'s Text>,
    ) -> Vec<&'s str> {
        let (mut seen, mut reached) = (BTreeSet::new(), BTreeSet::new());
        let mut open: Vec<&str> = texts.flat_map(Text::names).collect();
        while let Some(word) = open.pop() {
            if !seen.insert(word) {
                continue;
            }
            open.extend(self.words.get(word).into_iter().flat_map(Text::names));
            // A word that an alternative brings along is its variable's.
            let mut variables = draws.0.iter();
            let variable = variables.find(|(name, variable)| {
                name == word || variable.words().any(|other| other == word)
            });
            if let Some((name, variable)) = variable {
                reached.insert(name.as_str());
                open.extend(variable.others());
            }
        }
        draws
            .names()
            .filter(|name| reached.contains(name))
            .collect()
    }
}

/// The word for a cell's number.
const CELL: &str = "cell";
/// The word for a cell's controller.
const CC: &str = "cc";
