//! What the servers of a fleet share: the secrets behind tokens, tickets and resets.

mod schedule;

use crate::clock;
pub use schedule::SecretsError;
pub(super) use schedule::{Epoch, Purpose, Schedule};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// Secrets by which each server of a fleet takes what another one has given out: Retry and
/// address-validation tokens (RFC 9000 §8.1), TLS session tickets, stateless resets.
///
/// They are a text of a few lines, the same on all servers:
///
/// ```text
/// # Made by `openssl rand -hex 32`, one for each line.
/// overlap 86400
/// reset 0f1e…
/// epoch 41 from 1763683200 8a7b…
/// epoch 42 from 1763769600 c1d2…
/// ```
///
/// | line | meaning |
/// |---|---|
/// | `overlap SECONDS` | how long an epoch's tokens and tickets are taken after the next one has begun, up to 604,800 (RFC 8446 §4.6.1) |
/// | `reset SECRET` | the secret of stateless resets, which has no epochs: see [`reset_key`](Self::reset_key) |
/// | `epoch NUMBER from TIME SECRET` | seals from this Unix time on, until the next epoch's; times and numbers rise, up to 16 epochs |
///
/// A secret is 32 bytes in hexadecimal. What stands behind a `#` is a comment. Each purpose and
/// each epoch has a key of its own, by HKDF-SHA-256; whatever is sealed says in one octet which
/// epoch it is of.
///
/// An epoch that has not begun is taken already, so clocks need not agree, only be right by less
/// than the time for which an epoch is known before it begins. The first epoch also serves before
/// its time.
///
/// # Rotation
/// Give all servers a text with one more epoch, which begins when all of them have it;
/// [`reload`](Self::reload) takes it while endpoints run. Later, leave the old ones out: what is
/// no longer known can no longer be read, which is what protects recorded connections (RFC 8446
/// §8.1, appendix F.1).
#[derive(Clone)]
pub struct Secrets(Arc<Inner>);

struct Inner {
    schedule: RwLock<Arc<Schedule>>,
    unix_time: UnixTime,
}

/// Seconds since 1970.
pub(super) type UnixTime = Arc<dyn Fn() -> u64 + Send + Sync>;

impl Secrets {
    /// The secrets in `text`.
    ///
    /// # Errors
    /// Names the line and what was expected there, never what a secret is.
    pub fn new(text: &[u8]) -> Result<Self, SecretsError> {
        Self::with_clock(text, Arc::new(clock::unix_seconds))
    }

    pub(super) fn with_clock(text: &[u8], unix_time: UnixTime) -> Result<Self, SecretsError> {
        let schedule = Arc::new(Schedule::parse(text)?);
        Ok(Self(Arc::new(Inner {
            schedule: RwLock::new(schedule),
            unix_time,
        })))
    }

    /// Replaces the secrets, in all endpoints that have these.
    ///
    /// # Errors
    /// As [`new`](Self::new); the secrets stay as they were.
    pub fn reload(&self, text: &[u8]) -> Result<(), SecretsError> {
        let schedule = Arc::new(Schedule::parse(text)?);
        let current = self.0.schedule.write();
        *current.unwrap_or_else(PoisonError::into_inner) = schedule;
        Ok(())
    }

    /// The number of the epoch that seals now.
    pub fn epoch(&self) -> u32 {
        self.schedule().sealing(self.unix_time()).number()
    }

    pub(super) fn schedule(&self) -> Arc<Schedule> {
        let schedule = self.0.schedule.read();
        Arc::clone(&schedule.unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn unix_time(&self) -> u64 {
        (self.0.unix_time)()
    }
}

impl fmt::Debug for Secrets {
    /// Without the secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Secrets").field(&self.schedule()).finish()
    }
}
