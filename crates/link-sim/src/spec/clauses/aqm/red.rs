use super::parameters::set;
use crate::spec::clauses::queue::Capacity;
use crate::spec::clauses::unsupported::{Unsupported, in_bytes};
use crate::spec::error::SpecError;
use crate::spec::values::{PACKETS, Percent, RateText, SIZE, percent, positive, size};
use crate::spec::words::{Word, Words};
use core::fmt;
use units::{Bandwidth, Bytes, Gain};

/// `aqm red min SIZE [max SIZE] [probability P%] [avpkt SIZE] [burst PACKETS] [ecn] [harddrop]
/// [nodrop]` (Floyd and Jacobson 1993, in tc-red's words).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Red {
    /// The average queue up to which nothing happens.
    pub(crate) min: Bytes,
    /// The average queue from which on every packet is marked or dropped.
    pub(crate) max: Bytes,
    /// The probability just below `max`.
    pub(crate) probability: Gain,
    /// The usual size of a packet: idle time counts as so many of these.
    pub(crate) avpkt: Bytes,
    /// Packets that may come to an empty queue at once before the average reaches `min`.
    pub(crate) burst: u32,
    /// ECN-capable packets are marked instead of dropped.
    pub(crate) ecn: bool,
    /// Above `max` everything is dropped, even what could be marked.
    pub(crate) harddrop: bool,
    /// With `ecn`, what cannot be marked is not dropped either, short of a full queue.
    pub(crate) nodrop: bool,
}

impl Red {
    pub(super) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        let mut red = Self::of(words.named("min", SIZE, size)?);
        let (mut max, mut burst) = (None, None);
        while let Some(word) = words.next_of(&WORDS) {
            match word.text {
                "max" => max = Some((words.value(SIZE, size)?, words.last)),
                "probability" => red.probability = words.value(PROBABILITY, positive_percent)?,
                "avpkt" => red.avpkt = words.value(AVPKT, avpkt)?,
                "burst" => burst = Some((words.value(PACKETS, positive)?, words.last)),
                "ecn" => red.ecn = true,
                "harddrop" => red.harddrop = true,
                _ => red.nodrop = true,
            }
        }
        red.finish(max, burst, words)
    }

    /// What tc makes of `min` alone, but for the size of packets, on which tc insists.
    pub(crate) fn of(min: Bytes) -> Self {
        let red = Self {
            min,
            max: min * 3,
            probability: Gain::percent(2),
            avpkt: USUAL_PACKET,
            burst: 0,
            ecn: false,
            harddrop: false,
            nodrop: false,
        };
        Self {
            burst: red.usual_burst(),
            ..red
        }
    }

    /// The exponent w of the average's weight 2^−w: the smallest from 1 for which `burst` packets
    /// that come to an empty queue at once leave the average below `min`, tc's
    /// burst + 1 − min ÷ avpkt ≤ (1 − (1 − 2^−w)^burst) × 2^w. `None` when none of 31 does.
    pub(crate) fn weight_log(&self) -> Option<u32> {
        let bytes = u128::from(self.avpkt.get()) * (u128::from(self.burst) + 1);
        // One packet at least, or the formula has no meaning.
        let beyond = bytes.checked_sub(u128::from(self.min.get()))?;
        let average = (beyond << FRACTION_BITS) / u128::from(self.avpkt.get());
        if average < ONE {
            return None;
        }
        (1..=MAX_WEIGHT_LOG).find(|log| {
            let stays = power(ONE - (ONE >> log), u64::from(self.burst));
            average <= (ONE - stays) << log
        })
    }

    fn finish(
        mut self,
        max: Option<(Bytes, Word<'_>)>,
        burst: Option<(u32, Word<'_>)>,
        words: &Words<'_>,
    ) -> Result<Self, SpecError> {
        self.max = max.map_or(self.min * 3, |(max, _)| max);
        if let Some((_, word)) = max.filter(|(max, _)| *max < self.min) {
            return Err(words.error(word, "`max` must be at least `min`"));
        }
        self.burst = burst.map_or_else(|| self.usual_burst(), |(burst, _)| burst);
        if self.weight_log().is_none() {
            let word = burst.map_or(words.last, |(_, word)| word);
            let problem = format!(
                "no average lets {} packets of {} pass a `min` of {}: `min` is more than one \
                 `avpkt`, and `burst` is `min` ÷ `avpkt` or a few times that",
                self.burst, self.avpkt, self.min
            );
            return Err(words.error(word, problem));
        }
        Ok(self)
    }

    /// tc's (2 min + max) ÷ 3 avpkt, but as many packets as `min` is.
    fn usual_burst(&self) -> u32 {
        let usual = (self.min * 2 + self.max).get() / (self.avpkt * 3).get();
        let burst = usual.max(self.min.packets_ceil(self.avpkt));
        u32::try_from(burst).unwrap_or(u32::MAX)
    }

    /// What tc calls it, all of it, as its defaults depend on each other. Its probability is a
    /// fraction, and idle time counts by `bandwidth`.
    pub(super) fn tc_words(
        &self,
        capacity: Capacity,
        rate: Bandwidth,
    ) -> Result<String, Unsupported> {
        let limit = in_bytes(capacity, "red")?;
        let (min, max, avpkt) = (self.min.get(), self.max.get(), self.avpkt.get());
        let (probability, burst, rate) = (self.probability, self.burst, RateText(rate));
        let mut words = format!(
            "red limit {limit} min {min} max {max} avpkt {avpkt} burst {burst} \
             probability {probability} bandwidth {rate}"
        );
        self.flags().for_each(|flag| {
            words.push(' ');
            words.push_str(flag);
        });
        Ok(words)
    }

    fn flags(&self) -> impl Iterator<Item = &'static str> {
        set([
            ("ecn", self.ecn),
            ("harddrop", self.harddrop),
            ("nodrop", self.nodrop),
        ])
    }
}

impl fmt::Display for Red {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::of(self.min);
        write!(f, " min {}", self.min)?;
        if self.max != usual.max {
            write!(f, " max {}", self.max)?;
        }
        if self.probability != usual.probability {
            write!(f, " probability {}", Percent(self.probability))?;
        }
        if self.avpkt != usual.avpkt {
            write!(f, " avpkt {}", self.avpkt)?;
        }
        if self.burst != self.usual_burst() {
            write!(f, " burst {}", self.burst)?;
        }
        self.flags().try_for_each(|flag| write!(f, " {flag}"))
    }
}

/// `base` to the power of `exponent`, as fixed-point numbers below one; rounds down.
pub(crate) fn power(base: u128, exponent: u64) -> u128 {
    let (mut result, mut square, mut left) = (ONE, base, exponent);
    while left > 0 {
        if left % 2 == 1 {
            result = (result * square) >> FRACTION_BITS;
        }
        square = (square * square) >> FRACTION_BITS;
        left /= 2;
    }
    result
}

fn positive_percent(text: &str) -> Option<Gain> {
    percent(text).filter(|probability| *probability > Gain::ZERO)
}

fn avpkt(text: &str) -> Option<Bytes> {
    size(text).filter(|size| *size <= LARGEST_PACKET)
}

/// One, as the fixed-point numbers of an average have it.
pub(crate) const ONE: u128 = 1 << FRACTION_BITS;
pub(crate) const FRACTION_BITS: u32 = 60;

const WORDS: [&str; 7] = [
    "max",
    "probability",
    "avpkt",
    "burst",
    "ecn",
    "harddrop",
    "nodrop",
];
const PROBABILITY: &str = "a percentage above 0% and up to 100%, such as 2%,";
const AVPKT: &str = "the size of a packet, up to 65535b, such as 1000b,";
/// tc-red(8) recommends it for links of 1,500-byte packets.
const USUAL_PACKET: Bytes = Bytes::new(1_000);
/// What an IP header can say.
const LARGEST_PACKET: Bytes = Bytes::new(65_535);
/// The kernel holds the average in so many bits and those before its point.
const MAX_WEIGHT_LOG: u32 = 31;
