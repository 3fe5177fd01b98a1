//! A session's streams.

use super::codes::{SESSION_GONE, to_wire};
use super::error::{ReadError, ReadToEndError, SessionError, WriteError};
use super::handle::Handle;
use crate::connection;
use bytes::Bytes;
use quinn_proto::{ClosedStream, StreamId};
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream of a session to write to.
///
/// Dropping it finishes it unless it was reset, or the session is over: then it is reset.
#[derive(Debug)]
pub struct SendStream {
    inner: connection::SendStream,
    session: Watch,
}

/// A stream of a session to read from.
///
/// Dropping it before its end asks the peer to stop, with code 0.
#[derive(Debug)]
pub struct RecvStream {
    inner: connection::RecvStream,
    session: Watch,
    is_done: bool,
}

impl SendStream {
    pub(super) fn new(inner: connection::SendStream, session: &Arc<Handle>) -> Self {
        Self {
            inner,
            session: Watch::new(session),
        }
    }

    /// Writes as much of `data` as fits now, at least a byte unless it is empty, and returns how
    /// much that was. Waits until something fits.
    ///
    /// # Errors
    /// When the peer has stopped the stream, it was finished or reset, or the session is over.
    ///
    /// # Cancel safety
    /// If this does not resolve, nothing was written.
    pub async fn write(&mut self, data: &[u8]) -> Result<usize, WriteError> {
        poll_fn(|cx| self.poll_write_some(cx, data)).await
    }

    /// Writes all of `data`.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    ///
    /// # Cancel safety
    /// None: if this does not resolve, a part may have been written.
    pub async fn write_all(&mut self, mut data: &[u8]) -> Result<(), WriteError> {
        while !data.is_empty() {
            let written = self.write(data).await?;
            data = &data[written..];
        }
        Ok(())
    }

    /// Nothing more will be written. What was written goes on being delivered while the session is
    /// open: wait for [`stopped`](Self::stopped) before closing it.
    ///
    /// # Errors
    /// When it was finished or reset before.
    pub fn finish(&mut self) -> Result<(), ClosedStream> {
        self.inner.finish()
    }

    /// Abandons the stream with this code; data that was not delivered is dropped.
    ///
    /// # Errors
    /// When it was reset before, or all of it is delivered.
    pub fn reset(&mut self, code: u32) -> Result<(), ClosedStream> {
        self.inner.reset(to_wire(code))
    }

    /// Waits until the peer's transport has all of a finished stream.
    ///
    /// # Errors
    /// When the peer has stopped it, or the session is over before that.
    ///
    /// # Cancel safety
    /// It may be dropped at any time.
    pub async fn stopped(&mut self) -> Result<(), WriteError> {
        let stopped = self.inner.stopped();
        tokio::pin!(stopped);
        poll_fn(|cx| {
            if let Poll::Ready(stopped) = stopped.as_mut().poll(cx) {
                return Poll::Ready(match stopped {
                    Ok(None) => Ok(()),
                    Ok(Some(code)) => Err(crate::WriteError::Stopped(code)),
                    Err(error) => Err(error.into()),
                });
            }
            self.session
                .poll_ended(cx)
                .map(|_| Err(crate::WriteError::ClosedStream))
        })
        .await
        .map_err(|error| self.explain(error))
    }

    /// Sets the stream's priority: of streams that have data, those of the highest are sent first,
    /// and those of one priority take turns. 0 unless set. It holds among all streams of the
    /// connection, whichever session they belong to.
    ///
    /// # Errors
    /// When it was finished and delivered, or reset.
    pub fn set_priority(&self, priority: i32) -> Result<(), ClosedStream> {
        self.inner.set_priority(priority)
    }

    /// The stream's priority.
    ///
    /// # Errors
    /// As [`set_priority`](Self::set_priority).
    pub fn priority(&self) -> Result<i32, ClosedStream> {
        self.inner.priority()
    }

    /// Its number in the QUIC connection.
    pub fn id(&self) -> StreamId {
        self.inner.id()
    }

    fn poll_write_some(
        &mut self,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<Result<usize, WriteError>> {
        if let Poll::Ready(error) = self.session.poll_ended(cx) {
            // One that is delivered already needs no end.
            let _ = self.inner.reset(SESSION_GONE);
            return Poll::Ready(Err(error.into()));
        }
        let written = Pin::new(&mut self.inner).poll_write(cx, data);
        written.map_err(|error| self.explain(error))
    }

    /// The session's end, where the stream's comes from there.
    fn explain(&self, error: crate::WriteError) -> WriteError {
        match self.session.ended() {
            Some(ended) => WriteError::SessionEnded(ended.clone()),
            None => WriteError::from_stream(error),
        }
    }
}

impl RecvStream {
    pub(super) fn new(inner: connection::RecvStream, session: &Arc<Handle>) -> Self {
        Self {
            inner,
            session: Watch::new(session),
            is_done: false,
        }
    }

    /// Reads what is there, at least a byte; `None` at the end of the stream.
    ///
    /// # Errors
    /// When the peer has reset the stream, it was stopped, or the session is over.
    ///
    /// # Cancel safety
    /// If this does not resolve, nothing was read.
    pub async fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, ReadError> {
        let is_empty = buffer.is_empty();
        let mut buffer = ReadBuf::new(buffer);
        poll_fn(|cx| self.poll_read_some(cx, &mut buffer)).await?;
        let read = buffer.filled().len();
        Ok((read > 0 || is_empty).then_some(read))
    }

    /// Reads at most `max_length` bytes as they came, without a copy; `None` at the end of the
    /// stream.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    ///
    /// # Cancel safety
    /// If this does not resolve, nothing was read.
    pub async fn read_chunk(&mut self, max_length: usize) -> Result<Option<Bytes>, ReadError> {
        let read = poll_fn(|cx| {
            let read = self.inner.poll_read_chunk(cx, max_length, true);
            self.or_ended(cx, read)
        });
        let chunk = read.await?;
        self.is_done |= chunk.is_none();
        Ok(chunk.map(|chunk| chunk.bytes))
    }

    /// Reads the rest, if it is no longer than `limit` bytes.
    ///
    /// # Errors
    /// As [`read`](Self::read), or when it is longer.
    ///
    /// # Cancel safety
    /// None: if this does not resolve, a part may have been read.
    pub async fn read_to_end(&mut self, limit: usize) -> Result<Vec<u8>, ReadToEndError> {
        let mut data = Vec::new();
        while let Some(chunk) = self.read_chunk(usize::MAX).await? {
            if chunk.len() > limit - data.len() {
                return Err(ReadToEndError::TooLong(limit));
            }
            data.extend_from_slice(&chunk);
        }
        Ok(data)
    }

    /// Asks the peer to stop, with this code; what was not read is dropped.
    ///
    /// # Errors
    /// When its end was read, or it was stopped before.
    pub fn stop(&mut self, code: u32) -> Result<(), ClosedStream> {
        self.is_done = true;
        self.inner.stop(to_wire(code))
    }

    /// Its number in the QUIC connection.
    pub fn id(&self) -> StreamId {
        self.inner.id()
    }

    fn poll_read_some(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<(), ReadError>> {
        let before = buffer.filled().len();
        let has_room = buffer.remaining() > 0;
        let read = self.inner.poll_read_buf(cx, buffer);
        let read = self.or_ended(cx, read);
        if matches!(read, Poll::Ready(Ok(()))) {
            self.is_done |= has_room && buffer.filled().len() == before;
        }
        read
    }

    /// What was read, or the session's end where nothing was. What has arrived is read first.
    fn or_ended<T>(
        &mut self,
        cx: &mut Context<'_>,
        read: Poll<Result<T, crate::ReadError>>,
    ) -> Poll<Result<T, ReadError>> {
        let error = match read {
            Poll::Ready(Ok(read)) => return Poll::Ready(Ok(read)),
            Poll::Ready(Err(error)) => Some(error),
            Poll::Pending => None,
        };
        match (self.session.poll_ended(cx), error) {
            (Poll::Ready(ended), _) => {
                self.give_up();
                Poll::Ready(Err(ended.into()))
            }
            (Poll::Pending, Some(error)) => Poll::Ready(Err(ReadError::from_stream(error))),
            (Poll::Pending, None) => Poll::Pending,
        }
    }

    fn give_up(&mut self) {
        if std::mem::replace(&mut self.is_done, true) {
            return;
        }
        let code = match self.session.ended() {
            Some(_) => SESSION_GONE,
            None => to_wire(0),
        };
        // One that the peer has reset needs no stop.
        let _ = self.inner.stop(code);
    }
}

impl Drop for SendStream {
    fn drop(&mut self) {
        if self.session.ended().is_some() {
            // One that is delivered already needs no end.
            let _ = self.inner.reset(SESSION_GONE);
        }
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl AsyncWrite for SendStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_some(cx, data).map_err(io::Error::from)
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.finish().map_err(io::Error::from))
    }
}

impl AsyncRead for RecvStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_read_some(cx, buffer).map_err(io::Error::from)
    }
}

/// Waits for a session's end beside the stream.
struct Watch {
    session: Arc<Handle>,
    waiting: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
}

impl Watch {
    fn new(session: &Arc<Handle>) -> Self {
        Self {
            session: Arc::clone(session),
            waiting: None,
        }
    }

    fn ended(&self) -> Option<&SessionError> {
        self.session.shared.ended.get()
    }

    fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<SessionError> {
        if self.ended().is_none() {
            let shared = &self.session.shared;
            let waiting = self.waiting.get_or_insert_with(|| {
                let shared = Arc::clone(shared);
                Box::pin(async move {
                    shared.ended.wait().await;
                })
            });
            if waiting.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.waiting = None;
        }
        self.ended()
            .map_or(Poll::Pending, |error| Poll::Ready(error.clone()))
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watch")
            .field(&self.session.shared.id)
            .finish()
    }
}
