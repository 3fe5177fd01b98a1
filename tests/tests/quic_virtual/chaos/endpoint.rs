//! Endpoints whose connection IDs and reset tokens come from their address: where a packet was
//! mangled, a plaintext peer may read those bytes as frames, and the world would be another each
//! time.

use aws_lc_rs::hmac;
use paceline::{
    ConnectionId, ConnectionIdGenerator, DatagramSocket, Endpoint, EndpointConfig, ServerConfig,
};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;
use units::Rng;

pub(super) fn bind(config: Option<ServerConfig>, socket: Arc<dyn DatagramSocket>) -> Endpoint {
    let mut hasher = DefaultHasher::new();
    socket.local_addr().unwrap().hash(&mut hasher);
    let seed = hasher.finish();
    let reset_key = hmac::Key::new(hmac::HMAC_SHA256, &seed.to_be_bytes());
    let mut endpoint = EndpointConfig::new(Arc::new(reset_key));
    endpoint.cid_generator(move || Box::new(Ids(Rng::derive(seed, 0))));
    Endpoint::with_socket(endpoint, config, socket).unwrap()
}

struct Ids(Rng);

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&self.0.next_u64().to_be_bytes())
    }

    fn cid_len(&self) -> usize {
        8
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}
