//! Unreliable application datagrams (RFC 9221).

use super::handle::Connection;
use crate::error::SendDatagramError;
use bytes::Bytes;
use quinn_proto::ConnectionError;

impl Connection {
    /// Sends `data` in one packet, which may be lost or overtaken. When the buffer is full, the
    /// oldest datagrams in it are dropped.
    ///
    /// # Errors
    /// When datagrams are not in use, `data` is larger than
    /// [`max_datagram_size`](Self::max_datagram_size), or the connection is lost.
    pub fn send_datagram(&self, data: Bytes) -> Result<(), SendDatagramError> {
        let result = self.try_send_datagram(data, true);
        result.map_err(|failure| match failure {
            Failure::Blocked(_) => unreachable!("old datagrams make room"),
            Failure::Error(error) => error,
        })
    }

    /// As [`send_datagram`](Self::send_datagram), but waits for room instead of dropping.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Cancel safety
    /// If this does not resolve, nothing was sent.
    pub async fn send_datagram_wait(&self, mut data: Bytes) -> Result<(), SendDatagramError> {
        loop {
            // Taken before the attempt, which gives up the lock.
            let unblocked = self.0.signals.datagrams_unblocked.notified();
            match self.try_send_datagram(data, false) {
                Ok(()) => return Ok(()),
                Err(Failure::Error(error)) => return Err(error),
                Err(Failure::Blocked(back)) => data = back,
            }
            unblocked.await;
        }
    }

    /// The next datagram from the peer.
    ///
    /// # Errors
    /// When the connection is lost and no datagram that came before is left.
    ///
    /// # Cancel safety
    /// If this does not resolve, no datagram was taken.
    pub async fn read_datagram(&self) -> Result<Bytes, ConnectionError> {
        loop {
            let received = {
                let mut state = self.state();
                if let Some(data) = state.driver.conn().datagrams().recv() {
                    return Ok(data);
                }
                if let Some(error) = &state.error {
                    return Err(error.clone());
                }
                self.0.signals.datagram_received.notified()
            };
            received.await;
        }
    }

    /// Most bytes that a datagram may have at present, which depends on the MTU; `None` when
    /// datagrams are not in use.
    pub fn max_datagram_size(&self) -> Option<usize> {
        self.state().driver.conn().datagrams().max_size()
    }

    /// Bytes of datagrams that can be sent without dropping older ones.
    pub fn datagram_send_buffer_space(&self) -> usize {
        self.state().driver.conn().datagrams().send_buffer_space()
    }

    fn try_send_datagram(&self, data: Bytes, drop_oldest: bool) -> Result<(), Failure> {
        use quinn_proto::SendDatagramError as Proto;
        let mut state = self.state();
        if let Some(error) = &state.error {
            return Err(Failure::Error(error.clone().into()));
        }
        let result = state.driver.conn().datagrams().send(data, drop_oldest);
        drop(state);
        result.map_err(|error| match error {
            Proto::Blocked(data) => Failure::Blocked(data),
            Proto::UnsupportedByPeer => Failure::Error(SendDatagramError::UnsupportedByPeer),
            Proto::Disabled => Failure::Error(SendDatagramError::Disabled),
            Proto::TooLarge => Failure::Error(SendDatagramError::TooLarge),
        })?;
        self.0.schedule();
        Ok(())
    }
}

enum Failure {
    /// There is no room; here it is back.
    Blocked(Bytes),
    Error(SendDatagramError),
}
