//! s2n-quic 1.x, with rustls for TLS. Where no two packets fit into one datagram it is told to
//! send one at a time: 1.91 corrupts its memory and crashes when packets are over 32 KiB and it
//! may send several.

use super::{Attempt, Connection, Receiver, Sender, Stack};
use crate::Result;
use crate::settings::{
    Congestion, IDLE_TIMEOUT, LARGEST_PAYLOAD, NAME, Settings, client_tls, server_tls,
};
use bytes::Bytes;
use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::Bbr;
use s2n_quic::provider::io::tokio::Provider as Io;
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::tls::rustls as tls;
use std::net::SocketAddr;

/// The marker of this library.
pub(crate) struct S2nQuic;

impl Stack for S2nQuic {
    type Server = s2n_quic::Server;
    type Client = s2n_quic::Client;
    type Connection = s2n_quic::Connection;

    fn server(settings: &Settings, certificate: &[u8], key: &[u8]) -> Result<(Self::Server, u16)> {
        let config = server_tls(certificate, key)?;
        let builder = s2n_quic::Server::builder()
            .with_tls(tls::Server::from(config))?
            .with_limits(limits(settings)?)?
            .with_io(io(settings)?)?;
        let server = match settings.congestion {
            Congestion::Cubic => builder.start()?,
            _ => builder
                .with_congestion_controller(Bbr::default())?
                .start()?,
        };
        let port = server.local_addr()?.port();
        Ok((server, port))
    }

    fn client(settings: &Settings, certificate: &[u8]) -> Result<Self::Client> {
        let config = client_tls(certificate)?;
        let builder = s2n_quic::Client::builder()
            .with_tls(tls::Client::from(config))?
            .with_limits(limits(settings)?)?
            .with_io(io(settings)?)?;
        Ok(match settings.congestion {
            Congestion::Cubic => builder.start()?,
            _ => builder
                .with_congestion_controller(Bbr::default())?
                .start()?,
        })
    }

    async fn accept(server: &mut Self::Server) -> Option<Attempt<Self::Connection>> {
        let connection = server.accept().await?;
        Some(Box::pin(async move { Ok(connection) }))
    }

    async fn connect(client: &Self::Client, server: SocketAddr) -> Result<Self::Connection> {
        let connect = Connect::new(server).with_server_name(NAME);
        Ok(client.connect(connect).await?)
    }
}

/// Its MTU counts the headers of IPv4 and UDP.
fn io(settings: &Settings) -> Result<Io> {
    let mtu = settings.mtu + 28;
    let io = Io::builder()
        .with_rx_socket(settings.socket()?)?
        .with_max_mtu(mtu)?
        .with_initial_mtu(mtu)?
        .with_base_mtu(mtu)?
        .with_gso(2 * usize::from(settings.mtu) <= LARGEST_PAYLOAD)?;
    Ok(io.build()?)
}

fn limits(settings: &Settings) -> Result<Limits> {
    let window = u64::from(settings.window);
    let limits = Limits::new()
        .with_data_window(window)?
        .with_bidirectional_local_data_window(window)?
        .with_bidirectional_remote_data_window(window)?
        .with_max_send_buffer_size(settings.window)?
        .with_max_idle_timeout(IDLE_TIMEOUT)?;
    Ok(limits)
}

impl Connection for s2n_quic::Connection {
    type Sender = s2n_quic::stream::SendStream;
    type Receiver = s2n_quic::stream::ReceiveStream;

    async fn open(&mut self) -> Result<(Self::Sender, Self::Receiver)> {
        let stream = self.open_bidirectional_stream().await?;
        let (recv, send) = stream.split();
        Ok((send, recv))
    }

    async fn accept(&mut self) -> Result<(Self::Sender, Self::Receiver)> {
        let stream = self.accept_bidirectional_stream().await?;
        let (recv, send) = stream.ok_or("the connection is closed")?.split();
        Ok((send, recv))
    }

    fn close(&self) {
        s2n_quic::connection::Handle::close(&self.handle(), 0_u32.into());
    }
}

impl Sender for s2n_quic::stream::SendStream {
    async fn write(&mut self, data: Bytes) -> Result<()> {
        Ok(self.send(data).await?)
    }

    fn finish(&mut self) -> Result<()> {
        Ok(Self::finish(self)?)
    }
}

impl Receiver for s2n_quic::stream::ReceiveStream {
    async fn read(&mut self) -> Result<Option<Bytes>> {
        Ok(self.receive().await?)
    }
}
