//! What the kernel has too little of.

use rustix::io::Errno;
use std::io;

/// `error`, and what to do about it where a limit of file descriptors is the reason.
pub fn explain_refusal(error: io::Error) -> io::Error {
    let advice = match Errno::from_io_error(&error) {
        Some(Errno::MFILE) => "raise ulimit -n",
        Some(Errno::NFILE) => "raise fs.file-max of the system",
        _ => return error,
    };
    io::Error::new(error.kind(), format!("{error}; {advice}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_named_and_other_errors_stay_as_they_are() {
        let explained = |errno: Errno| explain_refusal(errno.into()).to_string();
        assert_eq!(
            explained(Errno::MFILE),
            "Too many open files (os error 24); raise ulimit -n"
        );
        assert!(explained(Errno::NFILE).ends_with("; raise fs.file-max of the system"));
        assert_eq!(
            explained(Errno::ACCESS),
            io::Error::from(Errno::ACCESS).to_string()
        );
    }
}
