//! How wide the terminal is that results are printed to.

/// The columns of standard output where it is a terminal, else those of every usual one.
pub(super) fn columns() -> usize {
    const USUAL: usize = 80;
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    if columns == 0 { USUAL } else { columns }
}
