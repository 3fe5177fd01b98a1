//! Files that a run writes: opened before it begins, so that a wrong path costs no run.

use bench_kit::failure::Failure;
use bench_kit::{fallback_output, terminal};
use bench_report::date;
use bench_report::plot::NamedFigure;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Seek, Write};
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

    /// Writes each figure into a file of its own, below the user's title and note.
    ///
    /// # Errors
    /// When the disk is full, for example; the files before that one are written.
    pub(crate) fn write(
        &self,
        figures: &[NamedFigure],
        title: Option<&str>,
        note: Option<&str>,
    ) -> Result<(), Failure> {
        for (name, figure) in figures {
            let path = self.file(name);
            let written = std::fs::write(&path, figure.headed(title, note));
            written.map_err(|error| self.failure(&path, &error))?;
        }
        Ok(())
    }

    /// Where `figures` of an incomplete result go: into another directory where this has one of
    /// them already, which it keeps.
    ///
    /// # Errors
    /// When the other one cannot be made.
    pub(crate) fn beside(self, figures: &[NamedFigure]) -> Result<Self, Failure> {
        let mut files = figures.iter().map(|(name, _)| self.file(name));
        if !files.any(|file| file.exists()) {
            return Ok(self);
        }
        let path = partial(&self.path);
        note_kept(&self.path, &path);
        Self::create(self.flag, &path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name).with_extension("svg")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn failure(&self, path: &Path, error: &std::io::Error) -> Failure {
        Failure::run(format!("{} {}: {error}", self.flag, path.display()))
    }
}

/// `STEM.EXTENSION`, or where that exists a name with the time in it that does not.
pub(crate) fn unused(
    stem: &Path,
    extension: &str,
    unix_seconds: u64,
    exists: impl Fn(&Path) -> bool,
) -> PathBuf {
    let now = date::compact(unix_seconds);
    let name = |number: u32| {
        let mut name = stem.as_os_str().to_owned();
        name.push(match number {
            0 => format!(".{extension}"),
            1 => format!("-{now}.{extension}"),
            _ => format!("-{now}-{number}.{extension}"),
        });
        PathBuf::from(name)
    };
    let mut names = (0..=u32::MAX).map(name);
    let unused = names.find(|name| !exists(name));
    unused.expect("no directory has that many files")
}

/// A file that will be written when there is a result.
#[derive(Debug)]
pub(crate) struct Output {
    flag: &'static str,
    path: PathBuf,
    file: File,
    /// Whether there was no such file, and nothing was written yet: it is not left behind.
    is_new: bool,
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.is_new {
            // An empty file that stays does no harm.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Output {
    /// Opens the file that `flag` names. What it holds stays until [`write`](Self::write).
    ///
    /// # Errors
    /// When it cannot be written to.
    pub(crate) fn open(flag: &'static str, path: &Path) -> Result<Self, Failure> {
        Self::try_open(flag, path).map_err(|error| {
            Failure::run(format!("{flag} {}: cannot write: {error}", path.display()))
        })
    }

    fn try_open(flag: &'static str, path: &Path) -> std::io::Result<Self> {
        let mut options = OpenOptions::new();
        let is_new = !path.exists();
        let file = options.write(true).create(true).truncate(false).open(path);
        Ok(Self {
            flag,
            path: path.to_owned(),
            file: file?,
            is_new,
        })
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

    /// Whether the file holds something already.
    fn has_content(&self) -> bool {
        let metadata = self.file.metadata();
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
    }

    /// Whether the file holds a result that does not say of itself that it is incomplete.
    fn has_complete_result(&self) -> bool {
        self.has_content()
            && !std::fs::read_to_string(&self.path).is_ok_and(|text| {
                let says_so = |line: &str| INCOMPLETE.iter().any(|mark| line.starts_with(mark));
                text.lines().any(says_so)
            })
    }

    /// Writes what is not complete: into another file where this one holds a complete result.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    fn write_partial(self, text: &str) -> Result<PathBuf, Failure> {
        let path = self.path.clone();
        if !self.has_complete_result() {
            self.write(text)?;
            return Ok(path);
        }
        let other = partial(&path);
        let file = Self::try_open(self.flag, &other).map_err(|error| {
            let what = format!("{} {}", self.flag, other.display());
            fallback_output::failure(&what, self.flag, &error, text)
        })?;
        note_kept(&path, &other);
        file.write(text)?;
        Ok(other)
    }

    /// Replaces what the file holds, at once: who reads it sees the old or the new text. What it
    /// does not take goes to another one. A reader that has gone, such as `head`, is no failure.
    ///
    /// # Errors
    /// When the disk is full, for example; it names the other file.
    pub(crate) fn write(mut self, text: &str) -> Result<(), Failure> {
        self.is_new = false;
        let written = match self.replace(text) {
            // No place beside it, as in a folder that only lets this file be written.
            Err(_) => self
                .truncate()
                .and_then(|()| self.file.write_all(text.as_bytes())),
            Ok(()) => Ok(()),
        };
        written.or_else(|error| match error.kind() {
            ErrorKind::BrokenPipe => Ok(()),
            _ => {
                let what = format!("{} {}", self.flag, self.path.display());
                Err(fallback_output::failure(&what, self.flag, &error, text))
            }
        })
    }

    /// Writes a file beside it, which then takes its name.
    fn replace(&self, text: &str) -> std::io::Result<()> {
        let metadata = self.file.metadata()?;
        if !metadata.is_file() {
            return Err(ErrorKind::Unsupported.into());
        }
        // A link keeps pointing to it.
        let path = std::fs::canonicalize(&self.path)?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.tmp", std::process::id()));
        let temporary = path.with_file_name(name);
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).open(&temporary)?;
        let moved = file
            .write_all(text.as_bytes())
            .and_then(|()| file.set_permissions(metadata.permissions()))
            .and_then(|()| std::fs::rename(&temporary, &path));
        if moved.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        moved
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

/// The name for an incomplete result beside the file at `path`: `x.partial.json` for `x.json`.
fn partial(path: &Path) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(".partial");
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

fn note_kept(path: &Path, other: &Path) {
    terminal::note(format_args!(
        "Kept as before: {}; the incomplete result goes to {}",
        path.display(),
        other.display()
    ));
}

/// How a line of an incomplete result begins, in its JSON and in its page.
const INCOMPLETE: [&str; 2] = ["  \"complete\": false", "<p class=\"alert\""];

/// Refuses one file for two texts.
///
/// # Errors
/// Names both options and the file.
pub(crate) fn check_distinct(files: &[&Option<Output>]) -> Result<(), Failure> {
    let mut seen: Vec<(PathBuf, &'static str)> = Vec::new();
    for file in files.iter().filter_map(|file| file.as_ref()) {
        let Ok(path) = std::fs::canonicalize(&file.path) else {
            continue;
        };
        if !path.is_file() {
            continue;
        }
        if let Some((_, flag)) = seen.iter().find(|(other, _)| *other == path) {
            return Err(Failure::usage(format!(
                "{flag} and {} both write {}; give them different files",
                file.flag,
                file.path.display()
            )));
        }
        seen.push((path, file.flag));
    }
    Ok(())
}

/// Refuses to write over `file`, which `option` needs as it is or adds to.
///
/// # Errors
/// Names both options and the file.
pub(crate) fn check_kept(
    files: &[&Option<Output>],
    option: &str,
    file: Option<&Path>,
) -> Result<(), Failure> {
    let Some(kept) = file.and_then(|file| std::fs::canonicalize(file).ok()) else {
        return Ok(());
    };
    let is_same = |output: &&Output| {
        let path = std::fs::canonicalize(&output.path);
        path.is_ok_and(|path| path == kept && path.is_file())
    };
    let mut files = files.iter().filter_map(|file| file.as_ref());
    files.find(is_same).map_or(Ok(()), |output| {
        Err(Failure::usage(format!(
            "{} would write over {}, the file of {option}; give it another file",
            output.flag,
            output.path.display()
        )))
    })
}

/// As [`write_all`], where nothing was measured: files that hold something keep it.
///
/// # Errors
/// As [`write_all`].
pub(crate) fn write_new(
    files: impl IntoIterator<Item = (Option<Output>, String)>,
    is_silent: bool,
) -> Result<(), Failure> {
    let is_old = |file: &Output| file.has_content();
    let (old, new): (Vec<_>, Vec<_>) = files
        .into_iter()
        .partition(|(file, _)| file.as_ref().is_some_and(is_old));
    for (file, _) in old {
        if let Some(file) = file {
            terminal::note(format_args!("Kept as before: {}", file.path.display()));
        }
    }
    write_all(new, is_silent)
}

/// Writes the files that there are and, unless that is to be silent, says which.
///
/// # Errors
/// As [`write`].
pub(crate) fn write_all(
    files: impl IntoIterator<Item = (Option<Output>, String)>,
    is_silent: bool,
) -> Result<(), Failure> {
    write(files, true, is_silent)
}

/// As [`write_all`]. What is not complete takes the place of nothing that is: it goes to a file of
/// another name.
///
/// # Errors
/// The last; the files behind one that cannot be written are still worth writing.
pub(crate) fn write(
    files: impl IntoIterator<Item = (Option<Output>, String)>,
    is_complete: bool,
    is_silent: bool,
) -> Result<(), Failure> {
    let mut failure = Ok(());
    for (file, text) in files {
        let Some(file) = file else { continue };
        let path = file.path.clone();
        let written = match is_complete {
            true => file.write(&text).map(|()| path),
            false => file.write_partial(&text),
        };
        match written {
            Ok(_) if is_silent => {}
            Ok(path) => terminal::note(format_args!("Written: {}", path.display())),
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
        // Whoever read it has seen enough.
        let error = self
            .error
            .filter(|error| error.kind() != ErrorKind::BrokenPipe);
        error.map_or(Ok(()), |error| {
            Err(Failure::run(format!("{flag} {path}: {error}")))
        })
    }
}

#[cfg(test)]
mod tests;
