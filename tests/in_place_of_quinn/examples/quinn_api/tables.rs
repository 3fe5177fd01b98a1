//! What the tables of `docs/porting-from-quinn.md` name.

use std::collections::BTreeSet;

/// The names in code in the first column of the tables below a heading of the page.
///
/// # Errors
/// When there is none.
pub(crate) fn names(page: &str, heading: &str) -> Result<BTreeSet<String>, String> {
    let sections = page.split("\n## ");
    let section = sections
        .filter_map(|section| section.strip_prefix(heading))
        .next()
        .unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = rows.filter_map(|row| row.split(" | ").next());
    let found: BTreeSet<_> = cells.flat_map(in_code).collect();
    if found.is_empty() {
        return Err(format!(
            "the page on porting has no table with names below `## {heading}`; if the heading \
             is another one now, name it in this program"
        ));
    }
    Ok(found)
}

fn in_code(cell: &str) -> impl Iterator<Item = String> {
    let code = cell.split('`').skip(1).step_by(2);
    let words = code.flat_map(|code| code.split(is_between));
    words.filter(|word| !word.is_empty()).map(str::to_owned)
}

/// Not part of a name; those of features have hyphens.
fn is_between(c: char) -> bool {
    !c.is_alphanumeric() && c != '_' && c != '-'
}

/// Whether the last name of a path is among those of the tables.
pub(crate) fn covers(names: &BTreeSet<String>, path: &str) -> bool {
    let last = path.rsplit([':', '.', ' ']).next().unwrap_or(path);
    names.contains(last)
}
