//! What the keys of a connection see, until the driver takes it.

use super::departed::Departed;
use super::ecn::{Rewrite, SentEcn};
use super::facts::{Ack, MAX_RANGES, PaddingMark, Received, Sent, Space};
use super::frames::{AckFrame, Content, Frames, count_datagrams};
use super::header::{Head, SharedHeaderKey, ShortHeader};
use super::parameters::{
    ACK_DELAY_EXPONENT, DEFAULT_EXPONENT, DEFAULT_MAX_ACK_DELAY, INITIAL_SOURCE_CONNECTION_ID,
    MAX_ACK_DELAY, MAX_EXPONENT, MIN_ACK_DELAY, integer, parameter,
};
use super::recent::Recent;
use crate::lock::{Guard, Lock, Locked, Rank};
use crate::quinn_proto_habits::MAX_LATE;
use bytes::BytesMut;
use core::ops::Range;
use quinn_proto::{EcnCodepoint, StreamId};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// What the keys of one connection have seen.
#[derive(Debug, Default)]
pub(crate) struct Tap {
    log: Lock<Log>,
    /// Whether there is something to take. The thread that holds the connection reads and writes
    /// it, nobody else.
    has_received: AtomicBool,
    /// The newest packet of application data that has been authenticated.
    newest_received: AtomicU64,
    /// How many of them have been.
    authenticated: AtomicU64,
    /// How many pairs of 1-RTT keys there have been after the first.
    next_keys: AtomicU64,
    /// Which of the last 128 packets of application data have come.
    recent: Recent,
    /// Whether quinn-proto has dropped a packet because it came too late.
    has_dropped: AtomicBool,
    /// What protects the headers of 1-RTT packets from the peer.
    header_key: OnceLock<SharedHeaderKey>,
    /// Octets of the connection IDs in them.
    cid_len: AtomicUsize,
    /// Whether packets that leave may have datagrams, which are to be counted.
    counts_datagrams: AtomicBool,
    /// Whether there are streams of which it is to be known how much has left.
    watches_streams: AtomicBool,
    /// How datagrams begin that are padding, once there are such.
    pub(super) padding: OnceLock<PaddingMark>,
    /// Octets that each 1-RTT packet has to leave free for a request, until one carries it.
    pub(super) reserved: AtomicUsize,
}

#[derive(Debug)]
pub(super) struct Log {
    sent: Vec<Sent>,
    received: Received,
    ecn: SentEcn,
    departed: Departed,
    /// By space, the number after the greatest that was sent.
    next: [u64; 3],
    /// Of the peer's transport parameters (RFC 9000 §18.2).
    ack_delay_exponent: u64,
    pub(super) max_ack_delay: Duration,
    /// Whether it understands ACK_FREQUENCY frames.
    pub(super) knows_ack_frequency: bool,
    /// The frame that the next packet with application data has to carry.
    pub(super) request: Vec<u8>,
    /// The packet that carries it.
    pub(super) carrier: Option<u64>,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            sent: Vec::new(),
            received: Received::default(),
            ecn: SentEcn::default(),
            departed: Departed::default(),
            next: [0; 3],
            ack_delay_exponent: DEFAULT_EXPONENT,
            max_ack_delay: DEFAULT_MAX_ACK_DELAY,
            knows_ack_frequency: false,
            request: Vec::new(),
            carrier: None,
        }
    }
}

impl Locked for Log {
    const RANK: Rank = Rank::Tap;
}

impl Tap {
    /// Exchanges `sent`, whose contents are lost, for the packets that have left since the last
    /// call, with this codepoint.
    pub(crate) fn take_sent(&self, sent: &mut Vec<Sent>, codepoint: Option<EcnCodepoint>) {
        sent.clear();
        let mut log = self.log();
        std::mem::swap(sent, &mut log.sent);
        let of_data = sent.iter().filter(|sent| sent.space == Space::Data);
        log.ecn.count(codepoint, of_data.count() as u64);
    }

    /// Whether DATAGRAM frames are counted from now on in packets that leave: where there can be
    /// none, there is no need to look.
    pub(crate) fn count_datagrams(&self, counts: bool) {
        self.counts_datagrams.store(counts, Relaxed);
    }

    /// Watches a stream of which nothing has left, until [`Self::forget_stream`].
    pub(crate) fn watch_stream(&self, id: StreamId) {
        self.log().departed.watch(id.into());
        self.watches_streams.store(true, Relaxed);
    }

    pub(crate) fn forget_stream(&self, id: StreamId) {
        if self.watches_streams.load(Relaxed) {
            let are_left = self.log().departed.forget(id.into());
            self.watches_streams.store(are_left, Relaxed);
        }
    }

    /// How many bytes of a stream that is watched have been in a packet.
    pub(crate) fn departed(&self, id: StreamId) -> u64 {
        self.log().departed.of(id.into())
    }

    /// `take` gets what has come since the last call, if anything has. It may not call this tap.
    pub(crate) fn take_received<R>(&self, take: impl FnOnce(&mut Received) -> R) -> Option<R> {
        // Most datagrams that come to a receiver hold no ACK.
        if !self.has_received.load(Relaxed) {
            return None;
        }
        self.has_received.store(false, Relaxed);
        let received = &mut self.log().received;
        let taken = take(received);
        received.clear();
        Some(taken)
    }

    /// Gives back the memory for what comes, until something does.
    pub(crate) fn release(&self) {
        self.log().received.release();
    }

    /// The number of the newest packet of application data that quinn-proto has had.
    pub(crate) fn newest_received(&self) -> u64 {
        self.newest_received.load(Relaxed)
    }

    /// Whether quinn-proto has dropped a packet because it came too late, since the last call.
    pub(crate) fn take_dropped(&self) -> bool {
        self.has_dropped.load(Relaxed) && self.has_dropped.swap(false, Relaxed)
    }

    /// How many packets of application data have been authenticated, duplicates included.
    pub(crate) fn authenticated(&self) -> u64 {
        self.authenticated.load(Relaxed)
    }

    /// Whether the keys of application data are not the first ones any more.
    pub(crate) fn has_updated_keys(&self) -> bool {
        // Those of the next update are made in advance.
        self.next_keys.load(Relaxed) > 1
    }

    /// Whether a packet of application data may still be on its way that quinn-proto would take,
    /// although a later one has come.
    pub(crate) fn has_gaps(&self) -> bool {
        self.recent.has_gaps(self.newest_received())
    }

    /// How many of the last 128 packets of application data have not come.
    pub(crate) fn missing(&self) -> u32 {
        self.recent.missing(self.newest_received())
    }

    /// The header of a packet that has come and that quinn-proto has not had yet.
    pub(crate) fn read_header(&self, head: Head) -> Option<ShortHeader> {
        let cid_len = self.cid_len.load(Relaxed);
        head.read(self.header_key.get()?, cid_len, self.newest_received())
    }

    pub(super) fn log(&self) -> Guard<'_, Log> {
        // Each step leaves a whole log behind.
        self.log.lock()
    }

    /// This packet leaves.
    pub(crate) fn on_sent(&self, space: Space, number: u64, packet: &[u8], payload: &[u8]) {
        let content = Content::of(payload);
        let datagrams = match self.counts_datagrams.load(Relaxed) {
            true => count_datagrams(payload),
            false => 0,
        };
        let watches_streams = space == Space::Data && self.watches_streams.load(Relaxed);
        let mut log = self.log();
        if watches_streams {
            log.departed.on_sent(payload);
        }
        let Log { sent, next, .. } = &mut *log;
        next[space as usize] = number + 1;
        if sent.len() < MAX_SENT {
            sent.push(Sent {
                space,
                number,
                bytes: u16::try_from(packet.len()).unwrap_or(u16::MAX),
                content,
                datagrams,
            });
        }
    }

    /// Reads the ACK frames of a packet that has arrived, and changes what quinn-proto is not to
    /// see.
    pub(crate) fn on_decrypted(&self, space: Space, payload: &mut BytesMut) {
        if let Some(rewrite) = self.on_received(space, payload) {
            rewrite.apply(payload);
        }
    }

    /// A packet of application data has been authenticated.
    pub(super) fn on_number(&self, number: u64) {
        self.authenticated.store(self.authenticated() + 1, Relaxed);
        let newest = self.newest_received();
        self.recent.on_number(number, newest);
        if number > newest {
            self.newest_received.store(number, Relaxed);
        } else if newest - number > MAX_LATE {
            self.has_dropped.store(true, Relaxed);
        }
    }

    pub(super) fn on_next_keys(&self) {
        self.next_keys.fetch_add(1, Relaxed);
    }

    /// Reads ACK frames. What is to be changed in the payload before quinn-proto reads it.
    pub(super) fn on_received(&self, space: Space, payload: &[u8]) -> Option<Rewrite> {
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

    pub(super) fn on_discarded(&self, space: Space) {
        self.has_received.store(true, Relaxed);
        let mut log = self.log();
        log.received.discarded[space as usize] = true;
        if space == Space::Data {
            log.departed.restart();
        }
    }

    /// What protects the headers of 1-RTT packets from the peer. It stays through key updates.
    pub(super) fn on_header_key(&self, key: SharedHeaderKey) {
        let _ = self.header_key.set(key);
    }

    /// The own transport parameters as they are encoded.
    pub(super) fn on_own_parameters(&self, encoded: &[u8]) {
        let cid = parameter(encoded, INITIAL_SOURCE_CONNECTION_ID);
        self.cid_len.store(cid.map_or(0, <[u8]>::len), Relaxed);
    }

    /// The peer's transport parameters as they are encoded: those remembered of an earlier
    /// connection, and then its own, which take their place (RFC 9000 §7.4.1).
    pub(super) fn on_parameters(&self, encoded: &[u8]) {
        let mut log = self.log();
        let exponent = integer(encoded, ACK_DELAY_EXPONENT);
        log.ack_delay_exponent = exponent.unwrap_or(DEFAULT_EXPONENT).min(MAX_EXPONENT);
        let millis = integer(encoded, MAX_ACK_DELAY);
        log.max_ack_delay = millis.map_or(DEFAULT_MAX_ACK_DELAY, Duration::from_millis);
        log.knows_ack_frequency = integer(encoded, MIN_ACK_DELAY).is_some();
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
        self.received.max_ack_delay = self.max_ack_delay;
        self.received.push(ack);
        read
    }
}

/// Packets recorded between two calls of a driver, which takes them after each batch: a batch has
/// 54 datagrams, and a datagram of the handshake three packets.
const MAX_SENT: usize = 256;

#[cfg(test)]
mod tests;
