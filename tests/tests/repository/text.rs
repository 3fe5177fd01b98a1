//! Rules on the characters of every text file.

use crate::finding::Finding;
use crate::repository::SourceFile;

/// Unix line ends, visible characters, no marker of unfinished work, no path of one machine, and
/// one revision of the BBR draft.
pub(crate) fn check(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in file.text.split('\n').enumerate() {
        let broken = LINE_RULES.iter().filter_map(|rule| rule(&file.path, line));
        findings.extend(broken.map(|(rule, remedy)| Finding {
            path: file.path.clone(),
            line: index + 1,
            rule,
            remedy,
        }));
    }
    findings.extend(missing_newline(file));
    findings
}

type Broken = Option<(String, &'static str)>;

const LINE_RULES: [fn(&str, &str) -> Broken; 5] = [
    carriage_return,
    invisible_character,
    unfinished_work,
    machine_path,
    draft_revision,
];

fn carriage_return(_: &str, line: &str) -> Broken {
    line.ends_with('\r').then(|| {
        (
            "a line ends with LF alone, this one with CR LF".to_owned(),
            "convert the file",
        )
    })
}

fn invisible_character(path: &str, line: &str) -> Broken {
    let is_tab_allowed = !path.ends_with(".rs");
    line.trim_end_matches('\r')
        .chars()
        .find(|&c| match c {
            '\t' => !is_tab_allowed,
            // Marks of direction, joiners, the byte-order mark: the text is not what it shows.
            '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}' => true,
            '\u{FEFF}' => true,
            _ => c.is_control(),
        })
        .map(|c| {
            (
                format!("every character is visible, this line has {c:?}"),
                "remove it, or write it as an escape",
            )
        })
}

fn unfinished_work(_: &str, line: &str) -> Broken {
    let mut words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.find(|word| MARKERS.contains(word)).map(|word| {
        (
            format!("no `{word}` is left behind"),
            "do it, or say as a fact what is missing",
        )
    })
}

fn machine_path(_: &str, line: &str) -> Broken {
    MACHINE_FOLDERS.iter().find_map(|folder| {
        let path = format!("/{folder}/");
        let mut starts = line.match_indices(&path).map(|(at, _)| &line[..at]);
        starts.any(is_path_start).then(|| {
            (
                format!("no path of one machine, this line has `{path}`"),
                "name it relative to the repository, or take it as an argument",
            )
        })
    })
}

/// Whether an absolute path can begin after this text.
fn is_path_start(before: &str) -> bool {
    !before.ends_with(|c: char| c.is_alphanumeric() || "_-.~})*".contains(c))
}

fn draft_revision(path: &str, line: &str) -> Broken {
    if !path.contains("bbr") {
        return None;
    }
    let mut citations = line.split(DRAFT).skip(1);
    citations.find_map(|rest| {
        let revision: String = rest.chars().take_while(char::is_ascii_digit).collect();
        (!revision.is_empty() && revision != REVISION).then(|| {
            (
                format!("the BBR draft is cited at revision {REVISION}, here at {revision}"),
                "compare the text with that revision and cite it",
            )
        })
    })
}

fn missing_newline(file: &SourceFile) -> Option<Finding> {
    let is_complete = file.text.is_empty() || file.text.ends_with('\n');
    (!is_complete).then(|| Finding {
        path: file.path.clone(),
        line: file.text.lines().count(),
        rule: "the last line ends with a line feed".to_owned(),
        remedy: "add it",
    })
}

/// Split, as this file is checked too.
const MARKERS: [&str; 3] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("X", "XX"),
];
const MACHINE_FOLDERS: [&str; 3] = ["work", "root", "home"];
const DRAFT: &str = "draft-ietf-ccwg-bbr-";
const REVISION: &str = "06";

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(path: &str, text: &str) -> Vec<usize> {
        let findings = check(&SourceFile::sample(path, text));
        findings.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn line_ends_are_checked() {
        assert_eq!(lines_found("a.md", "a\nb\r\nc"), [2, 3]);
        assert_eq!(lines_found("a.md", "a\nb\n"), []);
        assert_eq!(lines_found("a.md", ""), []);
    }

    #[test]
    fn characters_that_nobody_sees_are_found() {
        assert_eq!(lines_found("a.md", "a\u{1b}[0m\n\u{202E}b\n"), [1, 2]);
        assert_eq!(lines_found("a.rs", "\tx\n"), [1]);
        assert_eq!(lines_found("a.sh", "\tx\n"), []);
    }

    #[test]
    fn markers_of_unfinished_work_are_found_as_whole_words() {
        for marker in MARKERS {
            assert_eq!(lines_found("a.sh", &format!("\n# {marker}: x\n")), [2]);
            assert_eq!(lines_found("a.sh", &format!("{marker}X $TMP\n")), []);
        }
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        for folder in MACHINE_FOLDERS {
            assert_eq!(lines_found("a.md", &format!("see `/{folder}/x`\n")), [1]);
            assert_eq!(lines_found("a.md", &format!("see net/{folder}/x\n")), []);
            assert_eq!(lines_found("a.sh", &format!("\"${{A}}/{folder}/x\"\n")), []);
        }
    }

    #[test]
    fn other_revisions_of_the_draft_are_found_where_bbr_is() {
        let old = format!("// {DRAFT}05, section 5\n");
        assert_eq!(lines_found("crates/cc-core/src/bbr/drain.rs", &old), [1]);
        let twice = format!("// {DRAFT}{REVISION}, not {DRAFT}02\n");
        assert_eq!(lines_found("docs/bbr.md", &twice), [1]);
        let right = format!("// {DRAFT}{REVISION}\n// {DRAFT}NN\n");
        assert_eq!(lines_found("docs/bbr.md", &right), []);
        assert_eq!(lines_found("docs/cubic.md", &old), []);
    }
}
