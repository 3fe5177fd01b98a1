use super::{Delay, Distribution, GilbertElliott, LinkSpec, Loss, QueueLimit, Reorder, SpecError};
use core::str::FromStr;
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain, duration};

impl FromStr for LinkSpec {
    type Err = SpecError;

    /// Reads the words that [`LinkSpec`] lists, in any order, each clause once.
    ///
    /// # Errors
    /// An unknown, repeated or misplaced word, a value out of its range, or a clause that needs
    /// another one, always by the word it stands at.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        if text.len() > MAX_TEXT {
            return Err(SpecError::new(
                "",
                0,
                "",
                format!("a link is described in at most {MAX_TEXT} bytes"),
            ));
        }
        let mut spec = Self::default();
        let mut words = Words::new(text);
        let mut clauses = Vec::new();
        while let Some(word) = words.next() {
            let name = clause_of(word.text).ok_or_else(|| words.unknown(word))?;
            if clauses.iter().any(|(known, _)| *known == name) {
                return Err(words.error(word, format!("`{name}` stands here twice")));
            }
            clauses.push((name, word));
            spec.read_clause(name, &mut words)?;
        }
        spec.check(&clauses, &words)?;
        Ok(spec)
    }
}

impl LinkSpec {
    /// Reads what follows the word `name`.
    fn read_clause(&mut self, name: &str, words: &mut Words<'_>) -> Result<(), SpecError> {
        match name {
            "delay" => self.delay = Some(read_delay(words)?),
            "loss" => self.loss = Some(read_loss(words)?),
            "duplicate" => self.duplicate = Some(words.value(PERCENT, percent)?),
            "reorder" => self.reorder = Some(read_reorder(words)?),
            "rate" => self.rate = Some(words.value(RATE, rate)?),
            "limit" => self.limit = Some(words.value(LIMIT, positive)?),
            "queue" => self.queue = Some(words.value(QUEUE, queue)?),
            _ => self.seed = Some(words.value(SEED, |text| text.parse().ok())?),
        }
        Ok(())
    }

    /// What one clause needs of another.
    fn check(&self, clauses: &[(&str, Word<'_>)], words: &Words<'_>) -> Result<(), SpecError> {
        let refuse = |name: &str, problem: &str| {
            let found = clauses.iter().find(|(clause, _)| *clause == name);
            let (_, word) = found.expect("the clause that is refused was read");
            Err(words.error(*word, problem))
        };
        if self.queue.is_some() && self.rate.is_none() {
            return refuse("queue", "a queue needs a `rate` that serves it");
        }
        if self.reorder.is_some() && self.delay().is_zero() {
            return refuse("reorder", "reordering needs a `delay` that others wait for");
        }
        Ok(())
    }
}

fn read_delay(words: &mut Words<'_>) -> Result<Delay, SpecError> {
    let mut delay = Delay {
        time: words.value(TIME, time)?,
        jitter: Duration::ZERO,
        distribution: Distribution::Uniform,
        ordered: false,
    };
    if words.value_follows() {
        delay.jitter = words.value("a jitter such as 10ms", time)?;
        if delay.time.is_zero() && !delay.jitter.is_zero() {
            return Err(words.error(words.last, "jitter needs a delay above zero to vary"));
        }
    }
    while let Some(word) = words.next_of(&["distribution", "ordered"]) {
        if delay.jitter.is_zero() {
            let problem = format!("`{}` needs a jitter, as in `delay 50ms 10ms`", word.text);
            return Err(words.error(word, problem));
        }
        match word.text {
            "ordered" => delay.ordered = true,
            _ => delay.distribution = words.value(DISTRIBUTION, distribution)?,
        }
    }
    Ok(delay)
}

fn read_loss(words: &mut Words<'_>) -> Result<Loss, SpecError> {
    match words.next_of(&["random", "gemodel"]) {
        Some(word) if word.text == "gemodel" => read_gemodel(words).map(Loss::GilbertElliott),
        _ => words.value(PERCENT, percent).map(Loss::Random),
    }
}

fn read_gemodel(words: &mut Words<'_>) -> Result<GilbertElliott, SpecError> {
    let mut model = GilbertElliott::new(words.value(PERCENT, percent)?);
    for probability in [
        &mut model.r,
        &mut model.loss_in_bad,
        &mut model.loss_in_good,
    ] {
        if words.value_follows() {
            *probability = words.value(PERCENT, percent)?;
        }
    }
    Ok(model)
}

fn read_reorder(words: &mut Words<'_>) -> Result<Reorder, SpecError> {
    let probability = words.value(PERCENT, percent)?;
    let gap = match words.next_of(&["gap"]) {
        Some(_) => words.value("a number of packets from 1", positive)?,
        None => 1,
    };
    Ok(Reorder { probability, gap })
}

fn time(text: &str) -> Option<Duration> {
    duration::parse(text).ok().filter(|time| *time <= MAX_TIME)
}

/// A probability from 0% to 100%; one that would round to zero is refused.
fn percent(text: &str) -> Option<Gain> {
    let number = text.strip_suffix('%')?;
    let value: Gain = text.parse().ok()?;
    let lost = value == Gain::ZERO && number.contains(|digit| matches!(digit, '1'..='9'));
    (value <= Gain::ONE && !lost).then_some(value)
}

fn rate(text: &str) -> Option<Bandwidth> {
    let rate: Bandwidth = text.parse().ok()?;
    (!rate.is_zero() && rate <= MAX_RATE).then_some(rate)
}

fn positive(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number > 0)
}

fn queue(text: &str) -> Option<QueueLimit> {
    if let Some(multiple) = text.strip_suffix("bdp") {
        let multiple: Gain = multiple.parse().ok()?;
        let in_range = multiple > Gain::ZERO && multiple <= MAX_BDP && !text.contains('%');
        return in_range.then_some(QueueLimit::Bdp(multiple));
    }
    if let Some(packets) = text.strip_suffix('p') {
        return positive(packets).map(QueueLimit::Packets);
    }
    // A bare number could be packets (netem's `limit`) as well as bytes (tbf's).
    let bytes: Bytes = text.parse().ok()?;
    let with_unit = text.ends_with(|last: char| last.is_ascii_alphabetic());
    (with_unit && !bytes.is_zero() && bytes <= MAX_BYTES).then_some(QueueLimit::Bytes(bytes))
}

fn distribution(text: &str) -> Option<Distribution> {
    Distribution::ALL
        .into_iter()
        .find(|distribution| distribution.name() == text)
}

/// The clause that a word begins, tc's aliases resolved.
fn clause_of(word: &str) -> Option<&'static str> {
    let name = match word {
        "latency" => "delay",
        "drop" => "loss",
        name => name,
    };
    CLAUSES.into_iter().find(|clause| *clause == name)
}

#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    /// Byte offset in the whole text.
    at: usize,
}

/// The words of a description from left to right.
struct Words<'a> {
    text: &'a str,
    /// Byte offset of what is not read yet.
    at: usize,
    /// The word read last.
    last: Word<'a>,
}

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Self {
        let last = Word { text: "", at: 0 };
        Self { text, at: 0, last }
    }

    fn peek(&self) -> Option<Word<'a>> {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        let at = self.at + (rest.len() - trimmed.len());
        let text = trimmed.split_whitespace().next()?;
        Some(Word { text, at })
    }

    fn next(&mut self) -> Option<Word<'a>> {
        let word = self.peek()?;
        self.at = word.at + word.text.len();
        self.last = word;
        Some(word)
    }

    /// The next word if it is one of these.
    fn next_of(&mut self, names: &[&str]) -> Option<Word<'a>> {
        self.peek().filter(|word| names.contains(&word.text))?;
        self.next()
    }

    /// Whether the next word is a value rather than the begin of a clause.
    fn value_follows(&self) -> bool {
        self.peek().is_some_and(|word| is_value(word.text))
    }

    /// The next word as a value.
    fn value<V>(
        &mut self,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<V>,
    ) -> Result<V, SpecError> {
        let before = self.last.text;
        let Some(word) = self.next() else {
            let problem = format!("expected {expected} behind `{before}`");
            return Err(SpecError::new(self.text, self.text.len(), "", problem));
        };
        parse(word.text)
            .ok_or_else(|| self.error(word, format!("expected {expected} behind `{before}`")))
    }

    fn error(&self, word: Word<'_>, problem: impl Into<String>) -> SpecError {
        SpecError::new(self.text, word.at, word.text, problem)
    }

    /// The error for a word that begins no clause.
    fn unknown(&self, word: Word<'_>) -> SpecError {
        if let Some((_, place)) = PARTS.iter().find(|(part, _)| *part == word.text) {
            return self.error(word, format!("it belongs behind {place}"));
        }
        let mut problem = format!("expected {}", CLAUSES.join(", "));
        if is_value(word.text) {
            problem.push_str(" before a value");
        } else if let Some(near) = nearest(word.text) {
            problem = format!("{problem}; did you mean `{near}`?");
        }
        self.error(word, problem)
    }
}

fn is_value(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '.' | '-' | '+'))
}

/// The known word that at most two edits turn into this one.
fn nearest(word: &str) -> Option<&'static str> {
    let known = CLAUSES.into_iter().chain(PARTS.map(|(part, _)| part));
    known
        .map(|name| (edits(word, name), name))
        .filter(|(distance, name)| *distance <= 2 && *distance < name.len() / 2 + 1)
        .min()
        .map(|(_, name)| name)
}

/// Levenshtein's distance.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.chars().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

const CLAUSES: [&str; 8] = [
    "delay",
    "loss",
    "duplicate",
    "reorder",
    "rate",
    "limit",
    "queue",
    "seed",
];

/// Words that stand inside a clause, and where.
const PARTS: [(&str, &str); 5] = [
    ("distribution", "`delay TIME JITTER`"),
    ("ordered", "`delay TIME JITTER`"),
    ("random", "`loss`"),
    ("gemodel", "`loss`"),
    ("gap", "`reorder P%`"),
];

const TIME: &str = "a time up to 1 hour, such as 50ms, 2s or 100us,";
const PERCENT: &str = "a percentage from 0% to 100%, such as 2.5%,";
const RATE: &str = "a rate above zero, such as 100mbit or 64kbit,";
const LIMIT: &str = "a number of packets from 1, such as 1000,";
const QUEUE: &str = "a queue such as 1bdp, 0.5bdp, 100p (packets) or 250kb (bytes)";
const SEED: &str = "a whole number";
const DISTRIBUTION: &str = "uniform, normal, pareto or paretonormal";

/// A longer description is not one that a person wrote.
const MAX_TEXT: usize = 4_096;
/// Longer than any transport waits for a packet.
const MAX_TIME: Duration = Duration::from_secs(3_600);
/// 10 Tbit/s, where a byte takes less than a picosecond.
const MAX_RATE: Bandwidth = Bandwidth::from_bits_per_sec(10_000_000_000_000);
const MAX_BDP: Gain = Gain::new(1_000, 1);
const MAX_BYTES: Bytes = Bytes::new(1 << 40);
