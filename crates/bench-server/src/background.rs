//! `-D`: a server in the background.
//!
//! The program starts itself once more and ends when that one listens, so that whoever started it
//! knows that it does. The other one has a session of its own, which no terminal ends. Its standard
//! input is the end of a pipe on which it says that it listens.

use crate::args::ServerArgs;
use bench_kit::failure::Failure;
use rustix::process::{getpid, setsid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

/// Whether this process is to start the one in the background.
pub(crate) fn is_wanted(args: &ServerArgs) -> bool {
    args.daemon && std::env::var_os(MARK).is_none()
}

/// Starts this program in the background with the same command line `args`, the first of which is
/// its name. It returns once that listens, or with its exit code when it does not.
///
/// # Errors
/// When no process can be started.
pub(crate) fn start(args: &[OsString]) -> Result<ExitCode, Failure> {
    let failure = |error: io::Error| Failure::run(format!("-D: cannot start a process: {error}"));
    let (mut listens, mut server) = spawn(args).map_err(failure)?;
    if listens.read_exact(&mut [0]).is_ok() {
        return Ok(ExitCode::SUCCESS);
    }
    let ended = server.wait().map_err(failure)?;
    let code = ended.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}

fn spawn(args: &[OsString]) -> io::Result<(PipeReader, Child)> {
    let (listens, says) = io::pipe()?;
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(args.iter().skip(1))
        .env(MARK, "1")
        .stdin(Stdio::from(says));
    // With the command goes this process's end of the pipe for writing.
    Ok((listens, command.spawn()?))
}

/// Where the log goes, and what says that the server runs. Dropping it removes the file of the
/// process's number.
pub(crate) struct Background {
    daemon: bool,
    log: Option<File>,
    pid_file: Option<PathBuf>,
}

impl Background {
    /// Opens the log that `args` name.
    ///
    /// # Errors
    /// When it cannot be written to, or the number's file holds something else.
    pub(crate) fn open(args: &ServerArgs) -> Result<Self, Failure> {
        let append = |path: &PathBuf| {
            let log = OpenOptions::new().append(true).create(true).open(path);
            log.map_err(|error| cannot_write("--logfile", path, &error))
        };
        let log = args.logfile.as_ref().map(append).transpose()?;
        if let Some(path) = &args.pidfile {
            check_pid_file(path, args.logfile.as_deref())?;
        }
        Ok(Self {
            daemon: args.daemon,
            log,
            pid_file: None,
        })
    }

    /// Whether the log has a file, which then is to begin with where the server listens, too.
    pub(crate) fn has_log(&self) -> bool {
        self.log.is_some()
    }

    /// Once the server listens: writes the file of the process's number, which until then is that
    /// of another one, and leaves the terminal. What is printed from now on goes to the log, with
    /// `-D` and without a log nowhere.
    ///
    /// # Errors
    /// When the file cannot be written, or the system refuses.
    pub(crate) fn begin(&mut self, args: &ServerArgs) -> Result<(), Failure> {
        if let Some(path) = &args.pidfile {
            let pid = format!("{}\n", getpid().as_raw_nonzero());
            std::fs::write(path, pid).map_err(|error| cannot_write("-I", path, &error))?;
            self.pid_file = Some(path.clone());
        }
        self.redirect()
            .map_err(|error| Failure::run(format!("-D: cannot leave the terminal: {error}")))
    }

    fn redirect(&mut self) -> io::Result<()> {
        let mut nothing = OpenOptions::new();
        let nothing = nothing.read(true).write(true).open("/dev/null")?;
        let log = self.log.take();
        if self.daemon || log.is_some() {
            dup2_stdout(log.as_ref().unwrap_or(&nothing))?;
        }
        if self.daemon {
            dup2_stderr(log.as_ref().unwrap_or(&nothing))?;
            setsid()?;
            let says = rustix::stdio::stdin();
            rustix::io::write(says, &[0])?;
            dup2_stdin(&nothing)?;
        }
        Ok(())
    }
}

/// Refuses to replace, and to remove at the end, a file that is not that of a process's number.
fn check_pid_file(path: &Path, log: Option<&Path>) -> Result<(), Failure> {
    let place = |path: &Path| std::fs::canonicalize(path).ok();
    let refused = |why: &str| Err(Failure::usage(format!("-I {}: {why}", path.display())));
    if log.is_some_and(|log| place(log).is_some() && place(log) == place(path)) {
        return refused("this is the file of --logfile; give another one");
    }
    let is_file = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let begin = File::open(path).and_then(|file| {
        let mut begin = String::new();
        file.take(LONGEST_NUMBER).read_to_string(&mut begin)?;
        Ok(begin)
    });
    let is_number = match begin {
        Ok(begin) => begin.trim().chars().all(|c| c.is_ascii_digit()),
        Err(error) => error.kind() != io::ErrorKind::InvalidData,
    };
    match is_file && !is_number {
        true => refused("this file holds something else than a process's number; give another one"),
        false => Ok(()),
    }
}

/// In bytes, with a line feed, and one more.
const LONGEST_NUMBER: u64 = 12;

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(path) = &self.pid_file {
            // Somebody may have removed it already.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn cannot_write(flag: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::run(format!("{flag} {}: cannot write: {error}", path.display()))
}

/// The environment variable that the process in the background has.
const MARK: &str = "PACELINE_IN_BACKGROUND";
