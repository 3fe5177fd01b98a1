//! What of a connection can be seen on its path, without its keys (RFC 8999, RFC 9000 §17).

use std::collections::HashSet;
use std::net::SocketAddr;

/// What has passed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) retries: usize,
    pub(crate) version_negotiations: usize,
    pub(crate) zero_rtt_bytes: usize,
    /// Datagrams with short headers from clients since the first with 0-RTT, without those that
    /// look for a larger MTU.
    pub(crate) bytes_after_zero_rtt: usize,
    /// Datagrams from the server to the newest address of the client.
    pub(crate) answers_to_newest: usize,
    /// Addresses of clients, in the order of their first datagrams.
    pub(crate) client_addresses: usize,
    /// How many connection IDs clients have addressed with short headers.
    pub(crate) ids_used: usize,
    /// By connection, in their order: bytes of the server's handshake.
    handshakes: Vec<(Client, usize)>,
    /// Length of the connection IDs that the server has chosen.
    server_id_len: usize,
    ids: HashSet<Vec<u8>>,
}

/// Whose connection it is: address and connection ID, which may be empty.
type Client = (SocketAddr, Vec<u8>);

impl Seen {
    /// A client's address that the server has not seen before.
    pub(crate) fn new_client(&mut self) {
        self.client_addresses += 1;
        self.answers_to_newest = 0;
    }

    /// A datagram from a client.
    pub(crate) fn upwards(&mut self, datagram: &[u8], from: SocketAddr) {
        if datagram.first().is_some_and(|first| first & 0x80 == 0) {
            if self.zero_rtt_bytes > 0 && datagram.len() <= LEAST_MTU {
                self.bytes_after_zero_rtt += datagram.len();
            }
            if let Some(id) = datagram.get(1..=self.server_id_len) {
                self.ids.insert(id.to_vec());
                self.ids_used = self.ids.len();
            }
        }
        for packet in Packets(datagram) {
            match packet.kind {
                Kind::ZeroRtt => self.zero_rtt_bytes += packet.len,
                Kind::Initial => {
                    let client = (from, packet.source.to_vec());
                    if !self.handshakes.iter().any(|(known, _)| *known == client) {
                        self.handshakes.push((client, 0));
                    }
                }
                _ => {}
            }
        }
    }

    /// A datagram from the server.
    pub(crate) fn downwards(&mut self, datagram: &[u8], to: SocketAddr) {
        self.answers_to_newest += 1;
        for packet in Packets(datagram) {
            match packet.kind {
                Kind::Retry => self.retries += 1,
                Kind::VersionNegotiation => self.version_negotiations += 1,
                Kind::Handshake | Kind::Initial => {
                    self.server_id_len = packet.source.len();
                    let client = (to, packet.destination.to_vec());
                    let mut known = self.handshakes.iter_mut();
                    if let Some((_, bytes)) = known.find(|(known, _)| *known == client) {
                        *bytes += packet.len * usize::from(packet.kind == Kind::Handshake);
                    }
                }
                _ => {}
            }
        }
    }

    /// Bytes of the server's Handshake packets, by connection: few where no certificate is sent.
    pub(crate) fn handshakes(&self) -> Vec<usize> {
        self.handshakes.iter().map(|(_, bytes)| *bytes).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Initial,
    ZeroRtt,
    Handshake,
    Retry,
    VersionNegotiation,
}

/// A packet with a long header.
#[derive(Debug)]
struct Packet<'a> {
    kind: Kind,
    destination: &'a [u8],
    source: &'a [u8],
    len: usize,
}

/// The packets with long headers of a datagram.
struct Packets<'a>(&'a [u8]);

impl<'a> Iterator for Packets<'a> {
    type Item = Packet<'a>;

    fn next(&mut self) -> Option<Packet<'a>> {
        let whole = std::mem::take(&mut self.0);
        let first = *whole.first().filter(|first| *first & 0x80 != 0)?;
        let version = u32::from_be_bytes(whole.get(1..5)?.try_into().ok()?);
        let mut rest = whole.get(5..)?;
        let destination = short_string(&mut rest)?;
        let source = short_string(&mut rest)?;
        // Version 2 numbers the types from another one on (RFC 9369 §3.2).
        let number = (first >> 4 & 3).wrapping_sub(u8::from(version == VERSION_2)) & 3;
        let kind = match (version, number) {
            (0, _) => Kind::VersionNegotiation,
            (_, 0) => Kind::Initial,
            (_, 1) => Kind::ZeroRtt,
            (_, 2) => Kind::Handshake,
            _ => Kind::Retry,
        };
        let mut len = whole.len();
        if !matches!(kind, Kind::VersionNegotiation | Kind::Retry) {
            if kind == Kind::Initial {
                let token = number_of(&mut rest)?;
                rest = rest.get(token..)?;
            }
            let payload = number_of(&mut rest)?;
            self.0 = rest.get(payload..)?;
            len -= self.0.len();
        }
        Some(Packet {
            kind,
            destination,
            source,
            len,
        })
    }
}

/// Bytes behind their length, which is one byte.
fn short_string<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (len, after) = rest.split_first()?;
    let (string, after) = after.split_at_checked(usize::from(*len))?;
    *rest = after;
    Some(string)
}

/// An integer of variable length (RFC 9000 §16).
fn number_of(rest: &mut &[u8]) -> Option<usize> {
    let len = 1 << (rest.first()? >> 6);
    let (bytes, after) = rest.split_at_checked(len)?;
    *rest = after;
    let first = usize::from(bytes[0] & 0x3F);
    Some(
        bytes[1..]
            .iter()
            .fold(first, |number, byte| number << 8 | usize::from(*byte)),
    )
}

/// RFC 9000 §14.1.
const LEAST_MTU: usize = 1_200;
const VERSION_2: u32 = 0x6B33_43CF;
