//! TLS sessions that a fleet shares, for 0-RTT.

use super::sealing::Sealing;
use super::secrets::{Purpose, Secrets};
use crate::lock::{Guard, Lock, Locked, Rank};
use rustls::server::StoresServerSessions;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

/// TLS sessions that can be resumed with 0-RTT at any server of a fleet, each at most once.
///
/// A ticket that holds the session itself, as [`Secrets::ticketer`] makes them, can be
/// replayed, and rustls takes no 0-RTT data with it. 0-RTT needs a memory of what was used
/// (RFC 8446 §8.1): this one. Each server remembers sessions by a random number in the ticket, and
/// informs the others of each that it has issued or seen used, by messages that the application
/// brings to them: UDP will do.
///
/// # Replay
/// At one server a session is used once. An attacker who copies a client's first packets to
/// another server before the message about their use is there has them accepted once more there:
/// *at most once for each server, within the time that a message takes*. 0-RTT data therefore has
/// to be such that this does no harm (RFC 8446 §8, RFC 9001 §9.2). Besides, rustls takes 0-RTT data
/// only if the ticket's age is right within a minute, so the servers' clocks have to be.
///
/// Messages are sealed like tickets, so nobody can read or make them. One that comes twice or
/// late changes nothing while its session is remembered. A message that is lost costs a client its
/// resumption at that server, or an attacker's replay there goes through.
#[derive(Clone)]
pub struct Sessions(Arc<Inner>);

struct Inner {
    sealing: Sealing,
    capacity: usize,
    publish: Box<dyn Fn(Vec<u8>) + Send + Sync>,
    store: Lock<Store>,
}

impl Locked for Store {
    const RANK: Rank = Rank::Fleet;
}

impl Sessions {
    /// Remembers the last `capacity` sessions of the whole fleet, of a few hundred bytes each, and
    /// gives `publish` a message for the other servers whenever one is issued or used.
    /// `publish` is called in the endpoint's task and must not wait.
    pub fn new(
        secrets: &Secrets,
        capacity: usize,
        publish: impl Fn(Vec<u8>) + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Inner {
            sealing: Sealing::new(secrets.clone(), Purpose::Session),
            capacity,
            publish: Box::new(publish),
            store: Lock::default(),
        }))
    }

    /// Takes a message of another server. `false` if it is none, or sealed with a secret that is
    /// not known here.
    pub fn receive(&self, message: &[u8]) -> bool {
        let Some(message) = self.0.sealing.open(message) else {
            return false;
        };
        let Some((id, rest)) = message.split_first_chunk() else {
            return false;
        };
        let session = (!rest.is_empty()).then(|| rest.to_vec());
        self.store().learn(*id, session, self.0.capacity);
        true
    }

    /// Tells the others of a session, or without one that it was used.
    fn publish(&self, id: &Id, session: &[u8]) {
        if let Some(message) = self.0.sealing.seal(&[id, session].concat()) {
            (self.0.publish)(message);
        }
    }

    fn store(&self) -> Guard<'_, Store> {
        // Nothing under the lock leaves it half done.
        self.0.store.lock()
    }
}

impl StoresServerSessions for Sessions {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        let Ok(id) = Id::try_from(key) else {
            return false;
        };
        if value.is_empty() || value.len() > MAX_SESSION {
            return false;
        }
        self.publish(&id, &value);
        self.store().learn(id, Some(value), self.0.capacity);
        true
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.store().sessions.get(key)?.clone()
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let id = Id::try_from(key).ok()?;
        let session = self.store().sessions.get_mut(&id)?.take()?;
        self.publish(&id, &[]);
        Some(session)
    }

    fn can_cache(&self) -> bool {
        self.0.capacity > 0
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions")
            .field("capacity", &self.0.capacity)
            .finish_non_exhaustive()
    }
}

/// What rustls puts into a ticket: 32 random bytes.
type Id = [u8; 32];

#[derive(Default)]
struct Store {
    /// `None` for one that was used.
    sessions: HashMap<Id, Option<Vec<u8>>>,
    /// The oldest in front.
    order: VecDeque<Id>,
}

impl Store {
    /// A session that was issued, or `None` if it was used. What was used stays so.
    fn learn(&mut self, id: Id, session: Option<Vec<u8>>, capacity: usize) {
        if let Some(known) = self.sessions.get_mut(&id) {
            if session.is_none() {
                *known = None;
            }
            return;
        }
        self.sessions.insert(id, session);
        self.order.push_back(id);
        while self.order.len() > capacity {
            let oldest = self.order.pop_front().expect("more than none");
            self.sessions.remove(&oldest);
        }
    }
}

/// Longest session in bytes. They grow with the certificates of a client that has some.
const MAX_SESSION: usize = 16 << 10;

#[cfg(test)]
mod tests;
