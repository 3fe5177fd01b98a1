//! The receiving direction of a stream.

use crate::connection::shared::Lease;
use crate::driver::Reader;
use crate::error::{ReadError, ReadExactError, ReadToEndError, ResetError};
use crate::user_code;
use bytes::{Bytes, BytesMut};
use quinn_proto::{Chunk, ClosedStream, StreamId, VarInt};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// A stream to read from.
///
/// Dropping it before its end [stops](Self::stop) it with code 0.
#[derive(Debug)]
pub struct RecvStream {
    lease: Lease,
    id: StreamId,
    is_0rtt: bool,
    /// The end has been read, or the stream stopped.
    is_done: bool,
    /// The peer's reset, found behind data that was still to be returned.
    reset: Option<VarInt>,
}

impl RecvStream {
    pub(crate) fn new(lease: Lease, id: StreamId, is_0rtt: bool) -> Self {
        Self {
            lease,
            id,
            is_0rtt,
            is_done: false,
            reset: None,
        }
    }

    /// Reads what is there into `buffer` and returns how much that was; `None` at the stream's
    /// end, and once it was stopped. Waits until there is something.
    ///
    /// # Errors
    /// When the peer has reset the stream, the connection is lost, or the stream was opened with
    /// 0-RTT and that was rejected.
    ///
    /// # Cancel safety
    /// If this does not resolve, nothing was read.
    pub async fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, ReadError> {
        let mut buffer = ReadBuf::new(buffer);
        poll_fn(|cx| self.poll_read_buf(cx, &mut buffer)).await?;
        let is_end = buffer.filled().is_empty() && buffer.capacity() > 0;
        Ok((!is_end).then_some(buffer.filled().len()))
    }

    /// Fills `buffer`.
    ///
    /// # Errors
    /// As [`read`](Self::read), and when the stream ends before the buffer is full.
    ///
    /// # Cancel safety
    /// None: if this does not resolve, a part may have been read.
    pub async fn read_exact(&mut self, buffer: &mut [u8]) -> Result<(), ReadExactError> {
        let mut filled = 0;
        while filled < buffer.len() {
            let read = self.read(&mut buffer[filled..]).await?;
            filled += read.ok_or(ReadExactError::FinishedEarly(filled))?;
        }
        Ok(())
    }

    /// The next chunk of at most `max_length` bytes, without copying; `None` at the stream's end.
    /// With `ordered` false, chunks come as they arrive, each with its offset, and no ordered
    /// read may follow.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, server) = connected().await?;
    /// # let mut stream = client.open_uni().await?;
    /// # stream.write_all(&[7; 5_000]).await?;
    /// # stream.finish()?;
    /// let mut stream = server.accept_uni().await?;
    /// let mut length = 0;
    /// // In order, and without a copy.
    /// while let Some(chunk) = stream.read_chunk(64 << 10, true).await? {
    ///     assert_eq!(chunk.offset, length);
    ///     length += chunk.bytes.len() as u64;
    /// }
    /// assert_eq!(length, 5_000);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`read`](Self::read).
    ///
    /// # Cancel safety
    /// If this does not resolve, nothing was read.
    pub async fn read_chunk(
        &mut self,
        max_length: usize,
        ordered: bool,
    ) -> Result<Option<Chunk>, ReadError> {
        poll_fn(|cx| self.poll_read_chunk(cx, max_length, ordered)).await
    }

    /// Puts the next chunks into `chunks`, without copying, and returns how many; `None` at the
    /// stream's end. Waits until there is one.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    ///
    /// # Cancel safety
    /// If this does not resolve, nothing was read.
    pub async fn read_chunks(&mut self, chunks: &mut [Bytes]) -> Result<Option<usize>, ReadError> {
        if chunks.is_empty() {
            return Ok(Some(0));
        }
        poll_fn(|cx| {
            self.poll_with(cx, true, |incoming| {
                let mut count = 0;
                while count < chunks.len() {
                    match incoming.next(usize::MAX) {
                        Ok(Some(chunk)) => chunks[count] = chunk.bytes,
                        stop => return (read_if(count > 0, count), Some(stop.map(drop))),
                    }
                    count += 1;
                }
                (Some(count), None)
            })
        })
        .await
    }

    /// The whole rest of the stream, which must be no longer than `limit` bytes. Chunks may
    /// arrive in any order; gaps left by earlier unordered reads are zeros.
    ///
    /// # Errors
    /// As [`read`](Self::read), and when the stream is longer than `limit`; what was read until
    /// then is lost.
    ///
    /// # Cancel safety
    /// None: if this does not resolve, what was read is lost.
    pub async fn read_to_end(&mut self, limit: usize) -> Result<Vec<u8>, ReadToEndError> {
        let mut rest = Rest::new(limit);
        while let Some(chunk) = self.read_chunk(usize::MAX, false).await? {
            rest.add(chunk)?;
        }
        Ok(rest.assemble())
    }

    /// Tells the peer to send no more on this stream, and why. What has arrived is dropped. If it
    /// was opened with 0-RTT that was rejected, the peer does not know the stream.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, server) = connected().await?;
    /// # let mut sending = client.open_uni().await?;
    /// # sending.write_all(b"too long a story").await?;
    /// let mut stream = server.accept_uni().await?;
    /// stream.stop(9_u32.into())?;
    /// assert_eq!(sending.stopped().await?, Some(9_u32.into()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the stream was stopped, reset or read to its end before.
    pub fn stop(&mut self, code: VarInt) -> Result<(), ClosedStream> {
        let mut state = self.lease.lock();
        if self.is_0rtt && state.has_rejected_0rtt() {
            return Ok(());
        }
        state.driver.stop(self.id, code)?;
        state.readers.remove(&self.id);
        drop(state);
        self.is_done = true;
        self.lease.schedule();
        Ok(())
    }

    /// Waits until the peer resets the stream, and returns its code; `None` when it has been
    /// stopped or read to its end instead.
    ///
    /// # Errors
    /// When the connection is lost, or the stream was opened with 0-RTT and that was rejected.
    ///
    /// # Cancel safety
    /// A code that this has returned is returned again.
    pub async fn received_reset(&mut self) -> Result<Option<VarInt>, ResetError> {
        poll_fn(|cx| {
            if let Some(code) = self.reset {
                return Poll::Ready(Ok(Some(code)));
            }
            let mut state = self.lease.lock();
            if self.is_0rtt && state.has_rejected_0rtt() {
                return Poll::Ready(Err(ResetError::ZeroRttRejected));
            }
            match state.driver.received_reset(self.id) {
                Err(ClosedStream { .. }) => return Poll::Ready(Ok(None)),
                Ok(Some(code)) => {
                    drop(state);
                    self.reset = Some(code);
                    // The peer may be due the credit for another stream.
                    self.lease.schedule();
                    return Poll::Ready(Ok(Some(code)));
                }
                Ok(None) => {}
            }
            if let Some(error) = &state.error {
                return Poll::Ready(Err(error.clone().into()));
            }
            state.readers.insert(self.id, cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Whether the stream was accepted or opened before the handshake was finished. What is read
    /// from it may be a replay by somebody who recorded it; see
    /// [`Connecting::into_0rtt`](crate::Connecting::into_0rtt). Of a stream that came with 0-RTT
    /// and is accepted later it is `false`: a replay does not finish a handshake.
    pub fn is_0rtt(&self) -> bool {
        self.is_0rtt
    }

    /// The stream's number.
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// [`read`](Self::read) by polling; nothing read means the stream's end.
    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Result<usize, ReadError>> {
        let mut buffer = ReadBuf::new(buffer);
        ready!(self.poll_read_buf(cx, &mut buffer))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }

    /// [`poll_read`](Self::poll_read) into tokio's buffer.
    pub fn poll_read_buf(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<(), ReadError>> {
        if buffer.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let read = self.poll_with(cx, true, |chunks| {
            let before = buffer.filled().len();
            while buffer.remaining() > 0 {
                match chunks.next(buffer.remaining()) {
                    Ok(Some(chunk)) => buffer.put_slice(&chunk.bytes),
                    stop => {
                        return (
                            read_if(buffer.filled().len() > before, ()),
                            Some(stop.map(drop)),
                        );
                    }
                }
            }
            (Some(()), None)
        });
        read.map_ok(|_| ())
    }

    /// [`read_chunk`](Self::read_chunk) by polling.
    pub(crate) fn poll_read_chunk(
        &mut self,
        cx: &mut Context<'_>,
        max_length: usize,
        ordered: bool,
    ) -> Poll<Result<Option<Chunk>, ReadError>> {
        self.poll_with(cx, ordered, |chunks| match chunks.next(max_length) {
            Ok(Some(chunk)) => (Some(chunk), None),
            stop => (None, Some(stop.map(drop))),
        })
    }

    /// Stops the stream if its end has not been read.
    pub(crate) fn give_up(&mut self, code: VarInt) {
        if std::mem::replace(&mut self.is_done, true) {
            return;
        }
        let mut state = self.lease.lock();
        if self.is_0rtt && state.has_rejected_0rtt() {
            // The number may be another stream's by now.
            return;
        }
        state.readers.remove(&self.id);
        if state.error.is_some() {
            return;
        }
        let stopped = state.driver.stop(self.id, code);
        drop(state);
        if stopped.is_ok() {
            self.lease.schedule();
        }
    }

    /// Runs `read` on what has arrived. It returns what it read, and what it met behind that: the
    /// end, a reset, or nothing more for now.
    fn poll_with<T>(
        &mut self,
        cx: &mut Context<'_>,
        ordered: bool,
        read: impl FnOnce(&mut Reader<'_>) -> (Option<T>, Option<Stop>),
    ) -> Poll<Result<Option<T>, ReadError>> {
        if self.is_done {
            return Poll::Ready(Ok(None));
        }
        if let Some(code) = self.reset {
            self.is_done = true;
            self.lease.lock().driver.end_reading(self.id);
            return Poll::Ready(Err(ReadError::Reset(code)));
        }
        let mut state = self.lease.lock();
        if self.is_0rtt && state.has_rejected_0rtt() {
            return Poll::Ready(Err(ReadError::ZeroRttRejected));
        }
        let ((value, stop), has_credit_to_send) = state.driver.read(self.id, ordered, read)?;
        let is_blocked = matches!(stop, Some(Err(quinn_proto::ReadError::Blocked)));
        if stop.is_some() && !is_blocked {
            state.driver.end_reading(self.id);
        }
        if value.is_none() && is_blocked {
            if let Some(error) = &state.error {
                return Poll::Ready(Err(error.clone().into()));
            }
            state.readers.insert(self.id, cx.waker().clone());
        }
        drop(state);
        if has_credit_to_send {
            self.lease.schedule();
        }
        match stop {
            Some(Ok(())) => self.is_done = true,
            Some(Err(quinn_proto::ReadError::Reset(code))) => {
                self.reset = Some(code);
                self.is_done = value.is_none();
                if value.is_none() {
                    return Poll::Ready(Err(ReadError::Reset(code)));
                }
            }
            Some(Err(quinn_proto::ReadError::Blocked)) if value.is_none() => return Poll::Pending,
            Some(Err(quinn_proto::ReadError::Blocked)) | None => {}
        }
        Poll::Ready(Ok(value))
    }
}

impl AsyncRead for RecvStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(ready!(self.poll_read_buf(cx, buffer))?))
    }
}

/// The same, with feature `futures-io`.
#[cfg(feature = "futures-io")]
impl futures_io::AsyncRead for RecvStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(ready!(Self::poll_read(self.get_mut(), cx, buffer))?))
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        // In a congestion controller: the stream is left to the connection's end.
        if user_code::is_locked() {
            return;
        }
        self.give_up(VarInt::from_u32(0));
    }
}

/// What stands behind the chunks that were read: the stream's end, or why there are no more.
type Stop = Result<(), quinn_proto::ReadError>;

fn read_if<T>(has_read: bool, value: T) -> Option<T> {
    has_read.then_some(value)
}

/// Chunks in any order, put together at the end.
struct Rest {
    chunks: Vec<Chunk>,
    start: u64,
    end: u64,
    limit: u64,
}

impl Rest {
    fn new(limit: usize) -> Self {
        Self {
            chunks: Vec::new(),
            start: u64::MAX,
            end: 0,
            limit: limit as u64,
        }
    }

    fn add(&mut self, chunk: Chunk) -> Result<(), ReadToEndError> {
        self.start = self.start.min(chunk.offset);
        self.end = self.end.max(chunk.offset + chunk.bytes.len() as u64);
        if self.end - self.start > self.limit {
            return Err(ReadToEndError::TooLong);
        }
        self.chunks.push(chunk);
        Ok(())
    }

    fn assemble(self) -> Vec<u8> {
        if self.chunks.is_empty() {
            return Vec::new();
        }
        let mut whole = BytesMut::zeroed((self.end - self.start) as usize);
        for chunk in self.chunks {
            let at = (chunk.offset - self.start) as usize;
            whole[at..at + chunk.bytes.len()].copy_from_slice(&chunk.bytes);
        }
        whole.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(offset: u64, bytes: &'static [u8]) -> Chunk {
        Chunk {
            offset,
            bytes: Bytes::from_static(bytes),
        }
    }

    #[test]
    fn the_rest_comes_together_in_any_order() {
        let mut rest = Rest::new(8);
        // A part that was read before does not count.
        rest.add(chunk(104, b"efgh")).unwrap();
        rest.add(chunk(100, b"abcd")).unwrap();
        assert_eq!(rest.assemble(), b"abcdefgh");
        assert!(Rest::new(0).assemble().is_empty());
    }

    #[test]
    fn the_rest_is_no_longer_than_the_limit() {
        let mut rest = Rest::new(4);
        rest.add(chunk(4, b"efgh")).unwrap();
        assert_eq!(rest.add(chunk(0, b"abcd")), Err(ReadToEndError::TooLong));
    }
}
