//! Makes `scenarios/traces/cellular.trace`, a link whose rate wanders as a cell's does.
//!
//! ```text
//! cargo run -p paceline-link-sim --example make_trace > scenarios/traces/cellular.trace
//! ```
//!
//! It is nobody's measurement. Every 100 ms the rate is multiplied by anything from 0.8 to 1.25,
//! between 0.5 and 12 Mbit/s, and once in 5 s, on average, there is nothing for half a second.

use std::io::{self, Write as _};
use units::Rng;

fn main() -> io::Result<()> {
    match io::stdout().write_all(cellular(1).as_bytes()) {
        // Whoever read this has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// A trace in mahimahi's format: the millisecond of each packet of 1,514 bytes.
pub(crate) fn cellular(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let mut lines = String::new();
    let (mut bytes_per_sec, mut silent_until, mut credit) = (500_000, 0, 0);
    for millis in 1..=MILLIS {
        if millis % 100 == 0 {
            bytes_per_sec = bytes_per_sec * (800 + rng.below(451)) / 1_000;
            bytes_per_sec = bytes_per_sec.clamp(62_500, 1_500_000);
            if rng.below(50) == 0 {
                silent_until = millis + 500;
            }
        }
        if millis >= silent_until {
            credit += bytes_per_sec;
        }
        for _ in 0..credit / PACKET {
            lines.push_str(&format!("{millis}\n"));
        }
        credit %= PACKET;
    }
    // The last line is the length of the trace.
    lines.push_str(&format!("{MILLIS}\n"));
    lines
}

const MILLIS: u64 = 20_000;
/// 1,514 bytes, in thousandths, as a rate per second adds them up in a millisecond.
const PACKET: u64 = 1_514_000;
