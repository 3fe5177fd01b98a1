use crate::spec::error::SpecError;
use crate::spec::trace::{DelayTrace, Recorded};
use crate::spec::values::{PERCENT, POSITIVE_TIME, Percent, TIME, percent, positive_time, time};
use crate::spec::words::Words;
use core::fmt;
use core::time::Duration;
use units::{Gain, Timestamp, duration};

/// `delay …`: how long propagation takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Delay {
    Netem(NetemDelay),
    Recorded(RecordedDelay),
}

impl Delay {
    pub(in crate::spec) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        match words.next_of(&["trace"]) {
            Some(_) => RecordedDelay::read(words).map(Self::Recorded),
            None => NetemDelay::read(words).map(Self::Netem),
        }
    }

    /// Jitter left out, the mean of a trace.
    pub(crate) fn mean(&self) -> Duration {
        match self {
            Self::Netem(delay) => delay.time,
            Self::Recorded(delay) => delay.recorded.trace.mean(),
        }
    }

    /// Whether packets may take different times.
    pub(crate) fn varies(&self) -> bool {
        match self {
            Self::Netem(delay) => !delay.jitter.is_zero(),
            Self::Recorded(_) => true,
        }
    }

    /// Whether a packet leaves no earlier than the one before it, however much the time varies.
    pub(crate) fn is_ordered(&self) -> bool {
        match self {
            Self::Netem(delay) => delay.ordered,
            Self::Recorded(_) => true,
        }
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Netem(delay) => delay.fmt(f),
            Self::Recorded(delay) => delay.fmt(f),
        }
    }
}

/// `delay trace FILE [every TIME]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedDelay {
    pub(crate) recorded: Recorded<DelayTrace>,
    /// How long each of its delays holds.
    pub(crate) every: Duration,
}

impl RecordedDelay {
    fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        let recorded = words.trace(|known| &mut known.delays, DelayTrace::parse)?;
        let every = match words.next_of(&["every"]) {
            Some(_) => words.value(POSITIVE_TIME, positive_time)?,
            None => USUAL_STEP,
        };
        Ok(Self { recorded, every })
    }

    /// The delay of a packet that is sent at `now`, in the link's time.
    pub(crate) fn at(&self, now: Timestamp) -> Duration {
        let delays = self.recorded.trace.delays();
        let step = now.as_nanos() / duration::nanos(self.every);
        delays[(step % delays.len() as u64) as usize]
    }
}

impl fmt::Display for RecordedDelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trace {}", self.recorded.name)?;
        if self.every == USUAL_STEP {
            return Ok(());
        }
        write!(f, " every {}", duration::display(self.every))
    }
}

/// `delay TIME [JITTER [CORRELATION%] [distribution NAME] [ordered]]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NetemDelay {
    pub(crate) time: Duration,
    pub(crate) jitter: Duration,
    /// How much of netem's random number is that of the packet before.
    pub(crate) correlation: Gain,
    pub(crate) distribution: Distribution,
    /// Nothing overtakes: a packet leaves no earlier than the one before it.
    pub(crate) ordered: bool,
}

/// How delays spread around their mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Distribution {
    #[default]
    Uniform,
    Normal,
    Pareto,
    ParetoNormal,
}

impl NetemDelay {
    fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        let mut delay = Self {
            time: words.value(TIME, time)?,
            jitter: Duration::ZERO,
            correlation: Gain::ZERO,
            distribution: Distribution::Uniform,
            ordered: false,
        };
        if let Some(jitter) = words.value_if_any("a jitter such as 10ms", time)? {
            delay.jitter = jitter;
            if delay.time.is_zero() && !jitter.is_zero() {
                return Err(words.error(words.last, "jitter needs a delay above zero"));
            }
            let correlation = words.value_if_any(PERCENT, percent)?;
            // Of no jitter it says nothing.
            delay.correlation = correlation
                .filter(|_| !jitter.is_zero())
                .unwrap_or(Gain::ZERO);
        }
        while let Some(word) = words.next_of(&["distribution", "ordered"]) {
            if delay.jitter.is_zero() {
                let problem = format!("`{}` needs a jitter, as in `delay 50ms 10ms`", word.text);
                return Err(words.error(word, problem));
            }
            match word.text {
                "ordered" => delay.ordered = true,
                _ => delay.distribution = Distribution::read(words)?,
            }
        }
        Ok(delay)
    }
}

impl Distribution {
    pub(crate) const ALL: [Self; 4] = [
        Self::Uniform,
        Self::Normal,
        Self::Pareto,
        Self::ParetoNormal,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Normal => "normal",
            Self::Pareto => "pareto",
            Self::ParetoNormal => "paretonormal",
        }
    }

    pub(in crate::spec) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        words.value("uniform, normal, pareto or paretonormal", |text| {
            Self::ALL.into_iter().find(|known| known.name() == text)
        })
    }
}

impl fmt::Display for NetemDelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", duration::display(self.time))?;
        if self.jitter.is_zero() {
            return Ok(());
        }
        write!(f, " {}", duration::display(self.jitter))?;
        if self.correlation > Gain::ZERO {
            write!(f, " {}", Percent(self.correlation))?;
        }
        if self.distribution != Distribution::Uniform {
            write!(f, " distribution {}", self.distribution.name())?;
        }
        if self.ordered {
            f.write_str(" ordered")?;
        }
        Ok(())
    }
}

/// The step of LeoReplayer's recordings of Starlink.
const USUAL_STEP: Duration = Duration::from_millis(10);
