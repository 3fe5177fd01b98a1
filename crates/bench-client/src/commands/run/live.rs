//! `--live`: the run on a full screen, with what `ss -tin` shows.

mod keys;
mod view;

use crate::client::Progress;
use bench_kit::failure::Failure;
use bench_kit::interrupt;
use bench_kit::terminal;
use rustix::termios::tcgetwinsize;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use view::View;

/// A screen of its own for the time of a run. Dropping it gives the terminal back as it was.
pub(super) struct Live {
    view: View,
}

impl Live {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// When stdout is none.
    pub(super) fn open(headline: String) -> Result<Self, Failure> {
        if !std::io::stdout().is_terminal() {
            return Err(Failure::usage(
                "--live: stdout is not a terminal; run without --live",
            ));
        }
        // A panic is to be read where it will stay. It need not end the run at once: one in a
        // connection's task ends the connection, and with it the run.
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            leave();
            before(panic);
        }));
        interrupt::before_exit(leave);
        IS_SHOWN.store(true, Ordering::Relaxed);
        keys::listen();
        terminal::text(ENTER);
        let live = Self {
            view: View::new(headline),
        };
        live.draw();
        Ok(live)
    }

    pub(super) fn show(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Waiting(ahead) => self.view.waiting(Some(*ahead)),
            Progress::Started(_) => self.view.waiting(None),
            Progress::Sample(flow, sample) => self.view.sample(*flow, sample),
            Progress::Rows(interval) => self.view.rows(interval),
        }
        if !matches!(progress, Progress::Sample(1.., _)) {
            self.draw();
        }
    }

    fn draw(&self) {
        if !IS_SHOWN.load(Ordering::Relaxed) {
            return;
        }
        let size = tcgetwinsize(std::io::stdout());
        let (columns, lines) = match size {
            Ok(size) if size.ws_col > 0 => (size.ws_col.into(), size.ws_row.into()),
            _ => (80, 24),
        };
        let lines = self.view.lines(columns, lines);
        let mut frame = HOME.to_owned();
        for (line, index) in lines.iter().zip(0..) {
            let separator = if index == 0 { "" } else { "\r\n" };
            frame.push_str(&format!("{separator}{line}{CLEAR_LINE}"));
        }
        frame.push_str(CLEAR_BELOW);
        terminal::text(&frame);
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        leave();
    }
}

/// Gives the terminal back, once.
fn leave() {
    if IS_SHOWN.swap(false, Ordering::Relaxed) {
        keys::restore();
        terminal::text(LEAVE);
    }
}

/// Whether the terminal shows the run, of which a process has one.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// The alternate screen, without a cursor (xterm's control sequences, which terminals share).
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";

const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

const HOME: &str = "\x1b[H";

const CLEAR_LINE: &str = "\x1b[K";

const CLEAR_BELOW: &str = "\x1b[J";
