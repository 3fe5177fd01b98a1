use super::{AbResult, MatrixResult, RunResult, SCHEMA_VERSION};
use serde::Deserialize;
use serde_json::Value;
use serde_json::error::Category;
use std::fmt;

/// What one of the programs has written as JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyResult {
    /// Of `ab`, or of one cell of a matrix.
    Ab(Box<AbResult>),
    /// Of `run`.
    Run(Box<RunResult>),
    /// Of `matrix`.
    Matrix(Box<MatrixResult>),
}

impl AnyResult {
    /// Reads a result of any kind.
    ///
    /// # Errors
    /// When `text` is none, or has another version of the schema.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        let (schema_version, kind) = match serde_json::from_str(text) {
            Ok(Head {
                schema_version,
                kind,
            }) => (schema_version, kind),
            Err(error) => return Err(other_form(text).unwrap_or(ReadError::NotAResult(error))),
        };
        if schema_version != SCHEMA_VERSION {
            return Err(ReadError::Version(schema_version));
        }
        let read = match kind.as_str() {
            "ab" => serde_json::from_str(text).map(Self::Ab),
            "run" => serde_json::from_str(text).map(Self::Run),
            "matrix" => serde_json::from_str(text).map(Self::Matrix),
            _ => return Err(ReadError::Kind(kind)),
        };
        read.map_err(ReadError::NotAResult)
    }
}

/// The form of a text that has no head of ours, if it is one of those that users have at hand.
fn other_form(text: &str) -> Option<ReadError> {
    // A qlog has a record a line, each after a separator (RFC 7464); a stream of events has one
    // without.
    let first = text.trim_start_matches('\u{1e}').lines().next()?;
    let document: Value = serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(first))
        .ok()?;
    let has = |keys: &[&str]| keys.iter().all(|key| document.get(key).is_some());
    FORMS.iter().find_map(|(name, keys, instead)| {
        has(keys).then_some(ReadError::OtherForm { name, instead })
    })
}

/// What it is called, the keys that only it has, and what to do instead.
const FORMS: [(&str, &[&str], &str); 5] = [
    (
        "the iperf3 form of a run",
        &["start", "intervals", "end"],
        "write the run with --json FILE, without --json-format iperf3",
    ),
    (
        "the events of --json-stream",
        &["event", "data"],
        "write the run with --json FILE",
    ),
    ("a qlog", &["qlog_version"], "open it in qvis"),
    ("a qlog", &["file_schema"], "open it in qvis"),
    (
        "a result of flent",
        &["metadata", "results", "x_values"],
        "open it in flent",
    ),
];

#[derive(Deserialize)]
struct Head {
    schema_version: u32,
    kind: String,
}

/// Why a text is no result.
#[derive(Debug)]
pub enum ReadError {
    /// It is not JSON, or fields are missing or of another type.
    NotAResult(serde_json::Error),
    /// It is of another program, or of another form.
    OtherForm {
        /// What it is.
        name: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// It has this version of the schema.
    Version(u32),
    /// It is of this kind.
    Kind(String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAResult(error) => {
                write!(
                    f,
                    "not a JSON result of `ab`, `run` or `matrix`: {}; give a file that --json \
                     has written",
                    Fault(error)
                )
            }
            Self::OtherForm { name, instead } => write!(
                f,
                "{name}, not a JSON result of `ab`, `run` or `matrix`; {instead}"
            ),
            Self::Version(version) => write!(
                f,
                "schema version {version} not supported; this program reads {SCHEMA_VERSION}"
            ),
            Self::Kind(kind) => {
                let kind: String = kind.chars().filter(|c| !c.is_control()).take(40).collect();
                write!(f, "kind `{kind}` is not `ab`, `run` or `matrix`")
            }
        }
    }
}

impl std::error::Error for ReadError {}

/// What is wrong with a text, without a parser's words for it.
struct Fault<'a>(&'a serde_json::Error);

impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(error) = self;
        match error.classify() {
            Category::Eof if error.line() <= 1 && error.column() == 0 => write!(f, "it is empty"),
            Category::Eof => write!(f, "it ends in the middle, at line {}", error.line()),
            Category::Syntax => write!(
                f,
                "no JSON at line {}, column {}",
                error.line(),
                error.column()
            ),
            Category::Data | Category::Io => error.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn refusal(text: &str) -> String {
        AnyResult::from_json(text).unwrap_err().to_string()
    }

    #[test]
    fn every_kind_is_read_as_what_it_is() {
        let ab = fixtures::ab();
        let read = AnyResult::from_json(&ab.to_json()).unwrap();
        assert_eq!(read, AnyResult::Ab(Box::new(ab)));
        let matrix = fixtures::matrix();
        let read = AnyResult::from_json(&matrix.to_json()).unwrap();
        assert_eq!(read, AnyResult::Matrix(Box::new(matrix)));
    }

    #[test]
    fn other_forms_are_named_with_what_to_do() {
        let run = fixtures::run();
        assert_eq!(
            refusal(&run.to_iperf3_json()),
            "the iperf3 form of a run, not a JSON result of `ab`, `run` or `matrix`; write the run \
             with --json FILE, without --json-format iperf3"
        );
        for (text, told) in [
            ("\u{1e}{\"qlog_version\":\"0.3\"}\n\u{1e}{}\n", "qvis"),
            ("{\"event\":\"start\",\"data\":{}}\n{}", "with --json FILE"),
            (r#"{"metadata":{},"results":{},"x_values":[]}"#, "flent"),
        ] {
            let error = refusal(text);
            assert!(error.ends_with(told), "{error}");
        }
    }

    #[test]
    fn what_is_no_result_is_refused_with_its_fault() {
        assert_eq!(
            refusal(r#"{"schema_version":2,"kind":"ab"}"#),
            "schema version 2 not supported; this program reads 1"
        );
        assert_eq!(
            refusal("{\"schema_version\":1,\"kind\":\"a\\u001bb\"}"),
            "kind `ab` is not `ab`, `run` or `matrix`"
        );
        for (text, fault) in [
            ("", "it is empty;"),
            ("not JSON", "no JSON at line 1, column 2;"),
            (
                "{\"schema_version\":1,\n",
                "it ends in the middle, at line 2;",
            ),
        ] {
            let error = refusal(text);
            assert!(error.contains(&format!(": {fault} give a file")), "{error}");
        }
        for text in ["", "[]", "{}", r#"{"schema_version":1,"kind":"ab"}"#] {
            let error = refusal(text);
            assert!(
                error.starts_with("not a JSON result of `ab`, `run` or"),
                "{error}"
            );
        }
    }
}
