//! The sending direction of a stream.

use crate::connection::shared::{Lease, State};
use crate::driver::Amount;
use crate::error::{StoppedError, WriteError};
use crate::lock::Guard;
use crate::user_code;
use bytes::Bytes;
use quinn_proto::{ClosedStream, FinishError, StreamId, VarInt, Written};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;

/// A stream to write to.
///
/// Dropping it [finishes](Self::finish) it unless it was [`reset`](Self::reset): what was written
/// goes on being delivered for as long as the connection is open. The peer cannot tell a message
/// given up halfway from a whole one then, so reset it first.
#[derive(Debug)]
pub struct SendStream {
    lease: Lease,
    id: StreamId,
    is_0rtt: bool,
    is_reset: bool,
    /// Bytes since it was opened.
    written: u64,
}

impl SendStream {
    pub(crate) fn new(lease: Lease, id: StreamId, is_0rtt: bool) -> Self {
        Self {
            lease,
            id,
            is_0rtt,
            is_reset: false,
            written: 0,
        }
    }

    /// Writes as much of `data` as fits now, at least a byte unless it is empty, and returns how
    /// much that was. Waits until something fits.
    ///
    /// # Errors
    /// When the peer has stopped the stream, it was finished or reset, the connection is lost, or
    /// the stream was opened with 0-RTT and that was rejected.
    ///
    /// # Cancel safety
    /// If this does not resolve, nothing was written.
    pub async fn write(&mut self, data: &[u8]) -> Result<usize, WriteError> {
        poll_fn(|cx| self.poll_with(cx, |stream| stream.write(data))).await
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

    /// Writes as much of `chunks` as fits now, without copying, and leaves in them what did not.
    /// Waits until something fits.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    ///
    /// # Cancel safety
    /// If this does not resolve, nothing was written.
    pub async fn write_chunks(&mut self, chunks: &mut [Bytes]) -> Result<Written, WriteError> {
        poll_fn(|cx| self.poll_with(cx, |stream| stream.write_chunks(chunks))).await
    }

    /// Writes all of `chunk` without copying it.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    ///
    /// # Cancel safety
    /// None: if this does not resolve, a part may have been written.
    pub async fn write_chunk(&mut self, chunk: Bytes) -> Result<(), WriteError> {
        self.write_all_chunks(&mut [chunk]).await
    }

    /// Writes all of `chunks` without copying, and leaves them empty.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    ///
    /// # Cancel safety
    /// None: if this does not resolve, a part may have been written, and is gone from `chunks`.
    pub async fn write_all_chunks(&mut self, mut chunks: &mut [Bytes]) -> Result<(), WriteError> {
        while !chunks.is_empty() {
            let written = self.write_chunks(chunks).await?;
            chunks = &mut chunks[written.chunks..];
        }
        Ok(())
    }

    /// Tells the peer that no more will be written. [`stopped`](Self::stopped) resolves when all
    /// has arrived.
    ///
    /// # Errors
    /// When the stream was finished or reset before, or opened with 0-RTT that was rejected.
    pub fn finish(&mut self) -> Result<(), ClosedStream> {
        let mut state = self.live()?;
        let result = state.driver.conn().send_stream(self.id).finish();
        drop(state);
        match result {
            Ok(()) => {
                self.lease.schedule();
                Ok(())
            }
            // `stopped` resolves to it.
            Err(FinishError::Stopped(_)) => Ok(()),
            Err(FinishError::ClosedStream) => Err(ClosedStream::default()),
        }
    }

    /// Abandons the stream: what has not arrived need not arrive, and the peer gets `code`.
    /// If it was opened with 0-RTT that was rejected, the peer does not know it.
    ///
    /// ```
    /// use paceline::{ReadError, ReadToEndError};
    ///
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, server) = connected().await?;
    /// let mut stream = client.open_uni().await?;
    /// stream.write_all(b"the first half").await?;
    /// stream.reset(4_u32.into())?;
    ///
    /// let mut stream = server.accept_uni().await?;
    /// let error = stream.read_to_end(100).await.unwrap_err();
    /// assert_eq!(error, ReadToEndError::Read(ReadError::Reset(4_u32.into())));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the stream was reset before, or finished and delivered.
    pub fn reset(&mut self, code: VarInt) -> Result<(), ClosedStream> {
        let Ok(mut state) = self.live() else {
            return Ok(());
        };
        state.driver.conn().send_stream(self.id).reset(code)?;
        state.driver.on_write_ended(self.id);
        state.forget_departure(self.id);
        let waiting = state.stopped.remove(&self.id);
        drop(state);
        self.is_reset = true;
        if let Some(waiting) = waiting {
            waiting.notify_waiters();
        }
        self.lease.schedule();
        Ok(())
    }

    /// Sets the priority, 0 at first: streams of higher priority are sent from first.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, server) = connected().await?;
    /// let mut film = client.open_uni().await?;
    /// let mut subtitles = client.open_uni().await?;
    /// // Default 0. What has the greater number goes first.
    /// subtitles.set_priority(1)?;
    /// film.write_all(&[0; 10_000]).await?;
    /// subtitles.write_all(b"Good morning!").await?;
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the stream is over for both sides, or was opened with 0-RTT that was rejected.
    pub fn set_priority(&self, priority: i32) -> Result<(), ClosedStream> {
        let mut state = self.live()?;
        state
            .driver
            .conn()
            .send_stream(self.id)
            .set_priority(priority)
    }

    /// The priority.
    ///
    /// # Errors
    /// As [`set_priority`](Self::set_priority).
    pub fn priority(&self) -> Result<i32, ClosedStream> {
        let mut state = self.live()?;
        state.driver.conn().send_stream(self.id).priority()
    }

    /// Waits until the peer wants no more: `Some` code when it stopped the stream, `None` when
    /// the stream was finished and all of it has been acknowledged, or it was reset.
    ///
    /// Acknowledged means received by the peer's transport; its application may not have read it.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, server) = connected().await?;
    /// let mut stream = client.open_uni().await?;
    /// stream.write_all(b"keep this").await?;
    /// stream.finish()?;
    /// # tokio::spawn(async move {
    /// #     let mut stream = server.accept_uni().await.ok()?;
    /// #     stream.read_to_end(100).await.ok()?;
    /// #     Some(server.closed().await)
    /// # });
    /// // Nothing, rather than a code: the peer's transport has all of it.
    /// assert_eq!(stream.stopped().await?, None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the connection is lost, or the stream was opened with 0-RTT and that was rejected.
    ///
    /// # Cancel safety
    /// It may be dropped at any time.
    pub fn stopped(
        &self,
    ) -> impl Future<Output = Result<Option<VarInt>, StoppedError>> + Send + Sync + 'static {
        let (lease, id, is_0rtt) = (self.lease.clone(), self.id, self.is_0rtt);
        let mut is_reset = self.is_reset;
        async move {
            loop {
                let notify;
                let stopped = {
                    let mut state = lease.lock();
                    if is_0rtt && state.has_rejected_0rtt() {
                        return Err(StoppedError::ZeroRttRejected);
                    }
                    match state.driver.conn().send_stream(id).stopped() {
                        Err(ClosedStream { .. }) => return Ok(None),
                        Ok(Some(code)) => return Ok(Some(code)),
                        Ok(None) => {}
                    }
                    if let Some(error) = &state.error {
                        return Err(error.clone().into());
                    }
                    if is_reset {
                        return Ok(None);
                    }
                    notify = state.stopped.entry(id).or_default().clone();
                    notify.notified()
                };
                stopped.await;
                // What the peer did is found at first; if nothing is found, it was this side.
                is_reset = true;
            }
        }
    }

    /// Bytes that were written and have not left: they have been in no packet yet. What was lost
    /// and is to be sent again has left.
    ///
    /// # Errors
    /// When the stream was reset, or opened with 0-RTT that was rejected.
    pub fn unsent(&self) -> Result<u64, ClosedStream> {
        let state = self.live()?;
        if self.is_reset {
            return Err(ClosedStream::default());
        }
        Ok(self.written - state.driver.departed(self.id).min(self.written))
    }

    /// Waits until all that was written before this call has left, for the first time: see
    /// [`unsent`](Self::unsent).
    ///
    /// With a time limit it gives up what is late, and spares what is on its way: a reset also
    /// keeps what was lost from being sent again.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tokio::time::timeout;
    ///
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, server) = connected().await?;
    /// let mut frame = client.open_uni().await?;
    /// frame.write_all(&[0; 20_000]).await?;
    /// frame.finish()?;
    /// tokio::spawn(async move {
    ///     if timeout(Duration::from_millis(100), frame.sent()).await.is_err() {
    ///         let _ = frame.reset(7_u32.into());
    ///     }
    /// });
    /// # let mut stream = server.accept_uni().await?;
    /// # assert_eq!(stream.read_to_end(20_000).await?.len(), 20_000);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the peer has stopped the stream, it was reset, the connection is lost, or the stream
    /// was opened with 0-RTT and that was rejected.
    ///
    /// # Cancel safety
    /// It may be dropped at any time.
    pub async fn sent(&self) -> Result<(), WriteError> {
        loop {
            let notify;
            let departed = {
                let mut state = self.lease.lock();
                if self.is_0rtt && state.has_rejected_0rtt() {
                    return Err(WriteError::ZeroRttRejected);
                }
                if self.is_reset {
                    return Err(WriteError::ClosedStream);
                }
                if state.driver.departed(self.id) >= self.written {
                    return Ok(());
                }
                if let Some(error) = &state.error {
                    return Err(error.clone().into());
                }
                if let Some(code) = self.stop_code(&mut state) {
                    return Err(WriteError::Stopped(code));
                }
                let awaited = state.departing.entry((self.id, self.written));
                notify = Arc::clone(awaited.or_default());
                notify.notified()
            };
            departed.await;
        }
    }

    /// The stream's number.
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// [`write`](Self::write) by polling.
    pub fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<Result<usize, WriteError>> {
        self.get_mut().poll_with(cx, |stream| stream.write(data))
    }

    /// Runs `write` on the stream, and waits for room when it finds none.
    pub(crate) fn poll_with<T: Amount>(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(&mut quinn_proto::SendStream<'_>) -> Result<T, quinn_proto::WriteError>,
    ) -> Poll<Result<T, WriteError>> {
        let mut state = self.lease.lock();
        if self.is_0rtt && state.has_rejected_0rtt() {
            return Poll::Ready(Err(WriteError::ZeroRttRejected));
        }
        if let Some(error) = &state.error {
            return Poll::Ready(Err(error.clone().into()));
        }
        let result = match state.driver.write(self.id, write) {
            Ok(written) => {
                if self.written == 0 && written.bytes() > 0 {
                    state.driver.watch_departure(self.id);
                }
                self.written += written.bytes();
                Ok(written)
            }
            Err(quinn_proto::WriteError::Blocked) => match self.stop_code(&mut state) {
                Some(code) => {
                    state.driver.on_write_ended(self.id);
                    Err(WriteError::Stopped(code))
                }
                None => {
                    state.writers.insert(self.id, cx.waker().clone());
                    let has_to_be_told = state.driver.has_deferred_writers();
                    drop(state);
                    if has_to_be_told {
                        self.lease.schedule();
                    }
                    return Poll::Pending;
                }
            },
            Err(quinn_proto::WriteError::Stopped(code)) => Err(WriteError::Stopped(code)),
            Err(quinn_proto::WriteError::ClosedStream) => Err(WriteError::ClosedStream),
        };
        drop(state);
        if result.is_ok() {
            self.lease.schedule();
        }
        Poll::Ready(result)
    }

    /// The peer's code if it has stopped the stream. While the connection has no room, quinn-proto
    /// 0.11 calls a write blocked without a check of that, and may not report when there is room.
    fn stop_code(&self, state: &mut State) -> Option<VarInt> {
        let stopped = state.driver.conn().send_stream(self.id).stopped();
        stopped.ok().flatten()
    }

    /// The connection, unless the stream was opened with 0-RTT that was rejected: its number may
    /// be another stream's by now.
    fn live(&self) -> Result<Guard<'_, State>, ClosedStream> {
        let mut state = self.lease.lock();
        if self.is_0rtt && state.has_rejected_0rtt() {
            return Err(ClosedStream::default());
        }
        Ok(state)
    }
}

impl AsyncWrite for SendStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(ready!(Self::poll_write(self, cx, data))?))
    }

    /// Does nothing: what was written is sent as soon as it may be.
    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.finish().map_err(Into::into))
    }
}

/// The same, with feature `futures-io`.
#[cfg(feature = "futures-io")]
impl futures_io::AsyncWrite for SendStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(ready!(Self::poll_write(self, cx, data))?))
    }

    /// Does nothing: what was written is sent as soon as it may be.
    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.finish().map_err(Into::into))
    }
}

impl Drop for SendStream {
    fn drop(&mut self) {
        // In a congestion controller: the stream is left to the connection's end.
        if user_code::is_locked() {
            return;
        }
        let Ok(mut state) = self.live() else {
            return;
        };
        state.writers.remove(&self.id);
        state.driver.on_write_ended(self.id);
        state.forget_departure(self.id);
        if state.error.is_some() {
            return;
        }
        let mut stream = state.driver.conn().send_stream(self.id);
        let is_news = match stream.finish() {
            Ok(()) => true,
            // The answer to being stopped (RFC 9000 §3.5).
            Err(FinishError::Stopped(code)) => stream.reset(code).is_ok(),
            Err(FinishError::ClosedStream) => false,
        };
        drop(state);
        if is_news {
            self.lease.schedule();
        }
    }
}
