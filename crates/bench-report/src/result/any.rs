use super::{AbResult, MatrixResult, RunResult, SCHEMA_VERSION};
use serde::Deserialize;
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
        let Head {
            schema_version,
            kind,
        } = serde_json::from_str(text).map_err(ReadError::NotAResult)?;
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
    /// It has this version of the schema.
    Version(u32),
    /// It is of this kind.
    Kind(String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAResult(error) => {
                write!(f, "not a JSON result of `ab`, `run` or `matrix`: {error}")
            }
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
    fn what_is_no_result_is_refused_with_its_fault() {
        assert_eq!(
            refusal(r#"{"schema_version":2,"kind":"ab"}"#),
            "schema version 2 not supported; this program reads 1"
        );
        assert_eq!(
            refusal("{\"schema_version\":1,\"kind\":\"a\\u001bb\"}"),
            "kind `ab` is not `ab`, `run` or `matrix`"
        );
        for text in ["", "[]", "{}", r#"{"schema_version":1,"kind":"ab"}"#] {
            let error = refusal(text);
            assert!(
                error.starts_with("not a JSON result of `ab`, `run` or"),
                "{error}"
            );
        }
    }
}
