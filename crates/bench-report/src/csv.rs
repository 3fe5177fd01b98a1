//! Results as tables for other programs (RFC 4180).

mod cells;
mod line;
mod rounds;

pub use cells::cells;
pub(crate) use rounds::round_rows;
pub use rounds::rounds;

use crate::result::{AbResult, Interval, Quantity, Round, Variant};
use line::{line, shown};

/// A row per sample of each round, below a row of names with their units. What is not known is
/// empty.
pub fn csv(result: &AbResult) -> String {
    let mut text = String::new();
    line(&mut text, head());
    for variant in &result.variants {
        for round in &variant.rounds {
            for interval in &round.intervals {
                line(&mut text, sample(variant, round, interval));
            }
        }
    }
    text
}

/// The samples of these rounds as fields, the names first, one in so many that there are at most
/// `limit`.
pub(crate) fn sample_rows<'a>(
    rounds: impl IntoIterator<Item = (&'a Variant, &'a Round)>,
    limit: usize,
) -> Vec<Vec<String>> {
    let rounds: Vec<(&Variant, &Round)> = rounds.into_iter().collect();
    let all: usize = rounds.iter().map(|(_, round)| round.intervals.len()).sum();
    let stride = all.div_ceil(limit).max(1);
    let samples = rounds.into_iter().flat_map(|(variant, round)| {
        let intervals = round.intervals.iter().step_by(stride);
        intervals.map(move |interval| sample(variant, round, interval))
    });
    [head().collect()].into_iter().chain(samples).collect()
}

fn sample(variant: &Variant, round: &Round, interval: &Interval) -> Vec<String> {
    let first = [
        variant.name.clone(),
        variant.cc.clone(),
        round.block.to_string(),
        round.order.to_string(),
        interval.t.to_string(),
        interval.seconds.to_string(),
        interval.omitted.to_string(),
        interval.goodput_bits_per_second.to_string(),
    ];
    let figures =
        quantities().map(|quantity| shown(interval.sender.written(quantity)).unwrap_or_default());
    let state = interval.state.clone().unwrap_or_default();
    first.into_iter().chain(figures).chain([state]).collect()
}

fn head() -> impl Iterator<Item = String> {
    let names = FIRST.into_iter().chain(quantities().map(Quantity::name));
    names.chain(["state"]).map(str::to_owned)
}

fn quantities() -> impl Iterator<Item = Quantity> {
    let all = Quantity::ALL.into_iter();
    all.filter(|quantity| quantity.is_in_intervals())
}

/// Which sample of which round, and what it is of all quantities that are not the sender's.
const FIRST: [&str; 8] = [
    "variant",
    "cc",
    "block",
    "order",
    "t_seconds",
    "seconds",
    "omitted",
    "goodput_bits_per_second",
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
            bare.split(',').count() == head().count()
        }));
        insta::assert_snapshot!(text.lines().take(3).collect::<Vec<_>>().join("\n"));
    }
}
