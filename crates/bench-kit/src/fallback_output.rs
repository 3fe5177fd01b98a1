//! Where a result goes that could not be written where it belongs: a run of an hour must not be
//! lost to a full disk.

use crate::failure::Failure;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

/// A new file in the system's folder for temporary ones, for what `flag` should have got.
pub fn file(flag: &str) -> io::Result<(PathBuf, File)> {
    let name = flag.trim_start_matches('-');
    let process = std::process::id();
    let name = |number: u32| format!("paceline-{process}-{name}-{number}");
    // Never one that is there already: others may write into that folder, links too.
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mut last = Err(io::ErrorKind::AlreadyExists.into());
    for number in 1..=MAX_FILES {
        let path = std::env::temp_dir().join(name(number));
        last = options.open(&path).map(|file| (path, file));
        let is_taken = |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
        if !last.as_ref().err().is_some_and(is_taken) {
            break;
        }
    }
    last
}

/// Saves `text`, which `what` did not take because of `error`; says so, and where it is now.
pub fn failure(what: &str, flag: &str, error: &io::Error, text: &str) -> Failure {
    let saved = file(flag).and_then(|(path, mut file)| {
        file.write_all(text.as_bytes())?;
        Ok(path)
    });
    Failure::run(match saved {
        Ok(path) => format!(
            "{what}: {error}; result saved to {} instead",
            path.display()
        ),
        Err(other) => format!("{what}: {error}; saving it elsewhere failed too: {other}"),
    })
}

/// How many files of one name a process makes.
const MAX_FILES: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_full_disk_does_not_take_is_kept_and_found() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let place = |failure: Failure| {
            let text = failure.to_string();
            let (_, path) = text.split_once("result saved to ").unwrap();
            PathBuf::from(path.strip_suffix(" instead").unwrap())
        };
        let places = ["one", "two"].map(|text| (text, place(failure("x", "--x", &full, text))));
        for (text, path) in places {
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            std::fs::remove_file(&path).unwrap();
        }
    }
}
