//! What a server listens with: certificate, protocols, and what the transport is configured with.

use crate::setup::ServerSetup;
use bench_kit::failure::Failure;
use bench_kit::perf;
use bench_kit::plan::{MAX_STREAMS, MAX_WINDOW};
use bench_kit::qlog::Qlog;
use bench_kit::transport_settings::{
    DATAGRAM_BUFFER, DATAGRAMS_RECEIVED, LARGEST_PAYLOAD, discovery_up_to,
};
use bench_kit::wire::ALPN;
use paceline::tls;
use paceline::{EndpointConfig, IdleTimeout, ServerConfig, TransportConfig, VarInt};
use std::sync::Arc;
use std::time::Duration;

/// What a server listens with.
pub(crate) struct Listening {
    pub(crate) config: ServerConfig,
    /// Of the certificate, where the server has made it.
    pub(crate) fingerprint: Option<[u8; 32]>,
    pub(crate) logged: Option<Logged>,
}

/// What connections are configured with when each writes a qlog.
#[derive(Debug)]
pub(crate) struct Logged {
    qlog: Qlog,
    config: ServerConfig,
    transport: TransportConfig,
}

impl Logged {
    /// Of connection `number`, if there is a file for it.
    pub(crate) fn config(&self, number: u64) -> Option<Arc<ServerConfig>> {
        let stream = self.qlog.connection("server", number, "")?;
        let (mut config, mut transport) = (self.config.clone(), self.transport.clone());
        transport.qlog_stream(Some(stream));
        config.transport_config(Arc::new(transport));
        Some(Arc::new(config))
    }
}

impl Listening {
    /// Takes the certificate and the qlog out of `setup`.
    ///
    /// # Errors
    /// When the certificate does not fit its key.
    pub(crate) fn of(setup: &mut ServerSetup) -> Result<Self, Failure> {
        let (tls, fingerprint) = match setup.identity.take() {
            Some(identity) => (identity, None),
            None => {
                let own = tls::SelfSigned::generate(["localhost"])
                    .map_err(|error| Failure::run(error.to_string()))?;
                (own.server(), Some(own.fingerprint.into()))
            }
        };
        let mut config: ServerConfig = tls
            .alpn(protocols(setup))
            .key_log()
            .config()
            .map_err(|error| Failure::usage(format!("--cert, --key: {error}")))?;
        let mut transport = transport(setup.idle_timeout, setup.seed);
        transport.kernel_pacing(setup.kernel_pacing);
        if let Some(resume) = &setup.resume {
            transport.congestion(resume.congestion.clone());
        }
        let resume = setup.resume.as_ref();
        config
            .transport_config(Arc::new(transport.clone()))
            .path_store(resume.map(|resume| Arc::clone(&resume.store)));
        let logged = setup.qlog.take().map(|qlog| Logged {
            qlog,
            config: config.clone(),
            transport,
        });
        Ok(Self {
            config,
            fingerprint,
            logged,
        })
    }
}

/// A client of `perf` cannot show that it knows a token.
fn protocols(setup: &ServerSetup) -> &'static [&'static [u8]] {
    match (&setup.perf_congestion, &setup.token) {
        (Some(_), None) => &[ALPN, perf::ALPN],
        _ => &[ALPN],
    }
}

pub(crate) fn endpoint_config() -> EndpointConfig {
    let mut config = EndpointConfig::default();
    config
        .max_udp_payload_size(LARGEST_PAYLOAD)
        .expect("above the least that QUIC allows");
    config
}

/// One control stream and the most streams of payload; a small flow-control window until the plan
/// says how large it shall be.
fn transport(idle_timeout: Duration, seed: Option<u64>) -> TransportConfig {
    let largest = VarInt::try_from(MAX_WINDOW).unwrap_or(VarInt::MAX);
    let mut config = TransportConfig::default();
    config
        .max_idle_timeout(IdleTimeout::try_from(idle_timeout).ok())
        .handshake_timeout(Some(idle_timeout))
        .stream_receive_window(largest)
        .receive_window(VarInt::from_u32(WINDOW_BEFORE_PLAN))
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .max_concurrent_uni_streams(VarInt::from_u32(MAX_STREAMS))
        .datagram_receive_buffer_size(Some(DATAGRAMS_RECEIVED))
        .datagram_send_buffer_size(DATAGRAM_BUFFER)
        // The client says how large the server's packets may be, by the largest that it takes.
        .mtu_discovery_config(Some(discovery_up_to(LARGEST_PAYLOAD)));
    if let Some(seed) = seed {
        config.congestion_seed(seed);
    }
    config
}

/// Room for a plan.
const WINDOW_BEFORE_PLAN: u32 = 64 << 10;
