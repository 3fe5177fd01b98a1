//! Other links while the relay runs: lines on standard input, and files that are read again.

use link_sim::relay::Direction;
use link_sim::{LinkSpec, SpecError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use tokio::sync::mpsc::{self, Receiver, Sender};

pub(super) type Change = (Direction, LinkSpec);

/// Reads a line: `LINK` is the one towards the server, `return LINK` the other one. `None` when
/// there is nothing on it but blanks and a comment.
///
/// # Errors
/// When that is no link.
pub(super) fn parse_line(line: &str) -> Option<Result<Change, SpecError>> {
    let text = without_comment(line).trim();
    let (direction, link) = match text.split_once(char::is_whitespace) {
        Some(("return", link)) => (Direction::ToClient, link),
        None if text == "return" => (Direction::ToClient, ""),
        None if text.is_empty() => return None,
        _ => (Direction::ToServer, text),
    };
    Some(link.parse().map(|spec| (direction, spec)))
}

/// Reads a link from a file, which may have several lines.
///
/// # Errors
/// When it is no ordinary file, cannot be read or is no link.
pub(super) fn read_file(path: &Path) -> Result<LinkSpec, String> {
    // Asked before it is opened: a pipe would wait for somebody who writes, and has no second
    // reading.
    let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("not a regular file".to_owned());
    }
    let mut text = String::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    // One byte more than is allowed shows that there is more.
    let mut file = file.take(MAX_FILE + 1);
    file.read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX_FILE {
        return Err(format!("file too long: at most {MAX_FILE} bytes allowed"));
    }
    let words: Vec<&str> = text.lines().map(without_comment).map(str::trim).collect();
    let link = words.join(" ");
    link.trim()
        .parse()
        .map_err(|error: SpecError| error.to_string())
}

#[derive(Debug, Clone)]
pub(super) struct LinkFiles {
    pub(super) link: Option<PathBuf>,
    pub(super) return_link: Option<PathBuf>,
}

impl LinkFiles {
    pub(super) fn iter(&self) -> impl Iterator<Item = (Direction, &Path)> {
        let both = [
            (Direction::ToServer, self.link.as_deref()),
            (Direction::ToClient, self.return_link.as_deref()),
        ];
        both.into_iter()
            .filter_map(|(direction, path)| Some((direction, path?)))
    }
}

/// The lines that come on standard input, until its end. A line that is too long is an error.
///
/// # Errors
/// When there can be no thread that waits for them.
pub(super) fn lines_of_stdin() -> io::Result<Receiver<Result<String, String>>> {
    let (sender, lines) = mpsc::channel(16);
    std::thread::Builder::new()
        .name("stdin".into())
        .spawn(move || read_lines(&sender))?;
    Ok(lines)
}

/// Ends with the input, with an error of it, or when nobody wants lines any more.
fn read_lines(sender: &Sender<Result<String, String>>) -> Option<()> {
    let mut splitter = LineSplitter::default();
    let mut buffer = [0; 4_096];
    loop {
        let length = match wait_for_stdin().and_then(|()| read_stdin(&mut buffer)) {
            Ok(length) => length,
            Err(Errno::INTR) => continue,
            Err(_) => 0,
        };
        for line in splitter.push(&buffer[..length]) {
            sender.blocking_send(line).ok()?;
        }
        if length == 0 {
            let last = splitter.finish()?;
            return sender.blocking_send(last).ok();
        }
    }
}

/// Waits without reading: a program that reads from its terminal in the background is stopped.
fn wait_for_stdin() -> Result<(), Errno> {
    loop {
        let patience = Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        let stdin = rustix::stdio::stdin();
        if is_in_background() {
            poll(&mut [], Some(&patience))?;
            continue;
        }
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        if poll(&mut fds, Some(&patience))? > 0 {
            return Ok(());
        }
    }
}

/// Whether standard input is a terminal that belongs to another job.
fn is_in_background() -> bool {
    let foreground = rustix::termios::tcgetpgrp(rustix::stdio::stdin());
    foreground.is_ok_and(|group| group != rustix::process::getpgrp())
}

fn read_stdin(buffer: &mut [u8]) -> Result<usize, Errno> {
    rustix::io::read(rustix::stdio::stdin(), buffer)
}

/// Makes lines of bytes, in bounded memory.
#[derive(Debug, Default)]
struct LineSplitter {
    line: Vec<u8>,
    /// The line is longer than is allowed, and its begin is forgotten.
    is_too_long: bool,
}

impl LineSplitter {
    /// The lines that end in `bytes`.
    fn push(&mut self, bytes: &[u8]) -> Vec<Result<String, String>> {
        let mut lines = Vec::new();
        let mut pieces = bytes.split(|byte| *byte == b'\n');
        let last = pieces.next_back().unwrap_or_default();
        for piece in pieces {
            self.extend(piece);
            lines.extend(self.finish().or_else(|| Some(Ok(String::new()))));
        }
        self.extend(last);
        lines
    }

    /// What has come of a line that is not ended, if anything.
    fn finish(&mut self) -> Option<Result<String, String>> {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_too_long) {
            return Some(Err(format!(
                "line too long: at most {MAX_LINE} bytes allowed"
            )));
        }
        (!line.is_empty()).then(|| Ok(String::from_utf8_lossy(&line).into_owned()))
    }

    fn extend(&mut self, piece: &[u8]) {
        if self.is_too_long || self.line.len() + piece.len() > MAX_LINE {
            self.is_too_long = true;
            self.line.clear();
        } else {
            self.line.extend_from_slice(piece);
        }
    }
}

/// The text before a word that begins with `#`.
fn without_comment(line: &str) -> &str {
    let begins_word = |(at, _): &(usize, &str)| {
        let before = line[..*at].chars().next_back();
        before.is_none_or(char::is_whitespace)
    };
    let comment = line.match_indices('#').find(begins_word);
    comment.map_or(line, |(at, _)| &line[..at])
}

/// Twice what a link may have.
const MAX_LINE: usize = 8_192;
/// With room for comments.
const MAX_FILE: u64 = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(line: &str) -> Option<(Direction, String)> {
        let (direction, link) = parse_line(line)?.unwrap();
        Some((direction, link.to_string()))
    }

    #[test]
    fn a_line_is_a_link_and_return_says_which() {
        let is = |direction, link: &str| Some((direction, link.to_owned()));
        assert_eq!(
            changed(" delay 10ms "),
            is(Direction::ToServer, "delay 10ms")
        );
        assert_eq!(
            changed("return loss 1%"),
            is(Direction::ToClient, "loss 1%")
        );
        assert_eq!(
            changed("return\tloss 1% # up"),
            is(Direction::ToClient, "loss 1%")
        );
        assert_eq!(changed("return"), is(Direction::ToClient, ""));
        for nothing in ["", "  \r", "# delay 10ms"] {
            assert_eq!(changed(nothing), None);
        }
    }

    #[test]
    fn what_is_no_link_is_an_error_of_the_parser() {
        for (line, word) in [("wibble", "wibble"), ("return delay fast", "fast")] {
            let error = parse_line(line).unwrap().unwrap_err();
            assert_eq!(error.word(), word);
        }
    }

    #[test]
    fn lines_are_put_together_however_they_come() {
        let mut splitter = LineSplitter::default();
        assert_eq!(splitter.push(b"del"), []);
        let lines = splitter.push(b"ay 1ms\n\nloss 1%\nre");
        assert_eq!(
            lines,
            ["delay 1ms", "", "loss 1%"].map(|line| Ok(line.to_owned()))
        );
        assert_eq!(splitter.finish(), Some(Ok("re".to_owned())));
        assert_eq!(splitter.finish(), None);
    }

    #[test]
    fn a_line_that_does_not_end_takes_bounded_memory_and_the_next_one_counts() {
        let mut splitter = LineSplitter::default();
        for _ in 0..1_000 {
            assert_eq!(splitter.push(&[b'x'; 1_000]), []);
            assert!(splitter.line.len() <= MAX_LINE);
        }
        let lines = splitter.push(b"x\ndelay 1ms\n");
        assert!(lines[0].is_err());
        assert_eq!(lines[1], Ok("delay 1ms".to_owned()));
    }

    #[test]
    fn a_comment_begins_a_word() {
        assert_eq!(without_comment("trace a#b # c"), "trace a#b ");
        assert_eq!(without_comment("#"), "");
    }
}
