use super::text::content;

/// `loss trace FILE`: which packets are lost, over and over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LossTrace {
    /// At least one.
    lost: Box<[bool]>,
}

impl LossTrace {
    /// Reads a digit for each packet, 0 for one that arrives and 1 for one that is lost. Blanks and
    /// lines that begin with `#` do not count.
    ///
    /// # Errors
    /// The line with any other character; a text without a digit.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lost = Vec::new();
        for (number, line) in content(text) {
            for digit in line.chars().filter(|digit| !digit.is_whitespace()) {
                lost.push(match digit {
                    '0' => false,
                    '1' => true,
                    other => {
                        let other = other.escape_debug();
                        return Err(format!(
                            "line {number} of the loss trace: expected 0 or 1, not `{other}`"
                        ));
                    }
                });
            }
        }
        Self::new(lost).ok_or_else(|| "the loss trace has no digit".to_owned())
    }

    /// A trace of these fates, true being a loss; `None` if there are none.
    pub fn new(lost: Vec<bool>) -> Option<Self> {
        (!lost.is_empty()).then(|| Self { lost: lost.into() })
    }

    /// The fate of each packet, true being a loss.
    pub fn lost(&self) -> &[bool] {
        &self.lost
    }

    /// Whether packet `number` is lost, the first being 0, counted over all repetitions.
    pub fn loses(&self, number: u64) -> bool {
        self.lost[(number % self.lost.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_digit_is_a_packet_and_the_trace_repeats() {
        let trace = LossTrace::parse("# 5 packets\n001\n 1 0\n").unwrap();
        let lost: Vec<u64> = (0..12).filter(|number| trace.loses(*number)).collect();
        assert_eq!(lost, [2, 3, 7, 8]);
    }

    #[test]
    fn what_is_no_digit_is_refused_by_its_line() {
        for (text, says) in [
            ("", "has no digit"),
            (
                "01\n2\n",
                "line 2 of the loss trace: expected 0 or 1, not `2`",
            ),
        ] {
            let error = LossTrace::parse(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
