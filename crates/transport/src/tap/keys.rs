//! quinn-proto's cryptography with keys that are listened to.

use super::facts::Space;
use super::header::SharedHeaderKey;
use super::log::Tap;
use bytes::BytesMut;
use quinn_proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey,
    ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use std::any::Any;
use std::sync::Arc;

impl Tap {
    /// `crypto`, with sessions whose keys this tap sees.
    pub(crate) fn client(self: &Arc<Self>, crypto: Arc<dyn ClientConfig>) -> Arc<dyn ClientConfig> {
        Arc::new(Tapped::new(crypto, Arc::clone(self)))
    }

    /// `crypto`, with sessions whose keys this tap sees.
    pub(crate) fn server(self: &Arc<Self>, crypto: Arc<dyn ServerConfig>) -> Arc<dyn ServerConfig> {
        Arc::new(Tapped::new(crypto, Arc::clone(self)))
    }
}

/// A client's or server's cryptography for one connection.
pub(super) struct Tapped<C: ?Sized> {
    crypto: Arc<C>,
    tap: Arc<Tap>,
}

impl<C: ?Sized> Tapped<C> {
    pub(super) fn new(crypto: Arc<C>, tap: Arc<Tap>) -> Self {
        Self { crypto, tap }
    }
}

impl ClientConfig for Tapped<dyn ClientConfig> {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let crypto = Arc::clone(&self.crypto);
        let session = crypto.start_session(version, server_name, params)?;
        self.tap.on_own_parameters(&encoded(params));
        Ok(TappedSession::boxed(session, &self.tap))
    }
}

impl ServerConfig for Tapped<dyn ServerConfig> {
    fn initial_keys(
        &self,
        version: u32,
        dst_cid: &ConnectionId,
    ) -> Result<Keys, UnsupportedVersion> {
        self.crypto.initial_keys(version, dst_cid)
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.crypto.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(
        self: Arc<Self>,
        version: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        let session = Arc::clone(&self.crypto).start_session(version, params);
        self.tap.on_own_parameters(&encoded(params));
        TappedSession::boxed(session, &self.tap)
    }
}

struct TappedSession {
    session: Box<dyn Session>,
    tap: Arc<Tap>,
    /// Of which space the keys are that the handshake yields next.
    next: Space,
}

impl TappedSession {
    fn boxed(session: Box<dyn Session>, tap: &Arc<Tap>) -> Box<dyn Session> {
        Box::new(Self {
            session,
            tap: Arc::clone(tap),
            next: Space::Handshake,
        })
    }

    fn tapped(&self, key: Box<dyn PacketKey>, space: Space, ends_space: bool) -> TappedKey {
        TappedKey {
            tag_len: key.tag_len(),
            key,
            space,
            tap: Arc::clone(&self.tap),
            ends_space,
            carries_requests: false,
        }
    }

    fn tapped_pair(
        &self,
        keys: KeyPair<Box<dyn PacketKey>>,
        space: Space,
    ) -> KeyPair<Box<dyn PacketKey>> {
        // Keys of application data are exchanged for others.
        let ends_space = space != Space::Data;
        let mut local = self.tapped(keys.local, space, ends_space);
        local.carries_requests = space == Space::Data;
        KeyPair {
            local: Box::new(local),
            remote: Box::new(self.tapped(keys.remote, space, false)),
        }
    }

    fn tapped_keys(&self, keys: Keys, space: Space) -> Keys {
        Keys {
            header: keys.header,
            packet: self.tapped_pair(keys.packet, space),
        }
    }
}

impl Session for TappedSession {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        let keys = self.session.initial_keys(dst_cid, side);
        self.tapped_keys(keys, Space::Initial)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.session.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.session.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let (header, packet) = self.session.early_crypto()?;
        Some((header, Box::new(self.tapped(packet, Space::Data, false))))
    }

    /// quinn-proto asks when the handshake ends, and forgets what it has sent if not.
    fn early_data_accepted(&self) -> Option<bool> {
        let is_accepted = self.session.early_data_accepted();
        if is_accepted == Some(false) {
            self.tap.on_discarded(Space::Data);
        }
        is_accepted
    }

    fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.session.read_handshake(buf)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let parameters = self.session.transport_parameters()?;
        if let Some(parameters) = &parameters {
            self.tap.on_parameters(&encoded(parameters));
        }
        Ok(parameters)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let keys = self.session.write_handshake(buf)?;
        let space = std::mem::replace(&mut self.next, Space::Data);
        let mut keys = self.tapped_keys(keys, space);
        if space == Space::Data {
            let key = SharedHeaderKey::new(keys.header.remote);
            keys.header.remote = Box::new(key.clone());
            self.tap.on_header_key(key);
        }
        Some(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let keys = self.session.next_1rtt_keys()?;
        self.tap.on_next_keys();
        Some(self.tapped_pair(keys, Space::Data))
    }

    /// A client that accepts a Retry begins anew: it forgets its Initial packets with their keys,
    /// and its 0-RTT packets.
    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        let is_valid = self.session.is_valid_retry(orig_dst_cid, header, payload);
        if is_valid {
            self.tap.on_discarded(Space::Data);
        }
        is_valid
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.session.export_keying_material(output, label, context)
    }
}

fn encoded(parameters: &TransportParameters) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(ENCODED_LEN);
    parameters.write(&mut encoded);
    encoded
}

/// Octets that transport parameters take, as a rule: it saves growing from nothing.
const ENCODED_LEN: usize = 256;

struct TappedKey {
    key: Box<dyn PacketKey>,
    space: Space,
    tap: Arc<Tap>,
    /// Octets.
    tag_len: usize,
    /// Whether quinn-proto forgets the packets of the space together with this key (RFC 9001 §4.9).
    ends_space: bool,
    /// Whether it protects 1-RTT packets that leave: those may carry a frame of the tap's own.
    carries_requests: bool,
}

impl PacketKey for TappedKey {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        let mut end = buf.len() - self.tag_len;
        if self.carries_requests {
            self.tap.insert_request(packet, &mut buf[header_len..end]);
            end -= self.tap.reserved();
        }
        self.tap
            .on_sent(self.space, packet, buf, &buf[header_len..end]);
        if self.carries_requests {
            self.tap.replace_padding(&mut buf[header_len..end]);
        }
        self.key.encrypt(packet, buf, header_len);
    }

    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.key.decrypt(packet, header, payload)?;
        if self.space == Space::Data {
            self.tap.on_number(packet);
        }
        self.tap.on_decrypted(self.space, payload);
        Ok(())
    }

    /// quinn-proto leaves as much room behind the payload.
    fn tag_len(&self) -> usize {
        match self.carries_requests {
            true => self.tag_len + self.tap.reserved(),
            false => self.tag_len,
        }
    }

    fn confidentiality_limit(&self) -> u64 {
        self.key.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.key.integrity_limit()
    }
}

impl Drop for TappedKey {
    fn drop(&mut self) {
        if self.ends_space {
            self.tap.on_discarded(self.space);
        }
    }
}

#[cfg(test)]
#[cfg(feature = "rcgen")]
mod tests;
