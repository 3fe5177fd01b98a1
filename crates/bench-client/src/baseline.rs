//! A test against an earlier one: whether a controller has become worse. Its rules also judge the
//! servers of one test against the first of them.
//!
//! ```text
//! rounds of now ─┐  same controller, link, seed, in virtual time: paired by block
//! FILE.json ─────┴▶ else: medians of both, resampled apart        ──▶ ratio, interval ──▶ rules
//! ```

use crate::text_file;
use bench_kit::failure::Failure;
use bench_report::result::{
    AbResult, AnyResult, BaselineComparison, Challenger, Comparison, Decision, Finite, Metric,
    Round, Variant,
};
use bench_report::stats::{self, Design};
use bench_report::text::significant;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use units::ParseError;

#[derive(Debug)]
pub(crate) struct Baseline {
    name: String,
    result: AbResult,
}

/// What must not have become of a metric: `goodput < -5%`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rule {
    text: String,
    metric: Metric,
    is_below: bool,
    /// The ratio to the baseline at which it begins to hold.
    limit: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Yes,
    No,
    /// The interval reaches to both sides of the limit, or there is none.
    Unknown,
}

impl Baseline {
    /// Reads an earlier result.
    ///
    /// # Errors
    /// When `path` is not one of an A/B test.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let failure =
            |error: &dyn fmt::Display| Failure::usage(format!("--baseline {name}: {error}"));
        let text = text_file::read_result(path).map_err(|error| failure(&error))?;
        match AnyResult::from_json(&text).map_err(|error| failure(&error))? {
            AnyResult::Ab(result) => Ok(Self {
                name,
                result: *result,
            }),
            AnyResult::Run(_) | AnyResult::Matrix(_) => Err(failure(
                &"not a result of `ab`; give a file that `ab --json` has written",
            )),
        }
    }

    /// Whether the figures of this result, which has no rounds yet, will mean the same as those of
    /// then.
    ///
    /// # Errors
    /// Names the first thing in which the tests differ.
    pub(crate) fn check(&self, blank: &AbResult, competes: bool) -> Result<(), Failure> {
        let then = Conditions::of(&self.result, self.result.competition.is_some());
        let now = Conditions::of(blank, competes);
        for ((what, then), (_, now)) in then.0.iter().zip(&now.0) {
            if then != now {
                return Err(Failure::usage(format!(
                    "--baseline {}: different {what}: `{then}` there, `{now}` in this test",
                    self.name
                )));
            }
        }
        if blank
            .variants
            .iter()
            .all(|variant| self.same(variant).is_none())
        {
            return Err(Failure::usage(format!(
                "--baseline {}: no variant in common with this test",
                self.name
            )));
        }
        Ok(())
    }

    /// Whether rules can judge every variant of this result.
    ///
    /// # Errors
    /// Names the first variant that the earlier test did not have.
    pub(crate) fn has_all(&self, blank: &AbResult) -> Result<(), Failure> {
        let mut variants = blank.variants.iter();
        match variants.find(|variant| self.same(variant).is_none()) {
            None => Ok(()),
            Some(variant) => Err(Failure::usage(format!(
                "--fail-if: --baseline {} has no {} ({}) with the same connections and path; \
                 compare with a test that has it",
                self.name,
                variant.name,
                variant.label()
            ))),
        }
    }

    /// The variant of then with the controller, connections and path of this one.
    fn same(&self, variant: &Variant) -> Option<&Variant> {
        let is_same = |before: &&Variant| {
            let name =
                |variant: &Variant| variant.server.as_ref().map(|server| server.name.clone());
            before.cc == variant.cc
                && name(before) == name(variant)
                && before.flows == variant.flows
                && before.start_seconds == variant.start_seconds
                && before.extra_delay_ms == variant.extra_delay_ms
                && before.duplicate == variant.duplicate
        };
        self.result.variants.iter().find(is_same)
    }

    /// Every variant of `result` against the same one of then.
    pub(crate) fn compare(&self, result: &AbResult) -> BaselineComparison {
        let is_paired = self.draws_as(result);
        // What may have ended this test is another ratio.
        let paired =
            |a: &[Round], b: &[Round], seed| stats::compare(a, b, seed, Design::FixedSample);
        let compare = if is_paired {
            paired
        } else {
            stats::compare_unpaired
        };
        let compared = result.variants.iter().filter_map(|variant| {
            let before = self.same(variant)?;
            let comparison = compare(&before.rounds, &variant.rounds, result.seed);
            Some((variant.name.clone(), comparison))
        });
        BaselineComparison {
            paired: is_paired,
            comparisons: compared.collect(),
        }
    }

    /// Whether rounds of the same block met the same draws.
    fn draws_as(&self, result: &AbResult) -> bool {
        let then = &self.result;
        result.is_virtual
            && result.seed == then.seed
            && result.independent == then.independent
            && result.omit_seconds == then.omit_seconds
    }
}

/// What became of the goodput of every variant, a line each.
pub(crate) fn summary(result: &AbResult) -> Vec<String> {
    let compared = result
        .baseline
        .iter()
        .flat_map(|baseline| &baseline.comparisons);
    let lines = compared.filter_map(|(name, comparisons)| {
        let goodput = comparisons.get(&Metric::GoodputBitsPerSecond)?;
        Some(format!(
            "goodput of {name} against the baseline: {}",
            figure(goodput)
        ))
    });
    lines.collect()
}

/// What a figure depends on beside the controller.
struct Conditions([(&'static str, String); 6]);

impl Conditions {
    fn of(result: &AbResult, competes: bool) -> Self {
        let order = if competes {
            "all at once"
        } else {
            "interleaved"
        };
        let time = if result.is_virtual { "virtual" } else { "real" };
        let seconds = result.round_seconds.map(|seconds| format!("{seconds} s"));
        let bytes = result.round_bytes.map(|bytes| format!("{bytes} B"));
        let length: Vec<String> = bytes.into_iter().chain(seconds).collect();
        Self([
            ("link", result.link.clone()),
            ("return link", result.return_link.clone()),
            ("server", result.server.clone().unwrap_or_default()),
            ("clock", time.to_owned()),
            ("order", order.to_owned()),
            ("round length", length.join(" in ")),
        ])
    }
}

impl Rule {
    /// What the rule says of every variant of `result` that the baseline has; without a baseline,
    /// of every variant against the first.
    pub(crate) fn judge(&self, result: &AbResult) -> Verdict {
        let mut verdict = Verdict::default();
        if let Some(baseline) = &result.baseline {
            for (name, comparisons) in &baseline.comparisons {
                let variant = result.variants.iter().find(|variant| variant.name == *name);
                let label = variant.map_or("", Variant::label);
                let comparison = comparisons.get(&self.metric);
                self.judge_one(&mut verdict, (name, label), comparison, "the baseline");
            }
        } else if let Some((a, challengers)) = result.challengers() {
            let reference = format!("{} ({})", a.name, a.label());
            for Challenger {
                variant,
                comparison,
            } in challengers
            {
                let comparison = comparison.and_then(|metrics| metrics.get(&self.metric));
                let called = (variant.name.as_str(), variant.label());
                self.judge_one(&mut verdict, called, comparison, &reference);
            }
        }
        verdict
    }

    fn judge_one(
        &self,
        verdict: &mut Verdict,
        (name, label): (&str, &str),
        comparison: Option<&Comparison>,
        reference: &str,
    ) {
        let figure = comparison.map_or_else(|| "no rounds".to_owned(), figure);
        match comparison.map_or(Holds::Unknown, |comparison| self.holds(comparison)) {
            Holds::Yes => verdict.broken.push(format!(
                "`{}` holds for {name} ({label}): {figure} against {reference}",
                self.text
            )),
            Holds::Unknown => verdict.open.push(format!(
                "too few rounds to decide `{}` for {name} ({label}): {figure}",
                self.text
            )),
            Holds::No => {}
        }
    }

    /// The quantity that it is about.
    pub(crate) fn metric(&self) -> Metric {
        self.metric
    }

    /// Whether the whole interval is beyond the limit, or the whole of it is not.
    fn holds(&self, comparison: &Comparison) -> Holds {
        let pairs = comparison.pairs as usize;
        let interval = comparison.low.zip(comparison.high);
        let (low, high) = match interval {
            Some((low, high)) if pairs >= stats::MIN_PAIRS => (low.get(), high.get()),
            // From nothing to something is beyond every limit; a difference decides.
            None if pairs >= stats::MIN_PAIRS => match comparison.decision {
                Decision::BHigher => (f64::INFINITY, f64::INFINITY),
                Decision::BLower => (0.0, 0.0),
                Decision::Same => (1.0, 1.0),
                Decision::TooFewRounds => return Holds::Unknown,
            },
            _ => return Holds::Unknown,
        };
        let is_beyond = |end: f64| {
            if self.is_below {
                end < self.limit
            } else {
                end > self.limit
            }
        };
        match (is_beyond(low), is_beyond(high)) {
            (true, true) => Holds::Yes,
            (false, false) => Holds::No,
            _ => Holds::Unknown,
        }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Rules that hold, a line each.
    pub(crate) broken: Vec<String>,
    /// Rules of which the interval leaves it open.
    pub(crate) open: Vec<String>,
}

/// `−7.1 % (95 % interval −9.0 % to −5.2 %)`.
fn figure(comparison: &Comparison) -> String {
    let percent = |ratio: Finite| {
        let change = (ratio.get() - 1.0) * 100.0;
        let sign = if change < 0.0 { "" } else { "+" };
        format!("{sign}{} %", significant(change))
    };
    match (comparison.ratio_b_over_a, comparison.low, comparison.high) {
        (Some(ratio), Some(low), Some(high)) => format!(
            "{} (95 % interval {} to {})",
            percent(ratio),
            percent(low),
            percent(high)
        ),
        (Some(ratio), ..) => format!(
            "{} (no interval from a single pair of rounds)",
            percent(ratio)
        ),
        (None, ..) => format!(
            "a difference of {} (no ratio: one side is zero)",
            significant(comparison.difference_b_minus_a.get())
        ),
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Rule {
    type Err = ParseError;

    /// `METRIC < CHANGE%` or `METRIC > CHANGE%`; metrics by their names in the JSON, or short ones.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let expected = "a rule such as `goodput < -5%` or `rtt_p95 > 10%`";
        let at = text.find(['<', '>']);
        let at = at.ok_or_else(|| ParseError::new(text, expected))?;
        let (name, change) = (text[..at].trim(), text[at + 1..].trim());
        let metric = metric(name).ok_or_else(|| ParseError::new(name, METRICS))?;
        let percent = change.strip_suffix('%').map(str::trim);
        let percent = percent.and_then(|percent| percent.parse::<f64>().ok());
        match percent {
            Some(percent) if percent.is_finite() && percent > -100.0 => Ok(Self {
                text: text.trim().to_owned(),
                metric,
                is_below: text[at..].starts_with('<'),
                limit: 1.0 + percent / 100.0,
            }),
            _ => Err(ParseError::new(change, "a change above -100%, such as -5%")),
        }
    }
}

/// By its name in the JSON, or by a short one.
fn metric(name: &str) -> Option<Metric> {
    let short = [
        ("goodput", Metric::GoodputBitsPerSecond),
        ("rtt_p50", Metric::RttMsP50),
        ("rtt_p95", Metric::RttMsP95),
        ("rtt_p99", Metric::RttMsP99),
        ("queue_p50", Metric::QueueDelayMsP50),
        ("queue_p95", Metric::QueueDelayMsP95),
        ("queue_p99", Metric::QueueDelayMsP99),
        ("loss", Metric::LossRate),
        ("retransmitted", Metric::BytesRetransmitted),
        ("cpu_sender", Metric::CpuSecondsPerGigabyteSender),
        ("cpu_receiver", Metric::CpuSecondsPerGigabyteReceiver),
        ("frame_p50", Metric::FrameLatencyMsP50),
        ("frame_p95", Metric::FrameLatencyMsP95),
        ("frame_p99", Metric::FrameLatencyMsP99),
        ("freeze", Metric::LongestFreezeMs),
    ];
    let short = short.into_iter().find(|(known, _)| *known == name);
    let long = || serde_json::from_value(name.into()).ok();
    short.map(|(_, metric)| metric).or_else(long)
}

const METRICS: &str = "one of the metrics goodput, rtt_p50, rtt_p95, rtt_p99, queue_p50, \
                       queue_p95, queue_p99, loss, retransmitted, cpu_sender, cpu_receiver, \
                       frames_missed, frame_p50, frame_p95, frame_p99, freeze";

#[cfg(test)]
mod tests {
    use super::*;
    use bench_report::fixtures;

    fn rule(text: &str) -> Rule {
        text.parse().unwrap()
    }

    /// `now` against itself with these goodputs as the baseline.
    fn judged(before: &[u64], now: &[u64], text: &str) -> Verdict {
        let baseline = Baseline {
            name: "before.json".to_owned(),
            result: fixtures::ab_of(before, before),
        };
        let mut result = fixtures::ab_of(now, now);
        stats::conclude(&mut result);
        result.baseline = Some(baseline.compare(&result));
        rule(text).judge(&result)
    }

    #[test]
    fn a_rule_holds_where_the_whole_interval_is_beyond_it() {
        let before = [100_000_000, 101_000_000, 99_000_000, 100_000_000];
        let by = |percent: u64| before.map(|goodput| goodput / 100 * percent);
        let verdict = judged(&before, &by(90), "goodput < -5%");
        assert_eq!(verdict.broken.len(), 2);
        assert_eq!(
            verdict.broken[1],
            "`goodput < -5%` holds for b (bbr3): -10.0 % (95 % interval -10.0 % to -10.0 %) \
             against the baseline"
        );
        let fine = Verdict::default();
        assert_eq!(judged(&before, &by(97), "goodput < -5%"), fine);
        assert_eq!(judged(&before, &by(90), "goodput > 5%"), fine);
        assert_eq!(judged(&before, &by(110), "goodput > 5%").broken.len(), 2);
        let scattered = [80_000_000, 120_000_000, 60_000_000, 95_000_000];
        let verdict = judged(&before, &scattered, "goodput < -5%");
        assert_eq!((verdict.broken.len(), verdict.open.len()), (0, 2));
        let verdict = judged(&before[..2], &by(50)[..2], "goodput < -5%");
        assert_eq!((verdict.broken.len(), verdict.open.len()), (0, 2));
    }

    #[test]
    fn without_a_baseline_every_variant_is_judged_against_the_first() {
        let judged = |b: &[u64]| {
            let mut result = fixtures::ab_of(&[100_000_000; 4], b);
            result.variants[1].server = fixtures::servers().variants[1].server.clone();
            stats::conclude(&mut result);
            rule("goodput < -5%").judge(&result)
        };
        assert_eq!(
            judged(&[90_000_000; 4]).broken,
            [
                "`goodput < -5%` holds for b (new): -10.0 % (95 % interval -10.0 % to -10.0 %) \
              against a (cubic)"
            ]
        );
        assert_eq!(judged(&[97_000_000; 4]), Verdict::default());
        assert_eq!(judged(&[90_000_000; 2]).open.len(), 1);
        assert_eq!(judged(&[]).open.len(), 1);
    }

    #[test]
    fn from_nothing_to_something_is_beyond_every_limit() {
        let verdict = judged(&[0; 4], &[5, 6, 5, 6], "goodput > 1000%");
        assert_eq!(verdict.broken.len(), 2, "{verdict:?}");
        assert_eq!(
            judged(&[0; 4], &[0; 4], "goodput < -5%"),
            Verdict::default()
        );
    }

    #[test]
    fn metrics_have_the_names_of_the_json_and_short_ones() {
        for (one, other) in [
            ("goodput<-5%", "goodput_bits_per_second < -5 %"),
            ("rtt_p95 > 10%", " rtt_ms_p95 >10% "),
            ("loss > 0%", "loss_rate > 0%"),
        ] {
            let (one, other) = (rule(one), rule(other));
            assert_eq!((one.metric, one.limit), (other.metric, other.limit));
        }
        for metric in Metric::ALL {
            let name = serde_json::to_value(metric).unwrap();
            assert_eq!(super::metric(name.as_str().unwrap()), Some(metric));
        }
        for (wrong, word) in [
            ("goodput", "goodput"),
            ("godput < -5%", "godput"),
            ("goodput < -5", "-5"),
            ("goodput < -100%", "-100%"),
            ("goodput < inf%", "inf%"),
        ] {
            assert_eq!(wrong.parse::<Rule>().unwrap_err().input(), word);
        }
    }

    #[test]
    fn a_test_under_other_conditions_is_no_baseline() {
        let baseline = |change: fn(&mut AbResult)| {
            let mut result = fixtures::ab_of(&[], &[]);
            change(&mut result);
            Baseline {
                name: "before.json".to_owned(),
                result,
            }
        };
        let now = fixtures::ab_of(&[], &[]);
        assert_eq!(baseline(|_| ()).check(&now, false), Ok(()));
        for (change, word) in [
            (
                (|r| r.link = "delay 1ms".to_owned()) as fn(&mut AbResult),
                "different link: `delay 1ms` there",
            ),
            (
                |r| r.is_virtual = false,
                "different clock: `real` there, `virtual` in this test",
            ),
            (|r| r.round_seconds = None, "round length"),
            (|r| r.variants.clear(), "no variant in common"),
        ] {
            let failure = baseline(change).check(&now, false).unwrap_err().to_string();
            assert!(failure.contains(word), "{failure}");
        }
        let failure = baseline(|_| ()).check(&now, true).unwrap_err().to_string();
        assert!(
            failure.contains("`interleaved` there, `all at once` in this test"),
            "{failure}"
        );
    }

    #[test]
    fn other_seeds_are_compared_without_pairs() {
        let mut result = fixtures::ab();
        let baseline = Baseline {
            name: "before.json".to_owned(),
            result: fixtures::ab(),
        };
        assert!(baseline.compare(&result).paired);
        result.seed += 1;
        let compared = baseline.compare(&result);
        assert!(!compared.paired);
        let goodput = compared.comparisons["b"][&Metric::GoodputBitsPerSecond];
        assert_eq!(goodput.ratio_b_over_a, Some(Finite::ONE));
        assert!(goodput.low < Some(Finite::ONE) && goodput.high > Some(Finite::ONE));
    }
}
