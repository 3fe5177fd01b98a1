use std::time::Duration;

/// How far the samples of one side have come. Anybody may be the other side: samples that do not
/// follow each other would neither make a time series nor keep it short.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sequence {
    at: Duration,
    is_measured: bool,
}

impl Sequence {
    /// The next sample ends `at` this time, and belongs to the warm-up if it is `omitted`.
    ///
    /// # Errors
    /// When its time is before that of the sample before, or the warm-up is over.
    pub fn next(&mut self, at: Duration, omitted: bool) -> Result<(), String> {
        if at < self.at {
            return Err("samples out of order".to_owned());
        }
        if omitted && self.is_measured {
            return Err("a warm-up after the measured part".to_owned());
        }
        *self = Self {
            at,
            is_measured: !omitted,
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_and_the_warm_up_does_not_come_back() {
        let [one, two] = [1, 2].map(Duration::from_secs);
        let mut sequence = Sequence::default();
        assert_eq!(sequence.next(one, true), Ok(()));
        assert_eq!(sequence.next(one, false), Ok(()));
        sequence.next(two, true).unwrap_err();
        assert_eq!(sequence.next(two, false), Ok(()));
        sequence.next(one, false).unwrap_err();
    }
}
