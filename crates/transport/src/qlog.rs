//! qlog: what happens inside connections, for qvis and the like (feature `qlog`).
//!
//! [`QlogConfig`] and [`QlogStream`] are quinn's, with two differences: nothing waits for the
//! file, and what is written is congestion control as this crate knows it. The format is JSON-SEQ
//! of qlog 0.3 (draft-ietf-quic-qlog-main-schema-02, draft-ietf-quic-qlog-quic-events-01), which
//! qvis reads:
//!
//! | event | data |
//! |---|---|
//! | `connectivity:connection_started` | addresses and ports |
//! | `recovery:metrics_updated` | what has changed of `min_rtt`, `smoothed_rtt`, `latest_rtt`, `rtt_variance` (ms), `congestion_window`, `bytes_in_flight` (bytes), `ssthresh`, `pacing_rate` (bits/s) |
//! | `recovery:congestion_state_updated` | the controller's state: `SlowStart`, `ProbeBW_UP`, … |
//! | `transport:datagrams_sent`, `transport:datagrams_received` | `count`, and `raw` with the lengths of what was sent |
//! | `connectivity:connection_closed` | `reason` |
//!
//! Packets are not among them: quinn-proto keeps their numbers to itself. Times are milliseconds
//! since the first event, or since [`QlogConfig::start_time`]; `group_id` counts the connections.

use crate::clock;
use quinn_proto::Side;
use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Instant;
use units::Timestamp;

/// What to write, and where to.
///
/// ```
/// use transport::{QlogConfig, TransportConfig};
///
/// let mut qlog = QlogConfig::default();
/// qlog.writer(Box::new(std::io::sink())).title(Some("upload".to_owned()));
/// let mut config = TransportConfig::default();
/// config.qlog_stream(qlog.into_stream());
/// ```
#[derive(Default)]
pub struct QlogConfig {
    writer: Option<Box<dyn Write + Send + Sync>>,
    title: Option<String>,
    description: Option<String>,
    start_time: Option<Instant>,
}

impl QlogConfig {
    /// Where to write: a file, usually with the extension `sqlog`.
    pub fn writer(&mut self, writer: Box<dyn Write + Send + Sync>) -> &mut Self {
        self.writer = Some(writer);
        self
    }

    /// A title for the trace.
    pub fn title(&mut self, title: Option<String>) -> &mut Self {
        self.title = title;
        self
    }

    /// A description of the trace.
    pub fn description(&mut self, description: Option<String>) -> &mut Self {
        self.description = description;
        self
    }

    /// What times are counted from. Default: the first event.
    pub fn start_time(&mut self, start_time: Instant) -> &mut Self {
        self.start_time = Some(start_time);
        self
    }

    /// Begins to write, in a thread of its own that ends with the last handle of the stream and the
    /// last connection. `None` without a [`writer`](Self::writer), or if the system has no thread
    /// to give, which is logged.
    pub fn into_stream(self) -> Option<QlogStream> {
        let (records, queue) = sync_channel(QUEUE);
        let mut writer = Writer {
            to: self.writer?,
            title: self.title,
            description: self.description,
            has_begun: false,
        };
        let started = thread::Builder::new()
            .name("qlog".to_owned())
            .spawn(move || writer.run(&queue));
        if let Err(error) = started {
            tracing::warn!(%error, "cannot start the qlog writer thread");
            return None;
        }
        let start = OnceLock::new();
        if let Some(instant) = self.start_time {
            start.get_or_init(|| clock::timestamp(instant));
        }
        Some(QlogStream(Arc::new(Stream {
            records,
            start,
            connections: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        })))
    }
}

impl fmt::Debug for QlogConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QlogConfig")
            .field("title", &self.title)
            .finish_non_exhaustive()
    }
}

/// A trace that any number of connections write to; clones are handles to it.
///
/// A connection never waits for it: what the writer does not keep up with is dropped beyond 8,192
/// events.
#[derive(Clone)]
pub struct QlogStream(Arc<Stream>);

struct Stream {
    records: SyncSender<Record>,
    /// What times are counted from.
    start: OnceLock<Timestamp>,
    connections: AtomicU64,
    dropped: AtomicU64,
}

enum Record {
    Event { side: Side, line: String },
    Flush(SyncSender<()>),
}

impl QlogStream {
    /// Waits until what has happened so far is written, or cannot be.
    pub fn flush(&self) {
        let (done, is_done) = sync_channel(1);
        if self.0.records.send(Record::Flush(done)).is_ok() {
            // It fails when the thread ends, and then there is nothing to wait for.
            let _ = is_done.recv();
        }
    }

    /// Events that were dropped because the writer did not keep up.
    pub fn dropped(&self) -> u64 {
        self.0.dropped.load(Relaxed)
    }

    /// Another connection's number.
    pub(crate) fn add_connection(&self) -> u64 {
        self.0.connections.fetch_add(1, Relaxed)
    }

    /// Writes an event whose `data` are the members of a JSON object.
    pub(crate) fn write(&self, now: Timestamp, connection: (Side, u64), name: &str, data: &str) {
        let start = *self.0.start.get_or_init(|| now);
        let time = Millis(now.since(start));
        let (side, group) = connection;
        let line =
            format!(r#"{{"time":{time},"name":"{name}","group_id":"{group}","data":{{{data}}}}}"#);
        if self
            .0
            .records
            .try_send(Record::Event { side, line })
            .is_err()
        {
            self.0.dropped.fetch_add(1, Relaxed);
        }
    }
}

impl fmt::Debug for QlogStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QlogStream")
            .field("dropped", &self.dropped())
            .finish_non_exhaustive()
    }
}

/// What the thread has.
struct Writer {
    to: Box<dyn Write + Send + Sync>,
    title: Option<String>,
    description: Option<String>,
    has_begun: bool,
}

impl Writer {
    fn run(&mut self, queue: &Receiver<Record>) {
        let mut result = Ok(());
        // To the end even after an error, so that nobody waits for it.
        for record in queue {
            match record {
                Record::Event { side, line } if result.is_ok() => result = self.event(side, &line),
                Record::Event { .. } => {}
                Record::Flush(done) => {
                    result = result.and_then(|()| self.to.flush());
                    drop(done);
                }
            }
        }
        if let Err(error) = result.and_then(|()| self.to.flush()) {
            tracing::warn!(%error, "cannot write qlog");
        }
    }

    fn event(&mut self, side: Side, line: &str) -> io::Result<()> {
        if !self.has_begun {
            self.has_begun = true;
            let header = self.header(side);
            self.record(&header)?;
        }
        self.record(line)
    }

    /// A record of JSON text sequences (RFC 7464).
    fn record(&mut self, json: &str) -> io::Result<()> {
        writeln!(self.to, "\u{1e}{json}")
    }

    /// The trace as a whole, seen from the side that its first connection is on.
    fn header(&self, side: Side) -> String {
        let side = match side {
            Side::Client => "client",
            Side::Server => "server",
        };
        let mut header = r#"{"qlog_version":"0.3","qlog_format":"JSON-SEQ""#.to_owned();
        for (name, text) in [("title", &self.title), ("description", &self.description)] {
            if let Some(text) = text {
                let _ = write!(header, r#","{name}":{}"#, Text(text));
            }
        }
        header
            + r#","trace":{"vantage_point":{"name":"transport","type":""#
            + side
            + r#""},"common_fields":{"time_format":"relative","reference_time":0,"#
            + r#""protocol_type":["QUIC"]}}}"#
    }
}

/// A time in milliseconds.
pub(crate) struct Millis(pub(crate) std::time::Duration);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:06}",
            self.0.as_millis(),
            self.0.subsec_nanos() % 1_000_000
        )
    }
}

/// A JSON string.
pub(crate) struct Text<'a>(pub(crate) &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for character in self.0.chars() {
            match character {
                '"' | '\\' => write!(f, "\\{character}")?,
                character if character < ' ' => write!(f, "\\u{:04x}", u32::from(character))?,
                character => f.write_char(character)?,
            }
        }
        f.write_char('"')
    }
}

/// Events that wait to be written: about a second of one connection at 100 Mbit/s, 2 MB.
const QUEUE: usize = 8_192;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::time::Duration;

    const CLIENT: (Side, u64) = (Side::Client, 0);

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn records_are_framed_and_times_relative() {
        let shared = Shared::default();
        let mut config = QlogConfig::default();
        let title = "a \"title\"\n".to_owned();
        config.writer(Box::new(shared.clone())).title(Some(title));
        let stream = config.into_stream().unwrap();
        stream.write(Timestamp::from_millis(70), CLIENT, "a:b", r#""x":1"#);
        let later = Timestamp::from_millis(70) + Duration::from_micros(1_500);
        stream.write(later, CLIENT, "a:c", "");
        stream.flush();
        let written = String::from_utf8(shared.0.lock().unwrap().clone()).unwrap();
        let records: Vec<_> = written.split_terminator('\n').collect();
        assert!(records[0].starts_with("\u{1e}{\"qlog_version\":\"0.3\""));
        assert!(records[0].contains(r#""title":"a \"title\"\u000a","trace""#));
        assert!(records[0].contains(r#""type":"client""#));
        let event =
            "\u{1e}{\"time\":0.000000,\"name\":\"a:b\",\"group_id\":\"0\",\"data\":{\"x\":1}}";
        assert_eq!(records[1], event);
        assert!(records[2].starts_with("\u{1e}{\"time\":1.500000,"));
    }

    #[test]
    fn a_writer_that_hangs_holds_nobody_up() {
        struct Hanging(Receiver<()>);
        impl Write for Hanging {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                let _ = self.0.recv();
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        // `Receiver` is not `Sync`.
        struct Alone(Mutex<Hanging>);
        impl Write for Alone {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().unwrap().write(bytes)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (release, hold) = std::sync::mpsc::channel();
        let mut config = QlogConfig::default();
        config.writer(Box::new(Alone(Mutex::new(Hanging(hold)))));
        let stream = config.into_stream().unwrap();
        for _ in 0..QUEUE + 100 {
            stream.write(Timestamp::ZERO, CLIENT, "a:b", "");
        }
        // One more is in the writer's hands.
        assert!((99..=100).contains(&stream.dropped()));
        drop(release);
        stream.flush();
    }

    #[test]
    fn without_a_writer_there_is_no_stream() {
        assert!(QlogConfig::default().into_stream().is_none());
    }
}
