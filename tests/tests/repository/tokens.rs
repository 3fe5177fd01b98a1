//! Rules on Rust's tokens: what stands in comments and strings is not code.

use crate::finding::Finding;
use crate::repository::SourceFile;
use proc_macro2::{TokenStream, TokenTree};

/// No stub, no ignored test, and no `f32` in the crates of exact arithmetic.
pub(crate) fn check(file: &SourceFile) -> Vec<Finding> {
    if !file.is_rust() {
        return Vec::new();
    }
    let stream: TokenStream = match file.text.parse() {
        Ok(stream) => stream,
        Err(error) => panic!("{}:1: this is not Rust: {error}", file.path),
    };
    let mut tokens = Vec::new();
    flatten(stream, &mut tokens);
    let mut findings = Vec::new();
    for (index, (token, line)) in tokens.iter().enumerate() {
        let before = |n: usize| index.checked_sub(n).map_or("", |i| tokens[i].0.as_str());
        let after = tokens
            .get(index + 1)
            .map_or("", |(token, _)| token.as_str());
        let Some((rule, remedy)) = judge(&file.path, [before(2), before(1), token, after]) else {
            continue;
        };
        findings.push(Finding {
            path: file.path.clone(),
            line: *line,
            rule: rule.to_owned(),
            remedy,
        });
    }
    findings
}

/// Rule and remedy when the third of these four neighbours breaks one.
fn judge(path: &str, tokens: [&str; 4]) -> Option<(&'static str, &'static str)> {
    match tokens {
        [_, _, "todo" | "unimplemented", "!"] => Some((
            "no stub is called done",
            "write the code, or leave the function out",
        )),
        ["#", "[", "ignore", _] => Some((
            "no test is ignored",
            "make it fast and certain, or remove it",
        )),
        [.., token, _] if is_f32(token) && is_exact(path) => Some((
            "no f32: it is exact only below 2^24",
            "use integers with a named rounding",
        )),
        _ => None,
    }
}

fn is_f32(token: &str) -> bool {
    token == "f32" || (token.ends_with("f32") && token.starts_with(|c: char| c.is_ascii_digit()))
}

fn is_exact(path: &str) -> bool {
    EXACT_CRATES.iter().any(|krate| path.starts_with(krate))
}

/// Every token as text with its line, brackets of groups included.
fn flatten(stream: TokenStream, tokens: &mut Vec<(String, usize)>) {
    for tree in stream {
        let line = tree.span().start().line;
        if let TokenTree::Group(group) = tree {
            use proc_macro2::Delimiter::{Brace, Bracket, None, Parenthesis};
            let open = match group.delimiter() {
                Bracket => "[",
                Brace => "{",
                Parenthesis => "(",
                None => "",
            };
            tokens.push((open.to_owned(), line));
            flatten(group.stream(), tokens);
            tokens.push((String::new(), line));
        } else {
            tokens.push((tree.to_string(), line));
        }
    }
}

const EXACT_CRATES: [&str; 2] = ["crates/cc-core/", "crates/units/"];

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(path: &str, text: &str) -> Vec<usize> {
        let findings = check(&SourceFile::sample(path, text));
        findings.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn stubs_are_found_in_code_and_not_in_strings() {
        assert_eq!(lines_found("a.rs", "fn a() {\n    todo!()\n}\n"), [2]);
        assert_eq!(
            lines_found("a.rs", "fn a() { core::unimplemented!(\"x\") }\n"),
            [1]
        );
        assert_eq!(lines_found("a.rs", "// todo!()\nfn todo() {}\n"), []);
        assert_eq!(lines_found("a.rs", "const A: &str = \"todo!()\";\n"), []);
    }

    #[test]
    fn ignored_tests_are_found_with_and_without_a_reason() {
        assert_eq!(lines_found("a.rs", "#[test]\n#[ignore]\nfn a() {}\n"), [2]);
        assert_eq!(
            lines_found("a.rs", "#[test]\n#[ignore = \"slow\"]\nfn a() {}\n"),
            [2]
        );
        assert_eq!(lines_found("a.rs", "fn ignore() {}\n"), []);
    }

    #[test]
    fn f32_is_found_as_type_and_suffix_in_the_exact_crates_alone() {
        let text = "const A: f32 = 0.0;\nconst B: f64 = 1.0f32 as f64;\nconst C: u8 = 0xf3;\n";
        assert_eq!(lines_found("crates/units/src/a.rs", text), [1, 2]);
        assert_eq!(lines_found("crates/cc-core/src/a.rs", text), [1, 2]);
        assert_eq!(lines_found("crates/bench-kit/src/a.rs", text), []);
    }
}
