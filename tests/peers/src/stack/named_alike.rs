//! The traits for quinn and for this repository's transport, whose names are the same. Whoever
//! includes this file says which `library` it is, and what is different about it.

use super::{Marker, adapt, endpoint, library};
use crate::Result;
use crate::settings::{IDLE_TIMEOUT, NAME, Settings, client_tls, server_tls};
use crate::stack::{Attempt, Connection, Receiver, Sender, Stack};
use bytes::Bytes;
use library::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use library::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, TransportConfig, VarInt};
use std::net::SocketAddr;
use std::sync::Arc;

impl Stack for Marker {
    type Server = Endpoint;
    type Client = Endpoint;
    type Connection = library::Connection;

    fn server(settings: &Settings, certificate: &[u8], key: &[u8]) -> Result<(Endpoint, u16)> {
        let tls = server_tls(certificate, key)?;
        let crypto = Arc::new(QuicServerConfig::try_from(tls)?);
        let mut config = ServerConfig::with_crypto(crypto);
        config.transport_config(Arc::new(transport_config(settings)?));
        let server = endpoint(endpoint_config(settings)?, Some(config), settings)?;
        let port = server.local_addr()?.port();
        Ok((server, port))
    }

    fn client(settings: &Settings, certificate: &[u8]) -> Result<Endpoint> {
        let tls = client_tls(certificate)?;
        let crypto = Arc::new(QuicClientConfig::try_from(tls)?);
        let mut config = ClientConfig::new(crypto);
        config.transport_config(Arc::new(transport_config(settings)?));
        let mut client = endpoint(endpoint_config(settings)?, None, settings)?;
        client.set_default_client_config(config);
        Ok(client)
    }

    async fn accept(server: &mut Endpoint) -> Option<Attempt<library::Connection>> {
        let incoming = server.accept().await?;
        Some(Box::pin(async move { Ok(incoming.await?) }))
    }

    async fn connect(client: &Endpoint, server: SocketAddr) -> Result<library::Connection> {
        Ok(client.connect(server, NAME)?.await?)
    }
}

fn endpoint_config(settings: &Settings) -> Result<EndpointConfig> {
    let mut config = EndpointConfig::default();
    config.max_udp_payload_size(settings.mtu)?;
    Ok(config)
}

fn transport_config(settings: &Settings) -> Result<TransportConfig> {
    let window = VarInt::from_u32(settings.window);
    let mut config = TransportConfig::default();
    config
        .initial_mtu(settings.mtu)
        .mtu_discovery_config(None)
        .max_idle_timeout(Some(IDLE_TIMEOUT.try_into()?))
        .stream_receive_window(window)
        .receive_window(window)
        .send_window(settings.window.into());
    adapt(&mut config, settings);
    Ok(config)
}

impl Connection for library::Connection {
    type Sender = library::SendStream;
    type Receiver = library::RecvStream;

    async fn open(&mut self) -> Result<(Self::Sender, Self::Receiver)> {
        Ok(self.open_bi().await?)
    }

    async fn accept(&mut self) -> Result<(Self::Sender, Self::Receiver)> {
        Ok(self.accept_bi().await?)
    }

    fn close(&self) {
        Self::close(self, VarInt::from_u32(0), b"");
    }
}

impl Sender for library::SendStream {
    async fn write(&mut self, data: Bytes) -> Result<()> {
        Ok(self.write_chunk(data).await?)
    }

    fn finish(&mut self) -> Result<()> {
        Ok(Self::finish(self)?)
    }
}

impl Receiver for library::RecvStream {
    async fn read(&mut self) -> Result<Option<Bytes>> {
        let chunk = self.read_chunk(usize::MAX, true).await?;
        Ok(chunk.map(|chunk| chunk.bytes))
    }
}
