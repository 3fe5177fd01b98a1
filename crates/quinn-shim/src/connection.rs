//! Connections with quinn's named futures and its view of the controller.

use crate::congestion::{Controller, State};
use crate::delegate::delegated;
use crate::named_future::named_futures;
use bytes::Bytes;
use paceline::crypto::ExportKeyingMaterialError;
use paceline::{
    ConnectionError, ConnectionStats, RecvStream, SendDatagramError, SendStream, Side, VarInt,
    ZeroRttAccepted,
};
use std::any::Any;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A [`paceline::Connection`] that is quinn's as well.
#[derive(Debug, Clone)]
pub struct Connection(paceline::Connection);

impl Connection {
    /// As [`paceline::Connection::open_uni`].
    pub fn open_uni(&self) -> OpenUni<'_> {
        OpenUni(Box::pin(self.0.open_uni()))
    }

    /// As [`paceline::Connection::open_bi`].
    pub fn open_bi(&self) -> OpenBi<'_> {
        OpenBi(Box::pin(self.0.open_bi()))
    }

    /// As [`paceline::Connection::accept_uni`].
    pub fn accept_uni(&self) -> AcceptUni<'_> {
        AcceptUni(Box::pin(self.0.accept_uni()))
    }

    /// As [`paceline::Connection::accept_bi`].
    pub fn accept_bi(&self) -> AcceptBi<'_> {
        AcceptBi(Box::pin(self.0.accept_bi()))
    }

    /// As [`paceline::Connection::read_datagram`].
    pub fn read_datagram(&self) -> ReadDatagram<'_> {
        ReadDatagram(Box::pin(self.0.read_datagram()))
    }

    /// As [`paceline::Connection::send_datagram_wait`].
    pub fn send_datagram_wait(&self, data: Bytes) -> SendDatagram<'_> {
        SendDatagram(Box::pin(self.0.send_datagram_wait(data)))
    }

    /// As [`paceline::Connection::closed`].
    pub async fn closed(&self) -> ConnectionError {
        self.0.closed().await
    }

    /// The controller's window, slow-start threshold and pacing rate at this moment, in quinn's
    /// form: a [`State`], whatever the controller is.
    /// [`paceline::Connection::congestion`] has more.
    pub fn congestion_state(&self) -> Box<dyn Controller> {
        Box::new(State::of(&self.0))
    }
}

delegated! { Connection:
    close(code: VarInt, reason: &[u8]);
    close_reason() -> Option<ConnectionError>;
    datagram_send_buffer_space() -> usize;
    export_keying_material(
        output: &mut [u8],
        label: &[u8],
        context: &[u8]
    ) -> Result<(), ExportKeyingMaterialError>;
    force_key_update();
    handshake_data() -> Option<Box<dyn Any>>;
    local_ip() -> Option<IpAddr>;
    max_datagram_size() -> Option<usize>;
    min_rtt() -> Duration;
    peer_identity() -> Option<Box<dyn Any>>;
    remote_address() -> SocketAddr;
    rtt() -> Duration;
    send_datagram(data: Bytes) -> Result<(), SendDatagramError>;
    set_max_concurrent_bi_streams(count: VarInt);
    set_max_concurrent_uni_streams(count: VarInt);
    set_receive_window(bytes: VarInt);
    set_send_window(bytes: u64);
    side() -> Side;
    stable_id() -> usize;
    stats() -> ConnectionStats;
}

impl Deref for Connection {
    type Target = paceline::Connection;

    fn deref(&self) -> &paceline::Connection {
        &self.0
    }
}

/// A [`paceline::Connecting`] whose connection is a [`Connection`] of this crate.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Connecting(pub(crate) paceline::Connecting);

impl Connecting {
    /// As [`paceline::Connecting::into_0rtt`].
    ///
    /// # Errors
    /// On clients that know no session of this server; here is the attempt back.
    ///
    /// # Panics
    /// After the future has resolved.
    pub fn into_0rtt(self) -> Result<(Connection, ZeroRttAccepted), Self> {
        match self.0.into_0rtt() {
            Ok((connection, accepted)) => Ok((Connection(connection), accepted)),
            Err(connecting) => Err(Self(connecting)),
        }
    }

    /// As [`paceline::Connecting::handshake_data`].
    ///
    /// # Errors
    /// When the connection was lost before.
    ///
    /// # Panics
    /// After the future has resolved.
    pub async fn handshake_data(&mut self) -> Result<Box<dyn Any>, ConnectionError> {
        self.0.handshake_data().await
    }
}

delegated! { Connecting:
    local_ip() -> Option<IpAddr>;
    remote_address() -> SocketAddr;
}

impl Future for Connecting {
    type Output = Result<Connection, ConnectionError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map_ok(Connection)
    }
}

named_futures! {
    /// The future of [`Connection::open_uni`].
    OpenUni -> Result<SendStream, ConnectionError>;
    /// The future of [`Connection::open_bi`].
    OpenBi -> Result<(SendStream, RecvStream), ConnectionError>;
    /// The future of [`Connection::accept_uni`].
    AcceptUni -> Result<RecvStream, ConnectionError>;
    /// The future of [`Connection::accept_bi`].
    AcceptBi -> Result<(SendStream, RecvStream), ConnectionError>;
    /// The future of [`Connection::read_datagram`].
    ReadDatagram -> Result<Bytes, ConnectionError>;
    /// The future of [`Connection::send_datagram_wait`].
    SendDatagram -> Result<(), SendDatagramError>;
}
