use core::time::Duration;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::sync::Arc;
use units::{Bandwidth, Bytes, Timestamp};

/// `trace FILE`: when one full packet may leave, over and over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trace {
    /// The file that it was read from.
    pub(crate) name: String,
    /// Milliseconds from the begin, ascending; the last one is the period.
    pub(crate) opportunities: Arc<[u32]>,
}

impl Trace {
    /// mahimahi's format: one line per opportunity, with the millisecond at which it comes.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, String> {
        let mut opportunities: Vec<u32> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let number = index + 1;
            let millis: u32 = line.parse().map_err(|_| {
                format!(
                    "line {number} of the trace, `{}`, is not a number of milliseconds",
                    shorten(line)
                )
            })?;
            if opportunities.last().is_some_and(|last| *last > millis) {
                return Err(format!(
                    "line {number} of the trace is earlier than the one before"
                ));
            }
            opportunities.push(millis);
        }
        match opportunities.last() {
            None | Some(0) => Err("the trace has no line later than 0 ms".to_owned()),
            Some(_) => Ok(Self {
                name: name.to_owned(),
                opportunities: opportunities.into(),
            }),
        }
    }

    /// After this time the trace begins again.
    pub(crate) fn period(&self) -> Duration {
        let last = self.opportunities.last().copied();
        Duration::from_millis(u64::from(last.expect("a trace has a line")))
    }

    pub(super) fn mean_rate(&self) -> Bandwidth {
        let bytes = OPPORTUNITY * self.opportunities.len() as u64;
        Bandwidth::from_transfer(bytes, self.period())
    }

    /// When opportunity `index` comes, counted over all repetitions.
    pub(crate) fn time_of(&self, index: u64) -> Timestamp {
        let len = self.opportunities.len() as u64;
        let within = u64::from(self.opportunities[(index % len) as usize]);
        let millis = (index / len).saturating_mul(self.period().as_millis() as u64);
        Timestamp::from_nanos(millis.saturating_add(within).saturating_mul(1_000_000))
    }

    /// The first opportunity at or after `now`.
    pub(crate) fn first_at(&self, now: Timestamp) -> u64 {
        let millis = now.as_nanos().div_ceil(1_000_000);
        let period = self.period().as_millis() as u64;
        // The end of one repetition is the begin of the next, and both may have opportunities.
        let repetition = (millis / period).saturating_sub(u64::from(millis.is_multiple_of(period)));
        let within = millis - repetition * period;
        let earlier = self
            .opportunities
            .partition_point(|opportunity| u64::from(*opportunity) < within);
        repetition
            .saturating_mul(self.opportunities.len() as u64)
            .saturating_add(earlier as u64)
    }
}

/// Reads a trace, which has to be an ordinary file of a sensible size.
pub(super) fn read_trace_file(name: &str) -> io::Result<String> {
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

fn shorten(line: &str) -> String {
    line.chars().take(40).collect()
}

/// What one opportunity carries: an Ethernet frame with 1,500 bytes of IP. mahimahi counts 1,504,
/// as its TUN device puts 4 bytes before the IP header where Ethernet has 14.
pub(crate) const OPPORTUNITY: Bytes = Bytes::new(1_514);
/// Half an hour at 1 Gbit/s is 150 million lines; nobody records that.
const MAX_TRACE: u64 = 64 << 20;
