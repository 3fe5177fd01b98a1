//! Memory of datagrams that have left, for those that come.

/// Spare buffers. What a link drops is freed, and made anew when it is needed.
#[derive(Debug, Default)]
pub(super) struct Pool {
    spare: Vec<Vec<u8>>,
}

impl Pool {
    /// A copy of `data`.
    pub(super) fn copy(&mut self, data: &[u8]) -> Vec<u8> {
        let mut buffer = self
            .spare
            .pop()
            .unwrap_or_else(|| Vec::with_capacity(ROOM.max(data.len())));
        buffer.extend_from_slice(data);
        buffer
    }

    /// Takes back what is no longer needed.
    pub(super) fn give_back(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() <= ROOM && self.spare.len() < MAX_SPARE {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}

/// Holds a datagram of every path whose MTU is that of Ethernet.
const ROOM: usize = 2_048;
/// 8 MiB, and what 40 ms of 1 Gbit/s have on their way.
const MAX_SPARE: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_and_holds_only_the_new_datagram() {
        let mut pool = Pool::default();
        let first = pool.copy(&[1; 1_000]);
        let address = first.as_ptr();
        pool.give_back(first);
        let second = pool.copy(&[2; 10]);
        assert_eq!(second, [2; 10]);
        assert_eq!(second.as_ptr(), address);
    }

    #[test]
    fn neither_huge_buffers_nor_too_many_are_kept() {
        let mut pool = Pool::default();
        pool.give_back(Vec::with_capacity(60_000));
        assert_eq!(pool.spare.len(), 0);
        for _ in 0..=MAX_SPARE {
            pool.give_back(Vec::new());
        }
        assert_eq!(pool.spare.len(), MAX_SPARE);
    }
}
