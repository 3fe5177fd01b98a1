//! What servers and balancers agree on about connection IDs
//! (draft-ietf-quic-load-balancers-21 §5).

use super::cid_cipher::CidCipher;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use thiserror::Error;

/// One way to write a server's ID into connection IDs, the same for all servers and balancers of
/// a fleet.
///
/// ```text
///  first octet                 1 to 15         4 to 18
/// ┌───────────────┬────────┐┌───────────┬─────────────────┐
/// │ codepoint (3) │ length ││ server ID │ nonce           │  encrypted together, given a key
/// └───────────────┴────────┘└───────────┴─────────────────┘
/// ```
///
/// With a key, nobody without it can tell which server a connection ID belongs to, nor that two
/// belong to the same. A server ID and a nonce of 16 octets together are the best choice: one
/// AES block instead of a network of four rounds, and no known attack that tells it from chance.
/// Four octets of server ID and ten of nonce, connection IDs of 15 octets, cost each packet two
/// bytes less.
///
/// Without a key anyone can read the server ID and see a client that migrates come back to the
/// same server. The draft asks then for as few connection IDs per connection as possible (§9);
/// quinn-proto issues as many as the peer takes.
#[derive(Clone)]
pub struct CidConfig {
    codepoint: u8,
    server_id_len: usize,
    nonce_len: usize,
    key: Option<[u8; 16]>,
    cipher: Option<Arc<CidCipher>>,
    encodes_length: bool,
}

impl CidConfig {
    /// Server IDs that everybody can read. `codepoint`, 0 to 6, tells this configuration from
    /// others that are in use at the same time; lengths are in octets, the server ID's from 1
    /// and the nonce's from 4, 19 together at most.
    ///
    /// # Errors
    /// When a number is out of range.
    pub fn plaintext(
        codepoint: u8,
        server_id_len: usize,
        nonce_len: usize,
    ) -> Result<Self, CidConfigError> {
        if codepoint >= UNROUTABLE {
            return Err(CidConfigError::Codepoint(codepoint));
        }
        if !(1..=MAX_SERVER_ID).contains(&server_id_len) {
            return Err(CidConfigError::ServerIdLength(server_id_len));
        }
        if !(MIN_NONCE..=MAX_NONCE).contains(&nonce_len) {
            return Err(CidConfigError::NonceLength(nonce_len));
        }
        if server_id_len + nonce_len > MAX_FIELDS {
            return Err(CidConfigError::FieldsLength(server_id_len + nonce_len));
        }
        Ok(Self {
            codepoint,
            server_id_len,
            nonce_len,
            key: None,
            cipher: None,
            encodes_length: true,
        })
    }

    /// The same with server ID and nonce encrypted by AES-128 under `key`.
    ///
    /// # Errors
    /// As [`plaintext`](Self::plaintext).
    pub fn encrypted(
        codepoint: u8,
        server_id_len: usize,
        nonce_len: usize,
        key: [u8; 16],
    ) -> Result<Self, CidConfigError> {
        Ok(Self {
            key: Some(key),
            cipher: Some(Arc::new(CidCipher::new(&key))),
            ..Self::plaintext(codepoint, server_id_len, nonce_len)?
        })
    }

    /// Fills the first octet with random bits, where otherwise the length of the connection ID
    /// stands for the sake of hardware that decrypts QUIC (§3.3).
    pub fn without_length(mut self) -> Self {
        self.encodes_length = false;
        self
    }

    /// The codepoint that connection IDs of this configuration begin with, 0 to 6.
    pub fn codepoint(&self) -> u8 {
        self.codepoint
    }

    /// The server that a connection ID names, whatever follows behind it. `None` when it is of
    /// another configuration or too short to be of this one. Any other octets name some server,
    /// which need not exist.
    pub fn server_of(&self, cid: &[u8]) -> Option<ServerId> {
        let fields = cid.get(1..self.len())?;
        if cid[0] >> CODEPOINT_SHIFT != self.codepoint {
            return None;
        }
        let mut plain = [0; MAX_FIELDS];
        let plain = &mut plain[..fields.len()];
        plain.copy_from_slice(fields);
        if let Some(cipher) = &self.cipher {
            cipher.decrypt(plain, self.server_id_len);
        }
        Some(ServerId::new(&plain[..self.server_id_len]).expect("its length was checked"))
    }

    /// Octets of first octet, server ID and nonce.
    pub(super) fn len(&self) -> usize {
        1 + self.server_id_len + self.nonce_len
    }

    pub(super) fn nonce_len(&self) -> usize {
        self.nonce_len
    }

    pub(super) fn key(&self) -> Option<&[u8; 16]> {
        self.key.as_ref()
    }

    /// Whether two servers with this and that configuration write the same connection IDs.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let fields = |config: &Self| (config.codepoint, config.server_id_len, config.nonce_len);
        fields(self) == fields(other) && self.key == other.key
    }

    /// Writes first octet, server ID and nonce to the beginning of `cid`, which is as long as the
    /// connection ID will be. `random` fills the first octet if it does not hold the length.
    pub(super) fn encode(
        &self,
        server_id: &ServerId,
        nonce: &[u8],
        random: impl FnOnce() -> u8,
        cid: &mut [u8],
    ) {
        let low = if self.encodes_length {
            u8::try_from(cid.len() - 1).expect("at most 20 octets")
        } else {
            random() & LENGTH_BITS
        };
        cid[0] = self.codepoint << CODEPOINT_SHIFT | low;
        let (first, second) = cid[1..self.len()].split_at_mut(self.server_id_len);
        first.copy_from_slice(server_id);
        second.copy_from_slice(nonce);
        if let Some(cipher) = &self.cipher {
            cipher.encrypt(&mut cid[1..self.len()]);
        }
    }

    /// Whether the first octet is one that [`encode`](Self::encode) writes.
    pub(super) fn fits(&self, cid: &[u8]) -> bool {
        !self.encodes_length || usize::from(cid[0] & LENGTH_BITS) + 1 == cid.len()
    }
}

impl fmt::Debug for CidConfig {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CidConfig")
            .field("codepoint", &self.codepoint)
            .field("server_id_len", &self.server_id_len)
            .field("nonce_len", &self.nonce_len)
            .field("is_encrypted", &self.cipher.is_some())
            .field("encodes_length", &self.encodes_length)
            .finish()
    }
}

/// A server's name in connection IDs: 1 to 15 octets, of which it has one for itself. They are no
/// number, so there is no byte order. Written in hexadecimal.
///
/// ```
/// # use paceline::quic_lb::ServerId;
/// let server_id: ServerId = "0a1b2c3d".parse()?;
/// assert_eq!(server_id, ServerId::new(&[0x0a, 0x1b, 0x2c, 0x3d])?);
/// # Ok::<_, paceline::quic_lb::CidConfigError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ServerId {
    octets: [u8; MAX_SERVER_ID],
    len: usize,
}

impl ServerId {
    /// The server ID with these octets.
    ///
    /// # Errors
    /// When there are none or more than 15.
    pub fn new(octets: &[u8]) -> Result<Self, CidConfigError> {
        let len = octets.len();
        if !(1..=MAX_SERVER_ID).contains(&len) {
            return Err(CidConfigError::ServerIdLength(len));
        }
        let mut padded = [0; MAX_SERVER_ID];
        padded[..len].copy_from_slice(octets);
        Ok(Self {
            octets: padded,
            len,
        })
    }

    /// As long as `config` wants it.
    pub(super) fn check(&self, config: &CidConfig) -> Result<(), CidConfigError> {
        if self.len == config.server_id_len {
            return Ok(());
        }
        Err(CidConfigError::ServerId {
            server_id: *self,
            expected: config.server_id_len,
        })
    }
}

impl std::ops::Deref for ServerId {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.octets[..self.len]
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerId({self})")
    }
}

impl FromStr for ServerId {
    type Err = CidConfigError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || CidConfigError::ServerIdText(text.to_owned());
        let mut octets = [0; MAX_SERVER_ID];
        let octets = octets.get_mut(..text.len() / 2).ok_or_else(error)?;
        super::hex::decode(text, octets).map_err(|_| error())?;
        Self::new(octets).map_err(|_| error())
    }
}

/// What cannot be agreed on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CidConfigError {
    /// The codepoint is reserved or has more than three bits.
    #[error("codepoint {0}: expected 0 to 6")]
    Codepoint(u8),
    /// No server ID has this length.
    #[error("server ID of {0} octets: expected 1 to 15")]
    ServerIdLength(usize),
    /// No nonce has this length.
    #[error("nonce of {0} octets: expected 4 to 18")]
    NonceLength(usize),
    /// A connection ID has no room for both.
    #[error("server ID and nonce of {0} octets together: expected at most 19")]
    FieldsLength(usize),
    /// This is not hexadecimal, or not as much of it as a server ID has.
    #[error("server ID `{0}`: expected 2 to 30 hexadecimal digits, two for each octet")]
    ServerIdText(String),
    /// The configuration has server IDs of another length.
    #[error("server ID {server_id}: expected {expected} octets, as the configuration says")]
    ServerId {
        /// What was given.
        server_id: ServerId,
        /// In octets.
        expected: usize,
    },
    /// An endpoint has connection IDs of one length.
    #[error("connection IDs of {found} octets: expected {expected}, as this endpoint has them")]
    Length {
        /// In octets.
        found: usize,
        /// In octets.
        expected: usize,
    },
    /// Connection IDs of this codepoint are being issued.
    #[error("codepoint {0} already used by another configuration")]
    InUse(u8),
    /// No room is left for an octet behind the nonce.
    #[error("connection IDs of {0} octets: expected at most 19 before the shard's octet")]
    Shard(usize),
}

/// The codepoint of connection IDs that name no server (§3.2).
pub(super) const UNROUTABLE: u8 = 0b111;

/// Where the codepoint stands in the first octet.
pub(super) const CODEPOINT_SHIFT: u32 = 5;

/// The rest of the first octet.
const LENGTH_BITS: u8 = 0b1_1111;

/// Server ID and nonce of a connection ID of 20 octets, as many as QUIC version 1 has (§5.3).
const MAX_FIELDS: usize = 19;

/// Fewer would be exhausted too soon (§5.3).
const MIN_NONCE: usize = 4;

pub(super) const MAX_NONCE: usize = MAX_FIELDS - 1;

const MAX_SERVER_ID: usize = MAX_FIELDS - MIN_NONCE;

#[cfg(test)]
mod tests;
