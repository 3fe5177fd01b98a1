use super::built_in::built_in_text;
use std::fs::{self, File};
use std::io::{self, Read as _};

/// The text of the trace called `name`: a built-in one, or what `read` has.
pub(in crate::spec) fn text_of(
    name: &str,
    read: &dyn Fn(&str) -> io::Result<String>,
) -> io::Result<String> {
    match built_in_text(name) {
        Some(text) => Ok(text.to_owned()),
        None => read(name),
    }
}

/// Reads a trace, which has to be an ordinary file of a sensible size.
pub(in crate::spec) fn read_trace_file(name: &str) -> io::Result<String> {
    // Asked before it is opened: a pipe would wait for somebody who writes.
    let metadata = fs::metadata(name)?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if metadata.len() > MAX_TRACE {
        return Err(io::Error::other(format!(
            "file too long: at most {MAX_TRACE} bytes allowed"
        )));
    }
    let mut text = String::new();
    File::open(name)?
        .take(MAX_TRACE)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// A mahimahi trace of 11 minutes at 100 Mbit/s.
const MAX_TRACE: u64 = 64 << 20;
