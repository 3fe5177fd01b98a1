//! What leaves and what is acknowledged, packet by packet, read where packets are protected.
//!
//! ```text
//!  quinn_proto::Connection ── encrypt(number, packet) ──▶ TappedKey ── Sent ──┐
//!            ▲                                               │                ▼
//!            └───────── payload ◀── decrypt(number, …) ──────┴── Ack ──▶ Tap ──▶ cc_adapter
//! ```
//!
//! quinn-proto tells congestion control sums. But its packet protection is a trait, and keys see
//! the number, the length and the plain text of every packet: those of the Initial, Handshake and
//! application data spaces, with 0-RTT and 1-RTT keys, through Retry and key updates. So keys are
//! wrapped. Of what leaves, number, length and kind are recorded; of what arrives, ACK frames
//! (RFC 9000 §19.3) are read and nothing else. quinn-proto checks all of it, as before.
//!
//! A packet that quinn-proto drops after decrypting it, such as a duplicate, is read here all the
//! same. Nobody has checked what it acknowledges, so the driver compares how many ACK frames were
//! [read](Received::frames) with how many quinn-proto has processed.

mod ecn;
mod frames;
mod header;
mod keys;

use crate::quinn_proto_habits::MAX_LATE;
use core::ops::Range;
use ecn::Rewrite;
use ecn::SentEcn;
use frames::{AckFrame, Frames, varint};
pub(crate) use frames::{Content, EcnCounts};
use header::SharedHeaderKey;
pub(crate) use header::{Head, ShortHeader};
use quinn_proto::EcnCodepoint;
use quinn_proto::crypto::{ClientConfig, ServerConfig};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// A packet number space (RFC 9002 §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Initial,
    Handshake,
    /// 0-RTT and 1-RTT packets.
    Data,
}

/// A packet that has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) space: Space,
    pub(crate) number: u64,
    /// Its length as quinn-proto counts it in flight: header, payload and tag.
    pub(crate) bytes: u16,
    pub(crate) content: Content,
}

/// An ACK frame that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ack {
    pub(crate) space: Space,
    pub(crate) largest: u64,
    /// How long the peer says that it has held the ACK back, at most its `max_ack_delay`; zero
    /// outside the space of application data (RFC 9002 §5.3).
    pub(crate) delay: Duration,
    pub(crate) ecn: Option<EcnCounts>,
    /// How many of the [ranges](Received::ranges) that follow those of the ACK before are its own.
    pub(crate) ranges: usize,
}

/// What has arrived since it was last taken.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// Of which spaces quinn-proto has forgotten the packets in flight: their keys are gone, or
    /// 0-RTT was not accepted. ACKs of the Initial and Handshake spaces came before that, for
    /// nothing can be read without keys, and those of application data after it, for 0-RTT packets
    /// that were not accepted are never acknowledged.
    pub(crate) discarded: [bool; 3],
    pub(crate) acks: Vec<Ack>,
    /// Packet numbers acknowledged, smallest and largest, in the order of their frames.
    pub(crate) ranges: Vec<(u64, u64)>,
    /// How many ACK frames there were, those included that no room was left for.
    pub(crate) frames: u64,
}

/// What the keys of one connection have seen.
#[derive(Debug, Default)]
pub(crate) struct Tap {
    log: Mutex<Log>,
    /// Whether there is something to take. The thread that holds the connection reads and writes
    /// it, nobody else.
    has_received: AtomicBool,
    /// The newest packet of application data that has been authenticated.
    newest_received: AtomicU64,
    /// Whether quinn-proto has dropped a packet because it came too late.
    has_dropped: AtomicBool,
    /// What protects the headers of 1-RTT packets from the peer.
    header_key: OnceLock<SharedHeaderKey>,
    /// Octets of the connection IDs in them.
    cid_len: AtomicUsize,
}

#[derive(Debug)]
struct Log {
    sent: Vec<Sent>,
    received: Received,
    ecn: SentEcn,
    /// By space, the number after the greatest that was sent.
    next: [u64; 3],
    /// Of the peer's transport parameters (RFC 9000 §18.2).
    ack_delay_exponent: u64,
    max_ack_delay: Duration,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            sent: Vec::new(),
            received: Received::default(),
            ecn: SentEcn::default(),
            next: [0; 3],
            ack_delay_exponent: DEFAULT_EXPONENT,
            max_ack_delay: DEFAULT_MAX_ACK_DELAY,
        }
    }
}

impl Tap {
    /// `crypto`, with sessions whose keys this tap sees.
    pub(crate) fn client(self: &Arc<Self>, crypto: Arc<dyn ClientConfig>) -> Arc<dyn ClientConfig> {
        Arc::new(keys::Tapped::new(crypto, Arc::clone(self)))
    }

    /// `crypto`, with sessions whose keys this tap sees.
    pub(crate) fn server(self: &Arc<Self>, crypto: Arc<dyn ServerConfig>) -> Arc<dyn ServerConfig> {
        Arc::new(keys::Tapped::new(crypto, Arc::clone(self)))
    }

    /// Exchanges `sent`, whose contents are lost, for the packets that have left since the last
    /// call, with this codepoint.
    pub(crate) fn take_sent(&self, sent: &mut Vec<Sent>, codepoint: Option<EcnCodepoint>) {
        sent.clear();
        let mut log = self.log();
        std::mem::swap(sent, &mut log.sent);
        let of_data = sent.iter().filter(|sent| sent.space == Space::Data);
        log.ecn.count(codepoint, of_data.count() as u64);
    }

    /// Exchanges `received`, whose contents are lost, for what has come since the last call.
    /// Whether anything has.
    pub(crate) fn take_received(&self, received: &mut Received) -> bool {
        // Most datagrams that come to a receiver hold no ACK.
        if !self.has_received.load(Relaxed) {
            return false;
        }
        self.has_received.store(false, Relaxed);
        received.clear();
        std::mem::swap(received, &mut self.log().received);
        true
    }

    /// The number of the newest packet of application data that quinn-proto has had.
    pub(crate) fn newest_received(&self) -> u64 {
        self.newest_received.load(Relaxed)
    }

    /// Whether quinn-proto has dropped a packet because it came too late, since the last call.
    pub(crate) fn take_dropped(&self) -> bool {
        self.has_dropped.load(Relaxed) && self.has_dropped.swap(false, Relaxed)
    }

    /// The header of a packet that has come and that quinn-proto has not had yet.
    pub(crate) fn read_header(&self, head: Head) -> Option<ShortHeader> {
        let cid_len = self.cid_len.load(Relaxed);
        head.read(self.header_key.get()?, cid_len, self.newest_received())
    }

    /// The peer's `max_ack_delay`.
    pub(crate) fn max_ack_delay(&self) -> Duration {
        self.log().max_ack_delay
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        // Each step leaves a whole log behind.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn on_sent(&self, space: Space, number: u64, packet: &[u8], payload: &[u8]) {
        let content = Content::of(payload);
        let Log { sent, next, .. } = &mut *self.log();
        next[space as usize] = number + 1;
        if sent.len() < MAX_SENT {
            sent.push(Sent {
                space,
                number,
                bytes: u16::try_from(packet.len()).unwrap_or(u16::MAX),
                content,
            });
        }
    }

    /// A packet of application data has been authenticated.
    fn on_number(&self, number: u64) {
        let newest = self.newest_received();
        if number > newest {
            self.newest_received.store(number, Relaxed);
        } else if newest - number > MAX_LATE {
            self.has_dropped.store(true, Relaxed);
        }
    }

    /// Reads ACK frames. What is to be changed in the payload before quinn-proto reads it.
    fn on_received(&self, space: Space, payload: &[u8]) -> Option<Rewrite> {
        let mut frames = Frames::new(payload);
        let mut has_ecn = frames.find_ack()?;
        let mut log = self.log();
        self.has_received.store(true, Relaxed);
        let mut rewrite = None;
        while let Some((frame, counts_at)) = log.read_ack(space, &mut frames, has_ecn) {
            if let (Space::Data, Some(counts)) = (space, frame.ecn) {
                rewrite = log.ecn.rewrite(counts, counts_at).or(rewrite);
            }
            match frames.find_ack() {
                Some(next) => has_ecn = next,
                None => break,
            }
        }
        rewrite
    }

    fn on_discarded(&self, space: Space) {
        self.has_received.store(true, Relaxed);
        self.log().received.discarded[space as usize] = true;
    }

    /// The own transport parameters as they are encoded.
    fn on_own_parameters(&self, encoded: &[u8]) {
        let cid = parameter(encoded, INITIAL_SOURCE_CONNECTION_ID);
        self.cid_len.store(cid.map_or(0, <[u8]>::len), Relaxed);
    }

    /// The peer's transport parameters as they are encoded: those remembered of an earlier
    /// connection, and then its own, which take their place (RFC 9000 §7.4.1).
    fn on_parameters(&self, encoded: &[u8]) {
        let mut log = self.log();
        let exponent = integer(encoded, ACK_DELAY_EXPONENT);
        log.ack_delay_exponent = exponent.unwrap_or(DEFAULT_EXPONENT).min(MAX_EXPONENT);
        let millis = integer(encoded, MAX_ACK_DELAY);
        log.max_ack_delay = millis.map_or(DEFAULT_MAX_ACK_DELAY, Duration::from_millis);
    }
}

impl Log {
    /// Reads an ACK frame and keeps it. `None` where it is malformed, or acknowledges what was not
    /// sent: quinn-proto closes the connection then (RFC 9000 §13.1).
    fn read_ack(
        &mut self,
        space: Space,
        frames: &mut Frames<'_>,
        has_ecn: bool,
    ) -> Option<(AckFrame, Range<usize>)> {
        let ranges = &mut self.received.ranges;
        let before = ranges.len();
        let read = frames.ack(has_ecn, |smallest, largest| {
            if ranges.len() < MAX_RANGES {
                ranges.push((smallest, largest));
            }
        });
        let read = read.filter(|(frame, _)| frame.largest < self.next[space as usize]);
        let Some((frame, _)) = &read else {
            ranges.truncate(before);
            return None;
        };
        let exponent = self.ack_delay_exponent;
        let delay = match space {
            Space::Initial | Space::Handshake => Duration::ZERO,
            Space::Data => Duration::from_micros(frame.delay.saturating_mul(1 << exponent))
                .min(self.max_ack_delay),
        };
        let ack = Ack {
            space,
            largest: frame.largest,
            delay,
            ecn: frame.ecn,
            ranges: ranges.len() - before,
        };
        self.received.push(ack);
        read
    }
}

impl Received {
    /// Adds an ACK, whose ranges are the last ones.
    ///
    /// Where there is no room, it takes the place of the last one if it acknowledges more, or its
    /// ranges go. So what is newest is known, and packets before it do not stay in flight for ever.
    fn push(&mut self, ack: Ack) {
        self.frames += 1;
        if self.acks.len() < MAX_ACKS {
            return self.acks.push(ack);
        }
        let start = self.ranges.len() - ack.ranges;
        let last = self.acks.last_mut().expect("it is full");
        if last.space == ack.space && last.largest < ack.largest {
            self.ranges.drain(start - last.ranges..start);
            *last = ack;
        } else {
            self.ranges.truncate(start);
        }
    }

    /// Forgets what was acknowledged in packets that were not processed.
    pub(crate) fn forget_acks(&mut self) {
        self.acks.clear();
        self.ranges.clear();
    }

    fn clear(&mut self) {
        self.discarded = [false; 3];
        self.frames = 0;
        self.forget_acks();
    }
}

/// The value of a transport parameter that is an integer (RFC 9000 §18).
fn integer(encoded: &[u8], wanted: u64) -> Option<u64> {
    varint(parameter(encoded, wanted)?).map(|(value, _)| value)
}

/// The value of a transport parameter (RFC 9000 §18).
fn parameter(mut encoded: &[u8], wanted: u64) -> Option<&[u8]> {
    while !encoded.is_empty() {
        let (id, length) = varint(encoded)?;
        encoded = &encoded[length..];
        let (size, length) = varint(encoded)?;
        let (value, rest) = encoded[length..].split_at_checked(usize::try_from(size).ok()?)?;
        if id == wanted {
            return Some(value);
        }
        encoded = rest;
    }
    None
}

/// Transport parameters (RFC 9000 §18.2).
const ACK_DELAY_EXPONENT: u64 = 0x0a;
const MAX_ACK_DELAY: u64 = 0x0b;
const INITIAL_SOURCE_CONNECTION_ID: u64 = 0x0f;
const DEFAULT_EXPONENT: u64 = 3;
const DEFAULT_MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// The largest valid exponent; quinn-proto refuses others.
const MAX_EXPONENT: u64 = 20;

/// Packets recorded between two calls of a driver, which takes them after each batch: a batch has
/// 54 datagrams, and a datagram of the handshake three packets.
const MAX_SENT: usize = 256;
/// ACK frames and ranges read between two calls of a driver, which takes them after each datagram.
/// A datagram of 1,452 bytes holds some 700 ranges. Those beyond are the oldest of their frame: they
/// have been acknowledged before, or are lost to congestion control alone.
const MAX_ACKS: usize = 64;
const MAX_RANGES: usize = 1_024;

#[cfg(test)]
mod tests;
