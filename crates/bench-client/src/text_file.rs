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
    text(path).map_err(|error| {
        let reason = match error.kind() {
            ErrorKind::NotFound => "no such file".to_owned(),
            ErrorKind::InvalidData => "no text in UTF-8".to_owned(),
            ErrorKind::FileTooLarge => "longer than 1 MiB".to_owned(),
            kind => kind.to_string(),
        };
        Failure::usage(format!("{}: {reason}; name {what}", path.display()))
    })
}

fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    // One byte more shows that there is more.
    File::open(path)?.take(MOST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST {
        return Err(ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}

/// Thirty times the longest of ours.
const MOST: u64 = 1 << 20;

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

    #[cfg(unix)]
    #[test]
    fn a_file_without_an_end_is_refused() {
        assert_eq!(
            message("/dev/zero"),
            "/dev/zero: longer than 1 MiB; name a matrix"
        );
    }
}
