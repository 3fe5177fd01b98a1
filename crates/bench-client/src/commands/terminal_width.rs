//! How wide the terminal is that results are printed to.

/// The columns of standard output where it is a terminal, else those of every usual one.
pub(super) fn columns() -> usize {
    const USUAL: usize = 80;
    of_terminal().unwrap_or(USUAL)
}

/// The columns of standard output, where it is a terminal that says so.
pub(super) fn of_terminal() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}
