//! What the connection resumes from, and what it leaves for the next one (RFC 9959).

use super::remembered::{Remembered, ResumeConfig};
use super::state::ConnectionDriver;
use crate::clock;
use crate::path_memory::{PathMemory, Slot};
use cc_core::ResumePlan;
use std::net::IpAddr;
use units::Timestamp;

impl ConnectionDriver {
    /// Takes the memory of the path, if there is one that is good. Before anything is sent.
    pub(super) fn remember(&mut self, now: Timestamp, config: ResumeConfig) {
        let remote = self.remote_ip();
        let slot = config
            .store
            .as_ref()
            .map(|store| match &config.server_name {
                Some(name) => Slot::of_server(store, name),
                None => Slot::of_client(store, remote),
            });
        let kept = || slot.as_ref().and_then(Slot::take);
        let memory = config.memory.or_else(kept).and_then(|memory| {
            let left = memory.time_left(clock::unix_seconds(), config.lifetime, remote)?;
            Some((memory, left))
        });
        if let Some((memory, left)) = &memory {
            if let Some(saved) = memory.saved_path() {
                let mut plan = ResumePlan::new(saved, now + *left);
                plan.max_jump = config.max_jump;
                self.congestion.lock().resume(plan);
            }
            if let Some(size) = memory.receive_window() {
                self.receive_window.resume(size);
                self.adopt_receive_window();
            }
        }
        let memory = memory.map(|(memory, _)| memory);
        if slot.is_some() || memory.is_some() {
            self.remembered = Some(Box::new(Remembered { memory, slot }));
        }
    }

    /// What a later connection to the same peer may resume from.
    pub(crate) fn path_memory(&self) -> Option<PathMemory> {
        let saved = self.congestion.lock().saved_path();
        PathMemory::observed(saved, self.receive_window.grown(), self.remote_ip())
    }

    /// The connection is over: leaves what it has learned for the next one, or what it was given
    /// if that is more and the path has carried it.
    pub(crate) fn leave_path_memory(&mut self) {
        let Some(remembered) = self.remembered.take() else {
            return;
        };
        let Some(slot) = remembered.slot else { return };
        let learned = self.path_memory();
        let has_retreated = self.congestion.lock().has_retreated();
        let former = remembered.memory.filter(|_| !has_retreated);
        let has_capacity = |memory: &PathMemory| memory.saved_path().is_some();
        let kept = match (learned, former) {
            (Some(learned), Some(former)) if has_capacity(&former) && !has_capacity(&learned) => {
                Some(former)
            }
            (learned, former) => learned.or(former),
        };
        if let Some(memory) = kept {
            slot.keep(memory);
        }
    }

    fn remote_ip(&self) -> IpAddr {
        self.conn.remote_address().ip()
    }
}
