use super::draws::Draws;
use super::usage::{USE, UseFile};
use super::variable::Variable;
use crate::matrix::axis::Only;
use crate::matrix::template::Text;

/// The cells that `--only cell=N` names; all where it names none.
pub(crate) type NarrowedCells = Vec<u32>;

/// Keeps of each variable, and of the uses, what `only` names: `loss=none` an alternative,
/// `rate=10mbit` a value and `rate=1mbit..10mbit` a range of the same distribution. Returns the
/// cells that it names, ascending.
///
/// # Errors
/// When there is no such variable or alternative.
pub(crate) fn narrow(
    draws: &mut Draws,
    uses: &mut Vec<UseFile>,
    only: &[&Only],
) -> Result<NarrowedCells, String> {
    let mut cells = NarrowedCells::new();
    let names: Vec<String> = only.iter().map(|only| only.axis.clone()).collect();
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            continue;
        }
        let wanted = only.iter().filter(|only| only.axis == *name);
        let wanted: Vec<&str> = wanted.map(|only| only.value.as_str()).collect();
        if name == "cell" {
            cells = numbers(&wanted)?;
        } else if name == USE {
            let known = uses.iter().map(|usage| usage.at.as_str());
            check(name, &wanted, known)?;
            uses.retain(|usage| wanted.contains(&usage.at.as_str()));
        } else {
            let variable = draws.0.iter_mut().find(|(known, _)| known == name);
            if let Some((_, variable)) = variable {
                keep(name, variable, &wanted)?;
                continue;
            }
            let known: Vec<&str> = draws.names().collect();
            let known = known.join(", ");
            return Err(format!(
                "unknown variable `{name}`; known: cell, cc, use, {known}"
            ));
        }
    }
    Ok(cells)
}

fn numbers(wanted: &[&str]) -> Result<NarrowedCells, String> {
    let numbers = wanted.iter().map(|text| {
        let number = text.parse::<u32>();
        number.map_err(|_| format!("cell: `{text}` is not a number from 0"))
    });
    let mut numbers = numbers.collect::<Result<NarrowedCells, String>>()?;
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

fn keep(name: &str, variable: &mut Variable, wanted: &[&str]) -> Result<(), String> {
    if let Some(alternatives) = &mut variable.choose {
        let known = alternatives
            .iter()
            .map(|alternative| alternative.at.as_str());
        check(name, wanted, known)?;
        alternatives.retain(|alternative| wanted.contains(&alternative.at.as_str()));
        return Ok(());
    }
    let [value] = wanted else {
        return Err(format!(
            "{name}: one value or one range LOW..HIGH, not {}",
            wanted.len()
        ));
    };
    match value.split_once("..") {
        None => *variable = Variable::fixed(value),
        Some((low, high)) => {
            let range = Some([Text::from(low), Text::from(high)]);
            if variable.log_uniform.is_some() {
                variable.log_uniform = range;
            } else {
                (variable.uniform, variable.value) = (range, None);
            }
        }
    }
    variable.check().map_err(|error| format!("{name}: {error}"))
}

fn check<'a>(
    name: &str,
    wanted: &[&str],
    known: impl Iterator<Item = &'a str>,
) -> Result<(), String> {
    let known: Vec<&str> = known.collect();
    match wanted.iter().find(|value| !known.contains(*value)) {
        None => Ok(()),
        Some(value) => {
            let known = known.join(", ");
            Err(format!(
                "unknown value `{value}` of `{name}`; known: {known}"
            ))
        }
    }
}
