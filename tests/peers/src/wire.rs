//! What client and server say to each other: a request opens every stream.

use crate::stack::Receiver;
use crate::{Result, check};
use bytes::Bytes;

/// What is to be done on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// The server sends so many bytes.
    Download { bytes: u64, content: Content },
    /// The client sends them, and the server answers how many came, in 8 octets.
    Upload { bytes: u64, content: Content },
    /// The server sends back what comes.
    Echo,
    /// The server sends until the client goes away.
    Endless,
}

/// What bytes there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// The same buffer again and again: costs neither side anything.
    Constant,
    /// Every one depends on its place, and is compared.
    Checked,
}

impl Request {
    pub(crate) fn encode(self) -> Bytes {
        let (kind, bytes, content) = match self {
            Self::Download { bytes, content } => (0, bytes, content),
            Self::Upload { bytes, content } => (1, bytes, content),
            Self::Echo => (2, 0, Content::Constant),
            Self::Endless => (3, 0, Content::Constant),
        };
        let mut octets = vec![kind, u8::from(content == Content::Checked)];
        octets.extend(bytes.to_le_bytes());
        octets.into()
    }

    fn decode([kind, checked, bytes @ ..]: [u8; REQUEST_OCTETS]) -> Result<Self> {
        let bytes = u64::from_le_bytes(bytes);
        let content = match checked {
            0 => Content::Constant,
            _ => Content::Checked,
        };
        match kind {
            0 => Ok(Self::Download { bytes, content }),
            1 => Ok(Self::Upload { bytes, content }),
            2 => Ok(Self::Echo),
            3 => Ok(Self::Endless),
            _ => Err(format!("expected a request's kind, 0 to 3, not {kind}").into()),
        }
    }

    /// The request that begins a stream.
    pub(crate) async fn read(incoming: &mut Incoming<impl Receiver>) -> Result<Self> {
        Self::decode(incoming.read_exact().await?)
    }
}

/// A stream, of which a part can be read whole.
pub(crate) struct Incoming<R> {
    receiver: R,
    /// Read from the stream, but not by whom it is for.
    rest: Bytes,
}

impl<R: Receiver> Incoming<R> {
    pub(crate) fn new(receiver: R) -> Self {
        Self {
            receiver,
            rest: Bytes::new(),
        }
    }

    /// The next bytes, however many; `None` at the end.
    pub(crate) async fn read(&mut self) -> Result<Option<Bytes>> {
        if self.rest.is_empty() {
            return self.receiver.read().await;
        }
        Ok(Some(std::mem::take(&mut self.rest)))
    }

    /// The next `N` bytes.
    pub(crate) async fn read_exact<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut filled = Vec::with_capacity(N);
        while filled.len() < N {
            let mut chunk = self.read().await?.ok_or("the stream ended early")?;
            let part = chunk.split_to(chunk.len().min(N - filled.len()));
            filled.extend(part);
            self.rest = chunk;
        }
        Ok(filled.try_into().expect("it has N bytes"))
    }

    /// How many bytes follow up to the end, compared where they can be.
    pub(crate) async fn count(&mut self, content: Content) -> Result<u64> {
        let mut bytes = 0;
        while let Some(chunk) = self.read().await? {
            if content == Content::Checked {
                check::compare(bytes, &chunk)?;
            }
            bytes += chunk.len() as u64;
        }
        Ok(bytes)
    }
}

const REQUEST_OCTETS: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let content = Content::Checked;
        let requests = [
            Request::Download { bytes: 3, content },
            Request::Upload { bytes: 9, content },
            Request::Echo,
            Request::Endless,
        ];
        for request in requests {
            let octets = request.encode().to_vec().try_into().unwrap();
            assert_eq!(Request::decode(octets).unwrap(), request);
        }
        assert!(Request::decode([4; REQUEST_OCTETS]).is_err());
    }
}
