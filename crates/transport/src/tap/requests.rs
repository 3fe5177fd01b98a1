//! ACK_FREQUENCY frames of our own (draft-ietf-quic-ack-frequency-11 §4) in packets of quinn-proto.
//!
//! quinn-proto 0.11 sends such a frame with values that are fixed when a connection begins. But it
//! leaves as much room behind a payload as the key asks for its tag. A key that asks for a few
//! octets more once has room for a frame in that packet.

use super::frames::{ACK_FREQUENCY, has_application_data, put_varint, varint_len};
use super::log::Tap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// What the peer is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AckRequest {
    /// Later ones take the place of earlier ones, whatever the order of their arrival.
    pub(crate) sequence: u64,
    /// Ack-eliciting packets that one ACK is for, at least one.
    pub(crate) packets: u32,
    /// Longest that an ACK may be held back.
    pub(crate) max_delay: Duration,
}

impl AckRequest {
    /// Each packet out of order is still acknowledged at once (a reordering threshold of 1), as
    /// without the extension (RFC 9000 §13.2.1).
    fn encode(self, out: &mut Vec<u8>) {
        let micros = u64::try_from(self.max_delay.as_micros()).unwrap_or(u64::MAX);
        let threshold = u64::from(self.packets.saturating_sub(1));
        let delay = micros.min((1 << 62) - 1);
        out.clear();
        for value in [ACK_FREQUENCY, self.sequence, threshold, delay, 1] {
            let start = out.len();
            out.resize(start + varint_len(value), 0);
            put_varint(value, &mut out[start..]);
        }
    }
}

impl Tap {
    /// The peer's own longest delay of an ACK, if it can be asked for fewer.
    pub(crate) fn askable_delay(&self) -> Option<Duration> {
        let log = self.log();
        log.knows_ack_frequency.then_some(log.max_ack_delay)
    }

    /// The next 1-RTT packet with application data has to carry `request`, until
    /// [`Self::end_request`].
    pub(crate) fn begin_request(&self, request: AckRequest) {
        let mut log = self.log();
        request.encode(&mut log.request);
        log.carrier = None;
        self.reserved.store(log.request.len(), Relaxed);
    }

    /// The number of the packet that has carried the request, if one has.
    pub(crate) fn end_request(&self) -> Option<u64> {
        self.reserved.store(0, Relaxed);
        self.log().carrier.take()
    }

    /// Octets to leave free at the end of a payload.
    pub(super) fn reserved(&self) -> usize {
        self.reserved.load(Relaxed)
    }

    /// Puts the request in front of the frames of `payload`, whose last octets were left free for
    /// it: the last frame may reach to the end of the packet.
    ///
    /// Packets without application data go without: MTU probes, which may be too large for the
    /// path, probes of other paths, and ACKs. What was left free in them remains zero, PADDING.
    pub(super) fn insert_request(&self, number: u64, payload: &mut [u8]) {
        let reserved = self.reserved();
        let Some(end) = payload.len().checked_sub(reserved) else {
            return;
        };
        if reserved == 0 || !has_application_data(&payload[..end]) {
            return;
        }
        let mut log = self.log();
        payload.copy_within(..end, reserved);
        payload[..reserved].copy_from_slice(&log.request);
        log.carrier = Some(number);
        self.reserved.store(0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: AckRequest = AckRequest {
        sequence: 5,
        packets: 10,
        max_delay: Duration::from_millis(25),
    };

    /// ACK_FREQUENCY, sequence 5, a threshold of 9, 25,000 µs, reordering threshold 1.
    const FRAME: [u8; 9] = [0x40, 0xaf, 5, 9, 0x80, 0, 0x61, 0xa8, 1];

    /// `frames` with as much room behind them as is reserved, and then what leaves.
    fn leaving(tap: &Tap, frames: &[u8]) -> Vec<u8> {
        let mut payload = frames.to_vec();
        payload.resize(frames.len() + tap.reserved(), 0);
        tap.insert_request(7, &mut payload);
        payload
    }

    #[test]
    fn a_request_stands_before_a_stream_frame_that_reaches_to_the_end() {
        let tap = Tap::default();
        tap.begin_request(REQUEST);
        let stream = [0x08, 4, 1, 2, 3];
        let payload = leaving(&tap, &stream);
        assert_eq!(payload, [&FRAME[..], &stream].concat());
        assert_eq!(leaving(&tap, &stream), stream, "once");
        assert_eq!(tap.end_request(), Some(7));
    }

    #[test]
    fn packets_without_application_data_are_padded_instead() {
        let tap = Tap::default();
        for frames in [&[0x01][..], &[0x01, 0x1f, 0, 0], &[0x02, 9, 0, 0, 0]] {
            tap.begin_request(REQUEST);
            let payload = leaving(&tap, frames);
            assert_eq!(payload, [frames, &[0; FRAME.len()]].concat());
            assert_eq!(tap.end_request(), None);
            assert_eq!(leaving(&tap, frames), frames);
        }
    }

    #[test]
    fn only_a_peer_that_says_so_can_be_asked() {
        let tap = Tap::default();
        tap.on_parameters(&[0x0b, 1, 20]);
        assert_eq!(tap.askable_delay(), None);
        let min_ack_delay = [0xc0, 0, 0, 0, 0xff, 0x04, 0xde, 0x1b, 2, 0x43, 0xe8];
        tap.on_parameters(&[&[0x0b, 1, 20][..], &min_ack_delay].concat());
        assert_eq!(tap.askable_delay(), Some(Duration::from_millis(20)));
    }
}
