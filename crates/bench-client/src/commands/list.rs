//! `bench-client list`.

use crate::args::ListArgs;
use crate::matrix::{BUILT_IN, BuiltIn};
use bench_kit::failure::Failure;
use bench_kit::terminal;
use cc_core::{Range, Registry, SharedSpec};
use link_sim::{LINK_WORDS, LinkWord, Preset, presets};
use std::process::ExitCode;
use textwrap::{Options, WordSplitter};

/// Prints what `-C`, `--a`, `--b`, `--link` and `matrix` take.
pub(super) fn run(args: &ListArgs, registry: &Registry) -> Result<ExitCode, Failure> {
    let text = match args.name.as_deref() {
        None => overview(registry),
        Some("all") => listing(registry),
        Some(name) => one(registry, name).ok_or_else(|| {
            Failure::usage(format!(
                "no controller, link word, named link or matrix `{name}`; `bench-client list` \
                 shows their names"
            ))
        })?,
    };
    terminal::text(&text);
    Ok(ExitCode::SUCCESS)
}

/// A line of each.
fn overview(registry: &Registry) -> String {
    let controllers = registry
        .specs()
        .iter()
        .map(|spec| (spec.name, spec.summary));
    let words = LINK_WORDS
        .iter()
        .map(|word| (name_of(word.form), word.meaning));
    let links = presets().map(|preset| (preset.name, preset.summary));
    let files: Vec<_> = BUILT_IN
        .iter()
        .map(|matrix| (matrix.name, matrix.file()))
        .collect();
    let matrices = files
        .iter()
        .map(|(name, file)| (*name, file.title.as_deref().unwrap_or("")));
    let mut text = String::new();
    section(
        &mut text,
        "Congestion controllers (-C, --a, --b):",
        controllers,
    );
    section(
        &mut text,
        "\nWords of links (--link), combined at will:",
        words,
    );
    section(&mut text, "\nNamed links:", links);
    section(&mut text, "\nNamed matrices:", matrices);
    text.push_str("\n`list NAME` shows one with its parameters, `list all` everything.\n");
    text
}

fn section<'a>(text: &mut String, title: &str, entries: impl Iterator<Item = (&'a str, &'a str)>) {
    text.push_str(title);
    text.push('\n');
    let mut last = "";
    for (name, meaning) in entries {
        // Some words have several forms, of which the first says what the word does.
        if name == last {
            continue;
        }
        last = name;
        text.push_str(&shortened(&format!("  {name:<NAMES$} {meaning}")));
        text.push('\n');
    }
}

/// The line, or as many of its words as fit into 80 columns.
fn shortened(line: &str) -> String {
    let line = line.trim_end();
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    let mut rest: String = line.chars().take(WIDTH - ELLIPSIS.len()).collect();
    rest.truncate(rest.rfind(' ').unwrap_or(rest.len()));
    rest.truncate(rest.trim_end_matches([',', ';', ':', ' ']).len());
    rest + ELLIPSIS
}

/// The word that a form begins with.
pub(super) fn name_of(form: &str) -> &str {
    form.split([' ', '['])
        .find(|word| !word.is_empty())
        .unwrap_or(form)
}

/// Everything that has this name.
fn one(registry: &Registry, name: &str) -> Option<String> {
    let mut text = String::new();
    for spec in registry.specs() {
        if spec.name == name || spec.aliases.contains(&name) {
            controller(&mut text, spec);
        }
    }
    for word in LINK_WORDS.iter().filter(|word| name_of(word.form) == name) {
        link_word(&mut text, word);
    }
    for preset in presets().filter(|preset| preset.name == name) {
        named_link(&mut text, &preset);
    }
    for matrix in BUILT_IN.iter().filter(|matrix| matrix.name == name) {
        named_matrix(&mut text, matrix);
    }
    (!text.is_empty()).then_some(text)
}

fn listing(registry: &Registry) -> String {
    let mut text = "Congestion controllers (NAME or NAME:key=value,key=value):\n".to_owned();
    for spec in registry.specs() {
        controller(&mut text, spec);
    }
    text.push_str("\nLinks (words of tc netem and a few more, combined at will):\n");
    for word in LINK_WORDS {
        link_word(&mut text, word);
    }
    text.push_str("\nNamed links (words after the name replace its own):\n");
    for preset in presets() {
        named_link(&mut text, &preset);
    }
    text.push_str("\nNamed matrices:\n");
    for matrix in BUILT_IN {
        named_matrix(&mut text, &matrix);
    }
    text
}

fn link_word(text: &mut String, word: &LinkWord) {
    entry(text, 2, word.form, word.meaning);
    line(text, 6, &format!("example: {}", word.example));
}

fn named_link(text: &mut String, preset: &Preset) {
    entry(text, 2, preset.name, preset.summary);
    line(text, 6, preset.link);
}

fn named_matrix(text: &mut String, matrix: &BuiltIn) {
    let title = matrix.file().title.unwrap_or_default();
    entry(text, 2, matrix.name, &title);
}

fn controller(text: &mut String, spec: &SharedSpec) {
    let name = if spec.aliases.is_empty() {
        spec.name.to_owned()
    } else {
        format!("{} (or {})", spec.name, spec.aliases.join(", "))
    };
    entry(text, 2, &name, spec.summary);
    for param in spec.params {
        let range = match param.range {
            Range::Any => String::new(),
            range => format!(" in {range}"),
        };
        let head = format!("{}={}{range}", param.name, param.default);
        entry(
            text,
            6,
            &head,
            &format!("{} [{}]", param.summary, param.source),
        );
    }
}

/// A head in a line of its own, and what it means below it.
fn entry(text: &mut String, indent: usize, head: &str, meaning: &str) {
    line(text, indent, head);
    line(text, indent + 4, meaning);
}

fn line(text: &mut String, indent: usize, words: &str) {
    let indent = " ".repeat(indent);
    let options = Options::new(WIDTH)
        .initial_indent(&indent)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation);
    text.push_str(&textwrap::fill(words, options));
    text.push('\n');
}

const WIDTH: usize = 80;
/// Columns of names in the overview.
const NAMES: usize = 18;
const ELLIPSIS: &str = " ...";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overview_has_a_line_of_each_in_80_columns() {
        let registry = Registry::standard();
        let text = overview(&registry);
        let lines: Vec<&str> = text.lines().collect();
        let is_there = |name: &str| {
            let begin = format!("  {name} ");
            let found = lines.iter().filter(|line| line.starts_with(&begin));
            assert_eq!(found.count(), 1, "{name}: {text}");
        };
        registry.specs().iter().for_each(|spec| is_there(spec.name));
        presets().for_each(|preset| is_there(preset.name));
        BUILT_IN.iter().for_each(|matrix| is_there(matrix.name));
        assert!(
            lines.iter().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
        assert!(lines.len() < 110, "{}", lines.len());
    }

    #[test]
    fn a_name_shows_one_thing_with_all_that_belongs_to_it() {
        let registry = Registry::standard();
        let text = one(&registry, "bbr3").unwrap();
        let spec = registry
            .specs()
            .iter()
            .find(|spec| spec.name == "bbr3")
            .unwrap();
        for param in spec.params {
            assert!(text.contains(&format!("\n      {}={}", param.name, param.default)));
        }
        assert!(!text.contains("cubic\n"), "{text}");
        assert!(one(&registry, "delay").unwrap().contains("example: "));
        assert_eq!(one(&registry, "no-such"), None);
    }

    #[test]
    fn the_listing_names_everything_in_80_columns() {
        let registry = Registry::standard();
        let text = listing(&registry);
        for spec in registry.specs() {
            assert!(
                text.contains(&format!("\n  {}", spec.name)),
                "{}",
                spec.name
            );
            for param in spec.params {
                let head = format!("\n      {}={}", param.name, param.default);
                assert!(text.contains(&head), "{head}");
            }
        }
        for word in LINK_WORDS {
            assert!(text.contains(word.form), "{}", word.form);
        }
        for preset in presets() {
            assert!(text.contains(&format!("\n  {}\n", preset.name)));
        }
        for matrix in BUILT_IN {
            assert!(text.contains(&format!("\n  {}\n", matrix.name)));
        }
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
    }
}
