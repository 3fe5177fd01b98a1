//! Where the CPU time of a child goes: its samples under Linux's `perf`, by whose code they hit.
//!
//! `perf record` samples the program at 2 kHz of CPU time, without call graphs, from its start to
//! its end; the handshake and the end of a transfer count, too.

use crate::Result;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Whose code a sample hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Code {
    /// System calls and interrupts.
    Kernel,
    /// aws-lc or BoringSSL.
    Cryptography,
    /// `memcpy` and its like.
    Copies,
    /// `malloc`, `free` and their like.
    Memory,
    /// Maps, lists and what else of the standard library is a function of its own.
    Collections,
    /// quinn-proto; s2n-quic's core and transport; quiche.
    Protocol,
    /// What drives the protocol: Paceline and its controllers; quinn; s2n-quic's platform.
    Endpoint,
    Rustls,
    Tokio,
    /// This program, and libraries that are none of the above.
    Rest,
}

impl Code {
    /// In the order of their declaration, which is that of the table.
    pub(crate) const ALL: [Self; 10] = [
        Self::Kernel,
        Self::Cryptography,
        Self::Copies,
        Self::Memory,
        Self::Collections,
        Self::Protocol,
        Self::Endpoint,
        Self::Rustls,
        Self::Tokio,
        Self::Rest,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Cryptography => "cryptography",
            Self::Copies => "copies",
            Self::Memory => "malloc, free",
            Self::Collections => "std",
            Self::Protocol => "protocol",
            Self::Endpoint => "endpoint",
            Self::Rustls => "rustls",
            Self::Tokio => "tokio",
            Self::Rest => "the rest",
        }
    }
}

/// Samples of each kind of code.
pub(crate) type Samples = BTreeMap<Code, u64>;

/// What `perf` writes of one process.
#[derive(Debug)]
pub(crate) struct Recording {
    file: PathBuf,
}

impl Recording {
    /// To a new file among the temporary ones.
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("peers-{}-{number}.perf", std::process::id());
        Self {
            file: std::env::temp_dir().join(name),
        }
    }

    /// `program` under `perf`. It ends when the program does.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("perf");
        command
            .args(["record", "--quiet", "--event", "cpu-clock"])
            .args(["--freq", "1999", "--output"])
            .arg(&self.file)
            .arg("--")
            .arg(program);
        command
    }

    /// All samples, once `perf` has ended.
    pub(crate) fn samples(&self) -> Result<Samples> {
        let output = Command::new("perf")
            .args(["script", "--fields", "ip,sym,dso", "--input"])
            .arg(&self.file)
            .output()?;
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr);
            return Err(format!("perf script: {}", reason.trim()).into());
        }
        let mut samples = Samples::new();
        let text = String::from_utf8_lossy(&output.stdout);
        for (symbol, object) in text.lines().filter_map(sample) {
            *samples.entry(code(symbol, object)).or_default() += 1;
        }
        Ok(samples)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // There is none if `perf` did not start.
        let _ = std::fs::remove_file(&self.file);
    }
}

/// Whether samples can be taken here, those in the kernel included.
pub(crate) fn is_possible() -> Result<()> {
    let recording = Recording::new();
    let mut trial = recording.command(Path::new("true"));
    let output = trial.stdin(Stdio::null()).output();
    let output = output.map_err(|error| {
        format!("--profile: perf: {error}; install Linux's perf, or leave the option out")
    })?;
    if !output.status.success() || File::open(&recording.file).is_err() {
        let reason = String::from_utf8_lossy(&output.stderr);
        let reason = reason.lines().find(|line| !line.trim().is_empty());
        return Err(format!(
            "--profile: perf cannot record: {}; run this as root, or set \
             kernel.perf_event_paranoid to 1",
            reason.unwrap_or("no reason given").trim()
        )
        .into());
    }
    Ok(())
}

/// Symbol and file of a line of `perf script`: `    address symbol (file)`.
fn sample(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.trim().split_once(' ')?;
    let (symbol, object) = rest.trim().rsplit_once(" (")?;
    Some((symbol, object.strip_suffix(')')?))
}

fn code(symbol: &str, object: &str) -> Code {
    if object.starts_with('[') && object != "[unknown]" || object.ends_with(".ko") {
        return Code::Kernel;
    }
    if symbol.starts_with("__mem") || symbol.starts_with("mem") {
        return Code::Copies;
    }
    let is_of_heap = ["alloc", "free", "_rdl_", "memalign"];
    if !symbol.contains("::") && is_of_heap.iter().any(|part| symbol.contains(part)) {
        return Code::Memory;
    }
    if object.contains("/libc") || object.contains("/ld-") {
        return Code::Rest;
    }
    match krate(symbol) {
        None if symbol == "main" || symbol == "[unknown]" => Code::Rest,
        // Rust's functions have a path. What has none is C's, or assembly.
        None => Code::Cryptography,
        Some("aws_lc_rs" | "aws_lc_sys" | "boring" | "ring") => Code::Cryptography,
        Some("alloc" | "core" | "std" | "hashbrown" | "bytes" | "indexmap" | "slab") => {
            Code::Collections
        }
        Some("quinn_proto" | "s2n_quic_core" | "s2n_quic_transport" | "quiche" | "octets") => {
            Code::Protocol
        }
        Some(
            "paceline" | "cc_core" | "units" | "quinn" | "quinn_udp" | "s2n_quic"
            | "s2n_quic_platform",
        ) => Code::Endpoint,
        Some("rustls" | "s2n_quic_rustls") => Code::Rustls,
        Some("tokio" | "mio") => Code::Tokio,
        _ => Code::Rest,
    }
}

/// The crate of a function: of `<a::B as c::D>::e` it is `a`, and of a generic function of the
/// standard library that of the function, not of its types.
fn krate(symbol: &str) -> Option<&str> {
    let path = symbol.trim_start_matches(['<', '&', '*', '[', '(']);
    let path = ["mut ", "const ", "dyn "]
        .iter()
        .fold(path, |path, word| path.trim_start_matches(word));
    let (krate, _) = path.split_once("::")?;
    let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || c == '_');
    match krate {
        name if is_name(name) => Some(name),
        // `<T as a::B>::c`: the type has no path, so that the trait has to do.
        name => name.rsplit(' ').next().filter(|name| is_name(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "/target/release/peers";

    #[test]
    fn a_line_is_a_symbol_and_a_file() {
        let line = "    55d0 <a::B as c::D>::e (/target/release/peers)";
        assert_eq!(sample(line), Some(("<a::B as c::D>::e", PROGRAM)));
        let line = "ffffffff8 [unknown] ([kernel.kallsyms])";
        assert_eq!(sample(line), Some(("[unknown]", "[kernel.kallsyms]")));
        assert_eq!(sample(""), None);
    }

    #[test]
    fn code_is_told_by_file_and_crate() {
        let known = [
            ("udp_sendmsg", "[kernel.kallsyms]", Code::Kernel),
            (
                "__memmove_avx512_unaligned_erms",
                "/lib/libc.so.6",
                Code::Copies,
            ),
            ("_int_malloc", "/lib/libc.so.6", Code::Memory),
            ("__rdl_dealloc", PROGRAM, Code::Memory),
            ("epoll_wait", "/lib/libc.so.6", Code::Rest),
            (
                "aws_lc_0_47_0_aes_gcm_encrypt_avx512",
                PROGRAM,
                Code::Cryptography,
            ),
            ("aws_lc_rs::aead::open", PROGRAM, Code::Cryptography),
            (
                "quinn_proto::connection::Connection::poll",
                PROGRAM,
                Code::Protocol,
            ),
            (
                "<quinn::Driver as core::future::Future>::poll",
                PROGRAM,
                Code::Endpoint,
            ),
            (
                "<paceline::tap::Key as quinn_proto::Key>::e",
                PROGRAM,
                Code::Endpoint,
            ),
            (
                "<&mut s2n_quic_core::A as b::C>::d",
                PROGRAM,
                Code::Protocol,
            ),
            ("<T as tokio::task::Wake>::wake", PROGRAM, Code::Tokio),
            (
                "alloc::map::BTreeMap<K,V>::remove",
                PROGRAM,
                Code::Collections,
            ),
            (
                "core::ptr::drop_in_place<paceline::Client>",
                PROGRAM,
                Code::Collections,
            ),
            ("rustls::conn::read", PROGRAM, Code::Rustls),
            ("peers::server::send::{{closure}}", PROGRAM, Code::Rest),
            ("[unknown]", "[unknown]", Code::Rest),
            ("[unknown]", PROGRAM, Code::Rest),
        ];
        for (symbol, object, expected) in known {
            assert_eq!(code(symbol, object), expected, "{symbol}");
        }
    }
}
