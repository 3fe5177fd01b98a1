//! Why a program ends without having done its work.

use link_sim::program::message;
use link_sim::relay::explain_bind;
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;

/// Why a program ends without having done what it was asked to: one line for a person, as
/// [`message`] makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    kind: Kind,
    message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Usage,
    Run,
    Interrupted,
    Unreached,
}

impl Failure {
    /// The command line asks for something that does not exist. Exit code 2.
    pub fn usage(text: impl Into<String>) -> Self {
        Self::new(Kind::Usage, text)
    }

    /// The run failed. Exit code 1. Where the system had no file descriptor left, the message ends
    /// with the limit to raise.
    pub fn run(text: impl Into<String>) -> Self {
        let text = message(&text.into());
        let is_without =
            |errno: Errno| text.ends_with(&message(&io::Error::from(errno).to_string()));
        let advice = if is_without(Errno::MFILE) {
            "; raise ulimit -n"
        } else if is_without(Errno::NFILE) {
            "; raise fs.file-max of the system"
        } else {
            ""
        };
        Self::new(Kind::Run, text + advice)
    }

    /// `address` cannot be listened on. Exit code 1.
    pub fn cannot_listen(address: SocketAddr, error: io::Error) -> Self {
        let why = explain_bind(address, error, "-p", "-B");
        Self::run(format!("cannot listen on UDP {address}: {why}"))
    }

    /// The user ended the run, which is no error. Exit code 1.
    pub fn interrupted(text: impl Into<String>) -> Self {
        Self::new(Kind::Interrupted, text)
    }

    /// The run succeeded, and its result is not what was to be reached. Exit code 3.
    pub fn unreached(text: impl Into<String>) -> Self {
        Self::new(Kind::Unreached, text)
    }

    fn new(kind: Kind, text: impl Into<String>) -> Self {
        let message = message(&text.into());
        Self { kind, message }
    }

    /// Whether the user ended the run.
    pub fn is_interruption(&self) -> bool {
        self.kind == Kind::Interrupted
    }

    pub fn exit_code(&self) -> ExitCode {
        match self.kind {
            Kind::Usage => ExitCode::from(2),
            Kind::Run | Kind::Interrupted => ExitCode::from(1),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_file_descriptors_is_named_where_it_is_reached() {
        let error = |errno: Errno| {
            let failure = Failure::run(format!("cannot listen: {}", io::Error::from(errno)));
            failure.to_string()
        };
        assert_eq!(
            error(Errno::MFILE),
            "cannot listen: Too many open files; raise ulimit -n"
        );
        assert!(error(Errno::NFILE).ends_with("; raise fs.file-max of the system"));
        assert!(error(Errno::ACCESS).ends_with(": Permission denied"));
    }

    #[test]
    fn who_ends_a_run_is_told_of_no_error() {
        let [failed, ended] = [Failure::run, Failure::interrupted].map(|kind| kind("ended"));
        assert!(ended.is_interruption() && !failed.is_interruption());
        assert_eq!(
            format!("{:?}", ended.exit_code()),
            format!("{:?}", failed.exit_code())
        );
    }

    #[test]
    fn what_was_typed_cannot_command_the_terminal() {
        let typed = "--b: `\x1b[31mx` is not a congestion controller";
        let shown = r"--b: `\u{1b}[31mx` is not a congestion controller";
        for failure in [Failure::usage, Failure::run, Failure::unreached] {
            assert_eq!(failure(typed).to_string(), shown);
        }
    }
}
