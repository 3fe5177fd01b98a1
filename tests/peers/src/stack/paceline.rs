//! This repository's transport, as it comes: `cubic` is its default, and it finds by itself what
//! quinn has to be told. It refuses first packets over 16,383 bytes, as those of a handshake cannot
//! have more, so that it begins with these and tries larger ones.

#[path = "named_alike.rs"]
mod named_alike;

use self::Paceline as Marker;
use crate::Result;
use crate::settings::{Congestion, Settings};
use ::paceline as library;

/// The marker of this library.
pub(crate) struct Paceline;

fn endpoint(
    config: library::EndpointConfig,
    server: Option<library::ServerConfig>,
    settings: &Settings,
) -> Result<library::Endpoint> {
    Ok(library::Endpoint::new(config, server, settings.socket()?)?)
}

fn adapt(config: &mut library::TransportConfig, settings: &Settings) {
    if settings.mtu > LARGEST_FIRST_PACKET {
        let mut discovery = library::MtuDiscoveryConfig::default();
        discovery.upper_bound(settings.mtu);
        config
            .initial_mtu(LARGEST_FIRST_PACKET)
            .mtu_discovery_config(Some(discovery));
    }
    let name = match settings.congestion {
        Congestion::Cubic => return,
        Congestion::Bbr3 => "bbr3",
        Congestion::Paceline => "paceline",
    };
    config.congestion(name).expect("it is one of ours");
}

const LARGEST_FIRST_PACKET: u16 = 16_383;
