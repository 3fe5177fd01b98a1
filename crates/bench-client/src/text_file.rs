//! Files that describe what to measure.

use bench_kit::failure::Failure;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// The text of the file at `path`, which is to be `what`.
///
/// # Errors
/// When there is no such file, when it is no text, or when it is longer than a mebibyte: what a
/// device or a pipe writes may have no end.
pub(crate) fn read(path: &Path, what: &str) -> Result<String, Failure> {
    text(path, MOST)
        .map_err(|reason| Failure::usage(format!("{}: {reason}; name {what}", path.display())))
}

/// The text of a file that `--json` has written.
///
/// # Errors
/// The reason, and what to do: as [`read`], but for the length, which is a gibibyte.
pub(crate) fn read_result(path: &Path) -> Result<String, String> {
    let named = |reason| format!("{reason}; give a file that --json has written");
    text(path, MOST_OF_A_RESULT).map_err(named)
}

/// What keeps a text of at most so many bytes from being read.
fn text(path: &Path, most: u64) -> Result<String, String> {
    bounded(path, most).map_err(|error| match error.kind() {
        ErrorKind::NotFound => "no such file".to_owned(),
        ErrorKind::InvalidData => "no text in UTF-8".to_owned(),
        ErrorKind::FileTooLarge => format!("longer than {}", amount(most)),
        kind => kind.to_string(),
    })
}

fn bounded(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    // One byte more shows that there is more.
    File::open(path)?.take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        return Err(ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}

fn amount(bytes: u64) -> String {
    match bytes >> 30 {
        0 => format!("{} MiB", bytes >> 20),
        gibibytes => format!("{gibibytes} GiB"),
    }
}

/// Thirty times the longest of ours.
const MOST: u64 = 1 << 20;
/// A few thousand rounds of a minute.
const MOST_OF_A_RESULT: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    fn message(path: &str) -> String {
        read(Path::new(path), "a matrix").unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_reason() {
        assert_eq!(
            message("no/such.toml"),
            "no/such.toml: no such file; name a matrix"
        );
        assert!(message(".").contains("directory"), "{}", message("."));
    }

    #[test]
    fn what_is_no_result_is_said_with_what_would_be() {
        assert_eq!(
            read_result(Path::new("no/such.json")).unwrap_err(),
            "no such file; give a file that --json has written"
        );
        let program = std::env::current_exe().unwrap();
        let error = read_result(&program).unwrap_err();
        assert!(error.starts_with("no text in UTF-8; give"), "{error}");
        assert_eq!(amount(MOST_OF_A_RESULT), "1 GiB");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_without_an_end_is_refused() {
        assert_eq!(
            message("/dev/zero"),
            "/dev/zero: longer than 1 MiB; name a matrix"
        );
    }
}
