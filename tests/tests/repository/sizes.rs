//! Limits on what one person has to hold in mind at once.

use crate::finding::Finding;
use crate::repository::SourceFile;
use crate::syntax::{parse, test_lines};
use syn::visit::{self, Visit};

/// Files: [`FILE_LINES`] without their tests. Functions: [`FUNCTION_LINES`]. Lines of Rust and
/// shell: [`LINE_CHARS`].
pub(crate) fn check(file: &SourceFile) -> Vec<Finding> {
    let mut findings = long_lines(file);
    if file.is_rust() {
        let tree = parse(file);
        findings.extend(long_file(file, &tree));
        findings.extend(long_functions(file, &tree));
    }
    findings
}

fn long_lines(file: &SourceFile) -> Vec<Finding> {
    let is_code = file.is_rust() || file.path.ends_with(".sh") || file.path == ".ci/run";
    let lines = file.text.lines().enumerate().filter(|_| is_code);
    lines
        .map(|(index, line)| (index + 1, line, line.chars().count()))
        .filter(|(_, line, chars)| *chars > LINE_CHARS && is_breakable(line))
        .map(|(line, _, chars)| Finding {
            path: file.path.clone(),
            line,
            rule: format!("a line has at most {LINE_CHARS} characters, this one {chars}"),
            remedy: "break it",
        })
        .collect()
}

/// Neither an address nor a table's row in documentation goes on on the next line.
fn is_breakable(line: &str) -> bool {
    let is_row = |marker| line.trim_start().starts_with(marker);
    !line.contains("://") && !is_row("//! |") && !is_row("/// |")
}

fn long_file(file: &SourceFile, tree: &syn::File) -> Option<Finding> {
    if file.is_test() {
        return None;
    }
    let tests: usize = test_lines(tree).into_iter().map(Iterator::count).sum();
    let lines = file.text.lines().count() - tests;
    (lines > FILE_LINES).then(|| Finding {
        path: file.path.clone(),
        line: 1,
        rule: format!("a file has at most {FILE_LINES} lines without its tests, this one {lines}"),
        remedy: "give one of its nouns a file of its own",
    })
}

fn long_functions(file: &SourceFile, tree: &syn::File) -> Vec<Finding> {
    let mut functions = Functions::default();
    functions.visit_file(tree);
    let long = functions.0.into_iter();
    long.filter(|(_, first, last)| last - first + 1 > FUNCTION_LINES)
        .map(|(name, first, last)| Finding {
            path: file.path.clone(),
            line: first,
            rule: format!(
                "a function has at most {FUNCTION_LINES} lines, `{name}` has {}",
                last - first + 1
            ),
            remedy: "move its steps into functions named after what they compute",
        })
        .collect()
}

/// Name, first line (that of `fn`, below documentation and attributes) and last line of every
/// function with a body, nested ones too. Functions inside macro calls are not seen.
#[derive(Default)]
struct Functions(Vec<(String, usize, usize)>);

impl Functions {
    fn record(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let first = signature.fn_token.span.start().line;
        let last = body.brace_token.span.close().end().line;
        self.0.push((signature.ident.to_string(), first, last));
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.record(&node.sig, &node.block);
        visit::visit_item_fn(self, node);
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.record(&node.sig, &node.block);
        visit::visit_impl_item_fn(self, node);
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        if let Some(body) = &node.default {
            self.record(&node.sig, body);
        }
        visit::visit_trait_item_fn(self, node);
    }
}

/// Aim at 400.
const FILE_LINES: usize = 500;
/// The median is about ten.
const FUNCTION_LINES: usize = 70;
/// rustfmt.toml's `max_width`, which rustfmt does not enforce on comments and strings.
const LINE_CHARS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(path: &str, text: &str) -> Vec<usize> {
        let findings = check(&SourceFile::sample(path, text));
        findings.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_file_over_the_limit_is_found_and_its_tests_do_not_count() {
        let code = "const A: u8 = 0;\n".repeat(FILE_LINES - 3);
        let tests = "#[cfg(test)]\nmod tests {\n    const B: u8 = 0;\n}\n";
        assert_eq!(lines_found("a.rs", &format!("{code}{tests}")), []);
        assert_eq!(lines_found("a.rs", &format!("{code}{code}{tests}")), [1]);
        assert_eq!(lines_found("a/tests.rs", &format!("{code}{code}")), []);
    }

    #[test]
    fn a_function_over_the_limit_is_found_wherever_it_stands() {
        let body = |lines: usize| "x();\n".repeat(lines);
        let fits = body(FUNCTION_LINES - 2);
        let long = body(FUNCTION_LINES - 1);
        assert_eq!(lines_found("a.rs", &format!("fn a() {{\n{fits}}}\n")), []);
        assert_eq!(
            lines_found("a.rs", &format!("#[x]\nfn a() {{\n{long}}}\n")),
            [2]
        );
        let in_impl = format!("impl A {{\nfn a() {{\n{long}}}\n}}\n");
        assert_eq!(lines_found("a.rs", &in_impl), [2]);
        let in_trait = format!("trait A {{\nfn a() {{\n{long}}}\n}}\n");
        assert_eq!(lines_found("a.rs", &in_trait), [2]);
        let in_test = format!("#[cfg(test)]\nmod tests {{\nfn a() {{\n{long}}}\n}}\n");
        assert_eq!(lines_found("a.rs", &in_test), [3]);
    }

    #[test]
    fn a_line_over_the_limit_is_found_unless_it_cannot_be_broken() {
        let long = format!("// {}\n", "é".repeat(LINE_CHARS - 2));
        assert_eq!(lines_found("a.rs", &format!("\n{long}")), [2]);
        assert_eq!(lines_found("a.sh", &long), [1]);
        assert_eq!(lines_found("a.md", &long), []);
        let fits = format!("// {}\n", "é".repeat(LINE_CHARS - 3));
        assert_eq!(lines_found("a.rs", &fits), []);
        let address = format!("// https://{}\n", "e".repeat(LINE_CHARS));
        assert_eq!(lines_found("a.rs", &address), []);
        let row = format!("/// | {} |\nstruct A;\n", "e".repeat(LINE_CHARS));
        assert_eq!(lines_found("a.rs", &row), []);
    }
}
