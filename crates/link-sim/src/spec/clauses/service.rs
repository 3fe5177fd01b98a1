use crate::spec::error::SpecError;
use crate::spec::trace::{RateTrace, Recorded};
use crate::spec::values::{RATE, RateText, SIZE, rate, size};
use crate::spec::words::Words;
use core::fmt;
use units::{Bandwidth, Bytes};

/// What sets the pace of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Service {
    Rate(Rate),
    TokenBucket(TokenBucketFilter),
    Trace(Recorded<RateTrace>),
}

impl Service {
    /// The rate over a long time.
    pub(crate) fn rate(&self) -> Bandwidth {
        match self {
            Self::Rate(rate) => rate.rate,
            Self::TokenBucket(filter) => filter.rate,
            Self::Trace(recorded) => recorded.trace.mean_rate(),
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

    pub(in crate::spec) fn read(name: &str, words: &mut Words<'_>) -> Result<Self, SpecError> {
        match name {
            "tbf" => TokenBucketFilter::read(words).map(Self::TokenBucket),
            "trace" => words
                .trace(|known| &mut known.rates, RateTrace::parse)
                .map(Self::Trace),
            _ => Rate::read(words).map(Self::Rate),
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => rate.fmt(f),
            Self::TokenBucket(filter) => filter.fmt(f),
            Self::Trace(recorded) => f.write_str(&recorded.name),
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
            return Err(words.error(
                words.last,
                "the negative cell overhead leaves no bytes in a \
                 cell",
            ));
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
                return Err(words.error(words.last, "the peak rate must be above the rate"));
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

fn overhead(text: &str) -> Option<i32> {
    text.parse().ok().filter(|n: &i32| n.abs() <= MAX_OVERHEAD)
}

fn cell(text: &str) -> Option<u32> {
    text.parse().ok().filter(|n| *n <= MAX_OVERHEAD as u32)
}

const OVERHEAD: &str = "a number of bytes from -65535 to 65535";
const CELL: &str = "a cell's size in bytes, such as 48,";
const MAX_OVERHEAD: i32 = 65_535;
