//! Writes down what quinn-proto asks of its controller and does with its keys.

use bytes::BytesMut;
use quinn_proto::congestion::{Controller, ControllerFactory};
use quinn_proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey,
    ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, EcnCodepoint, RttEstimator, Side, TransportError};
use std::any::Any;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// What happened at one end, in order. Controllers are numbered as they are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    Built(u64),
    Cloned {
        from: u64,
        to: u64,
    },
    WindowAsked,
    Sent {
        controller: u64,
        bytes: u64,
    },
    Acked {
        sent: Instant,
        bytes: u64,
    },
    EndOfAcks {
        controller: u64,
        in_flight: u64,
    },
    Congestion {
        lost: u64,
    },
    Mtu(u16),
    /// A packet was protected. `kind` is what its header says.
    Encrypted {
        key: Space,
        kind: Space,
        number: u64,
        bytes: u64,
    },
    /// A packet was read.
    Decrypted {
        key: Space,
        number: u64,
    },
    /// The key that protects packets of this space is gone.
    Dropped(Space),
    /// The session was asked for the keys of another update.
    NextKeys,
    EarlyDataAccepted(Option<bool>),
    RetryIsValid(bool),
    /// A call of `poll_transmit` has returned.
    Polled(Option<Polled>),
    /// A call of `handle_event` has returned.
    Handled,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Polled {
    pub(super) bytes: u64,
    pub(super) destination: SocketAddr,
    pub(super) ecn: Option<EcnCodepoint>,
}

/// A packet number space, in the order of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Space {
    Initial,
    Handshake,
    Data,
}

/// Puts another payload in the place of one that was decrypted.
pub(super) type Rewrite = Box<dyn FnMut(&mut BytesMut) + Send>;

/// One end's record, and what it answers.
#[derive(Default)]
pub(super) struct Recorder {
    seen: Mutex<Vec<Seen>>,
    window: AtomicU64,
    controllers: AtomicU64,
    rewrite: Mutex<Option<Rewrite>>,
}

impl Recorder {
    /// With a window that holds nothing back.
    pub(super) fn new() -> Arc<Self> {
        let recorder = Self::default();
        recorder.set_window(u64::MAX);
        Arc::new(recorder)
    }

    pub(super) fn set_window(&self, window: u64) {
        self.window.store(window, Relaxed);
    }

    /// Changes application data that is decrypted from now on.
    pub(super) fn rewrite(&self, rewrite: impl FnMut(&mut BytesMut) + Send + 'static) {
        *self.rewrite.lock().expect(ONE_THREAD) = Some(Box::new(rewrite));
    }

    pub(super) fn note(&self, seen: Seen) {
        self.seen.lock().expect(ONE_THREAD).push(seen);
    }

    /// All since the last call of [`Self::take`].
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect(ONE_THREAD).clone()
    }

    pub(super) fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock().expect(ONE_THREAD))
    }

    fn next_controller(&self) -> u64 {
        self.controllers.fetch_add(1, Relaxed)
    }
}

/// Makes controllers that write to a record.
pub(super) struct Factory(pub(super) Arc<Recorder>);

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        let id = self.0.next_controller();
        self.0.note(Seen::Built(id));
        let recorder = Arc::clone(&self.0);
        Box::new(Recording { recorder, id })
    }
}

struct Recording {
    recorder: Arc<Recorder>,
    id: u64,
}

impl Controller for Recording {
    fn on_sent(&mut self, _: Instant, bytes: u64, _: u64) {
        let controller = self.id;
        self.recorder.note(Seen::Sent { controller, bytes });
    }

    fn on_ack(&mut self, _: Instant, sent: Instant, bytes: u64, _: bool, _: &RttEstimator) {
        self.recorder.note(Seen::Acked { sent, bytes });
    }

    fn on_end_acks(&mut self, _: Instant, in_flight: u64, _: bool, _: Option<u64>) {
        let controller = self.id;
        self.recorder.note(Seen::EndOfAcks {
            controller,
            in_flight,
        });
    }

    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, lost: u64) {
        self.recorder.note(Seen::Congestion { lost });
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.recorder.note(Seen::Mtu(mtu));
    }

    fn window(&self) -> u64 {
        self.recorder.note(Seen::WindowAsked);
        self.recorder.window.load(Relaxed)
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        let (from, to) = (self.id, self.recorder.next_controller());
        self.recorder.note(Seen::Cloned { from, to });
        let recorder = Arc::clone(&self.recorder);
        Box::new(Self { recorder, id: to })
    }

    fn initial_window(&self) -> u64 {
        self.recorder.window.load(Relaxed)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// A client's or server's cryptography whose keys write to a record.
pub(super) struct Recorded<C: ?Sized> {
    pub(super) crypto: Arc<C>,
    pub(super) recorder: Arc<Recorder>,
}

impl<C: ?Sized> Recorded<C> {
    fn session(&self, session: Box<dyn Session>) -> Box<dyn Session> {
        Box::new(RecordedSession {
            session,
            recorder: Arc::clone(&self.recorder),
            next: Space::Handshake,
        })
    }
}

impl ClientConfig for Recorded<dyn ClientConfig> {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let session = Arc::clone(&self.crypto).start_session(version, name, params)?;
        Ok(self.session(session))
    }
}

impl ServerConfig for Recorded<dyn ServerConfig> {
    fn initial_keys(&self, version: u32, cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.crypto.initial_keys(version, cid)
    }

    fn retry_tag(&self, version: u32, cid: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.crypto.retry_tag(version, cid, packet)
    }

    fn start_session(
        self: Arc<Self>,
        version: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        let session = Arc::clone(&self.crypto).start_session(version, params);
        self.session(session)
    }
}

struct RecordedSession {
    session: Box<dyn Session>,
    recorder: Arc<Recorder>,
    /// The space of the keys that the handshake yields next.
    next: Space,
}

impl RecordedSession {
    fn key(&self, key: Box<dyn PacketKey>, space: Space, is_local: bool) -> Box<dyn PacketKey> {
        Box::new(RecordedKey {
            key,
            space,
            is_local,
            recorder: Arc::clone(&self.recorder),
        })
    }

    fn pair(&self, pair: KeyPair<Box<dyn PacketKey>>, space: Space) -> KeyPair<Box<dyn PacketKey>> {
        KeyPair {
            local: self.key(pair.local, space, true),
            remote: self.key(pair.remote, space, false),
        }
    }

    fn keys(&self, keys: Keys, space: Space) -> Keys {
        Keys {
            header: keys.header,
            packet: self.pair(keys.packet, space),
        }
    }
}

impl Session for RecordedSession {
    fn initial_keys(&self, cid: &ConnectionId, side: Side) -> Keys {
        self.keys(self.session.initial_keys(cid, side), Space::Initial)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.session.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.session.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let (header, packet) = self.session.early_crypto()?;
        Some((header, self.key(packet, Space::Data, true)))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        let is_accepted = self.session.early_data_accepted();
        self.recorder.note(Seen::EarlyDataAccepted(is_accepted));
        is_accepted
    }

    fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.session.read_handshake(buf)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.session.transport_parameters()
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let keys = self.session.write_handshake(buf)?;
        let space = std::mem::replace(&mut self.next, Space::Data);
        Some(self.keys(keys, space))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let keys = self.session.next_1rtt_keys()?;
        self.recorder.note(Seen::NextKeys);
        Some(self.pair(keys, Space::Data))
    }

    fn is_valid_retry(&self, cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        let is_valid = self.session.is_valid_retry(cid, header, payload);
        self.recorder.note(Seen::RetryIsValid(is_valid));
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

struct RecordedKey {
    key: Box<dyn PacketKey>,
    space: Space,
    is_local: bool,
    recorder: Arc<Recorder>,
}

impl PacketKey for RecordedKey {
    fn encrypt(&self, number: u64, buf: &mut [u8], header_len: usize) {
        self.recorder.note(Seen::Encrypted {
            key: self.space,
            kind: space_of(buf[0]),
            number,
            bytes: buf.len() as u64,
        });
        self.key.encrypt(number, buf, header_len);
    }

    fn decrypt(
        &self,
        number: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.key.decrypt(number, header, payload)?;
        let key = self.space;
        self.recorder.note(Seen::Decrypted { key, number });
        if let Some(rewrite) = &mut *self.recorder.rewrite.lock().expect(ONE_THREAD)
            && key == Space::Data
        {
            rewrite(payload);
        }
        Ok(())
    }

    fn tag_len(&self) -> usize {
        self.key.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.key.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.key.integrity_limit()
    }
}

impl Drop for RecordedKey {
    fn drop(&mut self) {
        if self.is_local {
            self.recorder.note(Seen::Dropped(self.space));
        }
    }
}

/// By a header's first byte (RFC 9000 §17).
fn space_of(first: u8) -> Space {
    match first >> 4 & 0b1011 {
        0b1000 => Space::Initial,
        0b1010 => Space::Handshake,
        _ => Space::Data,
    }
}

const ONE_THREAD: &str = "one thread runs a pair, and stops when it panics";
