//! Files that a run writes: opened before it begins, so that a wrong path costs no run.

use crate::failure::Failure;
use std::fs::{File, OpenOptions};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};

/// A file that will be written when there is a result.
#[derive(Debug)]
pub(crate) struct Output {
    flag: &'static str,
    path: PathBuf,
    file: File,
}

impl Output {
    /// Opens the file that `flag` names. What it holds stays until [`write`](Self::write).
    ///
    /// # Errors
    /// When it cannot be written to.
    pub(crate) fn open(flag: &'static str, path: &Path) -> Result<Self, Failure> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).open(path);
        match file {
            Ok(file) => Ok(Self {
                flag,
                path: path.to_owned(),
                file,
            }),
            Err(error) => Err(Failure::run(format!(
                "{flag} {}: cannot write: {error}",
                path.display()
            ))),
        }
    }

    /// Replaces what the file holds.
    ///
    /// # Errors
    /// When the disk is full, for example.
    pub(crate) fn write(mut self, text: &str) -> Result<(), Failure> {
        let written = self
            .truncate()
            .and_then(|()| self.file.write_all(text.as_bytes()));
        written.map_err(|error| {
            Failure::run(format!("{} {}: {error}", self.flag, self.path.display()))
        })
    }

    /// Pipes and devices have neither a length nor a place.
    fn truncate(&mut self) -> std::io::Result<()> {
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
            self.file.rewind()?;
        }
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
