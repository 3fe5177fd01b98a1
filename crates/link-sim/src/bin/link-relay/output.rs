//! Standard output of a relay, which serves its clients whether somebody reads its figures or not.

use crate::failure::{Failure, print_error};
use std::io::{self, Write};

/// Takes everything. What standard output does not take is left out.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// Whether it takes no more.
    is_closed: bool,
    /// Why, where that is an error.
    error: Option<io::Error>,
}

impl Output {
    fn close(&mut self, error: io::Error) {
        self.is_closed = true;
        // Whoever read it has seen enough.
        if error.kind() != io::ErrorKind::BrokenPipe {
            print_error(format_args!(
                "figures are lost, the relay goes on: standard output: {error}"
            ));
            self.error = Some(error);
        }
    }

    /// # Errors
    /// Why not everything was written.
    pub(super) fn end(self) -> Result<(), Failure> {
        self.error.map_or(Ok(()), |error| {
            Err(Failure::run(format!("standard output: {error}")))
        })
    }
}

impl Write for Output {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if !self.is_closed
            && let Err(error) = io::stdout().write_all(text)
        {
            self.close(error);
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.is_closed
            && let Err(error) = io::stdout().flush()
        {
            self.close(error);
        }
        Ok(())
    }
}
