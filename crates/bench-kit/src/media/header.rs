use crate::plan::MEDIA_HEADER;
use bytes::{BufMut, BytesMut};
use std::time::Duration;

/// What stands at the head of a frame's datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Of the datagram, from 1.
    pub(super) number: u64,
    /// When the datagram was sent, by the sender's clock.
    pub(super) departure: Duration,
    /// Of the frame, from 0.
    pub(super) frame: u32,
    /// Which datagram of the frame it is, from 0.
    pub(super) index: u16,
    /// How many datagrams the frame has.
    pub(super) count: u16,
    /// When the frame was made, by the sender's clock.
    pub(super) birth: Duration,
    /// Which clock that is.
    pub(super) clock: u64,
}

impl Header {
    pub(super) fn write(&self, to: &mut BytesMut) {
        // The video is the first stream.
        to.put_u16(0);
        to.put_u64(self.number);
        to.put_u64(units::duration::nanos(self.departure));
        to.put_u32(self.frame);
        to.put_u16(self.index);
        to.put_u16(self.count);
        to.put_u64(units::duration::nanos(self.birth));
        to.put_u64(self.clock);
    }

    /// `None` of what no sender writes: a header cut short, or an index beyond the count.
    pub(super) fn read(datagram: &[u8]) -> Option<Self> {
        let header = datagram.first_chunk::<{ MEDIA_HEADER as usize }>()?;
        let number = |from: usize, to: usize| {
            let bytes = header[from..to].iter();
            bytes.fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
        };
        let header = Self {
            number: number(2, 10),
            departure: Duration::from_nanos(number(10, 18)),
            frame: u32::try_from(number(18, 22)).ok()?,
            index: u16::try_from(number(22, 24)).ok()?,
            count: u16::try_from(number(24, 26)).ok()?,
            birth: Duration::from_nanos(number(26, 34)),
            clock: number(34, 42),
        };
        (header.index < header.count).then_some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_reads_back_and_nonsense_does_not() {
        let header = Header {
            number: 1 << 40,
            departure: Duration::from_nanos(u64::MAX),
            frame: 7,
            index: 2,
            count: 3,
            birth: Duration::from_nanos(9),
            clock: u64::MAX,
        };
        let write = |header: Header| {
            let mut bytes = BytesMut::new();
            header.write(&mut bytes);
            bytes
        };
        let bytes = write(header);
        assert_eq!(bytes.len() as u64, MEDIA_HEADER);
        assert_eq!(Header::read(&bytes), Some(header));
        assert_eq!(Header::read(&bytes[..41]), None);
        for (index, count) in [(0, 0), (3, 3), (u16::MAX, 1)] {
            let wrong = Header {
                index,
                count,
                ..header
            };
            assert_eq!(Header::read(&write(wrong)), None);
        }
    }
}
