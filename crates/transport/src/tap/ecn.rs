//! ECN counts of ACK frames as quinn-proto expects them.
//!
//! quinn-proto 0.11 sends ECT(0), and takes any packet that a peer reports as ECT(1) for a sign
//! that marks are corrupted on the way. Where ours carry ECT(1), the two counts of an ACK_ECN frame
//! are shown to it as one, so that its validation (RFC 9000 §13.4.2) still finds marks that were
//! erased, counts that fall, and reports of what was never sent: those are left as they are, or
//! made worse.

use super::frames::{EcnCounts, put_varint, varint_len};
use bytes::BytesMut;
use core::ops::Range;
use quinn_proto::EcnCodepoint;

/// Packets of application data that have left, by codepoint.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SentEcn {
    ect0: u64,
    ect1: u64,
}

/// Another ECN block in the place of one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rewrite {
    counts: EcnCounts,
    span: Range<usize>,
}

impl SentEcn {
    pub(super) fn count(&mut self, codepoint: Option<EcnCodepoint>, packets: u64) {
        match codepoint {
            Some(EcnCodepoint::Ect0) => self.ect0 += packets,
            Some(EcnCodepoint::Ect1) => self.ect1 += packets,
            Some(EcnCodepoint::Ce) | None => {}
        }
    }

    /// What stands for the `counts` at `span`, if they cannot stay.
    pub(super) fn rewrite(&self, counts: EcnCounts, span: Range<usize>) -> Option<Rewrite> {
        if self.ect1 == 0 {
            return None;
        }
        let is_possible = counts.ect0 <= self.ect0 && counts.ect1 <= self.ect1;
        let counts = match is_possible {
            true => EcnCounts {
                ect0: counts.ect0 + counts.ect1,
                ect1: 0,
                ce: counts.ce,
            },
            // More of one kind than there were: on the way, one has become the other.
            false => EcnCounts {
                ect1: counts.ect1.max(1),
                ..counts
            },
        };
        Some(Rewrite { counts, span })
    }
}

impl Rewrite {
    /// Writes the counts. The payload keeps its length unless a sum takes more bytes than its two
    /// parts had.
    pub(super) fn apply(&self, payload: &mut BytesMut) {
        let EcnCounts { ect0, ect1, ce } = self.counts;
        let values = [ect0, ect1, ce];
        let mut lengths = values.map(varint_len);
        let room = self.span.len();
        let needed: usize = lengths.iter().sum();
        // Longer encodings are as good: each doubling fills what the others leave.
        let mut spare = room.saturating_sub(needed);
        while spare > 0 {
            let fitting = lengths.iter_mut().filter(|length| **length <= spare.min(4));
            let Some(length) = fitting.max() else {
                break;
            };
            spare -= *length;
            *length *= 2;
        }
        let total: usize = lengths.iter().sum();
        self.make_room(payload, total);
        let mut at = self.span.start;
        for (value, length) in values.into_iter().zip(lengths) {
            put_varint(value, &mut payload[at..at + length]);
            at += length;
        }
    }

    /// Moves what follows, so that there are `total` bytes.
    fn make_room(&self, payload: &mut BytesMut, total: usize) {
        let Range { start, end } = self.span;
        let tail = payload.len() - end;
        if total > self.span.len() {
            payload.resize(start + total + tail, 0);
        }
        payload.copy_within(end..end + tail, start + total);
        payload.truncate(start + total + tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tap::frames::Frames;
    use proptest::prelude::*;

    const COUNT: Range<u64> = 0..1 << 40;

    /// An ACK_ECN frame of number 7 with these counts, and a PING behind it.
    fn payload(counts: EcnCounts, lengths: [usize; 3]) -> (BytesMut, Range<usize>) {
        let mut payload = BytesMut::from(&[3, 7, 0, 0, 0][..]);
        for (value, length) in [counts.ect0, counts.ect1, counts.ce].iter().zip(lengths) {
            let start = payload.len();
            let length = varint_len(*value).max(length);
            payload.resize(start + length, 0);
            put_varint(*value, &mut payload[start..]);
        }
        let span = 5..payload.len();
        payload.extend_from_slice(&[1]);
        (payload, span)
    }

    fn read(payload: &[u8]) -> Option<(EcnCounts, usize)> {
        let mut frames = Frames::new(payload);
        let has_ecn = frames.find_ack()?;
        let (frame, span) = frames.ack(has_ecn, |_, _| {})?;
        Some((frame.ecn?, payload.len() - span.end))
    }

    #[test]
    fn without_ect1_nothing_changes() {
        let mut sent = SentEcn::default();
        sent.count(Some(EcnCodepoint::Ect0), 10);
        assert_eq!(sent.rewrite(EcnCounts::default(), 0..3), None);
    }

    #[test]
    fn one_codepoint_that_has_become_the_other_is_corruption() {
        let mut sent = SentEcn::default();
        sent.count(Some(EcnCodepoint::Ect1), 10);
        let counts = EcnCounts {
            ect0: 4,
            ect1: 0,
            ce: 0,
        };
        let shown = sent.rewrite(counts, 0..3).unwrap().counts;
        assert!(shown.ect1 > 0);
    }

    proptest! {
        #[test]
        fn the_counts_are_shown_as_one_whatever_their_encoding(
            (ect0, ect1, ce) in (COUNT, COUNT, COUNT),
            small in any::<bool>(),
            lengths in prop::array::uniform3(prop::sample::select(vec![1, 2, 4, 8])),
        ) {
            let limit = if small { 100 } else { u64::MAX };
            let counts = EcnCounts { ect0: ect0 % limit, ect1: 1 + ect1 % limit, ce: ce % limit };
            let mut sent = SentEcn::default();
            sent.count(Some(EcnCodepoint::Ect0), counts.ect0);
            sent.count(Some(EcnCodepoint::Ect1), counts.ect1);
            let (mut payload, span) = payload(counts, lengths);
            let before = payload.len();
            sent.rewrite(counts, span).unwrap().apply(&mut payload);
            let shown = EcnCounts { ect0: counts.ect0 + counts.ect1, ect1: 0, ce: counts.ce };
            prop_assert_eq!(read(&payload), Some((shown, 1)));
            prop_assert!(payload.len() <= before + 3, "{} from {before}", payload.len());
        }
    }
}
