//! quinn-proto's endpoint as simulations need it.

use super::certificate::FixedKey;
use quinn_proto::{Endpoint, EndpointConfig};
use std::sync::Arc;
use units::Rng;

/// An endpoint without randomness from the operating system in what it sends, which takes UDP
/// payloads of up to `largest` bytes, by default what quinn-proto takes.
pub(super) fn endpoint(
    server: Option<Arc<quinn_proto::ServerConfig>>,
    mut rng: Rng,
    largest: Option<u16>,
) -> Endpoint {
    let mut seed = [0; 32];
    for word in seed.chunks_exact_mut(8) {
        word.copy_from_slice(&rng.next_u64().to_le_bytes());
    }
    let mut config = EndpointConfig::new(Arc::new(FixedKey));
    config.rng_seed(Some(seed));
    if let Some(largest) = largest {
        let taken = config.max_udp_payload_size(largest);
        taken.expect("a plan's largest payload is one that QUIC has");
    }
    Endpoint::new(Arc::new(config), server, true, None)
}

/// A configuration that was made for one connection, to be changed.
pub(super) fn unshared<T>(config: &mut Arc<T>) -> &mut T {
    Arc::get_mut(config).expect("nobody else has it yet")
}
