//! Ctrl-C, SIGTERM, and SIGHUP where there are files to be read again.
//!
//! A thread of its own waits for them, which no write to a full pipe or a slow disk can block. The
//! process is ended where the relay does not end by itself in time. It waits with sigwait, which
//! needs no file descriptor.

use crate::failure::print_error;
use core::time::Duration;
use nix::sys::signal::{SigSet, Signal};
use std::io;
use std::sync::{Arc, mpsc};
use std::thread;
use tokio::sync::Notify;

/// What the user asks for by signals.
#[derive(Debug, Clone, Default)]
pub(super) struct Signals {
    /// To end cleanly.
    pub(super) end: Arc<Notify>,
    /// To read the files of the links again.
    pub(super) hang_up: Arc<Notify>,
}

impl Signals {
    /// Catches the signals from now on, for the life of the process. SIGHUP keeps its usual
    /// meaning unless `reads_files`. To be called before there is another thread.
    ///
    /// # Errors
    /// When the system refuses the thread that waits for them.
    pub(super) fn listen(reads_files: bool) -> io::Result<Self> {
        let hang_up = reads_files.then_some(Signal::SIGHUP);
        let caught: SigSet = [Signal::SIGINT, Signal::SIGTERM]
            .into_iter()
            .chain(hang_up)
            .collect();
        // Threads have the mask of the one that started them.
        caught.thread_block()?;
        let asked = Self::default();
        let asks = asked.clone();
        thread::Builder::new()
            .name("signals".into())
            .spawn(move || pass_on(caught, &asks))?;
        Ok(asked)
    }
}

fn pass_on(caught: SigSet, asked: &Signals) {
    let mut watchdog = None;
    while let Ok(signal) = caught.wait() {
        match (&watchdog, signal) {
            (_, Signal::SIGHUP) => asked.hang_up.notify_one(),
            (None, signal) => {
                watchdog = Some(watch_over(signal));
                asked.end.notify_one();
            }
            // It has ended the process where it is gone.
            (Some(watchdog), _) => drop(watchdog.send(())),
        }
    }
}

/// Ends the process where the relay does not: [`ANSWER`] from now, or [`AT_ONCE`] after something
/// is sent.
fn watch_over(signal: Signal) -> mpsc::Sender<()> {
    let (again, is_asked_again) = mpsc::channel();
    let watch = move || {
        if is_asked_again.recv_timeout(ANSWER).is_ok() {
            let _ = is_asked_again.recv_timeout(AT_ONCE);
        } else {
            say_that_it_is_late();
        }
        // As a shell reports a program that this signal has ended.
        std::process::exit(128 + signal as i32)
    };
    if thread::Builder::new().spawn(watch).is_err() {
        std::process::exit(128 + signal as i32);
    }
    again
}

/// A pipe that nobody reads does not keep the process from ending.
fn say_that_it_is_late() {
    let (said, is_said) = mpsc::channel();
    let say = move || {
        print_error(format_args!(
            "interrupted, and the totals could not be written within {ANSWER:?}; read the output, \
             or send it to a file"
        ));
        let _ = said.send(());
    };
    if thread::Builder::new().spawn(say).is_ok() {
        let _ = is_said.recv_timeout(LAST_WORDS);
    }
}

/// How long the relay may take for its totals: with what follows, less than a second.
const ANSWER: Duration = Duration::from_millis(900);
/// How long it may take at the second signal.
const AT_ONCE: Duration = Duration::from_millis(200);
const LAST_WORDS: Duration = Duration::from_millis(50);
