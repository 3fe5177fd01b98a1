use super::page::letter;
use crate::result::{AbResult, Decision, Metric, Summary, Variant};
use crate::stats::{FEW, machine_was_busy};
use crate::text::Scale;

pub(super) fn scale<'a>(
    metric: Metric,
    sides: impl IntoIterator<Item = Option<&'a Summary>>,
) -> Scale {
    let largest = sides.into_iter().flatten().map(|side| side.median.get());
    Scale::of(metric, largest.fold(0.0, f64::max))
}

/// The value of each round of a variant, where these are so few that an interval says little.
pub(super) fn singles(variant: &Variant, metric: Metric, scale: Scale) -> String {
    let rounds = variant.rounds.iter().filter(|round| round.succeeded());
    let values = rounds.filter_map(|round| metric.of(round));
    let values: Vec<String> = values.map(|value| scale.show(value.get())).collect();
    match is_few(values.len()) {
        true => format!("<span class=\"singles\">{}</span>", values.join(" ")),
        false => String::new(),
    }
}

/// What a table says of [`singles`] where it has some.
pub(super) fn singles_caption(result: &AbResult) -> &'static str {
    let rounds = result.variants.iter().map(|variant| {
        let rounds = variant.rounds.iter();
        rounds.filter(|round| round.succeeded()).count()
    });
    match rounds.into_iter().any(is_few) {
        true => ", each round below",
        false => "",
    }
}

fn is_few(rounds: usize) -> bool {
    (2..FEW).contains(&rounds)
}

/// What a decision about a challenger and `a` says, in a word or a sign; nothing where there is no
/// verdict.
pub(super) fn reading(
    result: &AbResult,
    metric: Metric,
    decision: Decision,
    challenger: &str,
) -> String {
    if machine_was_busy(result) {
        return String::new();
    }
    let [better, worse] = [challenger, "a"]
        .map(|better| format!("{}<span class=\"word\"> better</span>", letter(better)));
    decided(metric, decision, &better, &worse)
}

/// One of these where a decision says that `b` is better or worse.
pub(super) fn decided(metric: Metric, decision: Decision, better: &str, worse: &str) -> String {
    let is_better = match decision {
        Decision::TooFewRounds => return TOO_FEW.to_owned(),
        Decision::Same => return SAME.to_owned(),
        Decision::BHigher => metric.higher_is_better(),
        Decision::BLower => !metric.higher_is_better(),
    };
    if is_better { better } else { worse }.to_owned()
}

/// A phone has room for a sign only; the word is for screen readers then.
pub(super) const TOO_FEW: &str = "<span class=\"unit word\">too few rounds</span>\
     <span class=\"sign\" aria-hidden=\"true\">?</span>";

pub(super) const SAME: &str =
    "<span class=\"unit word\">same</span><span class=\"sign\" aria-hidden=\"true\">=</span>";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Finite;

    #[test]
    fn the_largest_value_of_a_row_gives_its_unit() {
        let [small, large] = [9e5, 2e9].map(|bits| {
            let value = Finite::new(bits).unwrap();
            Summary {
                median: value,
                mean: value,
                low: None,
                high: None,
                rounds: 1,
            }
        });
        let of = |sides: [Option<&Summary>; 3]| scale(Metric::GoodputBitsPerSecond, sides).unit;
        assert_eq!(of([Some(&small), None, Some(&large)]), "Gbit/s");
        assert_eq!(of([Some(&small), None, None]), "kbit/s");
    }
}
