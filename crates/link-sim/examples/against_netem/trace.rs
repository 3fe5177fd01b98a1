//! What became of every packet of one run.

use std::io::{self, BufRead, Write};
use units::{Bytes, Timestamp};

/// Packets by their sequence number, and their arrivals by time.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Trace {
    pub(crate) sent: Vec<Sent>,
    pub(crate) received: Vec<Received>,
}

/// A packet that was sent; its place in the trace is its sequence number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sent {
    pub(crate) at: Timestamp,
    /// As a qdisc counts it.
    pub(crate) size: Bytes,
}

/// The arrival of a packet, or of a copy of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Received {
    pub(crate) at: Timestamp,
    pub(crate) sequence: usize,
}

impl Trace {
    /// One line each: `sent NANOSECONDS BYTES` in the order of sequence numbers, from zero, and
    /// `received NANOSECONDS SEQUENCE` in the order of arrival.
    pub(crate) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        for sent in &self.sent {
            writeln!(to, "sent {} {}", sent.at.as_nanos(), sent.size.get())?;
        }
        for received in &self.received {
            let nanos = received.at.as_nanos();
            writeln!(to, "received {nanos} {}", received.sequence)?;
        }
        to.flush()
    }

    /// # Errors
    /// A line that is none of the two, with its text; a sequence number that was not sent.
    pub(crate) fn read(from: impl BufRead) -> io::Result<Self> {
        let mut trace = Self::default();
        for line in from.lines() {
            let line = line?;
            trace.take(&line).ok_or_else(|| wrong(&line))?;
        }
        let known = trace.sent.len();
        match trace.received.iter().find(|it| it.sequence >= known) {
            Some(unknown) => Err(wrong(&format!("received … {}", unknown.sequence))),
            None => Ok(trace),
        }
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let mut words = line.split(' ');
        let kind = words.next()?;
        let at = Timestamp::from_nanos(words.next()?.parse().ok()?);
        let last = words.next()?;
        match kind {
            "sent" => self.sent.push(Sent {
                at,
                size: Bytes::new(last.parse().ok()?),
            }),
            "received" => self.received.push(Received {
                at,
                sequence: last.parse().ok()?,
            }),
            _ => return None,
        }
        words.next().is_none().then_some(())
    }
}

fn wrong(line: &str) -> io::Error {
    let expected = "expected `sent NANOSECONDS BYTES` or `received NANOSECONDS SEQUENCE`";
    io::Error::other(format!(
        "`{line}` in the trace: {expected} of one that was sent"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_as_it_was_written() {
        let trace = Trace {
            sent: vec![Sent {
                at: Timestamp::from_nanos(5),
                size: Bytes::new(142),
            }],
            received: vec![Received {
                at: Timestamp::from_nanos(7),
                sequence: 0,
            }],
        };
        let mut text = Vec::new();
        trace.write(&mut text).unwrap();
        assert_eq!(text, b"sent 5 142\nreceived 7 0\n");
        assert_eq!(Trace::read(text.as_slice()).unwrap(), trace);
    }

    #[test]
    fn a_wrong_line_is_named() {
        for text in ["sent 5\n", "lost 5 7\n", "sent 5 7 9\n", "received 5 0\n"] {
            let error = Trace::read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("in the trace"), "{text}: {error}");
        }
    }
}
