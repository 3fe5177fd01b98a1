//! Results as tables for other programs (RFC 4180).

mod cells;
mod line;
mod rounds;

pub use cells::cells;
pub use rounds::rounds;

use crate::result::{AbResult, Interval, Round, Variant};
use line::{line, shown};

/// A row per sample of each round, below a row of names with their units. What is not known is
/// empty.
pub fn csv(result: &AbResult) -> String {
    let mut text = String::new();
    line(&mut text, HEAD.map(str::to_owned));
    for variant in &result.variants {
        for round in &variant.rounds {
            for interval in &round.intervals {
                line(&mut text, sample(variant, round, interval));
            }
        }
    }
    text
}

fn sample(variant: &Variant, round: &Round, interval: &Interval) -> [String; 15] {
    [
        Some(variant.name.clone()),
        Some(variant.cc.clone()),
        Some(round.block.to_string()),
        Some(round.order.to_string()),
        Some(interval.t.to_string()),
        Some(interval.seconds.to_string()),
        Some(interval.omitted.to_string()),
        Some(interval.goodput_bits_per_second.to_string()),
        shown(interval.rtt_ms),
        shown(interval.cwnd_bytes),
        shown(interval.bytes_in_flight),
        shown(interval.pacing_rate_bits_per_second),
        shown(interval.delivery_rate_bits_per_second),
        shown(interval.packets_lost),
        interval.state.clone(),
    ]
    .map(Option::unwrap_or_default)
}

const HEAD: [&str; 15] = [
    "variant",
    "cc",
    "block",
    "order",
    "t_seconds",
    "seconds",
    "omitted",
    "goodput_bits_per_second",
    "rtt_ms",
    "cwnd_bytes",
    "bytes_in_flight",
    "pacing_rate_bits_per_second",
    "delivery_rate_bits_per_second",
    "packets_lost",
    "state",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn every_sample_has_a_row_with_a_field_per_name() {
        let mut result = fixtures::ab();
        result.variants[1].cc = "bbr3:a=1,b=2".to_owned();
        let text = csv(&result);
        let samples: usize = result
            .variants
            .iter()
            .flat_map(|variant| &variant.rounds)
            .map(|round| round.intervals.len())
            .sum();
        assert_eq!(text.lines().count(), 1 + samples);
        assert!(text.lines().all(|row| {
            let bare = row.replace("\"bbr3:a=1,b=2\"", "bbr3");
            bare.split(',').count() == HEAD.len()
        }));
        insta::assert_snapshot!(text.lines().take(3).collect::<Vec<_>>().join("\n"));
    }
}
