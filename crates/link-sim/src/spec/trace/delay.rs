use super::text::{content, shorten};
use crate::spec::values::time;
use core::time::Duration;
use units::duration;

/// `delay trace FILE`: how long the path is in each step of time, over and over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelayTrace {
    /// At least one.
    delays: Box<[Duration]>,
}

impl DelayTrace {
    /// Reads one-way delays in milliseconds, with up to six decimals, separated by spaces or ends
    /// of lines. Lines that begin with `#` are comments.
    ///
    /// # Errors
    /// The line with a number that is none or exceeds an hour; a text without a number.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut delays = Vec::new();
        for (number, line) in content(text) {
            for word in line.split_whitespace() {
                let delay = time(&format!("{word}ms")).ok_or_else(|| {
                    let word = shorten(word);
                    format!(
                        "line {number} of the delay trace: `{word}` is not a number of \
                         milliseconds up to 1 hour"
                    )
                })?;
                delays.push(delay);
            }
        }
        Self::new(delays).ok_or_else(|| "the delay trace has no number".to_owned())
    }

    /// A trace of these delays; `None` if there are none.
    pub fn new(delays: Vec<Duration>) -> Option<Self> {
        (!delays.is_empty()).then(|| Self {
            delays: delays.into(),
        })
    }

    /// One for each step.
    pub fn delays(&self) -> &[Duration] {
        &self.delays
    }

    /// Rounded down to a nanosecond.
    pub fn mean(&self) -> Duration {
        let nanos = self.delays.iter().map(|delay| duration::nanos(*delay));
        let sum: u128 = nanos.map(u128::from).sum();
        let mean = sum / self.delays.len() as u128;
        Duration::from_nanos(u64::try_from(mean).expect("no delay is longer than an hour"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_milliseconds_on_one_line_or_many() {
        let trace = DelayTrace::parse("# ms\n12\n\n 12.5 0\n3600000\n").unwrap();
        let expected = [12_000_000, 12_500_000, 0, 3_600_000_000_000].map(Duration::from_nanos);
        assert_eq!(trace.delays(), expected);
        assert_eq!(trace.mean(), Duration::from_nanos(900_006_125_000));
    }

    #[test]
    fn what_is_no_delay_is_refused_by_its_line() {
        for (text, says) in [
            ("", "has no number"),
            ("# 12\n", "has no number"),
            (
                "12\n12 x\n",
                "line 2 of the delay trace: `x` is not a number",
            ),
            ("12ms\n", "`12ms`"),
            ("-1\n", "`-1`"),
            ("1e3\n", "`1e3`"),
            ("3600000.1\n", "up to 1 hour"),
        ] {
            let error = DelayTrace::parse(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
