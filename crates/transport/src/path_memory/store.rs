//! Where memories of paths are kept from one connection to the next.

use super::memory::PathMemory;
use super::network::Network;
use crate::lock::{Guard, Lock, Locked, Rank};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// Memories of paths, in memory: one for each server name on clients, one for each client's network
/// on servers (RFC 9959 §3.1: no more than one for a Remote Endpoint).
///
/// A connection takes the memory of its peer when it begins, so that no other one jumps by the same
/// (§3.2), and leaves what it has learned itself when it ends, or what it took if that was nothing.
/// What the path turned out not to carry is forgotten (§3.5).
///
/// Clients have one, see [`ClientConfig::path_store`](crate::ClientConfig::path_store); servers
/// have none unless told: [`ServerConfig::path_store`](crate::ServerConfig::path_store).
///
/// ```
/// use paceline::{PathStore, tls};
/// use std::sync::Arc;
///
/// let certificate = tls::SelfSigned::generate(["localhost"])?;
/// let mut config = certificate.server().config()?;
/// let paths = Arc::new(PathStore::new(10_000));
/// config.path_store(Some(Arc::clone(&paths)));
/// assert!(paths.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PathStore {
    most: usize,
    kept: Lock<Kept>,
}

#[derive(Default)]
struct Kept {
    memories: HashMap<Key, (u64, PathMemory)>,
    /// The same by how many were kept before, the oldest first.
    order: BTreeMap<u64, Key>,
    count: u64,
}

/// Whose path it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Server(String),
    Client(Network),
}

impl Locked for Kept {
    const RANK: Rank = Rank::PathMemory;
}

impl PathStore {
    /// Keeps at most `most` memories, of 200 bytes each; one more takes the place of the oldest.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            kept: Lock::default(),
        }
    }

    /// Forgets all of them, as after a change of the network (RFC 9959 §4.3.1).
    pub fn clear(&self) {
        let mut kept = self.lock();
        kept.memories.clear();
        kept.order.clear();
    }

    /// How many memories are kept.
    pub fn len(&self) -> usize {
        self.lock().memories.len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn take(&self, key: &Key) -> Option<PathMemory> {
        self.lock().remove(key)
    }

    fn keep(&self, key: Key, memory: PathMemory) {
        let mut kept = self.lock();
        if self.most == 0 {
            return;
        }
        kept.remove(&key);
        if kept.memories.len() >= self.most
            && let Some((_, oldest)) = kept.order.pop_first()
        {
            kept.memories.remove(&oldest);
        }
        kept.count += 1;
        let count = kept.count;
        kept.order.insert(count, key.clone());
        kept.memories.insert(key, (count, memory));
    }

    /// Both maps are whole after each call: nothing in between panics.
    fn lock(&self) -> Guard<'_, Kept> {
        self.kept.lock()
    }
}

impl Kept {
    fn remove(&mut self, key: &Key) -> Option<PathMemory> {
        let (count, memory) = self.memories.remove(key)?;
        self.order.remove(&count);
        Some(memory)
    }
}

impl Default for PathStore {
    /// 256 memories, as many as rustls keeps sessions.
    fn default() -> Self {
        Self::new(256)
    }
}

impl fmt::Debug for PathStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PathStore")
            .field("most", &self.most)
            .finish_non_exhaustive()
    }
}

/// Where one connection finds the memory of its path, and leaves its own.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    store: Arc<PathStore>,
    key: Key,
}

impl Slot {
    pub(crate) fn of_server(store: &Arc<PathStore>, name: &str) -> Self {
        Self {
            store: Arc::clone(store),
            key: Key::Server(name.to_ascii_lowercase()),
        }
    }

    pub(crate) fn of_client(store: &Arc<PathStore>, address: IpAddr) -> Self {
        Self {
            store: Arc::clone(store),
            key: Key::Client(Network::of(address)),
        }
    }

    pub(crate) fn take(&self) -> Option<PathMemory> {
        self.store.take(&self.key)
    }

    pub(crate) fn keep(self, memory: PathMemory) {
        self.store.keep(self.key, memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cc_core::SavedPath;
    use std::time::Duration;
    use units::Bytes;

    fn memory(capacity: u64) -> PathMemory {
        let saved = SavedPath {
            capacity: Bytes::new(capacity),
            min_rtt: Duration::from_millis(1),
        };
        PathMemory::new(saved, IpAddr::from([192, 0, 2, 1]))
    }

    #[test]
    fn a_memory_is_given_to_one_connection() {
        let store = Arc::new(PathStore::default());
        let slot = Slot::of_server(&store, "Example.org");
        slot.clone().keep(memory(7));
        assert_eq!(Slot::of_server(&store, "example.com").take(), None);
        assert_eq!(
            Slot::of_server(&store, "example.org").take(),
            Some(memory(7))
        );
        assert_eq!(slot.take(), None);
    }

    #[test]
    fn the_newest_memory_of_a_network_is_kept_and_the_oldest_of_all_makes_room() {
        let store = Arc::new(PathStore::new(2));
        let slot = |c| Slot::of_client(&store, IpAddr::from([192, 0, c, 1]));
        slot(0).keep(memory(1));
        slot(1).keep(memory(2));
        slot(0).keep(memory(3));
        slot(2).keep(memory(4));
        assert_eq!(store.len(), 2);
        let kept = [0, 1, 2].map(|c| slot(c).take().and_then(|memory| memory.saved));
        let capacities = kept.map(|saved| saved.map(|saved| saved.capacity.get()));
        assert_eq!(capacities, [Some(3), None, Some(4)]);
        slot(0).keep(memory(5));
        store.clear();
        assert!(store.is_empty());
    }

    #[test]
    fn a_store_of_nothing_keeps_nothing() {
        let store = Arc::new(PathStore::new(0));
        Slot::of_server(&store, "a").keep(memory(1));
        assert!(store.is_empty());
    }
}
