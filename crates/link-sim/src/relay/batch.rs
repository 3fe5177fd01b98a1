use super::engine::Datagram;
use super::port::Port;
use crate::{Delivery, Ecn};
use std::io;
use std::net::SocketAddr;
use units::Timestamp;

/// Datagrams that leave with one system call.
///
/// Only what leaves the link at the same instant is put together: a rate spaces packets, and what
/// it spaced must not be bunched again.
#[derive(Debug, Default)]
pub(super) struct Batch {
    head: Option<Head>,
    /// The length of all datagrams but the last.
    segment: usize,
    segments: usize,
    contents: Vec<u8>,
}

/// What the datagrams of a batch have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) client: SocketAddr,
    pub(super) ecn: Ecn,
    pub(super) due: Timestamp,
}

impl Head {
    fn of(delivery: &Delivery<Datagram>) -> Self {
        Self {
            client: delivery.packet.payload.client,
            ecn: delivery.packet.ecn,
            due: delivery.due,
        }
    }
}

impl Batch {
    /// Adds a datagram if it can leave with those that are here.
    pub(super) fn append(&mut self, delivery: &Delivery<Datagram>, max_segments: usize) -> bool {
        let data = &delivery.packet.payload.data;
        let fits = self.head == Some(Head::of(delivery))
            && self.segments < max_segments
            && self.contents.len() == self.segment * self.segments
            && (1..=self.segment).contains(&data.len())
            && self.contents.len() + data.len() <= MAX_BATCH;
        if fits {
            self.contents.extend_from_slice(data);
            self.segments += 1;
        }
        fits
    }

    /// Begins anew with this datagram.
    pub(super) fn begin(&mut self, delivery: &Delivery<Datagram>) {
        let data = &delivery.packet.payload.data;
        self.head = Some(Head::of(delivery));
        self.segment = data.len();
        self.segments = 1;
        self.contents.clear();
        self.contents.extend_from_slice(data);
    }

    /// What is to be sent, if anything, and how many datagrams that are; empties the batch.
    pub(super) fn take(&mut self) -> Option<(Head, u64)> {
        let head = self.head.take()?;
        Some((head, self.segments as u64))
    }

    /// Sends what was taken last.
    pub(super) fn send(&self, port: &Port, to: SocketAddr, ecn: Ecn) -> io::Result<()> {
        port.send(to, ecn, &self.contents, self.segment)
    }
}

/// Below the largest UDP payload over IPv4, 65,507 bytes.
const MAX_BATCH: usize = 65_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Packet;
    use units::Bytes;

    fn delivery(port: u16, micros: u64, length: usize) -> Delivery<Datagram> {
        Delivery {
            due: Timestamp::from_nanos(micros * 1_000),
            packet: Packet::new(
                Bytes::new(length as u64),
                Datagram {
                    client: (std::net::Ipv4Addr::LOCALHOST, port).into(),
                    data: vec![0; length].into(),
                },
            ),
        }
    }

    #[test]
    fn only_equal_departures_of_one_client_leave_together() {
        let mut batch = Batch::default();
        batch.begin(&delivery(1, 5, 1_200));
        assert!(batch.append(&delivery(1, 5, 1_200), 10));
        assert!(!batch.append(&delivery(1, 6, 1_200), 10));
        assert!(!batch.append(&delivery(2, 5, 1_200), 10));
        assert!(!batch.append(&delivery(1, 5, 1_201), 10));
        assert_eq!(batch.take().unwrap().1, 2);
        assert_eq!(batch.take(), None);
    }

    #[test]
    fn a_shorter_datagram_is_the_last_of_its_batch() {
        let mut batch = Batch::default();
        batch.begin(&delivery(1, 5, 1_200));
        assert!(batch.append(&delivery(1, 5, 7), 10));
        assert!(!batch.append(&delivery(1, 5, 7), 10));
    }

    #[test]
    fn empty_datagrams_leave_alone_and_a_batch_has_its_limits() {
        let mut batch = Batch::default();
        batch.begin(&delivery(1, 5, 0));
        assert!(!batch.append(&delivery(1, 5, 0), 10));
        batch.begin(&delivery(1, 5, 100));
        assert!(!batch.append(&delivery(1, 5, 0), 10));
        assert!(batch.append(&delivery(1, 5, 100), 2));
        assert!(!batch.append(&delivery(1, 5, 100), 2));
        batch.begin(&delivery(1, 5, 40_000));
        assert!(!batch.append(&delivery(1, 5, 40_000), 10));
    }
}
