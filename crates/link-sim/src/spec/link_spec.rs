use super::clauses::Clauses;
use super::clauses::queue::QueueLimit;
use super::clauses::service::Service;
use super::error::SpecError;
use super::preset::presets;
use super::schedule::Changes;
use super::trace::read_trace_file;
use super::words::{Words, check_length};
use core::fmt;
use core::str::FromStr;
use core::time::Duration;
use std::io;
use units::Bandwidth;

/// A link, described: what `delay 50ms 10ms distribution normal loss 3% rate 100mbit queue 1bdp`
/// says.
///
/// It is made by parsing and therefore always valid; [`Display`](core::fmt::Display) writes it in
/// one canonical order, which parses to an equal value. The empty string, and
/// [`LinkSpec::default`], is a link that hands every packet on at once.
///
/// Its words are [`LINK_WORDS`](crate::LINK_WORDS).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkSpec {
    pub(crate) clauses: Clauses,
    pub(crate) changes: Changes,
}

impl LinkSpec {
    /// Reads a description as [`FromStr`] does, with another way to get at the text of a `trace`.
    ///
    /// # Errors
    /// As [`FromStr`], and at the file's name what `read` answers.
    pub fn parse_with(
        text: &str,
        read: impl Fn(&str) -> io::Result<String>,
    ) -> Result<Self, SpecError> {
        let mut words = Words::new(text, &read)?;
        let clauses = read_preset(&mut words)?.unwrap_or_default();
        let clauses = clauses.read_over(&mut words)?;
        clauses.check(&words)?;
        let changes = Changes::read(&clauses, &mut words)?;
        let spec = Self { clauses, changes };
        check_length(&spec.to_string())?;
        Ok(spec)
    }

    /// The RTT of an empty path over this link and back over `return_link`, jitter and
    /// transmission left out, before anything changes `at` a time.
    ///
    /// # Errors
    /// When one of the two has a queue in `bdp` and there is no delay in either, so that this
    /// queue would be empty.
    pub fn base_rtt(&self, return_link: &Self) -> Result<Duration, SpecError> {
        let base_rtt = self.delay().saturating_add(return_link.delay());
        if base_rtt.is_zero() {
            self.refuse_bdp()?;
            return_link.refuse_bdp()?;
        }
        Ok(base_rtt)
    }

    /// The RTT over this link and back over `return_link` with the queues of both full: no packet
    /// has a longer one. `None` where the description does not bound it, as with jitter, a limit in
    /// packets, or a rate that changes.
    pub fn longest_rtt(&self, return_link: &Self) -> Option<Duration> {
        let base_rtt = self.base_rtt(return_link).ok()?;
        let longest = |link: &Self| {
            let is_steady = link.changes.iter().next().is_none();
            is_steady
                .then(|| link.clauses.longest_delay(base_rtt))
                .flatten()
        };
        longest(self)?.checked_add(longest(return_link)?)
    }

    /// The mean delay, without transmission and queue; zero when none is asked for.
    pub fn delay(&self) -> Duration {
        self.clauses.delay()
    }

    /// The rate of the bottleneck, counting bytes at layer 2; the mean rate of a `trace`.
    pub fn rate(&self) -> Option<Bandwidth> {
        self.clauses.service.as_ref().map(Service::rate)
    }

    fn refuse_bdp(&self) -> Result<(), SpecError> {
        let changed = self.changes.iter().map(|change| &change.clauses);
        let mut all = changed.chain([&self.clauses]);
        if !all.any(|clauses| matches!(clauses.queue, Some(QueueLimit::Bdp(_)))) {
            return Ok(());
        }
        Err(SpecError::at_word(
            &self.to_string(),
            "queue",
            "a queue in bdp needs a `delay`, on this link or the return link",
        ))
    }
}

impl FromStr for LinkSpec {
    type Err = SpecError;

    /// Reads the words that [`LinkSpec`] lists, in any order, each clause once, behind the name of
    /// a [preset](presets) or none. The file of a `trace` is read here.
    ///
    /// # Errors
    /// An unknown, repeated or misplaced word, a value out of its range, a file that cannot be
    /// read or is no trace, or a clause that needs another one, always by the word it stands at.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        Self::parse_with(text, read_trace_file)
    }
}

impl fmt::Display for LinkSpec {
    /// The clauses in tc's order, ours behind them, each as short as it parses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clauses = Some(self.clauses.to_string()).filter(|text| !text.is_empty());
        let changes = self.changes.iter().map(ToString::to_string);
        let all: Vec<String> = clauses.into_iter().chain(changes).collect();
        f.write_str(&all.join(" "))
    }
}

/// The clauses of the preset that the next word names, if it does.
fn read_preset(words: &mut Words<'_>) -> Result<Option<Clauses>, SpecError> {
    let next = words.peek().map(|word| word.text);
    let Some(preset) = presets().find(|preset| Some(preset.name) == next) else {
        return Ok(None);
    };
    words.next();
    let refuse = |_: &str| Err(io::Error::other("presets read no files"));
    let mut clauses = Words::new(preset.link, &refuse)?;
    Clauses::default().read_over(&mut clauses).map(Some)
}
