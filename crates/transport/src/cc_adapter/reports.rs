//! What congestion control reports besides its decision.

use super::congestion::Congestion;
use super::datagram_fates::DatagramFate;
#[cfg(feature = "qlog")]
use super::facts::Fact;
use super::path_meter::PathMeter;
use crate::datagrams::DatagramId;

impl Congestion {
    /// A datagram whose fate somebody asks for has left in packet `number` of application data.
    pub(crate) fn track_datagram(&mut self, number: u64, id: DatagramId) {
        self.facts.fates.track(number, id);
    }

    /// What the newest ACKs say of the active path.
    pub(crate) fn path_meter(&self) -> &PathMeter {
        &self.path().meter
    }

    /// Whether the controller would go faster with fewer ACKs, where they get lost.
    pub(crate) fn wants_fewer_acks(&mut self) -> bool {
        self.guard(|this| this.path().flow.wants_fewer_acks())
    }

    /// Keeps what is learned of packets for [`Self::take_noted`] from now on.
    #[cfg(feature = "qlog")]
    pub(crate) fn note_facts(&mut self) {
        self.facts.noted.get_or_insert_default();
    }

    /// What was learned of packets since the last call, where it is kept.
    #[cfg(feature = "qlog")]
    pub(crate) fn take_noted(&mut self) -> Vec<Fact> {
        self.facts
            .noted
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// What has become of them since the last call.
    pub(crate) fn take_datagram_fates(&mut self) -> Vec<DatagramFate> {
        self.facts.fates.take()
    }
}
