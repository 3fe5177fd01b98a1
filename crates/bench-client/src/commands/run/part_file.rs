//! A file that is being received.

use bench_kit::failure::Failure;
use bench_kit::terminal;
use bench_kit::transfer::LocalFile;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// What is received into `FILE` is `FILE.part` until all of it has come, so that whatever has the
/// final name is whole.
#[derive(Debug)]
pub(super) struct PartFile {
    /// As it was given, for messages.
    given: PathBuf,
    path: PathBuf,
    part: PathBuf,
    is_kept: bool,
}

impl PartFile {
    /// A new file to write to, and the part file that it is; a device or a pipe has none.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub(super) fn create(given: &Path) -> Result<(LocalFile, Option<Self>), Failure> {
        let create = |path: &Path| {
            let file = File::create(path);
            let file = file.map_err(|error| failure(path, &error))?;
            Ok(LocalFile::new(path.to_owned(), file))
        };
        if fs::metadata(given).is_ok_and(|existing| !existing.is_file()) {
            return Ok((create(given)?, None));
        }
        // A link stays one: the file that it leads to is replaced.
        let path = fs::canonicalize(given).unwrap_or_else(|_| given.to_owned());
        let mut part = OsString::from(&path);
        part.push(".part");
        let part = PathBuf::from(part);
        let file = create(&part)?;
        let created = Self {
            given: given.to_owned(),
            path,
            part,
            is_kept: false,
        };
        Ok((file, Some(created)))
    }

    /// Gives it its final name if it `is_complete`.
    ///
    /// # Errors
    /// When the system refuses the new name.
    pub(super) fn finish(mut self, is_complete: bool) -> Result<(), Failure> {
        if !is_complete {
            return Ok(());
        }
        self.is_kept = true;
        fs::rename(&self.part, &self.path).map_err(|error| {
            Failure::run(format!(
                "-F {}: {error}; the complete file is {}: rename it",
                self.given.display(),
                self.part.display()
            ))
        })
    }
}

impl Drop for PartFile {
    /// An empty one is of no use to anybody; of others the user is told.
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        if fs::metadata(&self.part).is_ok_and(|part| part.len() == 0) {
            let _ = fs::remove_file(&self.part);
            return;
        }
        terminal::note(format_args!(
            "warning: -F {}: incomplete; what came is in {}",
            self.given.display(),
            self.part.display()
        ));
    }
}

fn failure(path: &Path, error: &std::io::Error) -> Failure {
    Failure::run(format!("-F {}: {error}", path.display()))
}
