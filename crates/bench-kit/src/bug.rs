//! Panics, which are bugs of these programs: a line that says so, and what a report of it needs.

use crate::{clock, terminal};
use bench_report::text::printable;
use std::panic::PanicHookInfo;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// From now on a panic is one line on stderr, and never a backtrace; `program` is the name of this
/// one. At most ten are written a minute: where a peer can cause a panic, it can do so again.
pub fn report_panics(program: &'static str) {
    std::panic::set_hook(Box::new(move |panic| {
        let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        if written.admits(clock::now()) {
            terminal::note(format_args!("{}", line(program, panic)));
        }
    }));
}

fn line(program: &str, panic: &PanicHookInfo<'_>) -> String {
    let message = panic.payload().downcast_ref::<&str>().copied();
    let message = message.or_else(|| panic.payload().downcast_ref::<String>().map(String::as_str));
    let place = panic.location().map(ToString::to_string);
    let command: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    format!(
        "error: bug in {program} {}: {} ({}); please report this line, with the command: {}",
        env!("CARGO_PKG_VERSION"),
        shortened(message.unwrap_or("no message")),
        place.as_deref().unwrap_or("place unknown"),
        shortened(&command.join(" "))
    )
}

/// In one line, and not at any length.
fn shortened(text: &str) -> String {
    let text = printable(text);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// The lines of the present minute.
#[derive(Debug)]
struct Written {
    begin: Option<Instant>,
    lines: u32,
}

impl Written {
    fn admits(&mut self, now: Instant) -> bool {
        let is_new = |begin| now.saturating_duration_since(begin) >= MINUTE;
        if self.begin.is_none_or(is_new) {
            *self = Self {
                begin: Some(now),
                lines: 0,
            };
        }
        self.lines += 1;
        self.lines <= MAX_LINES
    }
}

static WRITTEN: Mutex<Written> = Mutex::new(Written {
    begin: None,
    lines: 0,
});

const MINUTE: Duration = Duration::from_secs(60);

const MAX_LINES: u32 = 10;

/// Characters of a message, or of a command.
const LONGEST: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Panics in a process of its own, which `IS_CHILD` says of it.
    #[test]
    fn a_panic_is_one_line_and_many_are_ten() {
        const NAME: &str = "bug::tests::a_panic_is_one_line_and_many_are_ten";
        if std::env::var_os("IS_CHILD").is_some() {
            report_panics("bench-test");
            for _ in 0..100 {
                let panics = || panic!("first\nsecond {}", "x".repeat(10_000));
                std::panic::catch_unwind(panics).unwrap_err();
            }
            return;
        }
        let output = Command::new(std::env::current_exe().unwrap())
            .args([NAME, "--exact", "--nocapture"])
            .envs([("IS_CHILD", "1"), ("RUST_BACKTRACE", "full")])
            .output()
            .unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(told.lines().count(), 10, "{told}");
        let begin = format!(
            "error: bug in bench-test {}: first",
            env!("CARGO_PKG_VERSION")
        );
        for line in told.lines() {
            assert!(line.starts_with(&begin), "{line}");
            assert!(line.contains("please report this line, with the command: "));
            assert!(line.contains(NAME) && line.contains("bug.rs"), "{line}");
            assert!(line.len() < 3 * LONGEST, "{line}");
        }
    }

    #[test]
    fn another_minute_has_other_lines() {
        let mut written = Written {
            begin: None,
            lines: 0,
        };
        let begin = clock::now();
        let admitted = (0..100).filter(|_| written.admits(begin)).count();
        assert_eq!(admitted, 10);
        assert!(!written.admits(begin + MINUTE / 2));
        assert!(written.admits(begin + MINUTE));
    }
}
