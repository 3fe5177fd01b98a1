//! The built programs, started as a user would.
//!
//! Every wait has an end, and every process that a test has started ends with the test.

use rustix::process::Signal;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// What a program that has ended left behind.
#[derive(Debug, Clone)]
pub struct Ended {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Everything it wrote to stdout.
    pub stdout: String,
    /// Everything it wrote to stderr.
    pub stderr: String,
}

/// A running program; killed when it is dropped.
#[derive(Debug)]
pub struct Running {
    name: String,
    child: Child,
    stdout: Lines,
    stderr: Lines,
}

impl Running {
    /// Starts program `name` of this workspace, such as `bench-client`.
    ///
    /// # Panics
    /// When it cannot be built or started.
    pub fn start<S: AsRef<OsStr>>(name: &str, args: impl IntoIterator<Item = S>) -> Self {
        Self::spawn(
            name,
            Command::new(program(name)).args(args).stdin(Stdio::null()),
        )
    }

    /// As [`start`](Self::start), and [`type_line`](Self::type_line) is its standard input.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn start_with_input<S: AsRef<OsStr>>(
        name: &str,
        args: impl IntoIterator<Item = S>,
    ) -> Self {
        Self::spawn(
            name,
            Command::new(program(name)).args(args).stdin(Stdio::piped()),
        )
    }

    /// As [`start`](Self::start) with these environment variables.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn start_with_environment<S: AsRef<OsStr>>(
        name: &str,
        args: impl IntoIterator<Item = S>,
        environment: &[(&str, &str)],
    ) -> Self {
        let environment = environment.iter().copied();
        Self::spawn(
            name,
            Command::new(program(name))
                .args(args)
                .envs(environment)
                .stdin(Stdio::null()),
        )
    }

    /// Starts a program of the system, such as `sh`.
    ///
    /// # Panics
    /// When there is none of that name.
    pub fn start_system<S: AsRef<OsStr>>(name: &str, args: impl IntoIterator<Item = S>) -> Self {
        Self::spawn(name, Command::new(name).args(args).stdin(Stdio::null()))
    }

    /// Runs test `name` of the calling binary in a process of its own, with these environment
    /// variables, and [`type_line`](Self::type_line) is its standard input.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start_test(name: &str, environment: &[(&str, String)]) -> Self {
        let test = std::env::current_exe().expect("a test knows where it is");
        let environment = environment.iter().map(|(name, value)| (name, value));
        Self::spawn(
            name,
            Command::new(test)
                .args([name, "--exact", "--nocapture"])
                .envs(environment)
                .stdin(Stdio::piped()),
        )
    }

    fn spawn(name: &str, command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let stdout = Lines::of(child.stdout.take().expect("it is piped"));
        let stderr = Lines::of(child.stderr.take().expect("it is piped"));
        Self {
            name: name.to_owned(),
            child,
            stdout,
            stderr,
        }
    }

    /// The process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line of stdout that contains `text`.
    ///
    /// # Panics
    /// When the program ends, is silent for half a minute, or prints thousands of other lines,
    /// without having printed it.
    pub fn line_with(&mut self, text: &str) -> String {
        self.stdout.line_with(text, &self.name)
    }

    /// Waits for a line of stderr that contains `text`.
    ///
    /// # Panics
    /// As [`line_with`](Self::line_with).
    pub fn note_with(&mut self, text: &str) -> String {
        self.stderr.line_with(text, &self.name)
    }

    /// Writes a line to its standard input.
    ///
    /// # Panics
    /// When it was not started [with input](Self::start_with_input), or reads no more.
    pub fn type_line(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("it has an input");
        writeln!(stdin, "{line}").unwrap_or_else(|error| panic!("{}: {error}", self.name));
    }

    /// Ends its standard input.
    pub fn end_input(&mut self) {
        self.child.stdin = None;
    }

    /// Presses Ctrl-C.
    ///
    /// # Panics
    /// When the program has ended already.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Asks it to end, as a supervisor does.
    ///
    /// # Panics
    /// When it has ended already.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Tells it to read its files again.
    ///
    /// # Panics
    /// When it has ended already.
    pub fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id())
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        let id = id.expect("a process has a positive number");
        rustix::process::kill_process(id, signal)
            .unwrap_or_else(|error| panic!("{}: {error}", self.name));
    }

    /// Ends it as `kill -9` does.
    ///
    /// # Panics
    /// When it has ended already.
    pub fn kill(&mut self) {
        self.child
            .kill()
            .unwrap_or_else(|error| panic!("{}: {error}", self.name));
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it goes on printing nothing for half a minute without ending.
    pub fn wait(self) -> Ended {
        self.wait_for(PATIENCE)
    }

    /// The same for a program that prints nothing for minutes.
    ///
    /// # Panics
    /// When it goes on printing nothing for ten minutes without ending.
    pub fn wait_long(self) -> Ended {
        self.wait_for(20 * PATIENCE)
    }

    fn wait_for(mut self, patience: Duration) -> Ended {
        // The pipes close when the program ends, so reading to their end is waiting for it.
        let stdout = self.stdout.rest(&self.name, patience);
        let stderr = self.stderr.rest(&self.name, patience);
        let status = self.child.wait().expect("it was started");
        Ended {
            code: status.code(),
            stdout,
            stderr,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail when it has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs program `name` to its end.
///
/// # Panics
/// As [`Running::start`] and [`Running::wait`].
pub fn run<S: AsRef<OsStr>>(name: &str, args: impl IntoIterator<Item = S>) -> Ended {
    Running::start(name, args).wait()
}

/// A bench-server on a free port of 127.0.0.1, and that port.
///
/// # Panics
/// As [`Running::start`].
pub fn bench_server(args: &[&str]) -> (Running, u16) {
    let args = ["--bind", "127.0.0.1", "--port", "0"].iter().chain(args);
    let mut server = Running::start("bench-server", args);
    let line = server.line_with("listening on UDP 127.0.0.1:");
    (server, port_at_end(&line))
}

/// The number behind the last colon.
///
/// # Panics
/// When there is none.
pub fn port_at_end(line: &str) -> u16 {
    let port = line
        .rsplit(':')
        .next()
        .and_then(|port| port.trim().parse().ok());
    port.unwrap_or_else(|| panic!("no port at the end of `{line}`"))
}

/// A file's name that no other test has; the file does not exist.
pub fn scratch_file(name: &str) -> PathBuf {
    static NUMBER: Mutex<u32> = Mutex::new(0);
    let mut number = NUMBER.lock().expect("nothing panics while it is locked");
    *number += 1;
    let folder = target_folder().join("tmp").join("programs");
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    let file = folder.join(format!("{}-{number}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&file);
    file
}

/// The lines of a pipe, read by a thread, so that waiting for one can end.
#[derive(Debug)]
struct Lines {
    coming: Receiver<String>,
    seen: String,
}

impl Lines {
    fn of(pipe: impl Read + Send + 'static) -> Self {
        let (sender, coming) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            coming,
            seen: String::new(),
        }
    }

    fn next(&mut self, patience: Duration) -> Result<String, RecvTimeoutError> {
        let line = self.coming.recv_timeout(patience)?;
        self.seen.push_str(&line);
        self.seen.push('\n');
        Ok(line)
    }

    fn line_with(&mut self, text: &str, name: &str) -> String {
        for _ in 0..MOST_LINES {
            match self.next(PATIENCE) {
                Ok(line) if line.contains(text) => return line,
                Ok(_) => {}
                Err(error) => panic!("{name}: no `{text}` ({error}) in:\n{}", self.seen),
            }
        }
        panic!("{name}: no `{text}` in {MOST_LINES} lines:\n{}", self.seen);
    }

    /// Everything, up to the end.
    fn rest(&mut self, name: &str, patience: Duration) -> String {
        loop {
            match self.next(patience) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return std::mem::take(&mut self.seen),
                Err(RecvTimeoutError::Timeout) => panic!("{name} does not end:\n{}", self.seen),
            }
        }
    }
}

/// The program's file, built from the present sources by the first test that asks.
///
/// # Panics
/// When it cannot be built.
pub fn program(name: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    // The smallest of all test targets, for the features of the tests.
    BUILT.get_or_init(|| build(&["--bins", "--test", "repository"]));
    executable(profile_folder().join(name))
}

/// The file of example `name` of this workspace, built with the profile of this test.
///
/// # Panics
/// When it cannot be built.
pub fn example(name: &str) -> PathBuf {
    build(&["--example", name]);
    executable(profile_folder().join("examples").join(name))
}

/// With the features of `cargo test --workspace`, so that what that has built is not built again:
/// those of all packages, and of the tests where `targets` need them.
fn build(targets: &[&str]) {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--quiet", "--workspace"])
        .args(targets)
        .arg("--target-dir")
        .arg(target_folder())
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    if profile_folder().ends_with("release") {
        cargo.arg("--release");
    }
    let status = cargo.status().expect("cargo runs, as it runs this test");
    assert!(status.success(), "{targets:?} of cargo do not build");
}

fn executable(file: PathBuf) -> PathBuf {
    file.with_extension(std::env::consts::EXE_EXTENSION)
}

/// Where cargo puts what it builds with the profile of this test: `target/debug`.
fn profile_folder() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    // target/debug/deps/programs-0123456789abcdef
    let folder = test.parent().and_then(Path::parent);
    folder.expect("tests are two folders deep").to_owned()
}

fn target_folder() -> PathBuf {
    let folder = profile_folder();
    folder
        .parent()
        .expect("the profile is in the target folder")
        .to_owned()
}

/// That are read while one is waited for: with `-i 0.1` of the relay those of three minutes.
const MOST_LINES: usize = 4_000;
/// Far more than anything here takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
