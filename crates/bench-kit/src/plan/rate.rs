//! Rates as the options of a run have them.

use units::{Bandwidth, ParseError};

/// A rate in bits per second. Letters are iperf3's, whose `20Mbps` is 20 Mbit/s; the rates of links
/// are tc's, whose `20mbps` is eight times that.
///
/// # Errors
/// When the text is no rate.
pub fn bit_rate(text: &str) -> Result<Bandwidth, ParseError> {
    let number = text.len().checked_sub(BPS.len()).filter(|at| {
        let unit = text.get(*at..);
        unit.is_some_and(|unit| unit.eq_ignore_ascii_case(BPS))
    });
    let rate = match number {
        Some(at) => format!("{}bit", &text[..at]).parse(),
        None => text.parse(),
    };
    rate.map_err(|error: ParseError| ParseError::new(text, error.expected()))
}

/// Bits per second, however they are written.
const BPS: &str = "bps";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bps_is_bits_whatever_tc_means_by_it() {
        for (text, bits) in [
            ("20Mbps", 20_000_000),
            ("64kbps", 64_000),
            ("1.5gbps", 1_500_000_000),
            ("800bps", 800),
            ("20M", 20_000_000),
            ("20mbit", 20_000_000),
        ] {
            assert_eq!(
                bit_rate(text),
                Ok(Bandwidth::from_bits_per_sec(bits)),
                "{text}"
            );
        }
        for wrong in ["bps", "20Mbpsps", "fast", "20MB"] {
            assert_eq!(bit_rate(wrong).unwrap_err().input(), wrong);
        }
    }
}
