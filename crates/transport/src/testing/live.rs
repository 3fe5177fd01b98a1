//! What live media need: estimates of a path, and datagrams.

use super::world::{EndId, World};
use crate::clock;
use crate::datagrams::{DatagramEvents, DatagramId, DatagramOptions};
use crate::error::SendDatagramError;
use crate::path_watch::PathEstimate;
use bytes::Bytes;
use units::{Bandwidth, Timestamp};

impl World {
    /// What `end` knows of its path.
    ///
    /// # Panics
    /// As [`Self::stats`].
    pub fn path_estimate(&self, end: EndId) -> PathEstimate {
        self.host(end).driver().path_estimate(self.instant())
    }

    /// Has `end` probe its path, see
    /// [`Connection::probe_up_to`](crate::Connection::probe_up_to).
    ///
    /// # Panics
    /// As [`Self::stats`].
    pub fn probe_up_to(&mut self, end: EndId, target: Option<Bandwidth>) {
        self.sim.update_node(end.0, |host, now| {
            host.driver_mut().probe_up_to(clock::instant(now), target);
        });
    }

    /// Has `end` send a datagram of the application, see
    /// [`Connection::send_datagram_with`](crate::Connection::send_datagram_with).
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As [`Self::stats`].
    pub fn send_datagram(
        &mut self,
        end: EndId,
        data: impl Into<Bytes>,
        options: DatagramOptions,
    ) -> Result<DatagramId, SendDatagramError> {
        let data = data.into();
        self.sim
            .update_node(end.0, |host, now| host.send_datagram(now, data, options))
    }

    /// What becomes of the datagrams that `end` sends from now on.
    ///
    /// # Panics
    /// As [`Self::stats`].
    pub fn datagram_events(&mut self, end: EndId) -> DatagramEvents {
        let (events, source) = DatagramEvents::new();
        self.sim.update_node(end.0, |host, _| {
            host.driver_mut().add_datagram_listener(source);
        });
        events
    }

    /// Has the application at `end` read datagrams from now on, and calls `watch` for each.
    pub fn watch_received_datagrams(
        &mut self,
        end: EndId,
        watch: impl FnMut(Timestamp, Bytes) + 'static,
    ) {
        self.sim
            .update_node(end.0, |host, _| host.watch_received(Box::new(watch)));
    }
}
