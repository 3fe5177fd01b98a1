//! What a client sends at the end of a handshake, and how often again.

use quinn_proto::Transmit;
use std::time::Duration;
use units::Timestamp;

/// The flight of a client whose handshake is complete and not confirmed (RFC 9001 §4.1).
#[derive(Debug)]
pub(super) struct LastFlight {
    /// CRYPTO frames that have come.
    crypto: u64,
    batches: Vec<(Transmit, Vec<u8>)>,
    /// Batches of it that are still to leave once more.
    left: usize,
    answers: u32,
    answered_at: Option<Timestamp>,
}

impl LastFlight {
    /// One with no batch yet, after as many CRYPTO frames.
    pub(super) fn new(crypto: u64) -> Self {
        Self {
            crypto,
            batches: Vec::new(),
            left: 0,
            answers: 0,
            answered_at: None,
        }
    }

    /// Something has come at `now`, and that many CRYPTO frames so far. The flight leaves again if
    /// some of them are new.
    pub(super) fn on_received(&mut self, now: Timestamp, crypto: u64) {
        let is_repeated = self.crypto < crypto;
        self.crypto = crypto;
        let is_next = self.answered_at.is_none_or(|last| now >= last + APART);
        if is_repeated && is_next && self.answers < MOST_ANSWERS {
            self.answers += 1;
            self.answered_at = Some(now);
            self.left = self.batches.len();
        }
    }

    pub(super) fn keep(&mut self, transmit: &Transmit, contents: &[u8]) {
        if self.batches.len() < MOST_BATCHES {
            self.batches.push((copy(transmit), contents.to_vec()));
        }
    }

    /// The next batch that is to leave once more.
    pub(super) fn next(&mut self) -> Option<(Transmit, &[u8])> {
        let at = self.batches.len() - self.left;
        self.left = self.left.saturating_sub(1);
        let (transmit, contents) = self.batches.get(at)?;
        Some((copy(transmit), contents))
    }
}

fn copy(transmit: &Transmit) -> Transmit {
    Transmit {
        destination: transmit.destination,
        ecn: transmit.ecn,
        size: transmit.size,
        segment_size: transmit.segment_size,
        src_ip: transmit.src_ip,
    }
}

/// A flight of several datagrams is one.
const APART: Duration = Duration::from_millis(100);

/// A server that has waited for a second repeats its part five times in half a minute.
const MOST_ANSWERS: u32 = 5;

/// As many as a probe timeout sends (RFC 9002 §6.2.4): the end of the handshake, and what the
/// client asks for.
const MOST_BATCHES: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::ZERO + Duration::from_millis(millis)
    }

    /// Three batches were kept, of one to three bytes.
    fn flight() -> LastFlight {
        let mut flight = LastFlight::new(3);
        for size in 1..=3 {
            let transmit = Transmit {
                destination: ([127, 0, 0, 1], 1).into(),
                ecn: None,
                size,
                segment_size: None,
                src_ip: None,
            };
            flight.keep(&transmit, &[7; 3][..size]);
        }
        flight
    }

    /// The sizes of what leaves once more.
    fn repeated(flight: &mut LastFlight) -> Vec<usize> {
        let sizes = std::iter::from_fn(|| flight.next().map(|(_, contents)| contents.len()));
        sizes.collect()
    }

    #[test]
    fn two_batches_answer_a_flight_of_the_server_once() {
        let mut flight = flight();
        for (millis, crypto, expected) in [
            (10, 3, &[][..]),
            (1_000, 4, &[1, 2]),
            // Of the same flight.
            (1_001, 5, &[]),
            // Nothing new.
            (2_000, 5, &[]),
            (3_000, 6, &[1, 2]),
        ] {
            flight.on_received(at(millis), crypto);
            assert_eq!(repeated(&mut flight), expected, "at {millis} ms");
        }
    }

    #[test]
    fn a_server_that_repeats_without_end_is_answered_five_times() {
        let mut flight = flight();
        let batches = (1..1_000).map(|n| {
            flight.on_received(at(n * 1_000), 3 + n);
            repeated(&mut flight).len()
        });
        assert_eq!(batches.sum::<usize>(), 5 * 2);
    }
}
