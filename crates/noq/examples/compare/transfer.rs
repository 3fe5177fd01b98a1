//! noq's own endpoints, a client that sends and a server that reads, with a link between them.

use link_sim::LinkSpec;
use link_sim::relay::{Relay, RelayConfig};
use noq::congestion::{Controller, ControllerFactory};
use noq::{ClientConfig, Connection, Endpoint, PathId, ServerConfig, TransportConfig};
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// The controller of the sender.
pub(crate) type Choice = Arc<dyn ControllerFactory + Send + Sync>;

/// A connection over a link, and what its server has read.
pub(crate) struct Connected {
    pub(crate) connection: Connection,
    pub(crate) received: Arc<AtomicU64>,
    relay: link_sim::relay::RelayHandle,
    _endpoints: [Endpoint; 2],
}

impl Connected {
    /// `link` is from the client to the server, `back` the return link.
    pub(crate) async fn over(
        link: LinkSpec,
        back: LinkSpec,
        seed: u64,
        controller: Choice,
    ) -> Result<Self, Failure> {
        let identity = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
        let certificate = identity.cert.der().clone();
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der());
        let config = ServerConfig::with_single_cert(vec![certificate.clone()], key.into())?;
        let server = Endpoint::server(config, any_port())?;
        let received = Arc::new(AtomicU64::new(0));
        tokio::spawn(read_all(server.clone(), Arc::clone(&received)));

        let relay = Relay::spawn(RelayConfig {
            link,
            return_link: back,
            seed,
            ..RelayConfig::new(any_port(), server.local_addr()?)
        })?;
        let client = Endpoint::client(any_port())?;
        let mut roots = rustls::RootCertStore::empty();
        roots.add(certificate)?;
        let mut transport = TransportConfig::default();
        transport.congestion_controller_factory(controller);
        let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
        config.transport_config(Arc::new(transport));
        let connection = client
            .connect_with(config, relay.local_addr(), "localhost")?
            .await?;
        Ok(Self {
            connection,
            received,
            relay,
            _endpoints: [server, client],
        })
    }

    /// A handle to the controller in use.
    pub(crate) fn controller(&self) -> Option<Box<dyn Controller>> {
        self.connection.congestion_state(PathId::ZERO)
    }

    pub(crate) fn shutdown(self) -> Result<(), Failure> {
        self.connection.close(0_u8.into(), b"done");
        self.relay.shutdown()?;
        Ok(())
    }
}

/// Reads one stream of one connection to its end, and checks each byte.
async fn read_all(server: Endpoint, received: Arc<AtomicU64>) -> Result<(), Failure> {
    let incoming = server.accept().await.ok_or("the endpoint is closed")?;
    let connection = incoming.await?;
    let mut stream = connection.accept_uni().await?;
    while let Some(chunk) = stream.read_chunk(usize::MAX).await? {
        let offset = received.load(Relaxed);
        let is_right = |(at, byte): (u64, &u8)| *byte == byte_at(at);
        if !(offset..).zip(chunk.iter()).all(is_right) {
            return Err("the data arrived changed".into());
        }
        received.fetch_add(chunk.len() as u64, Relaxed);
    }
    // Until the client closes it.
    connection.closed().await;
    Ok(())
}

/// The data that is sent: the byte at this offset.
pub(crate) fn byte_at(offset: u64) -> u8 {
    (offset % 251) as u8
}

fn any_port() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}
