//! What a test sees of a host, and what it does beside the application.

use super::host::{HAS_CONNECTION, Host};
use super::watch::{DatagramWatch, ReceivedWatch, Tamper, Watch};
use crate::cc_adapter::FactWatch;
use crate::clock;
use crate::datagrams::{DatagramId, DatagramOptions};
use crate::error::SendDatagramError;
use bytes::Bytes;
use link_sim::Ecn;
use units::Timestamp;

impl Host {
    pub(super) fn watch(&mut self, watch: Watch) {
        self.watch = Some(watch);
    }

    pub(super) fn watch_datagrams(&mut self, watch: DatagramWatch) {
        self.datagram_watch = Some(watch);
    }

    pub(super) fn watch_received(&mut self, watch: ReceivedWatch) {
        self.received_watch = Some(watch);
    }

    pub(super) fn send_datagram(
        &mut self,
        now: Timestamp,
        data: Bytes,
        options: DatagramOptions,
    ) -> Result<DatagramId, SendDatagramError> {
        self.is_stale = true;
        let engine = &mut self.connection.as_mut().expect(HAS_CONNECTION).1;
        engine.send_datagram(clock::instant(now), data, options)
    }

    pub(super) fn watch_facts(&mut self, watch: FactWatch) {
        self.fact_watch = Some(watch);
    }

    pub(super) fn skip_verification(&mut self) {
        self.application.skip_verification();
    }

    pub(super) fn tamper(&mut self, tamper: Tamper) {
        self.tamper = Some(tamper);
    }

    /// Sends a datagram of which the endpoint knows nothing.
    pub(super) fn inject(&mut self, datagram: &[u8]) {
        self.push(datagram, Ecn::NotEct);
    }
}
