use crate::spec::error::SpecError;
use crate::spec::values::{POSITIVE_TIME, TIME, positive_time, time};
use crate::spec::words::Words;
use core::fmt;
use core::time::Duration;
use units::duration;

/// `radio TIME [suspend TIME every TIME]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Radio {
    /// Mean of the time that a packet waits for the channel.
    pub(crate) access: Duration,
    pub(crate) suspension: Option<Suspension>,
}

/// Times at which a radio is silent: for a handover, a scan, a sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Suspension {
    pub(crate) length: Duration,
    /// Mean time from the end of one to the begin of the next.
    pub(crate) every: Duration,
}

impl Radio {
    pub(in crate::spec) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        let access = words.value(TIME, time)?;
        let suspension = match words.next_of(&["suspend"]) {
            None => None,
            Some(_) => Some(Suspension {
                length: words.value(POSITIVE_TIME, positive_time)?,
                every: words.named("every", POSITIVE_TIME, positive_time)?,
            }),
        };
        Ok(Self { access, suspension })
    }
}

impl fmt::Display for Radio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", duration::display(self.access))?;
        let Some(Suspension { length, every }) = self.suspension else {
            return Ok(());
        };
        let (length, every) = (duration::display(length), duration::display(every));
        write!(f, " suspend {length} every {every}")
    }
}
