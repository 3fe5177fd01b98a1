//! The key that ends a run on the full screen.

use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{Read, stdin};
use std::sync::{Mutex, PoisonError};

/// From now on `q` ends the run as Ctrl-C does, where stdin is a terminal.
pub(super) fn listen() {
    let Ok(before) = tcgetattr(stdin()) else {
        return;
    };
    let mut by_key = before.clone();
    // Each key at once and unseen; Ctrl-C stays a signal.
    by_key.local_modes &= !(LocalModes::ICANON | LocalModes::ECHO);
    if tcsetattr(stdin(), OptionalActions::Now, &by_key).is_err() {
        return;
    }
    *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
    // It ends with the process, or with the input.
    let reader = std::thread::Builder::new().name("keys".into());
    let _ = reader.spawn(|| {
        let is_end = |key: &u8| matches!(key, b'q' | b'Q');
        let keys = stdin().lock().bytes().map_while(Result::ok);
        for _ in keys.filter(is_end) {
            let _ = kill_process(getpid(), Signal::INT);
        }
    });
}

/// Gives the terminal its modes back.
pub(super) fn restore() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
    }
}

/// The modes that the terminal had before the run.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);
