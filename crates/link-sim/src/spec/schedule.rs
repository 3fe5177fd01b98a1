use super::clauses::Clauses;
use super::error::SpecError;
use super::values::time;
use super::words::Words;
use core::fmt;
use core::time::Duration;
use std::collections::BTreeSet;
use units::duration;

/// `at TIME CLAUSES` and `at TIME..TIME CLAUSES`: what becomes of a link while it runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Changes(Vec<Change>);

/// One `at`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// Since the link began.
    pub(crate) from: Duration,
    /// When what was before holds again; `None` for never.
    pub(crate) until: Option<Duration>,
    pub(crate) clauses: Clauses,
}

impl Changes {
    pub(super) fn read(base: &Clauses, words: &mut Words<'_>) -> Result<Self, SpecError> {
        let mut changes = Self::default();
        while words.next_of(&["at"]).is_some() {
            let (from, until) = words.value(WHEN, when)?;
            let clauses = Clauses::default().read_over(words)?;
            let problem = match () {
                () if clauses == Clauses::default() => Some(
                    "no change given for this time; add \
                     clauses such as `rate 1mbit`",
                ),
                () if clauses.seed.is_some() => Some(
                    "`seed` cannot change while the link runs; \
                     remove it",
                ),
                () if changes.0.len() >= MAX_CHANGES => Some("more changes than 256"),
                () => None,
            };
            if let Some(problem) = problem {
                return Err(words.error(words.last, problem));
            }
            let change = Change {
                from,
                until,
                clauses,
            };
            changes.0.push(change.clone());
            // A clause may need another one that is there at this time and not at that.
            for time in changes.times().into_iter().filter(|at| change.holds(*at)) {
                changes.clauses_at(base, time).check(words)?;
            }
        }
        Ok(changes)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Change> {
        self.0.iter()
    }

    /// Every time at which something begins or ends, ascending.
    pub(crate) fn times(&self) -> BTreeSet<Duration> {
        let begins = self.0.iter().map(|change| change.from);
        let ends = self.0.iter().filter_map(|change| change.until);
        begins.chain(ends).collect()
    }

    /// The whole link at `time`: of two changes of one clause, the one written last holds.
    pub(crate) fn clauses_at(&self, base: &Clauses, time: Duration) -> Clauses {
        let active = self.0.iter().filter(|change| change.holds(time));
        active.fold(base.clone(), |clauses, change| {
            clauses.overridden_by(&change.clauses)
        })
    }
}

impl Change {
    fn holds(&self, time: Duration) -> bool {
        self.from <= time && self.until.is_none_or(|until| time < until)
    }
}

/// `10s` or `5s..7s`.
fn when(text: &str) -> Option<(Duration, Option<Duration>)> {
    match text.split_once("..") {
        None => Some((time(text)?, None)),
        Some((from, until)) => {
            let (from, until) = (time(from)?, time(until)?);
            (from < until).then_some((from, Some(until)))
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}", duration::display(self.from))?;
        if let Some(until) = self.until {
            write!(f, "..{}", duration::display(until))?;
        }
        write!(f, " {}", self.clauses)
    }
}

const WHEN: &str = "a time such as 10s, or a period such as 5s..7s,";
/// Each is checked against all others.
const MAX_CHANGES: usize = 256;
