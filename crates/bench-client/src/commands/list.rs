//! `bench-client list`.

use crate::matrix::BUILT_IN;
use bench_kit::failure::Failure;
use bench_kit::terminal;
use cc_core::{Range, Registry, SharedSpec};
use link_sim::{LINK_WORDS, presets};
use std::process::ExitCode;
use textwrap::{Options, WordSplitter};

/// Prints what `-C`, `--a`, `--b`, `--link` and `matrix` take.
pub(super) fn run(registry: &Registry) -> Result<ExitCode, Failure> {
    terminal::text(&listing(registry));
    Ok(ExitCode::SUCCESS)
}

fn listing(registry: &Registry) -> String {
    let mut text = "Congestion controllers (NAME or NAME:key=value,key=value):\n".to_owned();
    for spec in registry.specs() {
        controller(&mut text, spec);
    }
    text.push_str("\nLinks (words of tc netem and a few more, combined at will):\n");
    for word in LINK_WORDS {
        entry(&mut text, 2, word.form, word.meaning);
        line(&mut text, 6, &format!("example: {}", word.example));
    }
    text.push_str("\nNamed links (words after the name replace its own):\n");
    for preset in presets() {
        entry(&mut text, 2, preset.name, preset.summary);
        line(&mut text, 6, preset.link);
    }
    text.push_str("\nNamed matrices:\n");
    for matrix in BUILT_IN {
        let title = matrix.file().title.unwrap_or_default();
        entry(&mut text, 2, matrix.name, &title);
    }
    text
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

#[cfg(test)]
mod tests {
    use super::*;

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
