//! A part of a matrix, for one machine of several.

use super::cell::CellPlan;
use bench_kit::failure::Failure;
use std::fmt;
use std::str::FromStr;
use units::ParseError;

/// `I/N`: part I of N equal ones, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    /// From 0.
    index: u32,
    count: u32,
}

impl Shard {
    /// Part `index`, from 0, of `count`.
    fn new(index: u32, count: u32) -> Option<Self> {
        (index < count && count <= MAX_SHARDS).then_some(Self { index, count })
    }

    /// Every N-th cell: neighbours, which take about the same time, go to different machines.
    pub(crate) fn has(self, cell: &CellPlan) -> bool {
        cell.index % self.count == self.index
    }

    /// Whether it is all there is.
    pub(crate) fn is_whole(self) -> bool {
        self.count == 1
    }

    /// The part that a batch system gave this process, and the variable that says so: a task of a
    /// Slurm array, or a pod of a Kubernetes Indexed Job.
    ///
    /// # Errors
    /// When there is a part, but not of how many.
    pub(crate) fn of_environment(
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<(Self, &'static str)>, Failure> {
        let shard = if variable(SLURM).is_some() {
            Some((slurm(variable), SLURM))
        } else if variable(KUBERNETES).is_some() {
            Some((kubernetes(variable), KUBERNETES))
        } else {
            None
        };
        let Some((shard, name)) = shard else {
            return Ok(None);
        };
        let shard = shard.map_err(|error| Failure::usage(format!("{error}; use --shard I/N")))?;
        Ok(Some((shard, name)))
    }
}

/// Slurm counts tasks from `SLURM_ARRAY_TASK_MIN` in steps of `SLURM_ARRAY_TASK_STEP`.
fn slurm(variable: &dyn Fn(&str) -> Option<String>) -> Result<Shard, String> {
    let number = |name: &str| number(variable, name);
    let (id, count) = (number(SLURM)?, number("SLURM_ARRAY_TASK_COUNT")?);
    let (min, max) = (
        number("SLURM_ARRAY_TASK_MIN")?,
        number("SLURM_ARRAY_TASK_MAX")?,
    );
    let step = match variable("SLURM_ARRAY_TASK_STEP") {
        None => 1,
        Some(_) => number("SLURM_ARRAY_TASK_STEP")?.max(1),
    };
    let is_regular = count == 1 || max.checked_sub(min) == Some((count.max(1) - 1) * step);
    let place = id.checked_sub(min).filter(|place| place % step == 0);
    let place = place
        .filter(|_| is_regular)
        .and_then(|place| u32::try_from(place / step).ok());
    let shard = place.zip(u32::try_from(count).ok());
    shard
        .and_then(|(index, count)| Shard::new(index, count))
        .ok_or_else(|| {
            format!(
                "{SLURM}={id} is not one of {count} tasks from {min} to {max} in steps of {step}"
            )
        })
}

/// Kubernetes counts pods from 0 and does not give them their number.
fn kubernetes(variable: &dyn Fn(&str) -> Option<String>) -> Result<Shard, String> {
    let index = number(variable, KUBERNETES)?;
    if variable(COMPLETIONS).is_none() {
        return Err(format!(
            "{KUBERNETES}={index} without {COMPLETIONS}; set it to the number of pods"
        ));
    }
    let count = number(variable, COMPLETIONS)?;
    let shard = u32::try_from(index).ok().zip(u32::try_from(count).ok());
    shard
        .and_then(|(index, count)| Shard::new(index, count))
        .ok_or_else(|| format!("{KUBERNETES}={index} is out of range for {COMPLETIONS}={count}"))
}

fn number(variable: &dyn Fn(&str) -> Option<String>, name: &str) -> Result<u64, String> {
    let text = variable(name).ok_or_else(|| format!("{name} is not set"))?;
    let number = text.trim().parse::<u32>();
    number
        .map(u64::from)
        .map_err(|_| format!("{name}: `{text}` is not a number"))
}

impl FromStr for Shard {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError::new(text, "I/N with I from 1 to N, such as 2/8");
        let (index, count) = text.split_once('/').ok_or_else(error)?;
        let number = |text: &str| text.parse::<u32>().map_err(|_| error());
        let index = number(index)?.checked_sub(1).ok_or_else(error)?;
        Self::new(index, number(count)?).ok_or_else(error)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index + 1, self.count)
    }
}

const SLURM: &str = "SLURM_ARRAY_TASK_ID";
const KUBERNETES: &str = "JOB_COMPLETION_INDEX";

/// Ours: the recipe of the Job sets it to its `completions`.
const COMPLETIONS: &str = "JOB_COMPLETIONS";

/// More than any matrix has cells.
const MAX_SHARDS: u32 = 100_000;
