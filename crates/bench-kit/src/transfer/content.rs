//! What streams carry, and its hash.

use crate::hex;
use aws_lc_rs::digest::{Context, SHA256};
use bytes::Bytes;
use link_sim::program::message;
use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A file of this side: the source of what it sends, or where what it receives goes. It is read and
/// written on the thread of the run, as iperf3 does: a slow disk slows the run down.
#[derive(Debug, Clone)]
pub struct LocalFile(Arc<Mutex<Open>>);

#[derive(Debug)]
struct Open {
    path: PathBuf,
    file: File,
}

impl Open {
    /// What both ends of the run are told.
    fn failed(&self, error: &std::io::Error) -> String {
        message(&format!("-F {}: {error}", self.path.display()))
    }
}

impl LocalFile {
    /// A file that is open for what it is needed for.
    pub fn new(path: PathBuf, file: File) -> Self {
        Self(Arc::new(Mutex::new(Open { path, file })))
    }

    fn read(&self, length: usize) -> Result<Bytes, String> {
        let mut open = self.0.lock().expect(NO_PANIC);
        let mut block = vec![0; length];
        match open.file.read_exact(&mut block) {
            Ok(()) => Ok(block.into()),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Err(format!(
                "-F {}: the file shrank while it was sent",
                open.path.display()
            )),
            Err(error) => Err(open.failed(&error)),
        }
    }

    fn write(&self, bytes: &[u8]) -> Result<(), String> {
        let mut open = self.0.lock().expect(NO_PANIC);
        let written = open.file.write_all(bytes);
        written.map_err(|error| open.failed(&error))
    }
}

pub(super) struct Content {
    source: Source,
    hash: Option<Context>,
}

#[derive(Clone)]
enum Source {
    Block(Bytes),
    File(LocalFile),
}

impl Content {
    /// Zeros or noise, `block` at most at a time, from the byte with number `begin` on.
    pub(super) fn generated(
        block: units::Bytes,
        begin: u64,
        is_zeros: bool,
        is_hashed: bool,
    ) -> Self {
        let noise = payload(block);
        let source = Source::Block(if is_zeros {
            vec![0; noise.len()].into()
        } else {
            let begin = begin % noise.len() as u64;
            let (before, behind) = noise.split_at(usize::try_from(begin).expect("within a block"));
            [behind, before].concat().into()
        });
        Self::new(source, is_hashed)
    }

    pub(super) fn of_file(file: LocalFile, is_hashed: bool) -> Self {
        Self::new(Source::File(file), is_hashed)
    }

    fn new(source: Source, is_hashed: bool) -> Self {
        Self {
            source,
            hash: is_hashed.then(|| Context::new(&SHA256)),
        }
    }

    /// The next so many bytes, at most a block.
    pub(super) fn next(&mut self, length: usize) -> Result<Bytes, String> {
        let bytes = match &self.source {
            Source::Block(block) => block.slice(..length),
            Source::File(file) => file.read(length)?,
        };
        if let Some(hash) = &mut self.hash {
            hash.update(&bytes);
        }
        Ok(bytes)
    }

    /// The SHA-256 of all that was sent, in hexadecimal, if it was asked for.
    pub(super) fn digest(self) -> Option<String> {
        self.hash.map(|hash| hex::encode(hash.finish().as_ref()))
    }
}

impl Clone for Content {
    /// The same content from its begin, for a stream of its own.
    fn clone(&self) -> Self {
        Self::new(self.source.clone(), self.hash.is_some())
    }
}

pub(super) struct Sink {
    file: Option<LocalFile>,
    hash: Option<Context>,
}

impl Sink {
    pub(super) fn new(file: Option<LocalFile>, is_hashed: bool) -> Self {
        Self {
            file,
            hash: is_hashed.then(|| Context::new(&SHA256)),
        }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        if let Some(hash) = &mut self.hash {
            hash.update(bytes);
        }
        self.file.as_ref().map_or(Ok(()), |file| file.write(bytes))
    }

    /// The SHA-256 of all that came, in hexadecimal, if it was asked for.
    pub(super) fn digest(self) -> Option<String> {
        self.hash.map(|hash| hex::encode(hash.finish().as_ref()))
    }
}

/// Bytes that no link compresses, the same in every run.
pub fn payload(length: units::Bytes) -> Bytes {
    let mut rng = units::Rng::new(0);
    let length = usize::try_from(length.get()).expect("at most the longest block");
    let words = std::iter::repeat_with(|| rng.next_u64().to_le_bytes());
    words.flatten().take(length).collect()
}

/// What fills datagrams up to the largest UDP payload there is.
pub(super) fn filling(is_zeros: bool) -> Bytes {
    if is_zeros {
        vec![0; LARGEST_DATAGRAM].into()
    } else {
        payload(units::Bytes::new(LARGEST_DATAGRAM as u64))
    }
}

pub(super) const LARGEST_DATAGRAM: usize = 65_527;

const NO_PANIC: &str = "nothing panics while it is locked";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_in_pieces_has_the_hash_of_what_comes_in_others() {
        let mut content = Content::generated(units::Bytes::new(100), 0, true, true);
        let mut sink = Sink::new(None, true);
        for length in [100, 60, 40] {
            content.next(length).unwrap();
        }
        for length in [10, 190] {
            sink.take(&vec![0; length]).unwrap();
        }
        let digest = content.digest().unwrap();
        // sha256sum of 200 zeros.
        assert_eq!(
            digest,
            "6d9c54dee5660c46886f32d80e57e9dd0ffa57ee0cd2a762b036d9c8e0c3a33a"
        );
        assert_eq!(sink.digest().unwrap(), digest);
    }

    #[test]
    fn content_that_is_continued_goes_on_where_the_first_part_ends() {
        let block = units::Bytes::new(100);
        let take = |begin, lengths: &[usize]| {
            let mut content = Content::generated(block, begin, false, false);
            let pieces = lengths.iter().map(|length| content.next(*length).unwrap());
            pieces.collect::<Vec<_>>().concat()
        };
        let whole = take(0, &[100, 100, 100]);
        for begin in [0, 1, 99, 100, 163] {
            let rest = take(begin as u64, &[100, 37]);
            assert_eq!(rest, whole[begin..][..137], "from {begin} on");
        }
    }
}
