use super::{Design, compare};
use crate::result::{AbResult, Comparison, Decision, Finite, Metric, Round, Variant, short_labels};
use crate::text::{Scale, significant};
use std::collections::BTreeMap;

/// What the test says about goodput and about the delay under load, for people: a sentence for each
/// variant against the first, and with more than two one that names a winner if there is one.
///
/// > bbr3 has 4.41 times the goodput of cubic (95 % interval 3.18 to 5.41); the p95 RTT
/// > of bbr3 is 12 % lower (8.1 % to 15 %), over 3 pairs of rounds.
pub fn verdict(result: &AbResult) -> String {
    let Some((a, challengers)) = result.challengers() else {
        return "Only one variant: nothing to compare.".to_owned();
    };
    if let Some(busy) = busy(result) {
        return busy;
    }
    let name = |variant| name_among(&result.variants, variant);
    let mut sentences: Vec<String> = challengers
        .iter()
        .map(|challenger| {
            let (a, b) = (name(a), name(challenger.variant));
            against(challenger.comparison, &a, &b)
        })
        .collect();
    sentences.extend(of_all(result));
    sentences.join(" ")
}

/// What is said of all variants together.
fn of_all(result: &AbResult) -> Vec<String> {
    let mut sentences = Vec::new();
    if result.variants.len() > 2 {
        sentences.push(most_goodput(result));
    }
    if let Some(competition) = &result.competition {
        sentences.push(format!(
            "All ran at once; Jain's fairness index is {}.",
            significant(competition.jain_index.median.get())
        ));
    }
    sentences
}

/// More than two variants by their goodput, the highest median first; those that are shown with the
/// same by their delay.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking<'a> {
    /// Which one has the most, if that is certain, and how they shared the link.
    pub summary: String,
    /// Each variant with its result against the first one, whose own is `None`.
    pub places: Vec<(&'a Variant, Option<String>)>,
}

/// The ranking of a test with more than two variants; `None` where there is nothing to conclude.
pub fn ranking(result: &AbResult) -> Option<Ranking<'_>> {
    let (a, challengers) = result.challengers()?;
    if challengers.len() < 2 || machine_was_busy(result) {
        return None;
    }
    let median = |variant: &Variant, metric| Some(variant.summary.get(metric)?.median.get());
    let exact = |variant: &Variant| median(variant, &Metric::GoodputBitsPerSecond);
    let all = result.variants.iter().filter_map(exact);
    let scale = Scale::of(Metric::GoodputBitsPerSecond, all.fold(0.0, f64::max));
    let goodput = |variant: &Variant| scale.show(exact(variant)?).parse::<f64>().ok();
    let delay = |variant: &Variant| {
        let known = DELAYS
            .iter()
            .find_map(|(metric, _)| median(variant, metric));
        known.unwrap_or_default()
    };
    let others = challengers.into_iter();
    let others = others.map(|other| (other.variant, gain_and_cost(other.comparison)));
    let mut places: Vec<(&Variant, Option<String>)> = others.collect();
    places.insert(0, (a, None));
    places.retain(|(variant, _)| goodput(variant).is_some());
    places.sort_by(|(one, _), (other, _)| {
        let goodputs = [other, one].map(|variant| goodput(variant).unwrap_or_default());
        let by_goodput = goodputs[0].total_cmp(&goodputs[1]);
        by_goodput.then_with(|| delay(one).total_cmp(&delay(other)))
    });
    Some(Ranking {
        summary: of_all(result).join(" "),
        places,
    })
}

/// Who won and what it cost, in as few words as that takes; nothing with a single variant.
///
/// > copa: same goodput, 46 % less delay
pub fn headline(result: &AbResult) -> Option<String> {
    let (_, challengers) = result.challengers()?;
    if machine_was_busy(result) {
        return Some(BUSY.to_owned());
    }
    let of_one = challengers.iter().filter_map(|challenger| {
        let name = name_among(&result.variants, challenger.variant);
        Some(format!("{name}: {}", gain_and_cost(challenger.comparison)?))
    });
    let all: Vec<String> = of_one.collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Whether the machine was too busy for a verdict: then nothing is said of single metrics either.
pub(crate) fn machine_was_busy(result: &AbResult) -> bool {
    busy(result).is_some()
}

fn gain_and_cost(comparison: Option<&BTreeMap<Metric, Comparison>>) -> Option<String> {
    let comparison = comparison?;
    let goodput = brief(comparison.get(&Metric::GoodputBitsPerSecond)?, "goodput");
    let delay = DELAYS.iter().find_map(|(metric, _)| comparison.get(metric));
    let delay = delay.map(|delay| format!(", {}", brief(delay, "delay")));
    Some(format!("{goodput}{}", delay.unwrap_or_default()))
}

/// Why nothing is concluded from rounds whose link was another one than was asked for.
fn busy(result: &AbResult) -> Option<String> {
    let rounds = result.variants.iter().flat_map(|variant| &variant.rounds);
    let rounds: Vec<&Round> = rounds.filter(|round| round.succeeded()).collect();
    let late = rounds.iter().filter(|round| round.was_on_busy_machine());
    let shares: Vec<f64> = late
        .filter_map(|round| Some(round.link_late?.get()))
        .collect();
    let most = shares.iter().copied().reduce(f64::max)?;
    let command = result.command.as_deref();
    let has_repeated = command.is_some_and(|command| command.contains(" --reject-late"));
    Some(format!(
        "{BUSY}: in {} of {} rounds the emulated link sent packets over 1 ms late, up to {} % of \
         them. {}",
        shares.len(),
        rounds.len(),
        significant(most * 100.0),
        if has_repeated { STILL_BUSY } else { REPEAT }
    ))
}

const BUSY: &str = "The machine was too busy for a verdict";
const REPEAT: &str = "Use --virtual, or --reject-late, which repeats such rounds.";
/// Of rounds that were late each time.
const STILL_BUSY: &str = "Stop other work on this machine, or use --virtual.";

fn brief(comparison: &Comparison, what: &str) -> String {
    match Effect::of(comparison) {
        Effect::Unknown(_) => format!("{what} undecided"),
        Effect::Sign(true) => format!("more {what}"),
        Effect::Sign(false) => format!("less {what}"),
        Effect::Same(_) => format!("same {what}"),
        Effect::Times(ratio) => format!("{} times the {what}", significant(ratio.centre)),
        Effect::Percent(ratio) => {
            let more = if ratio.centre > 1.0 { "more" } else { "less" };
            format!("{} {more} {what}", percent(ratio.centre))
        }
    }
}

/// How a variant is called: by its label, and by its letter too where others have the same.
fn name_among(variants: &[Variant], variant: &Variant) -> String {
    let mut others = variants.iter().filter(|other| other.name != variant.name);
    let labels = short_labels(variants);
    let place = variants.iter().position(|other| other.name == variant.name);
    let label = place.map_or_else(|| variant.label().to_owned(), |place| labels[place].clone());
    if others.any(|other| other.label() == variant.label()) {
        format!("{} ({label})", variant.name)
    } else {
        label
    }
}

/// Which variants have the most goodput, if the interval of each against the best decides.
fn most_goodput(result: &AbResult) -> String {
    let goodput = |variant: &Variant| {
        let summary = variant.summary.get(&Metric::GoodputBitsPerSecond);
        summary.map_or(0.0, |summary| summary.median.get())
    };
    let best = |one: &&Variant, other: &&Variant| goodput(one).total_cmp(&goodput(other));
    let Some(best) = result.variants.iter().max_by(best) else {
        return String::new();
    };
    let decision = |other: &Variant| {
        let comparison = compare(&other.rounds, &best.rounds, result.seed, Design::of(result));
        let goodput = comparison.get(&Metric::GoodputBitsPerSecond);
        goodput.map(|goodput| goodput.decision)
    };
    let mut most = Vec::new();
    for variant in &result.variants {
        let decision = (variant.name != best.name).then(|| decision(variant));
        match decision {
            None | Some(Some(Decision::Same)) => most.push(name_among(&result.variants, variant)),
            Some(Some(Decision::BHigher)) => {}
            Some(_) => return "Too few rounds to rank goodput.".to_owned(),
        }
    }
    let last = most.pop().unwrap_or_default();
    match most.len() {
        0 => format!("{last} has the most goodput."),
        n if n + 1 == result.variants.len() => "All have the same goodput.".to_owned(),
        _ => format!("{} and {last} have the most goodput.", most.join(", ")),
    }
}

fn against(comparison: Option<&BTreeMap<Metric, Comparison>>, a: &str, b: &str) -> String {
    let of = |metric| comparison.and_then(|comparison| comparison.get(&metric));
    let Some(goodput) = of(Metric::GoodputBitsPerSecond) else {
        return format!("Nothing to compare: {a} and {b} have no pair of successful rounds.");
    };
    let frames = of(Metric::FramesMissed);
    let frames = frames.map(|missed| delay_clause(missed, "share of missed frames", b));
    let frames = frames
        .map(|clause| format!("; {clause}"))
        .unwrap_or_default();
    let delay = DELAYS
        .into_iter()
        .find_map(|(metric, what)| Some(format!("; {}", delay_clause(of(metric)?, what, b))));
    let delay = delay.unwrap_or_default();
    let pairs = match goodput.pairs {
        1 => "a single pair of rounds".to_owned(),
        n => format!("{n} pairs of rounds"),
    };
    let goodput = goodput_clause(goodput, a, b);
    format!("{goodput}{frames}{delay}, over {pairs}.")
}

/// The delay that a verdict is about is the first that is known. Of a server only the link knows
/// one.
const DELAYS: [(Metric, &str); 3] = [
    (Metric::FrameLatencyMsP95, "p95 frame latency"),
    (Metric::RttMsP95, "p95 RTT"),
    (Metric::QueueDelayMsP95, "p95 queueing delay"),
];

fn goodput_clause(goodput: &Comparison, a: &str, b: &str) -> String {
    match Effect::of(goodput) {
        Effect::Unknown(None) => format!("Too few rounds to compare the goodput of {b} and {a}"),
        Effect::Sign(true) => format!("{b} has more goodput than {a}"),
        Effect::Sign(false) => format!("{b} has less goodput than {a}"),
        Effect::Unknown(Some(ratio)) => format!(
            "Too few rounds to compare the goodput of {b} and {a} ({})",
            ratio.ratio()
        ),
        Effect::Same(within) => format!("{b} and {a} have the same goodput{within}"),
        Effect::Times(ratio) => format!(
            "{b} has {} times the goodput of {a} (95 % interval {} to {})",
            significant(ratio.centre),
            significant(ratio.low),
            significant(ratio.high)
        ),
        Effect::Percent(ratio) => format!(
            "{b} has {} {} goodput than {a} (95 % interval {})",
            percent(ratio.centre),
            if ratio.centre > 1.0 { "more" } else { "less" },
            ratio.percent_range()
        ),
    }
}

/// What became of `what`, a quantile of a delay or a share.
fn delay_clause(delay: &Comparison, what: &str, b: &str) -> String {
    let subject = format!("the {what} of {b}");
    match Effect::of(delay) {
        Effect::Unknown(None) => format!("too few rounds to compare {what}"),
        Effect::Sign(true) => format!("{subject} is higher"),
        Effect::Sign(false) => format!("{subject} is lower"),
        Effect::Unknown(Some(ratio)) => {
            format!("too few rounds to compare {what} ({})", ratio.ratio())
        }
        Effect::Same(within) => format!("{subject} is the same{within}"),
        Effect::Times(ratio) => format!(
            "{subject} is {} times as high ({} to {})",
            significant(ratio.centre),
            significant(ratio.low),
            significant(ratio.high)
        ),
        Effect::Percent(ratio) => format!(
            "{subject} is {} {} ({})",
            percent(ratio.centre),
            if ratio.centre > 1.0 {
                "higher"
            } else {
                "lower"
            },
            ratio.percent_range()
        ),
    }
}

enum Effect {
    /// Too few rounds; the ratio and its interval where there are any.
    Unknown(Option<Ratio>),
    /// Whether b is higher, where a zero leaves no ratio.
    Sign(bool),
    /// The whole interval is close to one: the words that say how close.
    Same(String),
    /// Twice or more.
    Times(Ratio),
    /// Less than twice.
    Percent(Ratio),
}

impl Effect {
    fn of(comparison: &Comparison) -> Self {
        let Some(ratio) = Ratio::of(comparison) else {
            return match comparison.decision {
                Decision::TooFewRounds => Self::Unknown(None),
                Decision::Same => Self::Same(String::new()),
                Decision::BHigher => Self::Sign(true),
                Decision::BLower => Self::Sign(false),
            };
        };
        match comparison.decision {
            Decision::TooFewRounds => Self::Unknown(Some(ratio)),
            Decision::Same => Self::Same(ratio.within()),
            _ if ratio.centre >= 2.0 => Self::Times(ratio),
            _ => Self::Percent(ratio),
        }
    }
}

struct Ratio {
    centre: f64,
    low: f64,
    high: f64,
}

impl Ratio {
    fn of(comparison: &Comparison) -> Option<Self> {
        Some(Self {
            centre: comparison.ratio_b_over_a?.get(),
            low: comparison.low?.get(),
            high: comparison.high.map(Finite::get)?,
        })
    }

    fn ratio(&self) -> String {
        format!(
            "ratio {}, 95 % interval {} to {}",
            significant(self.centre),
            significant(self.low),
            significant(self.high)
        )
    }

    /// How close to one the whole interval is, in words.
    fn within(&self) -> String {
        let farthest = (self.low - 1.0).abs().max((self.high - 1.0).abs());
        if farthest == 0.0 {
            String::new()
        } else {
            format!(" within {}", percent(1.0 + farthest))
        }
    }

    /// The interval as distances from one, the nearer end first.
    fn percent_range(&self) -> String {
        let (near, far) = if self.centre > 1.0 {
            (self.low, self.high)
        } else {
            (self.high, self.low)
        };
        format!("{} to {}", percent(near), percent(far))
    }
}

/// The distance of a ratio from one: 1.123 is `12 %`, as is 0.877; 0.001 is `over
/// 99 %`.
fn percent(ratio: f64) -> String {
    let percent = (ratio - 1.0).abs() * 100.0;
    if percent < 9.95 {
        format!("{percent:.1} %")
    } else if ratio > 0.0 && ratio < 0.01 {
        "over 99 %".to_owned()
    } else {
        format!("{percent:.0} %")
    }
}
