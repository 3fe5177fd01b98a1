//! What congestion control reports besides its decision.

use super::congestion::Congestion;
use super::datagram_fates::DatagramFate;
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

    /// What has become of them since the last call.
    pub(crate) fn take_datagram_fates(&mut self) -> Vec<DatagramFate> {
        self.facts.fates.take()
    }
}
