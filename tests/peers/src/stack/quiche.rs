//! quiche 0.30 on BoringSSL. It has neither sockets nor tasks, so [`endpoint`] is what an
//! application of it has to write: quinn's functions for sockets, which send and receive several
//! packets with one system call, and one task for each socket. Its packets have 16,383 bytes at
//! most.

mod endpoint;

use self::endpoint::{Endpoint, Shared};
use super::{Attempt, Connection, Receiver, Sender, Stack};
use crate::Result;
use crate::settings::{ALPN, IDLE_TIMEOUT, NAME, Settings};
use boring::pkey::PKey;
use boring::ssl::{SslContextBuilder, SslMethod};
use boring::x509::X509;
use bytes::Bytes;
use quiche::Config;
use std::net::SocketAddr;
use std::sync::Arc;

/// The marker of this library.
pub(crate) struct Quiche;

/// The largest packets that it sends.
pub(crate) const LARGEST_PACKET: u16 = 16_383;

impl Stack for Quiche {
    type Server = Arc<Endpoint>;
    type Client = Arc<Endpoint>;
    type Connection = Handle;

    fn server(settings: &Settings, certificate: &[u8], key: &[u8]) -> Result<(Arc<Endpoint>, u16)> {
        let mut tls = context()?;
        let certificate = X509::from_der(certificate)?;
        tls.set_certificate(&certificate)?;
        let key = PKey::private_key_from_der(key)?;
        tls.set_private_key(&key)?;
        let server = Endpoint::start(settings, config(settings, tls)?, true)?;
        let port = server.local.port();
        Ok((server, port))
    }

    fn client(settings: &Settings, certificate: &[u8]) -> Result<Arc<Endpoint>> {
        let mut tls = context()?;
        tls.cert_store_mut()
            .add_cert(X509::from_der(certificate)?)?;
        let mut config = config(settings, tls)?;
        config.verify_peer(true);
        Endpoint::start(settings, config, false)
    }

    async fn accept(server: &mut Arc<Endpoint>) -> Option<Attempt<Handle>> {
        let connection = server.accept().await;
        let server = Arc::clone(server);
        Some(Box::pin(
            async move { handshake(server, connection, 0).await },
        ))
    }

    async fn connect(client: &Arc<Endpoint>, server: SocketAddr) -> Result<Handle> {
        let connection = client.connect(NAME, server)?;
        handshake(Arc::clone(client), connection, 0).await
    }
}

/// AES-128-GCM is BoringSSL's first choice on CPUs that have it.
fn context() -> Result<SslContextBuilder> {
    let mut tls = SslContextBuilder::new(SslMethod::tls())?;
    tls.set_curves_list("X25519")?;
    Ok(tls)
}

fn config(settings: &Settings, tls: SslContextBuilder) -> Result<Config> {
    let window = u64::from(settings.window);
    let mut config = Config::with_boring_ssl_ctx_builder(quiche::PROTOCOL_VERSION, tls)?;
    config.set_application_protos(&[ALPN])?;
    config.set_max_idle_timeout(IDLE_TIMEOUT.as_millis() as u64);
    config.set_max_recv_udp_payload_size(settings.mtu.into());
    config.set_max_send_udp_payload_size(settings.mtu.into());
    config.set_initial_max_data(window);
    config.set_max_connection_window(window);
    config.set_max_stream_window(window);
    config.set_initial_max_stream_data_bidi_local(window);
    config.set_initial_max_stream_data_bidi_remote(window);
    config.set_initial_max_streams_bidi(100);
    config.set_cc_algorithm(quiche::CongestionControlAlgorithm::CUBIC);
    let packets = settings.initial_window() / u64::from(settings.mtu);
    config.set_initial_congestion_window_packets(packets as usize);
    // It would only say when a packet should leave, and the others' CUBIC does not pace.
    config.enable_pacing(false);
    Ok(config)
}

async fn handshake(endpoint: Arc<Endpoint>, shared: Arc<Shared>, next: u64) -> Result<Handle> {
    let link = Arc::new(Link { endpoint, shared });
    link.shared
        .until(|connection| connection.is_established().then_some(Ok(())))
        .await?;
    Ok(Handle { link, next })
}

/// A connection and its endpoint, until the last handle or stream is dropped.
struct Link {
    endpoint: Arc<Endpoint>,
    shared: Arc<Shared>,
}

impl Link {
    fn close(&self) {
        // It is refused when either side has closed.
        let _ = self.shared.connection().close(true, 0, b"");
        self.endpoint.touch(&self.shared);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.close();
    }
}

/// A connection.
pub(crate) struct Handle {
    link: Arc<Link>,
    /// The number of the next bidirectional stream, all of which clients open.
    next: u64,
}

impl Handle {
    fn stream(&mut self) -> (Half, Half) {
        let half = || Half {
            link: Arc::clone(&self.link),
            number: self.next,
        };
        let halves = (half(), half());
        self.next += 4;
        halves
    }
}

impl Connection for Handle {
    type Sender = Half;
    type Receiver = Half;

    async fn open(&mut self) -> Result<(Half, Half)> {
        Ok(self.stream())
    }

    async fn accept(&mut self) -> Result<(Half, Half)> {
        let next = self.next;
        let is_there = |connection: &mut quiche::Connection| {
            connection.stream_readable(next).then_some(Ok(()))
        };
        self.link.shared.until(is_there).await?;
        Ok(self.stream())
    }

    fn close(&self) {
        self.link.close();
    }
}

/// One direction of a stream.
pub(crate) struct Half {
    link: Arc<Link>,
    number: u64,
}

impl Sender for Half {
    async fn write(&mut self, mut data: Bytes) -> Result<()> {
        while !data.is_empty() {
            let written = |connection: &mut quiche::Connection| match connection.stream_send(
                self.number,
                &data,
                false,
            ) {
                Ok(0) | Err(quiche::Error::Done) => None,
                written => Some(written.map_err(Into::into)),
            };
            let written = self.link.shared.until(written).await?;
            let _ = data.split_to(written);
            self.link.endpoint.touch(&self.link.shared);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let mut connection = self.link.shared.connection();
        connection.stream_send(self.number, b"", true)?;
        drop(connection);
        self.link.endpoint.touch(&self.link.shared);
        Ok(())
    }
}

impl Receiver for Half {
    async fn read(&mut self) -> Result<Option<Bytes>> {
        let mut data = vec![0; READ];
        let read = |connection: &mut quiche::Connection| {
            if connection.stream_finished(self.number) {
                return Some(Ok(0));
            }
            match connection.stream_recv(self.number, &mut data) {
                Ok((0, false)) | Err(quiche::Error::Done) => None,
                Ok((length, _)) => Some(Ok(length)),
                // It is no error before the first byte of an answer.
                Err(quiche::Error::InvalidStreamState(_)) => None,
                Err(error) => Some(Err(error.into())),
            }
        };
        let length = self.link.shared.until(read).await?;
        // There may be room for more of it to be sent.
        self.link.endpoint.touch(&self.link.shared);
        data.truncate(length);
        Ok((length > 0).then(|| data.into()))
    }
}

/// Most bytes that a read returns.
const READ: usize = 64 << 10;
