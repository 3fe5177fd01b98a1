use core::fmt;

/// One place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Path from the repository's root, with `/`.
    pub(crate) path: String,
    /// Line from 1; the first one when the whole file is meant.
    pub(crate) line: usize,
    /// The rule, and what stands there instead.
    pub(crate) rule: String,
    /// What to do about it.
    pub(crate) remedy: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            line,
            rule,
            remedy,
        } = self;
        write!(f, "{path}:{line}: {rule}; {remedy}")
    }
}

/// Fails with one line per finding.
pub(crate) fn assert_none(findings: &[Finding]) {
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert!(
        lines.is_empty(),
        "{} place(s) break a rule of this repository:\n{}\n",
        lines.len(),
        lines.join("\n")
    );
}

#[test]
fn a_finding_names_place_rule_and_remedy() {
    let finding = Finding {
        path: "a/b.rs".to_owned(),
        line: 7,
        rule: "a line has at most 100 characters, this one 101".to_owned(),
        remedy: "break it",
    };
    assert_eq!(
        finding.to_string(),
        "a/b.rs:7: a line has at most 100 characters, this one 101; break it"
    );
}
