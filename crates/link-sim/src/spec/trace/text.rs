//! What the forms of all traces have in common.

/// The lines that are neither blank nor comments, with their numbers, the first being 1.
pub(super) fn content(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.lines().map(str::trim));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// As much of a wrong line as an error shows.
pub(super) fn shorten(line: &str) -> String {
    line.chars().take(40).collect()
}
