//! The server's half: connection IDs that name it.

use super::cid_config::{
    CODEPOINT_SHIFT, CidConfig, CidConfigError, MAX_NONCE, ServerId, UNROUTABLE,
};
use super::nonces::Nonces;
use crate::lock::{Guard, Lock, Locked, Rank};
use crate::random;
use quinn_proto::{ConnectionId, ConnectionIdGenerator, EndpointConfig, InvalidCid};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The connection IDs of one server of a fleet.
///
/// Clones are handles to the same nonces: all endpoints of one server, its shards among them,
/// take clones, so that no connection ID comes twice. Two processes take different server IDs.
///
/// # Rotation
/// [`issue`](Self::issue) changes the configuration while endpoints run. Connections keep the IDs
/// that they have until these have lived for the [`lifetime`](Self::with_lifetime); the draft
/// demands that they be replaced (§3.1), so set one, well below the time after which a codepoint
/// comes round again. quinn-proto has no other way to retire them.
///
/// # Nonces
/// They count up from a random beginning, and without a key they are shuffled, so that none comes
/// twice. A server that is started again begins elsewhere: with nonces of 8 octets a second run
/// through the same ones is out of the question, with 4 it may come to it. Then give it
/// another server ID, or the fleet another key, first.
///
/// After the last one, an error is logged and connection IDs are unroutable: their codepoint is
/// 0b111 and balancers route by addresses (§9.6). [`remaining`](Self::remaining) shows it in time.
///
/// # Stateless resets
/// Servers that share the secret of their resets must not answer for each other while both live:
/// whoever has a packet of a connection sent to the wrong server would have it end that connection
/// (RFC 9000 §21.11). So a packet of a connection that is not known is answered only if its ID
/// names this server, or one that it has [`adopt`](Self::adopt)ed.
#[derive(Clone)]
pub struct ConnectionIds {
    shared: Arc<Lock<State>>,
    /// Octets of each.
    len: usize,
    shard: Option<u8>,
    lifetime: Option<Duration>,
}

impl Locked for State {
    const RANK: Rank = Rank::Fleet;
}

impl ConnectionIds {
    /// Connection IDs that name `server_id` as `config` says.
    ///
    /// # Errors
    /// When the server ID is not as long as in `config`.
    pub fn new(config: CidConfig, server_id: ServerId) -> Result<Self, CidConfigError> {
        server_id.check(&config)?;
        Ok(Self {
            len: config.len(),
            shard: None,
            lifetime: None,
            shared: Arc::new(Lock::new(State {
                issued: config.codepoint(),
                known: Identity::new(config, server_id).alone(),
                adopted: Vec::new(),
                is_exhausted: false,
            })),
        })
    }

    /// The same with an octet behind the nonce that says `shard`, so that a socket filter that
    /// cannot decrypt can tell: the last octet of an issued connection ID, modulo the number of
    /// shards, is the shard. All servers of a fleet have that octet or none does (§5.4).
    ///
    /// It is in the clear. Somebody who sees a client move learns whether it came back to
    /// the same shard.
    ///
    /// ```
    /// # use paceline::quic_lb::{CidConfig, ConnectionIds};
    /// # use paceline::{ServerConfig, ShardedServer};
    /// # fn serve(config: ServerConfig) -> Result<(), Box<dyn std::error::Error>> {
    /// let cid_config = CidConfig::encrypted(0, 4, 12, *b"sixteen octets!!")?;
    /// let ids = ConnectionIds::new(cid_config, "0000002a".parse()?)?;
    /// let of_shard = move |shard| ids.with_shard(shard).expect("18 octets").generator();
    /// let server = ShardedServer::builder(config, "[::]:443".parse()?)
    ///     .connection_ids(of_shard)
    ///     .serve(async |attempt| drop(attempt.await))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When connection IDs are 20 octets long already.
    pub fn with_shard(&self, shard: u8) -> Result<Self, CidConfigError> {
        let len = self.state().issuing().config.len();
        if len == MAX_LEN {
            return Err(CidConfigError::Shard(len));
        }
        Ok(Self {
            len: len + 1,
            shard: Some(shard),
            ..self.clone()
        })
    }

    /// The same, replaced in each connection after this time. Default: never.
    pub fn with_lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = Some(lifetime);
        self
    }

    /// Has an endpoint issue these connection IDs.
    pub fn install(&self, endpoint: &mut EndpointConfig) {
        let ids = self.clone();
        endpoint.cid_generator(move || ids.generator());
    }

    /// A generator for an [`EndpointConfig`].
    pub fn generator(&self) -> Box<dyn ConnectionIdGenerator> {
        Box::new(self.clone())
    }

    /// Issues connection IDs of this configuration from now on, in all endpoints that have these.
    /// Balancers have to know it already. Going back to one that was issued before continues its
    /// nonces.
    ///
    /// # Errors
    /// When the connection IDs would be of another length, the codepoint is that of the
    /// configuration in use, or the server ID does not fit.
    pub fn issue(&self, config: CidConfig, server_id: ServerId) -> Result<(), CidConfigError> {
        let mut state = self.state();
        let codepoint = config.codepoint();
        state.learn(config, server_id)?;
        state.is_exhausted &= codepoint == state.issued;
        state.issued = codepoint;
        Ok(())
    }

    /// Answers packets with connection IDs of this configuration, too, by a stateless reset:
    /// those that this server issued before it was started again.
    ///
    /// # Errors
    /// As [`issue`](Self::issue).
    pub fn know(&self, config: CidConfig, server_id: ServerId) -> Result<(), CidConfigError> {
        self.state().learn(config, server_id)
    }

    /// Answers packets for a server that is gone for good, by a stateless reset, so that its
    /// clients need not wait for their idle timeout. The balancer has to send them here. The last
    /// 256 such servers are remembered.
    pub fn adopt(&self, server_id: ServerId) {
        let mut state = self.state();
        if state.adopted.len() == MAX_ADOPTED {
            state.adopted.remove(0);
        }
        state.adopted.push(server_id);
    }

    /// How many connection IDs can still be issued under the configuration in use; 2⁶⁴ − 1 stands
    /// for that and more.
    pub fn remaining(&self) -> u64 {
        let left = self.state().issuing().nonces.left();
        u64::try_from(left).unwrap_or(u64::MAX)
    }

    /// The key of the configuration that `cid` is of; zeros where there is none.
    pub(super) fn key_of(&self, cid: &[u8]) -> [u8; 16] {
        let state = self.state();
        let identity = cid.first().and_then(|first| state.known(*first));
        let key = identity.and_then(|identity| identity.config.key());
        key.copied().unwrap_or_default()
    }

    fn write(&self, cid: &mut [u8]) {
        let mut state = self.state();
        let Identity {
            config,
            server_id,
            nonces,
        } = state.issuing();
        let mut nonce = [0; MAX_NONCE];
        let nonce = &mut nonce[..config.nonce_len()];
        if nonces.write_next(nonce) {
            config.encode(server_id, nonce, random_octet, cid);
        } else {
            if !std::mem::replace(&mut state.is_exhausted, true) {
                tracing::error!(
                    "all nonces used up: connection IDs are unroutable from now on; \
                     add a configuration"
                );
            }
            random::fill(cid);
            // Such connection IDs always say how long they are (§3.2).
            let len = u8::try_from(cid.len() - 1).expect("at most 20 octets");
            cid[0] = UNROUTABLE << CODEPOINT_SHIFT | len;
        }
    }

    fn state(&self) -> Guard<'_, State> {
        // Nothing under the lock leaves it half done.
        self.shared.lock()
    }
}

impl ConnectionIdGenerator for ConnectionIds {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut cid = [0; MAX_LEN];
        let cid = &mut cid[..self.len];
        self.write(cid);
        if let (Some(shard), Some(last)) = (self.shard, cid.last_mut()) {
            *last = shard;
        }
        ConnectionId::new(cid)
    }

    fn validate(&self, cid: &ConnectionId) -> Result<(), InvalidCid> {
        let state = self.state();
        let is_ours = || {
            let identity = state.known(*cid.first()?)?;
            let server_id = identity.config.server_of(cid)?;
            let is_ours = server_id == identity.server_id || state.adopted.contains(&server_id);
            Some(cid.len() == self.len && identity.config.fits(cid) && is_ours)
        };
        // What is unroutable may have been meant for another server.
        is_ours()
            .filter(|is_ours| *is_ours)
            .map(drop)
            .ok_or(InvalidCid)
    }

    fn cid_len(&self) -> usize {
        self.len
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        self.lifetime
    }
}

impl fmt::Debug for ConnectionIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut state = self.state();
        f.debug_struct("ConnectionIds")
            .field("config", &state.issuing().config)
            .field("server_id", &state.issuing().server_id)
            .field("shard", &self.shard)
            .field("lifetime", &self.lifetime)
            .finish_non_exhaustive()
    }
}

struct State {
    /// The codepoint in use.
    issued: u8,
    /// By codepoint.
    known: [Option<Identity>; UNROUTABLE as usize],
    adopted: Vec<ServerId>,
    /// Whether that was logged.
    is_exhausted: bool,
}

impl State {
    fn issuing(&mut self) -> &mut Identity {
        let issuing = self.known[usize::from(self.issued)].as_mut();
        issuing.expect("what is issued is known")
    }

    /// By a connection ID's first octet.
    fn known(&self, first: u8) -> Option<&Identity> {
        let known = self.known.get(usize::from(first >> CODEPOINT_SHIFT));
        known?.as_ref()
    }

    fn learn(&mut self, config: CidConfig, server_id: ServerId) -> Result<(), CidConfigError> {
        server_id.check(&config)?;
        let (found, expected) = (config.len(), self.issuing().config.len());
        if found != expected {
            return Err(CidConfigError::Length { found, expected });
        }
        let codepoint = config.codepoint();
        match &mut self.known[usize::from(codepoint)] {
            Some(known) if known.config.is_same(&config) && known.server_id == server_id => {
                known.config = config;
            }
            _ if codepoint == self.issued => return Err(CidConfigError::InUse(codepoint)),
            vacant => *vacant = Some(Identity::new(config, server_id)),
        }
        Ok(())
    }
}

/// A server under one configuration.
struct Identity {
    config: CidConfig,
    server_id: ServerId,
    nonces: Nonces,
}

impl Identity {
    fn new(config: CidConfig, server_id: ServerId) -> Self {
        let mut start = [0; MAX_NONCE];
        random::fill(&mut start);
        let nonces = if config.key().is_some() {
            Nonces::counted(config.nonce_len(), start)
        } else {
            let mut key = [0; 16];
            random::fill(&mut key);
            Nonces::shuffled(config.nonce_len(), start, &key)
        };
        Self {
            config,
            server_id,
            nonces,
        }
    }

    /// The only one.
    fn alone(self) -> [Option<Self>; UNROUTABLE as usize] {
        let mut known = [const { None }; UNROUTABLE as usize];
        let codepoint = usize::from(self.config.codepoint());
        known[codepoint] = Some(self);
        known
    }
}

fn random_octet() -> u8 {
    let mut octet = [0];
    random::fill(&mut octet);
    octet[0]
}

/// Octets of a connection ID of QUIC version 1 (RFC 9000 §17.2).
const MAX_LEN: usize = 20;

/// Servers whose clients one other can end; the oldest are forgotten.
const MAX_ADOPTED: usize = 256;

#[cfg(test)]
mod tests;
