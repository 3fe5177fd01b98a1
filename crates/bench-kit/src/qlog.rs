//! qlog files of a run: one for each connection, in a directory of the user's.
//!
//! `DATE-WHAT-SIDE-NUMBER.sqlog`: the date is when the program began, to the second, and WHAT tells
//! runs, rounds and variants apart.

use crate::clock;
use crate::failure::Failure;
use bench_report::date;
use paceline::{QlogConfig, QlogStream};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// Where the files of a program's connections go, and how the next ones are called.
#[derive(Debug, Clone)]
pub struct Qlog {
    directory: Arc<Directory>,
    name: String,
}

#[derive(Debug)]
struct Directory {
    path: PathBuf,
    /// Whether connections wait for their files, as they do in virtual time.
    waits: bool,
    state: Mutex<State>,
    closed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Files made so far.
    files: u32,
    /// Those that are still written to.
    open: u32,
    /// Connections that got none because there were too many.
    left_out: u64,
    /// Why a file could not be made or written.
    failure: Option<String>,
}

impl Qlog {
    /// Makes the directory, if need be, for files of `what`, such as `run` or `ab`. With `waits`
    /// no event is ever missing: for virtual time, where a connection may wait for its file.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(path: &Path, what: &str, waits: bool) -> Result<Self, Failure> {
        fs::create_dir_all(path)
            .map_err(|error| Failure::run(format!("--qlog {}: {error}", path.display())))?;
        Ok(Self {
            directory: Arc::new(Directory {
                path: path.to_owned(),
                waits,
                state: Mutex::default(),
                closed: Condvar::new(),
            }),
            name: format!("{}-{what}", date::compact(clock::since_1970().as_secs())),
        })
    }

    /// The same directory, for files that have `part` in their names too.
    #[must_use]
    pub fn named(&self, part: &str) -> Self {
        Self {
            directory: Arc::clone(&self.directory),
            name: format!("{}-{part}", self.name),
        }
    }

    /// A file for connection `number`, from 1, seen from `side`; `about` says what is known of it.
    /// `None` if there is none to be had, which [`Self::close`] tells.
    pub fn connection(&self, side: &str, number: u64, about: &str) -> Option<QlogStream> {
        let name = format!("{}-{side}-{number}", self.name);
        let to = self.directory.create(&name)?;
        let mut config = QlogConfig::default();
        config
            .writer(Box::new(to))
            .title(Some(name))
            .description(Some(about.to_owned()).filter(|about| !about.is_empty()))
            .max_bytes(MAX_FILE)
            .waits(self.directory.waits);
        config.into_stream()
    }

    /// Waits until the files of connections that are gone are written. Why some are missing, if
    /// some are.
    pub fn close(&self) -> Option<String> {
        let state = self.directory.state();
        let waited = self
            .directory
            .closed
            .wait_timeout_while(state, CLOSE_TIMEOUT, |state| state.open > 0);
        let (state, _) = waited.expect(NO_PANIC);
        let failure = state.failure.as_ref();
        let why = failure.cloned().or_else(|| {
            (state.left_out > 0).then(|| {
                format!(
                    "{} connections have no file, beyond {MAX_FILES}; use fewer rounds or flows",
                    state.left_out
                )
            })
        });
        why.map(|why| format!("--qlog {}: {why}", self.directory.path.display()))
    }
}

impl Directory {
    /// A new file, if there may be one more. One of this name that is there stays as it is.
    fn create(self: &Arc<Self>, name: &str) -> Option<LogFile> {
        let mut state = self.state();
        if state.files >= MAX_FILES {
            state.left_out += 1;
            return None;
        }
        let path = (1..=MAX_FILES).map(|number| match number {
            1 => self.path.join(format!("{name}.sqlog")),
            number => self.path.join(format!("{name}_{number}.sqlog")),
        });
        let mut made = path.map(File::create_new);
        let file = made.find(
            |made| !matches!(made, Err(error) if error.kind() == io::ErrorKind::AlreadyExists),
        );
        match file? {
            Ok(file) => {
                state.files += 1;
                state.open += 1;
                Some(LogFile {
                    file: BufWriter::new(file),
                    directory: Arc::clone(self),
                })
            }
            Err(error) => {
                state.failure.get_or_insert_with(|| error.to_string());
                None
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect(NO_PANIC)
    }
}

/// A file that tells its directory when it is closed.
struct LogFile {
    file: BufWriter<File>,
    directory: Arc<Directory>,
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        let flushed = self.file.flush();
        let mut state = self.directory.state();
        state.open -= 1;
        if let Err(error) = flushed {
            state.failure.get_or_insert_with(|| error.to_string());
        }
        self.directory.closed.notify_all();
    }
}

/// The largest file: a minute at 100 Mbit/s, and about what qvis can draw.
const MAX_FILE: u64 = 128 << 20;

/// Files of one program, so that neither a long test nor a client can fill a disk with them.
const MAX_FILES: u32 = 1_000;

/// For what is queued when the connections are over.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

const NO_PANIC: &str = "nothing that could panic runs while it is locked";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connection_has_a_file_and_none_is_overwritten() {
        let path = std::env::temp_dir().join(format!("paceline-qlog-{}", std::process::id()));
        let qlog = Qlog::open(&path, "ab", true).unwrap().named("round-0-a");
        let streams = [1, 2, 2].map(|number| qlog.connection("client", number, "cubic"));
        assert!(streams.iter().all(Option::is_some));
        drop(streams);
        assert_eq!(qlog.close(), None);
        let mut names: Vec<String> = fs::read_dir(&path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        fs::remove_dir_all(&path).unwrap();
        let ends: Vec<&str> = names.iter().map(|name| &name[16..]).collect();
        assert_eq!(
            ends,
            [
                "-ab-round-0-a-client-1.sqlog",
                "-ab-round-0-a-client-2.sqlog",
                "-ab-round-0-a-client-2_2.sqlog"
            ]
        );
    }

    #[test]
    fn a_file_that_cannot_be_made_is_told() {
        let path = std::env::temp_dir().join(format!("paceline-qlog-gone-{}", std::process::id()));
        let qlog = Qlog::open(&path, "run", false).unwrap();
        fs::remove_dir(&path).unwrap();
        assert!(qlog.connection("client", 1, "").is_none());
        let why = qlog.close().unwrap();
        assert!(
            why.starts_with("--qlog ") && why.contains("No such file"),
            "{why}"
        );
    }
}
