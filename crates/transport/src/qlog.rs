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
//! | `recovery:metrics_updated` | what has changed of `min_rtt`, `smoothed_rtt`, `latest_rtt`, `rtt_variance` (ms), `congestion_window`, `bytes_in_flight` (bytes), `ssthresh`, `pacing_rate` (bits/s); and, beyond the schema, of the controller's `bandwidth`, `delivery_rate` (bits/s), `pacing_gain`, `cwnd_gain`, `inflight_longterm`, `inflight_shortterm` (bytes), `marked_share` |
//! | `recovery:congestion_state_updated` | the controller's state: `SlowStart`, `ProbeBW_UP`, … |
//! | `recovery:careful_resume_phase_updated` | phases of Careful Resume, with `trigger` and `state_data` (draft-ietf-tsvwg-careful-resume-qlog-02), without packet numbers |
//! | `transport:packet_sent`, `recovery:packet_lost` | `header` with type and number, and of what was sent `raw` with the length |
//! | `transport:packet_received` | of packets with ACK frames: `frames` with the `acked_ranges` that are new |
//! | `transport:datagrams_sent`, `transport:datagrams_received` | `count`, and `raw` with the lengths of what was sent |
//! | `connectivity:connection_closed` | `reason` |
//! | `loglevel:warning` | the last one, where events were dropped: `message` says how many |
//!
//! Packets are what congestion control has learned of them, so their other frames are left out, and
//! packets without ACK frames that were received. Times are milliseconds since the first event, or
//! since [`QlogConfig::start_time`]; `group_id` counts the connections. The time of `packet_sent`
//! and `datagrams_sent` is when the connection hands a batch over to be sent. When its
//! datagrams leave is not written: a full socket delays them, and with
//! [`kernel_pacing`](crate::TransportConfig::kernel_pacing) the kernel does until their departure
//! times.

use crate::clock;
use quinn_proto::Side;
use serde::Serialize;
use serde_json::json;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use std::{fmt, thread};
use units::Timestamp;

/// What to write, and where to.
///
/// ```
/// use paceline::{QlogConfig, TransportConfig};
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
    max_bytes: Option<u64>,
    waits: bool,
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

    /// The most bytes to write; events beyond are dropped and [counted](QlogStream::dropped).
    /// Default: no limit.
    pub fn max_bytes(&mut self, max_bytes: u64) -> &mut Self {
        self.max_bytes = Some(max_bytes);
        self
    }

    /// Whether connections wait for a writer that does not keep up, so that no event is missing.
    /// For virtual time, where waiting changes nothing: in real time it delays packets. Default:
    /// they do not, and events are dropped.
    pub fn waits(&mut self, waits: bool) -> &mut Self {
        self.waits = waits;
        self
    }

    /// Begins to write, in a thread of its own that ends with the last handle of the stream and the
    /// last connection. `None` without a [`writer`](Self::writer), or if the system has no thread
    /// to give, which is logged.
    pub fn into_stream(self) -> Option<QlogStream> {
        let (records, queue) = sync_channel(QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        let mut writer = Writer {
            to: self.writer?,
            title: self.title,
            description: self.description,
            room: self.max_bytes.unwrap_or(u64::MAX).saturating_sub(WARNING),
            dropped: Arc::clone(&dropped),
            last: Duration::ZERO,
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
            waits: self.waits,
            dropped,
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
/// Unless it [`waits`](QlogConfig::waits), a connection never waits for it: what the writer does
/// not keep up with is dropped beyond 16,384 events.
#[derive(Clone)]
pub struct QlogStream(Arc<Stream>);

struct Stream {
    records: SyncSender<Record>,
    /// What times are counted from.
    start: OnceLock<Timestamp>,
    connections: AtomicU64,
    waits: bool,
    dropped: Arc<AtomicU64>,
}

enum Record {
    Event {
        side: Side,
        line: String,
        /// Since the trace began.
        at: Duration,
    },
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

    /// Events that were dropped because the writer did not keep up, or there was no more room.
    pub fn dropped(&self) -> u64 {
        self.0.dropped.load(Relaxed)
    }

    pub(crate) fn add_connection(&self) -> u64 {
        self.0.connections.fetch_add(1, Relaxed)
    }

    /// Writes an event whose `data` is a JSON object.
    pub(crate) fn write(
        &self,
        now: Timestamp,
        (side, group): (Side, u64),
        name: &str,
        data: &impl Serialize,
    ) {
        let at = now.since(*self.0.start.get_or_init(|| now));
        let line = json(&Event {
            time: millis(at),
            name,
            group_id: group.to_string(),
            data,
        });
        let record = Record::Event { side, line, at };
        let is_taken = if self.0.waits {
            self.0.records.send(record).is_ok()
        } else {
            self.0.records.try_send(record).is_ok()
        };
        if !is_taken {
            self.0.dropped.fetch_add(1, Relaxed);
        }
    }
}

#[derive(Serialize)]
struct Event<'a, D> {
    time: f64,
    name: &'a str,
    group_id: String,
    data: &'a D,
}

impl fmt::Debug for QlogStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QlogStream")
            .field("dropped", &self.dropped())
            .finish_non_exhaustive()
    }
}

struct Writer {
    to: Box<dyn Write + Send + Sync>,
    title: Option<String>,
    description: Option<String>,
    /// Bytes that may still be written.
    room: u64,
    dropped: Arc<AtomicU64>,
    /// The time of the last event.
    last: Duration,
    has_begun: bool,
}

impl Writer {
    fn run(&mut self, queue: &Receiver<Record>) {
        let mut result = Ok(());
        // To the end even after an error, so that nobody waits for it.
        for record in queue {
            match record {
                Record::Event { side, line, at } if result.is_ok() => {
                    self.last = at;
                    result = self.event(side, &line);
                }
                Record::Event { .. } => {}
                Record::Flush(done) => {
                    result = result.and_then(|()| self.to.flush());
                    drop(done);
                }
            }
        }
        let dropped = self.dropped.load(Relaxed);
        if dropped > 0 && self.has_begun {
            result = result.and_then(|()| self.missing(dropped));
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

    /// A record of JSON text sequences (RFC 7464), if there is room for it.
    fn record(&mut self, json: &str) -> io::Result<()> {
        // With its separator and the end of its line.
        let Some(room) = self.room.checked_sub(json.len() as u64 + 2) else {
            // None of the later ones either, or the trace would have a hole.
            self.room = 0;
            self.dropped.fetch_add(1, Relaxed);
            return Ok(());
        };
        self.room = room;
        writeln!(self.to, "\u{1e}{json}")
    }

    /// Says in the trace itself that it is not whole.
    fn missing(&mut self, dropped: u64) -> io::Result<()> {
        self.room = WARNING;
        self.record(&json(&Event {
            time: millis(self.last),
            name: "loglevel:warning",
            group_id: "0".to_owned(),
            data: &json!({ "message": format!("{dropped} events are missing") }),
        }))
    }

    /// The trace as a whole, seen from the side that its first connection is on.
    fn header(&self, side: Side) -> String {
        let side = match side {
            Side::Client => "client",
            Side::Server => "server",
        };
        json(&Header {
            qlog_version: "0.3",
            qlog_format: "JSON-SEQ",
            title: self.title.as_deref(),
            description: self.description.as_deref(),
            trace: json!({
                "vantage_point": { "name": "paceline", "type": side },
                "common_fields": {
                    "time_format": "relative",
                    "reference_time": 0,
                    "protocol_type": ["QUIC"],
                },
            }),
        })
    }
}

#[derive(Serialize)]
struct Header<'a> {
    qlog_version: &'a str,
    qlog_format: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    trace: serde_json::Value,
}

fn json(record: &impl Serialize) -> String {
    serde_json::to_string(record).expect("every key of a record is a string")
}

/// A time in milliseconds, exact to the nanosecond below 104 days (2⁵³ ns).
pub(crate) fn millis(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

/// Events that wait to be written: about a second of one connection at 100 Mbit/s, 3 MB.
const QUEUE: usize = 16_384;

/// Bytes that are kept for the last event, which says how many are missing.
const WARNING: u64 = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::sync::Mutex;

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
        let at = Timestamp::from_millis(70);
        stream.write(at, CLIENT, "a:b", &json!({ "x": 1 }));
        let later = at + Duration::from_micros(1_500);
        stream.write(later, CLIENT, "a:c", &json!({}));
        stream.flush();
        let written = String::from_utf8(shared.0.lock().unwrap().clone()).unwrap();
        let records: Vec<Value> = written
            .split_terminator('\n')
            .map(|record| serde_json::from_str(record.strip_prefix('\u{1e}').unwrap()).unwrap())
            .collect();
        let header = json!({
            "qlog_version": "0.3",
            "qlog_format": "JSON-SEQ",
            "title": "a \"title\"\n",
            "trace": {
                "vantage_point": { "name": "paceline", "type": "client" },
                "common_fields": {
                    "time_format": "relative",
                    "reference_time": 0,
                    "protocol_type": ["QUIC"],
                },
            },
        });
        let event = json!({ "time": 0.0, "name": "a:b", "group_id": "0", "data": { "x": 1 } });
        let later = json!({ "time": 1.5, "name": "a:c", "group_id": "0", "data": {} });
        assert_eq!(records, [header, event, later]);
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
            stream.write(Timestamp::ZERO, CLIENT, "a:b", &json!({}));
        }
        // One more is in the writer's hands.
        assert!((99..=100).contains(&stream.dropped()));
        drop(release);
        stream.flush();
    }

    #[test]
    fn beyond_the_most_bytes_events_are_counted_and_not_written() {
        let shared = Shared::default();
        let mut config = QlogConfig::default();
        config.writer(Box::new(shared.clone())).max_bytes(600);
        config.waits(true);
        let stream = config.into_stream().unwrap();
        for number in 0..2 * QUEUE {
            stream.write(Timestamp::ZERO, CLIENT, "a:b", &json!({ "x": number }));
        }
        stream.flush();
        let written = String::from_utf8(shared.0.lock().unwrap().clone()).unwrap();
        assert!((300..=400).contains(&written.len()), "{written}");
        assert!(written.ends_with("}\n"), "whole records: {written}");
        // The header is none of them.
        let events = written.lines().count() as u64 - 1;
        assert_eq!(stream.dropped() + events, 2 * QUEUE as u64);
        let dropped = stream.dropped();
        drop(stream);
        // The thread ends with its last handle, and takes the writer along.
        while Arc::strong_count(&shared.0) > 1 {
            thread::yield_now();
        }
        let written = String::from_utf8(shared.0.lock().unwrap().clone()).unwrap();
        assert!(written.len() <= 600, "{written}");
        let last = written.lines().last().unwrap();
        assert!(
            last.contains(&format!("{dropped} events are missing")),
            "{last}"
        );
    }

    #[test]
    fn without_a_writer_there_is_no_stream() {
        assert!(QlogConfig::default().into_stream().is_none());
    }
}
