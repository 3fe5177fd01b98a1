//! A file that is being received.

use bench_kit::failure::Failure;
use bench_kit::terminal;
use bench_kit::transfer::{LocalFile, payload};
use bench_report::text::amount;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use units::Bytes;

/// What is received into `FILE` is `FILE.part` until all of it has come, so that whatever has the
/// final name is whole.
#[derive(Debug)]
pub(super) struct PartFile {
    /// As it was given, for messages.
    given: PathBuf,
    path: PathBuf,
    part: PathBuf,
    is_complete: bool,
}

impl PartFile {
    /// A file to write to, and the part file that it is; a device or a pipe has none. What a part
    /// file has is left there if it `continues`.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub(super) fn open(
        given: &Path,
        continues: bool,
    ) -> Result<(LocalFile, Option<Self>), Failure> {
        let create = |path: &Path| {
            let mut options = OpenOptions::new();
            let file = match continues {
                true => options.append(true).create(true).open(path),
                false => File::create(path),
            };
            let file = file.map_err(|error| failure(path, &error))?;
            Ok(LocalFile::new(path.to_owned(), file))
        };
        if fs::metadata(given).is_ok_and(|existing| !existing.is_file()) {
            return Ok((create(given)?, None));
        }
        // A link stays one: the file that it leads to is replaced.
        let path = fs::canonicalize(given).unwrap_or_else(|_| given.to_owned());
        let mut part = OsString::from(&path);
        part.push(".part");
        let part = PathBuf::from(part);
        let file = create(&part)?;
        let created = Self {
            given: given.to_owned(),
            path,
            part,
            is_complete: false,
        };
        Ok((file, Some(created)))
    }

    /// How many bytes are there of the `all` that a server sends in blocks of this size.
    ///
    /// # Errors
    /// When they are others, or all, and when they cannot be read.
    pub(super) fn check(&self, block: Bytes, all: u64) -> Result<u64, Failure> {
        let part = self.part.display();
        let file = File::open(&self.part);
        let compared = file.and_then(|file| compare(file, &payload(block)));
        match compared.map_err(|error| failure(&self.part, &error))? {
            Compared::Differs(at) => Err(Failure::run(format!(
                "--continue: {part} is no part of what this run receives: it differs from byte \
                 {at} on; delete it, or use the -l and -b of the run that it is from"
            ))),
            Compared::Same(there) if there >= all => Err(Failure::run(format!(
                "--continue: {part} has all of {}; rename it, or raise -n",
                amount(all)
            ))),
            Compared::Same(there) => Ok(there),
        }
    }

    /// Gives it its final name if it `is_complete`, and else tells the user of it.
    ///
    /// # Errors
    /// When the system refuses the new name.
    pub(super) fn finish(mut self, is_complete: bool) -> Result<(), Failure> {
        if !is_complete {
            if !self.is_empty() {
                terminal::note(format_args!(
                    "warning: -F {}: incomplete; what came is in {}; --continue goes on from there",
                    self.given.display(),
                    self.part.display()
                ));
            }
            return Ok(());
        }
        self.is_complete = true;
        fs::rename(&self.part, &self.path).map_err(|error| {
            Failure::run(format!(
                "-F {}: {error}; the complete file is {}: rename it",
                self.given.display(),
                self.part.display()
            ))
        })
    }

    fn is_empty(&self) -> bool {
        fs::metadata(&self.part).is_ok_and(|part| part.len() == 0)
    }
}

impl Drop for PartFile {
    /// An empty one is of no use to anybody.
    fn drop(&mut self) {
        if !self.is_complete && self.is_empty() {
            let _ = fs::remove_file(&self.part);
        }
    }
}

/// How a file and repetitions of a pattern compare.
#[derive(Debug, PartialEq, Eq)]
enum Compared {
    /// All bytes of the file, which are so many.
    Same(u64),
    /// From this byte on.
    Differs(u64),
}

fn compare(mut file: impl Read, pattern: &[u8]) -> io::Result<Compared> {
    // Long enough to be read at once.
    let pattern = pattern.repeat(READ.div_ceil(pattern.len()));
    let mut bytes = Vec::with_capacity(pattern.len());
    let mut same = 0;
    loop {
        bytes.clear();
        let read = (&mut file)
            .take(pattern.len() as u64)
            .read_to_end(&mut bytes)?;
        if let Some(at) = bytes.iter().zip(&pattern).position(|(a, b)| a != b) {
            return Ok(Compared::Differs(same + at as u64));
        }
        same += read as u64;
        if read < pattern.len() {
            return Ok(Compared::Same(same));
        }
    }
}

/// Bytes of one read, at least.
const READ: usize = 64 << 10;

fn failure(path: &Path, error: &io::Error) -> Failure {
    Failure::run(format!("-F {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_compared_with_what_is_sent_again_and_again() {
        let sent = b"noise".repeat(40_000);
        for there in [0, 1, 4, 5, 65_535, 65_536, 200_000] {
            let mut part = sent[..there].to_vec();
            let same = Compared::Same(there as u64);
            assert_eq!(compare(&part[..], b"noise").unwrap(), same);
            if let Some(last) = part.last_mut() {
                *last = b'x';
                let differs = Compared::Differs(there as u64 - 1);
                assert_eq!(compare(&part[..], b"noise").unwrap(), differs);
            }
        }
    }
}
