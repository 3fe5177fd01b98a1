//! This repository's transport, as it comes: `cubic` is its default, and it finds by itself what
//! quinn has to be told.

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

fn congestion(config: &mut library::TransportConfig, settings: &Settings) {
    let name = match settings.congestion {
        Congestion::Cubic => return,
        Congestion::Bbr3 => "bbr3",
        Congestion::Paceline => "paceline",
    };
    config.congestion(name).expect("it is one of ours");
}
