use crate::packet::Ecn;
use std::net::SocketAddr;
use units::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::relay) enum Side {
    Client,
    Server,
}

#[derive(Debug, Clone, Copy)]
pub(in crate::relay) struct CapturedDatagram<'a> {
    pub(in crate::relay) side: Side,
    pub(in crate::relay) at: Timestamp,
    pub(in crate::relay) from: SocketAddr,
    pub(in crate::relay) to: SocketAddr,
    pub(in crate::relay) ecn: Ecn,
    pub(in crate::relay) data: &'a [u8],
}

/// Datagrams on their way to the writer.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) records: Vec<Record>,
    /// Their contents, one behind the other.
    contents: Vec<u8>,
}

impl Block {
    pub(super) fn push(&mut self, seen: &CapturedDatagram<'_>) {
        self.contents.extend_from_slice(seen.data);
        self.records.push(Record {
            side: seen.side,
            at: seen.at,
            from: seen.from,
            to: seen.to,
            ecn: seen.ecn,
            length: seen.data.len(),
        });
    }

    pub(super) fn is_full(&self) -> bool {
        self.contents.len() >= BLOCK_BYTES || self.records.len() >= BLOCK_RECORDS
    }

    /// When the first of its datagrams was seen.
    pub(super) fn since(&self) -> Option<Timestamp> {
        self.records.first().map(|record| record.at)
    }

    pub(super) fn cleared(mut self) -> Self {
        self.records.clear();
        self.contents.clear();
        self
    }

    /// Its datagrams, in the order in which they were written down.
    pub(super) fn iter(&self) -> impl Iterator<Item = CapturedDatagram<'_>> {
        let mut rest = &self.contents[..];
        self.records.iter().map(move |record| {
            let (data, behind) = rest.split_at(record.length);
            rest = behind;
            CapturedDatagram {
                side: record.side,
                at: record.at,
                from: record.from,
                to: record.to,
                ecn: record.ecn,
                data,
            }
        })
    }
}

#[derive(Debug)]
pub(super) struct Record {
    side: Side,
    at: Timestamp,
    from: SocketAddr,
    to: SocketAddr,
    ecn: Ecn,
    length: usize,
}

const BLOCK_BYTES: usize = 1 << 20;
/// For small datagrams, whose records are longer than they.
pub(super) const BLOCK_RECORDS: usize = 8_192;
