use super::opportunities::Opportunities;
use super::tbf::TokenBucketFilter;
use super::transmitter::Transmitter;
use crate::spec::Service;
use std::sync::Arc;
use units::{Bytes, Timestamp};

#[derive(Debug)]
pub(super) enum Server {
    Transmitter(Transmitter),
    TokenBucket(TokenBucketFilter),
    Opportunities(Opportunities),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Transmission {
    pub(super) begin: Timestamp,
    pub(super) end: Timestamp,
}

impl Server {
    /// Without a service, sending takes no time.
    pub(super) fn new(service: Option<&Service>) -> Self {
        match service {
            None => Self::Transmitter(Transmitter::new(None)),
            Some(Service::Rate(rate)) => Self::Transmitter(Transmitter::new(Some(*rate))),
            Some(Service::TokenBucket(filter)) => {
                Self::TokenBucket(TokenBucketFilter::new(*filter))
            }
            Some(Service::Trace(recorded)) => {
                Self::Opportunities(Opportunities::new(Arc::clone(&recorded.trace)))
            }
        }
    }

    /// Sends by another service from `now` on; a transmission under way ends when it would have.
    pub(super) fn set(&mut self, now: Timestamp, service: Option<&Service>) {
        match (&mut *self, service) {
            (Self::Transmitter(transmitter), None) => transmitter.set_rate(None),
            (Self::Transmitter(transmitter), Some(Service::Rate(rate))) => {
                transmitter.set_rate(Some(*rate));
            }
            (Self::TokenBucket(filter), Some(Service::TokenBucket(spec))) => {
                filter.set(now, *spec);
            }
            (Self::Opportunities(old), Some(Service::Trace(new))) if *old.trace() == new.trace => {}
            (_, service) => {
                let free_at = self.free_at();
                *self = Self::new(service);
                self.reset(free_at);
            }
        }
    }

    /// Makes it free at `at`.
    pub(super) fn reset(&mut self, at: Timestamp) {
        match self {
            Self::Transmitter(transmitter) => transmitter.reset(at),
            Self::TokenBucket(filter) => filter.reset(at),
            Self::Opportunities(opportunities) => opportunities.reset(at),
        }
    }

    /// When it takes a packet out of the queue that is there at `ready`.
    ///
    /// A token bucket takes it at once and holds it until there are tokens, as a discipline other
    /// than a FIFO does below the kernel's tbf (`qdisc_peek_dequeued`). A FIFO there keeps it.
    pub(super) fn takes_at(&self, ready: Timestamp) -> Timestamp {
        match self {
            Self::Transmitter(_) | Self::TokenBucket(_) => ready.max(self.free_at()),
            Self::Opportunities(opportunities) => opportunities.next(ready),
        }
    }

    fn free_at(&self) -> Timestamp {
        match self {
            Self::Transmitter(transmitter) => transmitter.free_at(),
            Self::TokenBucket(filter) => filter.free_at(),
            Self::Opportunities(opportunities) => opportunities.free_at(),
        }
    }

    /// Whether a packet of this size will ever be sent.
    pub(super) fn accepts(&self, size: Bytes) -> bool {
        match self {
            Self::TokenBucket(filter) => filter.accepts(size),
            Self::Transmitter(_) | Self::Opportunities(_) => true,
        }
    }

    /// Sends a packet that is ready at `ready` as soon as it can.
    pub(super) fn transmit(&mut self, ready: Timestamp, size: Bytes) -> Transmission {
        let free = ready.max(self.free_at());
        match self {
            Self::Transmitter(transmitter) => Transmission {
                begin: free,
                end: transmitter.transmit(ready, size),
            },
            Self::TokenBucket(filter) => {
                let end = filter.transmit(ready, size);
                Transmission { begin: end, end }
            }
            Self::Opportunities(opportunities) => Transmission {
                begin: opportunities.next(ready),
                end: opportunities.transmit(ready, size),
            },
        }
    }

    pub(super) fn is_limited(&self) -> bool {
        match self {
            Self::Transmitter(transmitter) => transmitter.is_limited(),
            Self::TokenBucket(_) | Self::Opportunities(_) => true,
        }
    }
}
