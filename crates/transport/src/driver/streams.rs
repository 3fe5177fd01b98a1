//! Reading from streams, and writing to them.

use super::close_reason::{Cause, PendingClose};
use super::fair_queue::Amount;
use super::inbound::{Held, Inbound, Reader};
use super::state::ConnectionDriver;
use crate::clock;
use quinn_proto::{
    ClosedStream, ReadableError, SendStream, StreamEvent, StreamId, VarInt, WriteError,
};
#[cfg(feature = "testing")]
use std::collections::BTreeSet;

impl ConnectionDriver {
    /// Has `write` write to a stream. It is blocked while there is no room for it, and while others
    /// that want to write have had less of the room than it.
    ///
    /// Until the stream is writable again, having nothing to send is flow control's doing, or
    /// nobody's.
    pub(crate) fn write<T: Amount>(
        &mut self,
        id: StreamId,
        write: impl FnOnce(&mut SendStream<'_>) -> Result<T, WriteError>,
    ) -> Result<T, WriteError> {
        if !self.fair_queue.may_write(id) {
            self.fair_queue.defer(id);
            return Err(WriteError::Blocked);
        }
        let result = write(&mut self.conn.send_stream(id));
        match &result {
            Ok(written) => self.fair_queue.on_written(id, written.bytes()),
            Err(WriteError::Blocked) => {
                self.fair_queue.dequeue(id);
                self.blocked_writers.insert(id);
            }
            Err(_) => self.on_write_ended(id),
        }
        result
    }

    /// Whether a stream has room, and waits for others that have had less of it. It is time for
    /// [`Self::poll_event`] then, after those notified of room have had time to write.
    pub(crate) fn has_deferred_writers(&self) -> bool {
        self.fair_queue.has_deferred()
    }

    /// Nothing will be written to stream `id` any more; quinn-proto has no event for that.
    pub(crate) fn on_write_ended(&mut self, id: StreamId) {
        self.blocked_writers.remove(&id);
        self.fair_queue.remove(id);
    }

    /// Has it be known how much of a stream has left, until [`Self::forget_departure`]. Its first
    /// bytes have just been written.
    pub(crate) fn watch_departure(&self, id: StreamId) {
        self.congestion.tap().watch_stream(id);
    }

    /// How many bytes of a stream have been in a packet.
    pub(crate) fn departed(&self, id: StreamId) -> u64 {
        self.congestion.tap().departed(id)
    }

    pub(crate) fn forget_departure(&self, id: StreamId) {
        self.congestion.tap().forget_stream(id);
    }

    #[cfg(feature = "testing")]
    pub(crate) fn kept_streams(&self) -> usize {
        let writers = self.blocked_writers.iter().copied();
        let readers = self.inbound.keys().chain(&self.due_inbound).copied();
        let all = self.fair_queue.streams().chain(writers).chain(readers);
        all.collect::<BTreeSet<_>>().len()
    }

    /// The next event of what was not handed on at once: room for a stream that has waited for
    /// others, or what has come for a reader.
    pub(super) fn poll_taken(&mut self) -> Option<StreamEvent> {
        let writable = self
            .fair_queue
            .next_deferred()
            .map(|id| StreamEvent::Writable { id });
        writable.or_else(|| {
            Some(StreamEvent::Readable {
                id: self.take_due()?,
            })
        })
    }

    /// Somebody is going to read from a stream, and will say when that is over.
    pub(crate) fn begin_reading(&mut self, id: StreamId) {
        self.inbound.insert(id, Inbound::default());
    }

    /// Has `read` read from a stream. What that gives, and whether the peer is due credit.
    pub(crate) fn read<T>(
        &mut self,
        id: StreamId,
        ordered: bool,
        read: impl FnOnce(&mut Reader<'_>) -> T,
    ) -> Result<(T, bool), ReadableError> {
        let inbound = self.inbound.entry(id).or_default();
        let (held, before) = (inbound.held(), inbound.position());
        let mut stream = self.conn.recv_stream(id);
        let mut reader = inbound.reader(&mut stream, ordered, self.arrivals.bytes)?;
        let value = read(&mut reader);
        let has_credit = reader.finalize();
        let left = inbound.held();
        self.receive_window.on_read(inbound.position() - before);
        Ok((value, self.release(held, left) || has_credit))
    }

    /// Nobody reads from a stream any more. Whether its end had come without being read.
    pub(crate) fn end_reading(&mut self, id: StreamId) -> bool {
        let inbound = self.inbound.remove(&id).unwrap_or_default();
        self.release(inbound.held(), Held::default());
        inbound.has_ended()
    }

    /// Has the peer send no more on a stream, and drops what has come.
    pub(crate) fn stop(&mut self, id: StreamId, code: VarInt) -> Result<(), ClosedStream> {
        let has_ended = self.end_reading(id);
        let stopped = self.conn.recv_stream(id).stop(code);
        if has_ended { Ok(()) } else { stopped }
    }

    /// The code of the peer's reset, if there was one.
    pub(crate) fn received_reset(&mut self, id: StreamId) -> Result<Option<VarInt>, ClosedStream> {
        match self.inbound.get(&id).and_then(Inbound::reset_code) {
            Some(code) => Ok(Some(code)),
            None => self.conn.recv_stream(id).received_reset(),
        }
    }

    /// quinn-proto has room for a stream that has waited for it. Whether it may write now.
    pub(super) fn on_room(&mut self, id: StreamId) -> bool {
        self.send_window.on_writable();
        self.fair_queue.on_room(id)
    }

    /// Whether the send window, by having grown, may let one of those write that wait.
    pub(super) fn extend_send_window(&mut self) -> bool {
        let size = self.send_window.on_exhausted();
        if let Some(size) = size {
            self.conn.set_send_window(size);
        }
        size.is_some()
    }

    /// All streams that have room have been notified.
    pub(super) fn end_send_window_trial(&mut self) {
        if let Some(size) = self.send_window.end_trial() {
            self.conn.set_send_window(size);
            self.limits.on_failed_trial(clock::timestamp(self.now));
        }
    }

    /// A frame has come for a stream. Whether its reader may read it there.
    pub(super) fn on_readable(&mut self, id: StreamId) -> bool {
        let is_due = self.inbound.get_mut(&id).is_some_and(Inbound::on_frame);
        if is_due {
            self.due_inbound.insert(id);
        }
        !is_due
    }

    /// Takes what has come for the next stream where it is time for that. The stream, if its reader
    /// can go on.
    pub(super) fn take_due(&mut self) -> Option<StreamId> {
        while let Some(id) = self.due_inbound.pop_first() {
            let Some(inbound) = self.inbound.get_mut(&id) else {
                continue;
            };
            let held = inbound.held();
            let is_news = inbound.take(self.conn.recv_stream(id), self.arrivals.bytes);
            // A reset drops what was there.
            self.held.replace(held, inbound.held());
            self.adopt_receive_window();
            if self.held.has_too_many_pieces() {
                self.pending_close = Some(PendingClose {
                    at: self.now,
                    cause: Cause::Fragmentation,
                });
            }
            if is_news {
                return Some(id);
            }
        }
        None
    }

    /// What a stream held has been read, but for what is `left`. Whether the peer is due credit.
    fn release(&mut self, held: Held, left: Held) -> bool {
        self.held.replace(held, left);
        // As quinn-proto does: an eighth of the window is worth a frame.
        let is_due = self.withheld - self.held.bytes >= self.receive_window.size() / 8;
        let is_over = self.held.bytes == 0 && self.withheld > 0;
        if is_due || is_over {
            self.adopt_receive_window();
        }
        is_due || is_over
    }

    /// Tells quinn-proto how large the receive window is for what it holds itself.
    ///
    /// To quinn-proto, what is taken out of it is read, and the peer is given credit for it. A
    /// window that is smaller by as much takes that credit back from what comes next. So the peer
    /// may at most send a window, and what was taken at one time, before something is read.
    pub(super) fn adopt_receive_window(&mut self) {
        self.withheld = self.held.bytes;
        let size = self.receive_window.size().saturating_sub(self.held.bytes);
        let size = VarInt::from_u64(size).unwrap_or(VarInt::MAX);
        self.conn.set_receive_window(size);
    }
}
