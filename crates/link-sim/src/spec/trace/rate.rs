use super::packed;
use super::text::{content, shorten};
use core::fmt;
use core::time::Duration;
use units::{Bandwidth, Bytes, Timestamp};

/// `trace FILE`: when one full packet may leave, over and over.
///
/// [`parse`](Self::parse) reads it, [`Display`](fmt::Display) writes it in the form with one
/// character a millisecond.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateTrace {
    /// Milliseconds from the begin, ascending; the last one is the period and not zero.
    opportunities: Box<[u32]>,
}

impl RateTrace {
    /// Reads either form: mahimahi's, a line for each opportunity with its millisecond, or `counts`
    /// and a character for each millisecond (`scenarios/traces/README.md`). Lines that begin with
    /// `#` are comments.
    ///
    /// # Errors
    /// The line that is wrong, and what was expected there.
    pub fn parse(text: &str) -> Result<Self, String> {
        match content(text).next() {
            Some((_, line)) if line == packed::HEADING => {
                packed::read(text).and_then(Self::from_millis)
            }
            _ => lines(text).and_then(Self::from_millis),
        }
    }

    /// A trace whose opportunities come at these milliseconds.
    ///
    /// # Errors
    /// When they do not ascend, none is above zero, one is later than 24 hours, or there are more
    /// than [`MAX_OPPORTUNITIES`](Self::MAX_OPPORTUNITIES).
    pub fn from_millis(opportunities: Vec<u32>) -> Result<Self, String> {
        if !opportunities.is_sorted() {
            return Err("the trace's opportunities do not ascend".to_owned());
        }
        if opportunities.len() > Self::MAX_OPPORTUNITIES {
            return Err(too_many());
        }
        match opportunities.last() {
            None | Some(0) => Err("the trace has no opportunity later than 0 ms".to_owned()),
            Some(last) if *last > packed::MAX_MILLIS => Err(format!(
                "the trace's last opportunity is at {last} ms, and a trace has 24 hours at most, \
                 {} ms",
                packed::MAX_MILLIS
            )),
            Some(_) => Ok(Self {
                opportunities: opportunities.into(),
            }),
        }
    }

    /// Milliseconds of the opportunities, ascending.
    pub fn opportunities(&self) -> &[u32] {
        &self.opportunities
    }

    /// After this time the trace begins again: the time of its last opportunity.
    pub fn period(&self) -> Duration {
        let last = self.opportunities.last().copied();
        Duration::from_millis(u64::from(last.expect("a trace has an opportunity")))
    }

    /// Bytes at layer 2 over the period.
    pub fn mean_rate(&self) -> Bandwidth {
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

    /// As many as a trace may have: half an hour at 220 Mbit/s, and 128 MiB of memory.
    pub const MAX_OPPORTUNITIES: usize = packed::MAX_OPPORTUNITIES;
}

impl fmt::Display for RateTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        packed::write(&self.opportunities, f)
    }
}

/// mahimahi's form.
fn lines(text: &str) -> Result<Vec<u32>, String> {
    let mut opportunities: Vec<u32> = Vec::new();
    for (number, line) in content(text) {
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
        if opportunities.len() == RateTrace::MAX_OPPORTUNITIES {
            return Err(too_many());
        }
        opportunities.push(millis);
    }
    Ok(opportunities)
}

fn too_many() -> String {
    let most = RateTrace::MAX_OPPORTUNITIES;
    format!("the trace has more than {most} opportunities")
}

/// What one opportunity carries: an Ethernet frame with 1,500 bytes of IP. mahimahi counts 1,504,
/// as its TUN device puts 4 bytes before the IP header where Ethernet has 14.
pub const OPPORTUNITY: Bytes = Bytes::new(1_514);
