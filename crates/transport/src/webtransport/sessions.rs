//! The sessions of a connection: which there are, which are asked for, and what came for sessions
//! that are not there yet.

use super::codes::SESSION_GONE;
use super::error::SessionError;
use super::shared::{Arrival, Shared};
use crate::lock::{Lock, Locked, Rank};
use quinn_proto::{ConnectionError, Side};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// All of a connection's.
#[derive(Debug)]
pub(super) struct Sessions(Lock<Table>);

#[derive(Debug)]
struct Table {
    live: BTreeMap<u64, Arc<Shared>>,
    /// The client's streams whose first bytes are not read yet: each may be a request.
    unread: BTreeSet<u64>,
    /// Requests that the application has not decided on.
    asked: BTreeSet<u64>,
    /// The client's streams below this one have been seen.
    next: u64,
    /// What came for sessions that are not there yet, in order.
    early: Vec<(u64, Arrival)>,
    ended: Option<ConnectionError>,
}

impl Locked for Table {
    const RANK: Rank = Rank::Sessions;
}

impl Sessions {
    pub(super) fn new(side: Side) -> Self {
        Self(Lock::new(Table {
            live: BTreeMap::new(),
            unread: BTreeSet::new(),
            asked: BTreeSet::new(),
            // A client knows its sessions before its server does.
            next: if side.is_client() { u64::MAX } else { 0 },
            early: Vec::new(),
            ended: None,
        }))
    }

    /// The client has opened this stream, which may become a request.
    pub(super) fn see(&self, id: u64) {
        let mut table = self.0.lock();
        table.next = table.next.max(id + 1);
        table.unread.insert(id);
    }

    /// The stream is a request; `false` where that is one session too many.
    pub(super) fn ask(&self, id: u64, most: u32) -> bool {
        let mut table = self.0.lock();
        table.unread.remove(&id);
        if table.live.len() + table.asked.len() >= most as usize {
            return false;
        }
        table.asked.insert(id);
        true
    }

    /// The session is there, with what came for it so far. `false` where that is one too many.
    pub(super) fn enter(&self, session: &Arc<Shared>, most: u64) -> bool {
        let (waiting, ended) = {
            let mut table = self.0.lock();
            let id = session.id;
            let was_asked = table.asked.remove(&id);
            if !was_asked && table.live.len() as u64 >= most {
                return false;
            }
            table.live.insert(id, Arc::clone(session));
            (table.take_early(id), table.ended.clone())
        };
        waiting.into_iter().for_each(|early| session.deliver(early));
        if let Some(error) = ended {
            session.end(SessionError::ConnectionLost(error));
        }
        true
    }

    /// There is no session of this name, or no longer.
    pub(super) fn forget(&self, id: u64) {
        let refused = {
            let mut table = self.0.lock();
            table.unread.remove(&id);
            table.asked.remove(&id);
            table.live.remove(&id);
            table.take_early(id)
        };
        for arrival in refused {
            arrival.refuse(SESSION_GONE);
        }
    }

    /// Something has come for the session of this name.
    pub(super) fn deliver(&self, id: u64, arrival: Arrival) {
        let mut table = self.0.lock();
        if let Some(session) = table.live.get(&id).map(Arc::clone) {
            drop(table);
            return session.deliver(arrival);
        }
        let may_come = id >= table.next || table.unread.contains(&id) || table.asked.contains(&id);
        if table.ended.is_some() || !may_come {
            drop(table);
            return arrival.refuse(SESSION_GONE);
        }
        let alike = table
            .early
            .iter()
            .filter(|(_, early)| early.is_datagram() == arrival.is_datagram());
        if alike.count() < MOST_EARLY {
            table.early.push((id, arrival));
        } else {
            drop(table);
            arrival.refuse_early();
        }
    }

    /// The connection is lost, and every session with it.
    pub(super) fn end(&self, error: &ConnectionError) {
        let (live, early) = {
            let mut table = self.0.lock();
            table.ended = Some(error.clone());
            let live = std::mem::take(&mut table.live);
            (live, std::mem::take(&mut table.early))
        };
        drop(early);
        for session in live.into_values() {
            session.end(SessionError::ConnectionLost(error.clone()));
        }
    }
}

impl Table {
    fn take_early(&mut self, id: u64) -> Vec<Arrival> {
        let of_it = self.early.extract_if(.., |(of, _)| *of == id);
        of_it.map(|(_, arrival)| arrival).collect()
    }
}

/// Streams, and as many datagrams, that wait for sessions which are not there yet
/// (draft-ietf-webtrans-http3-07, "Buffering Incoming Streams and Datagrams").
const MOST_EARLY: usize = 16;
