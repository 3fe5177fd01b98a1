//! A session's CONNECT stream after the request: capsules (RFC 9297 §3) in DATA frames.

use super::error::SessionError;
use super::shared::MAX_REASON;
use bytes::Buf;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};
use web_transport_proto::{Capsule, Frame, VarInt};

/// The bytes of the DATA frames of a stream, one after the other. Other frames are skipped.
#[derive(Debug)]
struct DataFrames<S> {
    stream: S,
    /// A frame's type and length as far as they were read, at most 16 bytes.
    header: Vec<u8>,
    /// Bytes that the frame still has.
    left: u64,
    is_data: bool,
    /// What the stream failed with, which the readers of integers do not return.
    failed: Option<crate::ReadError>,
}

/// Reads capsules until one closes the session, or the stream ends.
///
/// # Errors
/// When the peer has reset the stream, the connection is lost, or a capsule cannot be read.
pub(super) async fn closing<S>(stream: S) -> Result<(u32, String), SessionError>
where
    S: AsyncRead + Unpin,
{
    let mut frames = DataFrames {
        stream,
        header: Vec::with_capacity(16),
        left: 0,
        is_data: false,
        failed: None,
    };
    loop {
        match Capsule::read(&mut frames).await {
            Ok(Some(Capsule::CloseWebTransportSession { code, reason })) => {
                if reason.len() > MAX_REASON {
                    return Err(SessionError::Malformed("reason of more than 1,024 bytes"));
                }
                return Ok((code, reason));
            }
            // Reserved ones, and those of other drafts.
            Ok(Some(_)) => {}
            Ok(None) => return Ok((0, String::new())),
            Err(_) => {
                let malformed = SessionError::Malformed("capsule, which cannot be read");
                return Err(frames.failed.map_or(malformed, SessionError::from_read));
            }
        }
    }
}

impl<S: AsyncRead + Unpin> DataFrames<S> {
    /// Reads at most as many bytes as `into` has room for.
    fn poll_stream(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.stream).poll_read(cx, into));
        if let Err(error) = &read {
            let inner = error.get_ref();
            let of_stream = inner.and_then(|error| error.downcast_ref::<crate::ReadError>());
            self.failed = of_stream.cloned();
        }
        Poll::Ready(read)
    }

    /// Reads the next frame's type and length; `false` at the end of the stream.
    fn poll_header(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        loop {
            let mut header = &self.header[..];
            let kind = VarInt::decode(&mut header);
            if let (Ok(kind), Ok(length)) = (kind, VarInt::decode(&mut header)) {
                debug_assert!(!header.has_remaining(), "it is read byte by byte");
                self.is_data = Frame(kind) == Frame::DATA;
                self.left = length.into_inner();
                self.header.clear();
                return Poll::Ready(Ok(true));
            }
            let mut byte = [0];
            let mut into = ReadBuf::new(&mut byte);
            ready!(self.poll_stream(cx, &mut into))?;
            if into.filled().is_empty() {
                let is_whole = self.header.is_empty();
                return Poll::Ready(match is_whole {
                    true => Ok(false),
                    false => Err(io::ErrorKind::InvalidData.into()),
                });
            }
            self.header.push(byte[0]);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for DataFrames<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut bytes = [0; 512];
        loop {
            while self.left == 0 {
                if !ready!(self.poll_header(cx))? {
                    return Poll::Ready(Ok(()));
                }
            }
            let most = usize::try_from(self.left).unwrap_or(usize::MAX);
            let room = if self.is_data {
                buffer.remaining()
            } else {
                512
            };
            let mut into = ReadBuf::new(&mut bytes[..room.min(most).min(512)]);
            if into.capacity() == 0 {
                return Poll::Ready(Ok(()));
            }
            ready!(self.poll_stream(cx, &mut into))?;
            let read = into.filled();
            if read.is_empty() {
                // The stream ends inside of a frame.
                return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
            }
            self.left -= read.len() as u64;
            if self.is_data {
                buffer.put_slice(read);
                return Poll::Ready(Ok(()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_close_is_found_however_the_frames_cut_it() {
        let mut capsule = Vec::new();
        let close = Capsule::CloseWebTransportSession {
            code: 77,
            reason: "gone to lunch".to_owned(),
        };
        Capsule::Grease { num: 3 }.encode(&mut capsule);
        close.encode(&mut capsule);
        for cut in 1..capsule.len() {
            let mut wire = frame(Frame::DATA, &capsule[..cut]);
            wire.extend(frame(Frame(VarInt::from_u32(0x21)), &[9; 1000]));
            wire.extend(frame(Frame::DATA, &[]));
            wire.extend(frame(Frame::DATA, &capsule[cut..]));
            let closed = closing(&wire[..]).await;
            assert_eq!(closed, Ok((77, "gone to lunch".to_owned())), "{cut}");
        }
    }

    #[tokio::test]
    async fn the_end_of_the_stream_is_code_0() {
        assert_eq!(closing(&[][..]).await, Ok((0, String::new())));
        let grease = frame(Frame::DATA, &[0x17, 0]);
        assert_eq!(closing(&grease[..]).await, Ok((0, String::new())));
    }

    #[tokio::test]
    async fn what_is_malformed_ends_the_session_and_is_bounded() {
        let close = |reason: usize| {
            let mut capsule = vec![0x68, 0x43];
            VarInt::from_u32(4 + reason as u32).encode(&mut capsule);
            capsule.extend(vec![b'a'; 4 + reason]);
            frame(Frame::DATA, &capsule)
        };
        assert!(closing(&close(MAX_REASON)[..]).await.is_ok());
        let cases = [
            close(MAX_REASON + 1),
            // A close without the whole of its code, whatever follows.
            [frame(Frame::DATA, &[0x68, 0x43, 3, 0, 0, 0]), close(1)].concat(),
            // One of 2^30 - 1 bytes.
            frame(Frame::DATA, &[0x68, 0x43, 0xbf, 0xff, 0xff, 0xff]),
            // Ends inside of a header, a frame, a capsule.
            vec![0],
            vec![0, 0x40],
            vec![0, 5, 1],
            frame(Frame::DATA, &[0x68]),
            // A reason that is not text.
            frame(Frame::DATA, &[0x68, 0x43, 5, 0, 0, 0, 0, 0xff]),
        ];
        for wire in cases {
            let ended = closing(&wire[..]).await;
            assert!(matches!(ended, Err(SessionError::Malformed(_))), "{wire:?}");
        }
    }

    fn frame(kind: Frame, payload: &[u8]) -> Vec<u8> {
        let mut wire = Vec::new();
        kind.encode(&mut wire);
        VarInt::from_u32(payload.len() as u32).encode(&mut wire);
        wire.extend(payload);
        wire
    }
}
