use super::delay::DelayTrace;
use super::loss::LossTrace;
use super::rate::RateTrace;
use std::sync::Arc;

/// A trace and the name that it was read by.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Recorded<T> {
    pub(crate) name: String,
    pub(crate) trace: Arc<T>,
}

impl<T> Recorded<T> {
    pub(crate) fn new(name: &str, trace: T) -> Self {
        Self {
            name: name.to_owned(),
            trace: Arc::new(trace),
        }
    }
}

impl<T> Clone for Recorded<T> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            trace: Arc::clone(&self.trace),
        }
    }
}

/// The traces that a description has read so far.
#[derive(Debug, Default)]
pub(in crate::spec) struct Recordings {
    pub(in crate::spec) rates: Vec<Recorded<RateTrace>>,
    pub(in crate::spec) delays: Vec<Recorded<DelayTrace>>,
    pub(in crate::spec) losses: Vec<Recorded<LossTrace>>,
}
