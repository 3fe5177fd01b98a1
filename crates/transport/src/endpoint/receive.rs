//! Buffers for what is received, handed to quinn-proto without a copy where that pays.

use bytes::BytesMut;
use quinn_udp::{BATCH_SIZE, RecvMeta};
use std::collections::VecDeque;
use std::io::IoSliceMut;
use std::mem;

/// One buffer for each message of a batch, each as large as the largest message that the kernel
/// may put together (GRO), and the memory of earlier ones.
///
/// A message that fills at least half of its buffer is handed over whole: quinn-proto decrypts
/// in place, and the reader gets the payload where it is. A smaller one is copied, so that a
/// packet which the reader leaves lying holds no more than twice its message's size.
pub(super) struct ReceiveBuffers {
    buffers: [BytesMut; BATCH_SIZE],
    metas: [RecvMeta; BATCH_SIZE],
    /// Whether messages have become large of late, so that a smaller batch will do.
    are_large: bool,
    /// Empty ends of buffers that were handed over. Once all of such a buffer has been read and
    /// dropped, the memory is used again. The oldest stands in front.
    lent: VecDeque<BytesMut>,
}

impl ReceiveBuffers {
    pub(super) fn new() -> Self {
        Self {
            buffers: std::array::from_fn(|_| BytesMut::new()),
            metas: [RecvMeta::default(); BATCH_SIZE],
            are_large: false,
            lent: VecDeque::new(),
        }
    }

    /// Lets `receive` fill buffers and metas; it returns how many messages there are, if any.
    pub(super) fn fill<T, E>(
        &mut self,
        receive: impl FnOnce(&mut [IoSliceMut<'_>], &mut [RecvMeta]) -> Result<T, E>,
    ) -> Result<T, E> {
        let batch = self.batch();
        for index in 0..batch {
            if self.buffers[index].is_empty() {
                self.buffers[index] = self.fresh();
            }
        }
        let mut slices = self
            .buffers
            .each_mut()
            .map(|buffer| IoSliceMut::new(buffer));
        receive(&mut slices[..batch], &mut self.metas[..batch])
    }

    pub(super) fn batch(&self) -> usize {
        if self.are_large {
            LARGE_BATCH
        } else {
            BATCH_SIZE
        }
    }

    /// Message `index` of the last batch, which may be several datagrams of `meta.stride` bytes.
    pub(super) fn take(&mut self, index: usize) -> (RecvMeta, BytesMut) {
        let meta = self.metas[index];
        self.are_large = meta.len >= MESSAGE / 2;
        if !self.are_large {
            return (meta, BytesMut::from(&self.buffers[index][..meta.len]));
        }
        let mut rest = mem::take(&mut self.buffers[index]);
        let message = rest.split_to(meta.len);
        rest.clear();
        if self.lent.len() == MAX_LENT {
            self.lent.pop_front();
        }
        self.lent.push_back(rest);
        (meta, message)
    }

    /// The memory of a buffer that has come back, else new memory.
    fn fresh(&mut self) -> BytesMut {
        for _ in 0..self.lent.len().min(TRIES) {
            let mut buffer = self.lent.pop_front().expect("counted");
            if buffer.try_reclaim(MESSAGE) {
                expose(&mut buffer);
                return buffer;
            }
            self.lent.push_back(buffer);
        }
        BytesMut::zeroed(MESSAGE)
    }
}

/// Makes the old contents of reclaimed memory the buffer's contents. Zeroing it instead took 7 %
/// of a receiver's time.
#[expect(
    unsafe_code,
    reason = "the kernel writes to memory whose contents do not matter"
)]
fn expose(buffer: &mut BytesMut) {
    debug_assert!(buffer.is_empty() && buffer.capacity() >= MESSAGE);
    // SAFETY: the capacity was reclaimed, not allocated, so all of it lies in the memory that
    // `BytesMut::zeroed` once initialised.
    unsafe { buffer.set_len(MESSAGE) }
}

/// The largest UDP message, in bytes: GRO puts no more together than IP's length field can say.
const MESSAGE: usize = 65_535;

/// Messages in a batch while they are large, 512 KiB in all: what a turn receives shall still be
/// in the cache when the application reads it.
const LARGE_BATCH: usize = if BATCH_SIZE < 8 { BATCH_SIZE } else { 8 };

/// Lent buffers that are remembered: 16 MiB. Memory beyond that is the allocator's business.
const MAX_LENT: usize = 256;

/// Lent buffers checked before new memory is taken. More than one, lest a stream that nobody
/// reads, in front, hides all that came back behind it.
const TRIES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn receive(buffers: &mut ReceiveBuffers, lens: &[usize]) -> Vec<BytesMut> {
        let Ok(count) = buffers.fill::<_, Infallible>(|slices, metas| {
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
        let first = receive(&mut buffers, &[40_000]).remove(0);
        let address = first.as_ptr();
        drop(first);
        // What lies in the other buffers of the batch comes first.
        let later: Vec<_> = (0..BATCH_SIZE)
            .flat_map(|_| receive(&mut buffers, &[65_535]))
            .collect();
        assert!(later.iter().any(|message| message.as_ptr() == address));
        assert!(
            later
                .iter()
                .all(|message| message.as_ptr() != held[0].as_ptr())
        );
    }

    #[test]
    fn small_messages_hold_no_large_memory() {
        let mut buffers = ReceiveBuffers::new();
        let message = receive(&mut buffers, &[1_200]).remove(0);
        assert!(message.capacity() < 2 * 1_200);
        assert!(buffers.lent.is_empty());
    }

    #[test]
    fn what_nobody_reads_is_remembered_only_so_long() {
        let mut buffers = ReceiveBuffers::new();
        let mut held = Vec::new();
        for _ in 0..2 * MAX_LENT {
            held.extend(receive(&mut buffers, &[65_535]));
        }
        assert_eq!(buffers.lent.len(), MAX_LENT);
    }

    #[test]
    fn large_messages_come_in_smaller_batches() {
        let mut buffers = ReceiveBuffers::new();
        assert_eq!(buffers.batch(), BATCH_SIZE);
        receive(&mut buffers, &[65_535]);
        assert_eq!(buffers.batch(), LARGE_BATCH);
        receive(&mut buffers, &[1_200]);
        assert_eq!(buffers.batch(), BATCH_SIZE);
    }
}
