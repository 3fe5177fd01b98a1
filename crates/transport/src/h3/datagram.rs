//! Datagrams that belong to a request (RFC 9297), by the crate [`h3_datagram`]. Feature
//! `h3-datagram`.

use super::connection::{Connection, Waiting};
use super::error::connection_error;
use crate::connection;
use crate::error::SendDatagramError;
use ::h3::quic::ConnectionErrorIncoming;
use bytes::{Buf, Bytes};
use h3_datagram::datagram::EncodedDatagram;
use h3_datagram::quic_traits::{
    DatagramConnectionExt, RecvDatagram, SendDatagram, SendDatagramErrorIncoming,
};
use std::task::{Context, Poll};

impl<B: Buf> DatagramConnectionExt<B> for Connection {
    type SendDatagramHandler = SendDatagramHandler;
    type RecvDatagramHandler = RecvDatagramHandler;

    fn send_datagram_handler(&self) -> SendDatagramHandler {
        SendDatagramHandler {
            connection: self.opener.connection.clone(),
        }
    }

    fn recv_datagram_handler(&self) -> RecvDatagramHandler {
        RecvDatagramHandler {
            connection: self.opener.connection.clone(),
            waiting: Waiting::default(),
        }
    }
}

/// Sends datagrams over a [`Connection`]. When the send buffer is full, the oldest in it are
/// dropped.
#[derive(Debug, Clone)]
pub struct SendDatagramHandler {
    connection: connection::Connection,
}

impl<B: Buf> SendDatagram<B> for SendDatagramHandler {
    fn send_datagram<T: Into<EncodedDatagram<B>>>(
        &mut self,
        data: T,
    ) -> Result<(), SendDatagramErrorIncoming> {
        let mut data = data.into();
        let data = data.copy_to_bytes(data.remaining());
        self.connection
            .send_datagram(data)
            .map_err(|error| match error {
                SendDatagramError::UnsupportedByPeer | SendDatagramError::Disabled => {
                    SendDatagramErrorIncoming::NotAvailable
                }
                SendDatagramError::TooLarge => SendDatagramErrorIncoming::TooLarge,
                SendDatagramError::ConnectionLost(error) => {
                    SendDatagramErrorIncoming::ConnectionError(connection_error(error))
                }
            })
    }
}

/// Receives the datagrams of a [`Connection`]. Each goes to one of its handlers.
#[derive(Debug)]
pub struct RecvDatagramHandler {
    connection: connection::Connection,
    waiting: Waiting<Bytes>,
}

impl RecvDatagram for RecvDatagramHandler {
    type Buffer = Bytes;

    fn poll_incoming_datagram(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Bytes, ConnectionErrorIncoming>> {
        let connection = &self.connection;
        let received = self.waiting.poll(cx, || {
            let connection = connection.clone();
            async move { connection.read_datagram().await }
        });
        received.map_err(connection_error)
    }
}
