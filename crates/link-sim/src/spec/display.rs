use super::{Delay, Distribution, GilbertElliott, LinkSpec, Loss, QueueLimit, Reorder};
use core::fmt;
use units::{Bandwidth, Gain, duration};

impl fmt::Display for LinkSpec {
    /// The clauses in tc's order, ours behind them, each as short as it parses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut clauses = Clauses { f, first: true };
        clauses.put("delay", self.delay.as_ref())?;
        clauses.put("loss", self.loss.as_ref())?;
        clauses.put("duplicate", self.duplicate.map(Percent).as_ref())?;
        clauses.put("reorder", self.reorder.as_ref())?;
        clauses.put("rate", self.rate.map(Rate).as_ref())?;
        clauses.put("limit", self.limit.as_ref())?;
        clauses.put("queue", self.queue.as_ref())?;
        clauses.put("seed", self.seed.as_ref())
    }
}

struct Clauses<'a, 'b> {
    f: &'a mut fmt::Formatter<'b>,
    first: bool,
}

impl Clauses<'_, '_> {
    fn put<V: fmt::Display>(&mut self, word: &str, value: Option<&V>) -> fmt::Result {
        let Some(value) = value else { return Ok(()) };
        let space = if self.first { "" } else { " " };
        self.first = false;
        write!(self.f, "{space}{word} {value}")
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", duration::display(self.time))?;
        if self.jitter.is_zero() {
            return Ok(());
        }
        write!(f, " {}", duration::display(self.jitter))?;
        if self.distribution != Distribution::Uniform {
            write!(f, " distribution {}", self.distribution.name())?;
        }
        if self.ordered {
            f.write_str(" ordered")?;
        }
        Ok(())
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random(probability) => Percent(*probability).fmt(f),
            Self::GilbertElliott(model) => write!(f, "gemodel {model}"),
        }
    }
}

impl fmt::Display for GilbertElliott {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Self::new(self.p);
        let given = [self.p, self.r, self.loss_in_bad, self.loss_in_good];
        let defaults = [default.r, default.loss_in_bad, default.loss_in_good];
        // Trailing values equal to their defaults need not be written.
        let redundant = (0..3).rev().take_while(|i| given[i + 1] == defaults[*i]);
        let written = given.len() - redundant.count();
        Percent(given[0]).fmt(f)?;
        given[1..written]
            .iter()
            .try_for_each(|probability| write!(f, " {}", Percent(*probability)))
    }
}

impl fmt::Display for Reorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Percent(self.probability).fmt(f)?;
        match self.gap {
            1 => Ok(()),
            gap => write!(f, " gap {gap}"),
        }
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bdp(multiple) => write!(f, "{multiple}bdp"),
            Self::Packets(packets) => write!(f, "{packets}p"),
            Self::Bytes(bytes) => write!(f, "{bytes}"),
        }
    }
}

/// A probability with its percent sign.
struct Percent(Gain);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", Gain::from_millionths(self.0.millionths() * 100))
    }
}

/// A rate in the largest unit that is exact with six decimals.
struct Rate(Bandwidth);

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.bits_per_sec() {
            bits if bits >= 1_000_000_000 && bits % 1_000 != 0 => write!(f, "{bits}bit"),
            _ => self.0.fmt(f),
        }
    }
}
