//! The course of every round as a table for other programs (RFC 4180).

use crate::result::AbResult;
use std::fmt::Write as _;

/// A row per sample of each round, below a row of names with their units. What is not known is
/// empty.
pub fn csv(result: &AbResult) -> String {
    let mut text = HEAD.join(",");
    text.push('\n');
    for variant in &result.variants {
        for round in &variant.rounds {
            for interval in &round.intervals {
                let figures = [
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
                ];
                write!(
                    text,
                    "{},{},{},{}",
                    field(&variant.name),
                    field(&variant.cc),
                    round.block,
                    round.order
                )
                .expect("a String takes everything");
                for figure in figures {
                    text.push(',');
                    text.push_str(&field(&figure.unwrap_or_default()));
                }
                text.push('\n');
            }
        }
    }
    text
}

fn shown(figure: Option<impl ToString>) -> Option<String> {
    figure.map(|figure| figure.to_string())
}

/// In quotes where it holds what would end a field.
fn field(value: &str) -> String {
    if value.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", value.replace('"', "\"\""))
    } else {
        value.to_owned()
    }
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
