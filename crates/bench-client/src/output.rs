//! Files that a run writes: opened before it begins, so that a wrong path costs no run.

use bench_kit::failure::Failure;
use bench_kit::{fallback_output, terminal};
use bench_report::plot::NamedFigure;
use std::fs::{File, OpenOptions};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};

/// A directory that figures are written into.
#[derive(Debug)]
pub(crate) struct Directory {
    flag: &'static str,
    path: PathBuf,
}

impl Directory {
    /// Makes the directory that `flag` names, unless it is there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn create(flag: &'static str, path: &Path) -> Result<Self, Failure> {
        let directory = Self {
            flag,
            path: path.to_owned(),
        };
        match std::fs::create_dir_all(path) {
            Ok(()) => Ok(directory),
            Err(error) => Err(directory.failure(path, &error)),
        }
    }

    /// Writes each figure into a file of its own.
    ///
    /// # Errors
    /// When the disk is full, for example; the files before that one are written.
    pub(crate) fn write(&self, figures: &[NamedFigure]) -> Result<(), Failure> {
        for (name, figure) in figures {
            let path = self.path.join(name).with_extension("svg");
            let written = std::fs::write(&path, figure.standalone());
            written.map_err(|error| self.failure(&path, &error))?;
        }
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn failure(&self, path: &Path, error: &std::io::Error) -> Failure {
        Failure::run(format!("{} {}: {error}", self.flag, path.display()))
    }
}

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

    /// As [`open`](Self::open), where `flag` was given.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn open_if(
        flag: &'static str,
        path: Option<&Path>,
    ) -> Result<Option<Self>, Failure> {
        path.map(|path| Self::open(flag, path)).transpose()
    }

    /// Replaces what the file holds. What it does not take goes to another one.
    ///
    /// # Errors
    /// When the disk is full, for example; it names the other file.
    pub(crate) fn write(mut self, text: &str) -> Result<(), Failure> {
        let written = self
            .truncate()
            .and_then(|()| self.file.write_all(text.as_bytes()));
        written.map_err(|error| {
            let what = format!("{} {}", self.flag, self.path.display());
            fallback_output::failure(&what, self.flag, &error, text)
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
}

/// Writes the files that there are and, unless that is to be silent, says which.
///
/// # Errors
/// The last; the files behind one that cannot be written are still worth writing.
pub(crate) fn write_all(
    files: impl IntoIterator<Item = (Option<Output>, String)>,
    is_silent: bool,
) -> Result<(), Failure> {
    let mut failure = Ok(());
    for (file, text) in files {
        let Some(file) = file else { continue };
        let path = file.path.clone();
        match file.write(&text) {
            Ok(()) if is_silent => {}
            Ok(()) => terminal::note(format_args!("Written: {}", path.display())),
            Err(error) => failure = Err(error),
        }
    }
    failure
}

/// A file that grows while a run goes on.
#[derive(Debug)]
pub(crate) struct Log {
    flag: &'static str,
    path: PathBuf,
    file: File,
    /// Why the first line that could not be written was not.
    error: Option<std::io::Error>,
}

impl Log {
    /// Opens the file that `flag` names; what it holds already stays before what will come.
    ///
    /// # Errors
    /// When it cannot be written to.
    pub(crate) fn open(flag: &'static str, path: &Path) -> Result<Self, Failure> {
        let file = OpenOptions::new().append(true).create(true).open(path);
        let file = file.map_err(|error| {
            Failure::run(format!("{flag} {}: cannot write: {error}", path.display()))
        })?;
        Ok(Self {
            flag,
            path: path.to_owned(),
            file,
            error: None,
        })
    }

    /// Adds `text`, whose lines are whole, at once: a reader sees it now. Whether it was written;
    /// after a failure nothing is.
    pub(crate) fn write(&mut self, text: &str) -> bool {
        if self.error.is_none() {
            self.error = self.file.write_all(text.as_bytes()).err();
        }
        self.error.is_none()
    }

    /// Whether everything was written.
    ///
    /// # Errors
    /// When the disk is full, for example.
    pub(crate) fn close(self) -> Result<(), Failure> {
        let (flag, path) = (self.flag, self.path.display());
        self.error.map_or(Ok(()), |error| {
            Err(Failure::run(format!("{flag} {path}: {error}")))
        })
    }
}
