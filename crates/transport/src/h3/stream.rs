//! Streams as HTTP/3 has them: frames go in, chunks of bytes come out.

use super::error::{read_error, wire_code, write_error};
use crate::connection;
use crate::error::{ReadError, WriteError};
use ::h3::error::Code;
use ::h3::quic::{self, SendStream as _, StreamErrorIncoming, StreamId, WriteBuf};
use bytes::{Buf, Bytes};
use quinn_proto::coding::Codec;
use quinn_proto::{Side, VarInt};
use std::fmt;
use std::task::{Context, Poll, ready};

/// A stream in both directions: a request and its response.
pub struct BidiStream<B: Buf> {
    send: SendStream<B>,
    recv: RecvStream,
}

impl<B: Buf> BidiStream<B> {
    pub(super) fn new(
        (send, recv): (connection::SendStream, connection::RecvStream),
        side: Side,
    ) -> Self {
        Self {
            send: SendStream::new(send),
            recv: RecvStream::new(recv, side),
        }
    }
}

impl<B: Buf> quic::BidiStream<B> for BidiStream<B> {
    type SendStream = SendStream<B>;
    type RecvStream = RecvStream;

    fn split(self) -> (SendStream<B>, RecvStream) {
        (self.send, self.recv)
    }
}

impl<B: Buf> quic::SendStream<B> for BidiStream<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.send.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_finish(cx)
    }

    fn reset(&mut self, reset_code: u64) {
        self.send.reset(reset_code);
    }

    fn send_id(&self) -> StreamId {
        self.send.send_id()
    }
}

impl<B: Buf> quic::SendStreamUnframed<B> for BidiStream<B> {
    fn poll_send<D: Buf>(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut D,
    ) -> Poll<Result<usize, StreamErrorIncoming>> {
        self.send.poll_send(cx, buf)
    }
}

impl<B: Buf> quic::RecvStream for BidiStream<B> {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.recv.poll_data(cx)
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.recv.stop_sending(error_code);
    }

    fn recv_id(&self) -> StreamId {
        self.recv.recv_id()
    }
}

impl<B: Buf> fmt::Debug for BidiStream<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BidiStream")
            .field("send", &self.send)
            .field("recv", &self.recv)
            .finish()
    }
}

/// The sending direction of a stream.
///
/// Dropping it finishes it between two frames, and resets it inside of one.
pub struct SendStream<B: Buf> {
    stream: connection::SendStream,
    /// The frame that was handed over, until the last of it is written.
    writing: Option<WriteBuf<B>>,
}

impl<B: Buf> SendStream<B> {
    pub(super) fn new(stream: connection::SendStream) -> Self {
        Self {
            stream,
            writing: None,
        }
    }
}

impl<B: Buf> quic::SendStream<B> for SendStream<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        while let Some(frame) = &mut self.writing
            && frame.has_remaining()
        {
            if let Err(error) = ready!(poll_write(&mut self.stream, cx, frame)) {
                self.writing = None;
                return Poll::Ready(Err(write_error(error)));
            }
        }
        self.writing = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        let frame = data.into();
        if self.writing.is_none() {
            self.writing = Some(frame);
        } else if !is_reserved(&frame) {
            return Err(StreamErrorIncoming::Unknown(UNWRITTEN.into()));
        }
        Ok(())
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        ready!(self.poll_ready(cx))?;
        let finished = self.stream.finish();
        Poll::Ready(finished.map_err(|closed| StreamErrorIncoming::Unknown(Box::new(closed))))
    }

    fn reset(&mut self, reset_code: u64) {
        self.writing = None;
        // Where all has arrived, or a reset is under way, there is nothing to abandon.
        let _ = self.stream.reset(wire_code(reset_code));
    }

    fn send_id(&self) -> StreamId {
        stream_id(self.stream.id())
    }
}

impl<B: Buf> quic::SendStreamUnframed<B> for SendStream<B> {
    fn poll_send<D: Buf>(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut D,
    ) -> Poll<Result<usize, StreamErrorIncoming>> {
        ready!(self.poll_ready(cx))?;
        poll_write(&mut self.stream, cx, buf).map_err(write_error)
    }
}

impl<B: Buf> Drop for SendStream<B> {
    fn drop(&mut self) {
        if self.writing.as_ref().is_some_and(Buf::has_remaining) {
            self.reset(Code::H3_REQUEST_CANCELLED.value());
        }
    }
}

impl<B: Buf> fmt::Debug for SendStream<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendStream")
            .field("stream", &self.stream)
            .field("unwritten", &self.writing.as_ref().map(Buf::remaining))
            .finish()
    }
}

/// The receiving direction of a stream.
///
/// Dropping it before its end asks the peer to stop sending.
#[derive(Debug)]
pub struct RecvStream {
    stream: connection::RecvStream,
    /// Why there is no more. Told again to who asks again: an end instead, inside of a frame, would
    /// be taken for the peer's fault.
    failed: Option<ReadError>,
    side: Side,
}

impl RecvStream {
    pub(super) fn new(stream: connection::RecvStream, side: Side) -> Self {
        Self {
            stream,
            failed: None,
            side,
        }
    }
}

impl quic::RecvStream for RecvStream {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        if let Some(error) = &self.failed {
            return Poll::Ready(Err(read_error(error.clone())));
        }
        let chunk = ready!(self.stream.poll_read_chunk(cx, usize::MAX, true));
        Poll::Ready(match chunk {
            Ok(chunk) => Ok(chunk.map(|chunk| chunk.bytes)),
            Err(error) => {
                self.failed = Some(error.clone());
                Err(read_error(error))
            }
        })
    }

    fn stop_sending(&mut self, error_code: u64) {
        // A stream that has ended has nothing to stop.
        if self.stream.stop(wire_code(error_code)).is_ok() {
            self.failed.get_or_insert(ReadError::ClosedStream);
        }
    }

    fn recv_id(&self) -> StreamId {
        stream_id(self.stream.id())
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        let code = match self.side {
            Side::Client => Code::H3_REQUEST_CANCELLED,
            Side::Server => Code::H3_NO_ERROR,
        };
        self.stream.give_up(wire_code(code.value()));
    }
}

/// Writes what fits of all that `data` has, at least a byte, and advances it by that much; under
/// one lock, so that a frame's header and its payload leave in one packet.
fn poll_write(
    stream: &mut connection::SendStream,
    cx: &mut Context<'_>,
    data: &mut impl Buf,
) -> Poll<Result<usize, WriteError>> {
    stream.poll_with(cx, |stream| {
        let mut written = 0;
        while data.has_remaining() {
            match stream.write(data.chunk()) {
                Ok(count) => {
                    data.advance(count);
                    written += count;
                }
                Err(quinn_proto::WriteError::Blocked) if written > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(written)
    })
}

/// Whether a frame's type is one of those that mean nothing to anybody (RFC 9114 §7.2.8). `h3` ends
/// a connection's first request with such a frame, which may be left out.
fn is_reserved(frame: &impl Buf) -> bool {
    let frame_type = VarInt::decode(&mut frame.chunk());
    let above = frame_type.map(|number| number.into_inner().checked_sub(0x21));
    matches!(above, Ok(Some(above)) if above % 0x1F == 0)
}

/// Both are numbers below 2⁶².
fn stream_id(id: quinn_proto::StreamId) -> StreamId {
    let number: u64 = id.into();
    number
        .try_into()
        .expect("QUIC's streams have QUIC's numbers")
}

/// Shown for a send that follows one that was abandoned.
const UNWRITTEN: &str = "previous frame incomplete: the future sending it was dropped";
