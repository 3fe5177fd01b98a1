use super::SpecError;
use super::values::{RATE, RateText, SIZE, rate, size};
use super::words::Words;
use core::fmt;
use core::time::Duration;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::sync::Arc;
use units::{Bandwidth, Bytes, Timestamp};

/// What sets the pace of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Service {
    Rate(Rate),
    TokenBucket(TokenBucketFilter),
    Trace(Trace),
}

impl Service {
    /// The rate over a long time.
    pub(crate) fn rate(&self) -> Bandwidth {
        match self {
            Self::Rate(rate) => rate.rate,
            Self::TokenBucket(filter) => filter.rate,
            Self::Trace(trace) => trace.mean_rate(),
        }
    }

    /// The word that begins its clause.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Rate(_) => "rate",
            Self::TokenBucket(_) => "tbf",
            Self::Trace(_) => "trace",
        }
    }

    pub(super) fn read(name: &str, words: &mut Words<'_>) -> Result<Self, SpecError> {
        match name {
            "tbf" => TokenBucketFilter::read(words).map(Self::TokenBucket),
            "trace" => Trace::read(words).map(Self::Trace),
            _ => Rate::read(words).map(Self::Rate),
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => rate.fmt(f),
            Self::TokenBucket(filter) => filter.fmt(f),
            Self::Trace(trace) => f.write_str(&trace.name),
        }
    }
}

/// `rate RATE [OVERHEAD [CELLSIZE [CELLOVERHEAD]]]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate {
    pub(crate) rate: Bandwidth,
    /// Bytes that every packet has more, or less, than it shows.
    pub(crate) overhead: i32,
    /// Packets are sent as cells of so many bytes; zero for none.
    pub(crate) cell: u32,
    /// Bytes that every cell has more, or less.
    pub(crate) cell_overhead: i32,
}

impl Rate {
    /// Without any overhead.
    pub(crate) const fn new(rate: Bandwidth) -> Self {
        Self {
            rate,
            overhead: 0,
            cell: 0,
            cell_overhead: 0,
        }
    }

    fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        let mut link = Self::new(words.value(RATE, rate)?);
        if let Some(overhead) = words.value_if_any(OVERHEAD, overhead)? {
            link.overhead = overhead;
        }
        if let Some(cell) = words.value_if_any(CELL, cell)? {
            link.cell = cell;
            let cell_overhead = words.value_if_any(OVERHEAD, overhead)?;
            // Without cells there is none to have it.
            link.cell_overhead = cell_overhead.filter(|_| link.cell > 0).unwrap_or(0);
        }
        if i64::from(link.cell) + i64::from(link.cell_overhead) < i64::from(link.cell > 0) {
            return Err(words.error(words.last, "cells would have no bytes at all"));
        }
        Ok(link)
    }

    /// Bytes that a packet of this size takes up on the wire; none is free.
    pub(crate) fn wire_size(self, size: Bytes) -> Bytes {
        let size = size.get().saturating_add_signed(i64::from(self.overhead));
        let wire = match u64::from(self.cell) {
            0 => size,
            cell => {
                let each = cell.saturating_add_signed(i64::from(self.cell_overhead));
                size.div_ceil(cell).saturating_mul(each)
            }
        };
        Bytes::new(wire.max(1))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        RateText(self.rate).fmt(f)?;
        match (self.overhead, self.cell, self.cell_overhead) {
            (0, 0, _) => Ok(()),
            (overhead, 0, _) => write!(f, " {overhead}"),
            (overhead, cell, 0) => write!(f, " {overhead} {cell}"),
            (overhead, cell, cell_overhead) => write!(f, " {overhead} {cell} {cell_overhead}"),
        }
    }
}

/// `tbf RATE burst SIZE [peakrate RATE mtu SIZE]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TokenBucketFilter {
    pub(crate) rate: Bandwidth,
    /// The bucket: what an idle link sends at once. No packet larger than this passes.
    pub(crate) burst: Bytes,
    /// A second bucket that bounds the rate of a burst: its rate and size.
    pub(crate) peak: Option<(Bandwidth, Bytes)>,
}

impl TokenBucketFilter {
    fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        let mut filter = Self {
            rate: words.value(RATE, rate)?,
            burst: words.named("burst", SIZE, size)?,
            peak: None,
        };
        if words.next_of(&["peakrate"]).is_some() {
            let peak = words.value(RATE, rate)?;
            if peak <= filter.rate {
                return Err(words.error(words.last, "the peak rate has to be above the rate"));
            }
            filter.peak = Some((peak, words.named("mtu", SIZE, size)?));
        }
        Ok(filter)
    }
}

impl fmt::Display for TokenBucketFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} burst {}", RateText(self.rate), self.burst)?;
        match self.peak {
            Some((rate, mtu)) => write!(f, " peakrate {} mtu {mtu}", RateText(rate)),
            None => Ok(()),
        }
    }
}

/// `trace FILE`: when one full packet may leave, over and over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trace {
    /// The file that it was read from.
    pub(crate) name: String,
    /// Milliseconds from the begin, ascending; the last one is the period.
    pub(crate) opportunities: Arc<[u32]>,
}

impl Trace {
    fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        let name = words.expect("the name of a file")?.text;
        // However often a link changes to it, a file is read and kept once.
        if let Some(known) = words.traces.iter().find(|trace| trace.name == name) {
            return Ok(known.clone());
        }
        let trace = words.file(|text| Self::parse(name, text))?;
        words.traces.push(trace.clone());
        Ok(trace)
    }

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
                    "line {number} of the trace, `{}`, is no number of milliseconds",
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

    fn mean_rate(&self) -> Bandwidth {
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
        return Err(io::Error::other("it is not a file"));
    }
    if metadata.len() > MAX_TRACE {
        return Err(io::Error::other(format!(
            "it is larger than {MAX_TRACE} bytes"
        )));
    }
    let mut text = String::new();
    File::open(name)?
        .take(MAX_TRACE)
        .read_to_string(&mut text)?;
    Ok(text)
}

fn overhead(text: &str) -> Option<i32> {
    text.parse().ok().filter(|n: &i32| n.abs() <= MAX_OVERHEAD)
}

fn cell(text: &str) -> Option<u32> {
    text.parse().ok().filter(|n| *n <= MAX_OVERHEAD as u32)
}

fn shorten(line: &str) -> String {
    line.chars().take(40).collect()
}

/// What one opportunity carries: an Ethernet frame with 1,500 bytes of IP. mahimahi counts 1,504,
/// as its TUN device puts 4 bytes before the IP header where Ethernet has 14.
pub(crate) const OPPORTUNITY: Bytes = Bytes::new(1_514);
const OVERHEAD: &str = "a number of bytes from -65535 to 65535";
const CELL: &str = "a cell's size in bytes, such as 48,";
const MAX_OVERHEAD: i32 = 65_535;
/// Half an hour at 1 Gbit/s is 150 million lines; nobody records that.
const MAX_TRACE: u64 = 64 << 20;
