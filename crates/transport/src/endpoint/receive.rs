//! Buffers for what is received, handed to quinn-proto without a copy where that pays.

use bytes::BytesMut;
use quinn_udp::{BATCH_SIZE, RecvMeta};
use std::collections::VecDeque;
use std::io::IoSliceMut;

/// One buffer for each message of a batch, each as large as the largest message that the kernel
/// may put together (GRO), and the memory of earlier ones.
///
/// A message that fills at least half of its buffer is handed over whole, and quinn-proto
/// decrypts in place and hands the payload to the reader: no copy. A smaller one is copied, so
/// that a packet which the reader leaves lying holds no more than twice its message's size.
pub(super) struct ReceiveBuffers {
    buffers: Vec<BytesMut>,
    metas: [RecvMeta; BATCH_SIZE],
    /// Empty ends of buffers that were handed over. Once all of it has been read and dropped, the
    /// memory is used again. The oldest stands in front.
    lent: VecDeque<BytesMut>,
}

impl ReceiveBuffers {
    pub(super) fn new() -> Self {
        Self {
            buffers: vec![BytesMut::new(); BATCH_SIZE],
            metas: [RecvMeta::default(); BATCH_SIZE],
            lent: VecDeque::new(),
        }
    }

    /// Lets `receive` fill buffers and metas; it returns how many messages there are.
    pub(super) fn fill<E>(
        &mut self,
        receive: impl FnOnce(&mut [IoSliceMut<'_>], &mut [RecvMeta]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        for index in 0..self.buffers.len() {
            if self.buffers[index].is_empty() {
                self.buffers[index] = self.fresh();
            }
        }
        let mut buffers = self.buffers.iter_mut();
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(buffers.next().expect("one for each message")));
        receive(&mut slices, &mut self.metas)
    }

    /// Message `index` of the last batch, which may be several datagrams of `meta.stride` bytes.
    pub(super) fn take(&mut self, index: usize) -> (RecvMeta, BytesMut) {
        let meta = self.metas[index];
        let buffer = &mut self.buffers[index];
        if meta.len < MESSAGE / 2 {
            return (meta, BytesMut::from(&buffer[..meta.len]));
        }
        let mut rest = std::mem::take(buffer);
        let message = rest.split_to(meta.len);
        rest.clear();
        self.lend(rest);
        (meta, message)
    }

    fn lend(&mut self, rest: BytesMut) {
        if self.lent.len() == MAX_LENT {
            self.lent.pop_front();
        }
        self.lent.push_back(rest);
    }

    /// The memory of a buffer that has come back, else new memory.
    fn fresh(&mut self) -> BytesMut {
        for _ in 0..self.lent.len().min(TRIES) {
            let mut buffer = self.lent.pop_front().expect("counted");
            if buffer.try_reclaim(MESSAGE) {
                buffer.resize(MESSAGE, 0);
                return buffer;
            }
            self.lent.push_back(buffer);
        }
        BytesMut::zeroed(MESSAGE)
    }
}

/// The largest UDP message, in bytes: GRO puts no more together than IP's length field can say.
const MESSAGE: usize = 65_535;

/// Lent buffers that are remembered: 16 MiB. Memory beyond that is the allocator's business.
const MAX_LENT: usize = 256;

/// Lent buffers looked at before new memory is taken. More than one, lest a stream that nobody
/// reads, in front, hides all that came back behind it.
const TRIES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn receive(buffers: &mut ReceiveBuffers, lens: &[usize]) -> Vec<BytesMut> {
        let Ok(count) = buffers.fill::<Infallible>(|slices, metas| {
            for (index, len) in lens.iter().enumerate() {
                metas[index].len = *len;
                slices[index][..*len].fill(index as u8 + 1);
            }
            Ok(lens.len())
        });
        (0..count).map(|index| buffers.take(index).1).collect()
    }

    #[test]
    fn messages_come_out_as_they_came_in() {
        let mut buffers = ReceiveBuffers::new();
        for _ in 0..3 {
            let messages = receive(&mut buffers, &[1_200, 65_535, 40_000]);
            assert_eq!(messages[0], vec![1; 1_200]);
            assert_eq!(messages[1], vec![2; 65_535]);
            assert_eq!(messages[2], vec![3; 40_000]);
        }
    }

    #[test]
    fn memory_is_used_again_once_it_has_been_read() {
        let mut buffers = ReceiveBuffers::new();
        let held = receive(&mut buffers, &[65_535]);
        let first = receive(&mut buffers, &[65_535]).remove(0);
        let address = first.as_ptr();
        drop(first);
        let second = receive(&mut buffers, &[65_535]).remove(0);
        assert_eq!(second.as_ptr(), address);
        assert_ne!(held[0].as_ptr(), address);
    }

    #[test]
    fn small_messages_hold_no_large_memory() {
        let mut buffers = ReceiveBuffers::new();
        let message = receive(&mut buffers, &[1_200]).remove(0);
        assert!(message.capacity() < 2 * 1_200);
        assert!(buffers.lent.is_empty());
    }
}
