//! What a run is to do: agreed between client and server before the first byte.

mod extras;
mod media;
mod rate;

pub use extras::{Datagrams, Extras, Requests, Turn};
pub use media::{DEFAULT_LATE, MEDIA_DATAGRAM, MEDIA_HEADER, Media, MediaError, Video};
pub use rate::bit_rate;

use bench_report::text::amount;
use cc_core::{ChooseError, ControllerChoice, Registry};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;
use units::{Bandwidth, Bytes};

/// A run as both sides know it. The client makes it, the server checks it.
///
/// What later versions add is left out where it is not used, and a part that a server does not know
/// has it refuse the plan, not misread it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub direction: Direction,
    pub limit: Limit,
    /// Time at the start that the figures leave out.
    pub omit: Duration,
    pub streams: u32,
    /// Bytes of one write.
    pub length: u64,
    /// The most that one stream sends, in bits per second; `None` is unlimited.
    pub rate: Option<u64>,
    /// The controller of the client's side, as the registry reads it.
    pub client_congestion: String,
    /// The controller of the server's side, as the registry reads it.
    pub server_congestion: String,
    /// The flow-control window of each receiver, in bytes; the most that it may grow to where it
    /// follows the path.
    pub window: u64,
    /// Time between two samples of the run's time series.
    pub step: Duration,
    #[serde(default, skip_serializing_if = "Extras::is_none")]
    pub extras: Extras,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Forward,
    Reverse,
    Both,
}

impl Direction {
    pub fn client_sends(self) -> bool {
        self != Self::Reverse
    }

    pub fn server_sends(self) -> bool {
        self != Self::Forward
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// After this time, not counting what is omitted.
    Time(Duration),
    /// When all streams of a sender together have delivered this many bytes.
    Bytes(u64),
}

/// The fewest bytes that a datagram can have: the header.
pub(crate) const SMALLEST_DATAGRAM: u64 = 18;

/// The most that a server lets one run ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest run, with what is omitted.
    pub duration: Duration,
    /// The most payload, of both directions together.
    pub bytes: Bytes,
    /// The fastest that either side may send, over all streams.
    pub rate: Bandwidth,
    /// The largest flow-control window, which is what a client can make the server hold.
    pub window: Bytes,
}

impl Limits {
    pub const NONE: Self = Self {
        duration: Duration::MAX,
        bytes: Bytes::MAX,
        rate: Bandwidth::MAX,
        window: Bytes::new(MAX_WINDOW),
    };
}

impl Plan {
    /// The controller of the side that sends; with both, the client's.
    pub fn sender_congestion(&self) -> &str {
        if self.direction.client_sends() {
            &self.client_congestion
        } else {
            &self.server_congestion
        }
    }

    /// Checks the plan against the program's limits and `limits`, and chooses the controllers.
    ///
    /// # Errors
    /// Names the part of the plan that is out of bounds, and the bounds.
    pub fn check(&self, limits: &Limits, registry: &Registry) -> Result<Controllers, PlanError> {
        between("streams", self.streams.into(), 1, MAX_STREAMS.into())?;
        between("length", self.length, 1, MAX_LENGTH)?;
        between("window", self.window, MIN_WINDOW, MAX_WINDOW)?;
        if self.window > limits.window.get() {
            return Err(PlanError::TooWide {
                asked: Bytes::new(self.window),
                limit: limits.window,
            });
        }
        if let Some(rate) = self.rate {
            between("rate", rate, MIN_RATE, u64::MAX)?;
        }
        self.check_times(limits)?;
        self.check_amounts(limits)?;
        self.check_extras()?;
        let choose = |side, text: &str| {
            registry
                .choose(text)
                .map_err(|error| PlanError::Controller { side, error })
        };
        Ok(Controllers {
            client: choose("client", &self.client_congestion)?,
            server: choose("server", &self.server_congestion)?,
        })
    }

    fn check_times(&self, limits: &Limits) -> Result<(), PlanError> {
        let step = units::duration::nanos(self.step);
        let (min, max) = (MIN_STEP.as_nanos() as u64, MAX_STEP.as_nanos() as u64);
        between("step in ns", step, min, max)?;
        let asked = match self.limit {
            Limit::Time(time) => {
                between("time in ns", units::duration::nanos(time), 1, u64::MAX)?;
                time.saturating_add(self.omit)
            }
            Limit::Bytes(bytes) => {
                between("bytes", bytes, 1, u64::MAX)?;
                let at_most = self.extras.at_most.unwrap_or_default();
                at_most.saturating_add(self.omit)
            }
        };
        if asked > limits.duration {
            return Err(PlanError::TooLong {
                asked,
                limit: limits.duration,
            });
        }
        Ok(())
    }

    /// A plan without a target rate has no bounds, and one that time limits has them only in what
    /// it moves.
    fn check_amounts(&self, limits: &Limits) -> Result<(), PlanError> {
        let directions = if self.direction == Direction::Both {
            2
        } else {
            1
        };
        if let Limit::Bytes(bytes) = self.limit
            && bytes.saturating_mul(directions) > limits.bytes.get()
        {
            return Err(PlanError::TooMuch {
                asked: Bytes::new(bytes.saturating_mul(directions)),
                limit: limits.bytes,
            });
        }
        let allowed = limits.rate.bits_per_sec();
        let asked = match self.extras.media {
            Some(media) if media.bulk => None,
            Some(media) => Some(media.most()),
            None => self
                .rate
                .map(|rate| rate.saturating_mul(self.streams.into())),
        };
        if limits.rate < Bandwidth::MAX && asked.is_none_or(|asked| asked > allowed) {
            return Err(PlanError::TooFast {
                streams: self.streams,
                limit: limits.rate,
            });
        }
        Ok(())
    }

    fn check_extras(&self) -> Result<(), PlanError> {
        if let Some(turn) = self.extras.turn {
            let patience = units::duration::nanos(turn.patience);
            let most = MAX_PATIENCE.as_nanos() as u64;
            between("patience in ns", patience, 1, most)?;
        }
        between("DSCP", self.extras.dscp.into(), 0, 63)?;
        if let Some(Datagrams { size: Some(size) }) = self.extras.datagrams {
            between(
                "datagram size",
                size.into(),
                SMALLEST_DATAGRAM,
                u16::MAX.into(),
            )?;
        }
        if let Some(media) = self.extras.media {
            let size = self.extras.datagrams.and_then(|datagrams| datagrams.size);
            let streams = media.streams().into();
            between(
                "streams of a run with video",
                self.streams.into(),
                streams,
                streams,
            )?;
            media.check(self.omit, self.measured_time(), size)?;
        }
        if let Some(Requests { interval, .. }) = self.extras.requests {
            let interval = units::duration::nanos(interval);
            let (min, max) = (
                MIN_BETWEEN_REQUESTS.as_nanos() as u64,
                MAX_STEP.as_nanos() as u64,
            );
            between("time between requests in ns", interval, min, max)?;
        }
        if self.extras.digest {
            let directions = 1 + u64::from(self.direction == Direction::Both);
            let streams = u64::from(self.streams) * directions;
            between("streams of a run that is hashed", streams, 1, 1)?;
        }
        if !self.extras.digest || self.direction != Direction::Reverse {
            let continued = self.extras.continued;
            between(
                "bytes before those of a run that sends no file",
                continued,
                0,
                0,
            )?;
        }
        Ok(())
    }

    /// The parts of the plan that so many connections have; bytes are shared out among them.
    pub fn shares(&self, connections: u32) -> Vec<Self> {
        let share = |index: u32| match self.limit {
            Limit::Time(_) => self.limit,
            Limit::Bytes(bytes) => {
                let (even, rest) = (
                    bytes / u64::from(connections),
                    bytes % u64::from(connections),
                );
                Limit::Bytes(even + u64::from(u64::from(index) < rest))
            }
        };
        let part = |index| Self {
            limit: share(index),
            ..self.clone()
        };
        (0..connections).map(part).collect()
    }

    /// The length of the measured part; `None` when bytes decide.
    pub fn measured_time(&self) -> Option<Duration> {
        match self.limit {
            Limit::Time(time) => Some(time),
            Limit::Bytes(_) => None,
        }
    }

    /// The payload after which the run is over; `None` when time decides.
    pub fn bytes(&self) -> Option<u64> {
        match self.limit {
            Limit::Time(_) => None,
            Limit::Bytes(bytes) => Some(bytes),
        }
    }

    /// The longest that the measured part may be, where there is such a bound.
    pub fn longest(&self) -> Option<Duration> {
        self.measured_time().or(self.extras.at_most)
    }

    /// The most that one write holds: [`length`](Self::length), but no more than 10 ms of the
    /// target rate, so that a low rate is not a few large bursts.
    pub fn block(&self) -> Bytes {
        let length = Bytes::new(self.length);
        match self.rate {
            None => length,
            Some(rate) => {
                let smooth = Bandwidth::from_bits_per_sec(rate) * Duration::from_millis(10);
                length.min(smooth.max(Bytes::new(MIN_RATED_BLOCK)))
            }
        }
    }
}

#[derive(Debug, Clone)]
pub struct Controllers {
    pub client: ControllerChoice,
    pub server: ControllerChoice,
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    OutOfBounds {
        what: &'static str,
        value: u64,
        min: u64,
        max: u64,
    },
    TooLong {
        asked: Duration,
        limit: Duration,
    },
    TooMuch {
        /// How much it was to be, of both directions together.
        asked: Bytes,
        limit: Bytes,
    },
    /// The run would be too fast, or as fast as the path allows.
    TooFast {
        streams: u32,
        limit: Bandwidth,
    },
    TooWide {
        asked: Bytes,
        limit: Bytes,
    },
    /// What is to be sent as video cannot be.
    Media(MediaError),
    Controller {
        /// `client` or `server`.
        side: &'static str,
        /// The word, and the known ones.
        error: ChooseError,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfBounds {
                what,
                value,
                min,
                max: u64::MAX,
            } => write!(f, "{what}: {value} is below {min}"),
            Self::OutOfBounds {
                what,
                value,
                min,
                max,
            } => write!(f, "{what}: {value} is not between {min} and {max}"),
            Self::TooLong { asked, limit } => write!(
                f,
                "run of {} too long: this server allows at most {}",
                units::duration::display(*asked),
                units::duration::display(*limit)
            ),
            Self::TooMuch { asked, limit } => write!(
                f,
                "run of {} too large: this server allows at most {}",
                amount(asked.get()),
                amount(limit.get())
            ),
            Self::TooFast { streams, limit } => write!(
                f,
                "rate too high: this server allows {limit} per direction; use -b {} or less per \
                 stream",
                Bandwidth::from_bytes_per_sec(limit.bytes_per_sec() / u64::from(*streams))
            ),
            Self::TooWide { asked, limit } => write!(
                f,
                "window of {} too large: this server allows at most {}; lower -w",
                amount(asked.get()),
                amount(limit.get())
            ),
            Self::Media(error) => error.fmt(f),
            Self::Controller { side, error } => {
                write!(f, "congestion controller of the {side}: {error}")
            }
        }
    }
}

impl std::error::Error for PlanError {}

impl From<MediaError> for PlanError {
    fn from(error: MediaError) -> Self {
        Self::Media(error)
    }
}

fn between(what: &'static str, value: u64, min: u64, max: u64) -> Result<(), PlanError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(PlanError::OutOfBounds {
        what,
        value,
        min,
        max,
    })
}

/// What a plan has where this target rate was asked for: as in iperf3, 0 is no limit.
pub fn target_rate(asked: Option<Bandwidth>) -> Option<u64> {
    asked.map(Bandwidth::bits_per_sec).filter(|rate| *rate > 0)
}

/// The time between samples: a tenth of a second, more where a run is so long that the samples
/// would be more than 2,000; a whole fraction of `interval` where rows are wanted.
pub fn step_for(limit: Limit, omit: Duration, interval: Option<Duration>) -> Duration {
    let total = match limit {
        Limit::Time(time) => time.saturating_add(omit),
        Limit::Bytes(_) => Duration::ZERO,
    };
    let wanted = (total / SERIES_SAMPLES).clamp(STEP, MAX_STEP);
    match interval {
        Some(interval) if interval > wanted => {
            let steps = units::duration::nanos(interval).div_ceil(units::duration::nanos(wanted));
            interval / u32::try_from(steps).unwrap_or(u32::MAX)
        }
        Some(interval) => interval,
        None => wanted,
    }
}

/// iperf3's limit on `-P`.
pub const MAX_STREAMS: u32 = 128;

/// The most connections of one run: as many as a run may have streams.
pub const MAX_CONNECTIONS: u32 = 128;

/// iperf3's limit on `-l`: 1 MiB.
pub const MAX_LENGTH: u64 = 1 << 20;

/// The least flow-control window: a few packets, so that control messages pass beside data.
pub const MIN_WINDOW: u64 = 4 << 10;

/// The longest that a run may wait for its turn.
pub const MAX_PATIENCE: Duration = Duration::from_secs(3_600);

/// The largest flow-control window, 1 GiB: 10 Gbit/s over 800 ms.
pub const MAX_WINDOW: u64 = 1 << 30;

/// The least target rate, in bits per second.
pub const MIN_RATE: u64 = 1_000;

/// The least write under a target rate, about one packet's worth.
const MIN_RATED_BLOCK: u64 = 1_200;

/// Fine enough to see a round trip of a long path, coarse enough to cost nothing.
const STEP: Duration = Duration::from_millis(100);

/// The least time between requests: a hundred a second.
pub const MIN_BETWEEN_REQUESTS: Duration = Duration::from_millis(10);

/// The least time between samples that a server accepts.
const MIN_STEP: Duration = Duration::from_millis(10);

/// The most time between samples; with rows of a minute, iperf3's longest interval.
const MAX_STEP: Duration = Duration::from_secs(60);

/// How many samples a long run aims at: more than a picture can show.
pub(crate) const SERIES_SAMPLES: u32 = 2_000;

#[cfg(test)]
mod tests;
