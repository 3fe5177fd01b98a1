//! Why a program ends without having done its work.

use std::fmt;
use std::process::ExitCode;

/// Why a program ends without having done what it was asked to: one line for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    kind: Kind,
    message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Usage,
    Run,
    Unreached,
}

impl Failure {
    /// The command line asks for something that does not exist. Exit code 2.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Usage,
            message: message.into(),
        }
    }

    /// The run failed. Exit code 1.
    pub fn run(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Run,
            message: message.into(),
        }
    }

    /// The run succeeded, and its result is not what was to be reached. Exit code 3.
    pub fn unreached(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Unreached,
            message: message.into(),
        }
    }

    pub fn exit_code(&self) -> ExitCode {
        match self.kind {
            Kind::Usage => ExitCode::from(2),
            Kind::Run => ExitCode::from(1),
            Kind::Unreached => ExitCode::from(3),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
