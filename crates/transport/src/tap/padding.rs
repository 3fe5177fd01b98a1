//! Datagrams of padding, in whose place the peer gets PING and PADDING frames.
//!
//! quinn-proto 0.11 cannot be asked for a packet of PADDING (RFC 9000 §19.1). It can be given a
//! datagram, whose frame is overwritten here before its packet is encrypted: octets that an
//! application must not get, in frames that every peer ignores. The PING makes sure that the packet
//! is acknowledged.

use super::facts::PaddingMark;
use super::frames::{PADDING, PING, find_datagram};
use super::log::Tap;

impl Tap {
    /// Datagrams that begin with this value are padding from now on. Always the value of the first
    /// call.
    pub(crate) fn padding_mark(&self, mark: impl FnOnce() -> PaddingMark) -> PaddingMark {
        *self.padding.get_or_init(mark)
    }

    /// Overwrites the frames of such datagrams in a payload that is about to leave.
    pub(super) fn replace_padding(&self, payload: &mut [u8]) {
        let Some(mark) = self.padding.get() else {
            return;
        };
        while let Some(frame) = find_datagram(payload, mark) {
            let frame = &mut payload[frame];
            frame.fill(PADDING as u8);
            frame[0] = PING as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_datagrams_with_the_mark_are_overwritten() {
        let tap = Tap::default();
        let mut datagrams = vec![0x31, 2, 7, 7, 0x31, 18];
        datagrams.extend([9; 18]);
        datagrams.push(0x30);
        datagrams.extend([9; 17]);
        let mut payload = datagrams.clone();
        tap.replace_padding(&mut payload);
        assert_eq!(payload, datagrams, "there is no mark yet");
        assert_eq!(tap.padding_mark(|| [9; 16]), [9; 16]);
        assert_eq!(tap.padding_mark(|| [8; 16]), [9; 16]);
        tap.replace_padding(&mut payload);
        let mut expected = vec![0x31, 2, 7, 7, 1];
        expected.extend([0; 19]);
        expected.push(1);
        expected.extend([0; 17]);
        assert_eq!(payload, expected);
    }
}
