//! How wide the terminal is that results are printed to.

/// The columns of standard output where it is a terminal, else those of every usual one.
pub(super) fn columns() -> usize {
    const USUAL: usize = 80;
    of_terminal().unwrap_or(USUAL)
}

/// The columns of standard output, where it is a terminal that says so.
pub(super) fn of_terminal() -> Option<usize> {
    of(std::io::stdout())
}

/// Those of standard error.
pub(super) fn of_stderr() -> Option<usize> {
    of(std::io::stderr())
}

fn of(stream: impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}
