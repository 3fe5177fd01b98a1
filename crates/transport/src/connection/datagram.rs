//! Unreliable application datagrams (RFC 9221).

use super::handle::Connection;
use crate::clock;
use crate::datagrams::{DatagramEvents, DatagramId, DatagramOptions};
use crate::driver::Refusal;
use crate::error::SendDatagramError;
use bytes::Bytes;
use quinn_proto::ConnectionError;

impl Connection {
    /// Sends `data` in one packet, which may be lost or overtaken. When the buffer is full, the
    /// oldest datagrams in it are dropped.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, server) = connected().await?;
    /// client.send_datagram("position 3, 4".into())?;
    /// assert_eq!(server.read_datagram().await?, "position 3, 4");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When datagrams are not in use, `data` is larger than
    /// [`max_datagram_size`](Self::max_datagram_size), or the connection is lost.
    pub fn send_datagram(&self, data: Bytes) -> Result<(), SendDatagramError> {
        self.send_datagram_with(data, DatagramOptions::default())?;
        Ok(())
    }

    /// As [`send_datagram`](Self::send_datagram), with a lifetime, a priority, a group, or news of
    /// what becomes of it. When the buffer is full, the oldest of lower priority are dropped first,
    /// then those of its own; where all are of higher priority, it is dropped itself.
    ///
    /// Returns its number, which the [events](Self::datagram_events) have.
    ///
    /// # Errors
    /// As there.
    pub fn send_datagram_with(
        &self,
        data: Bytes,
        options: DatagramOptions,
    ) -> Result<DatagramId, SendDatagramError> {
        let result = self.try_send_datagram(data, options, true);
        result.map_err(|refusal| match refusal {
            Refusal::Blocked(_) => unreachable!("old datagrams make room"),
            Refusal::Error(error) => error,
        })
    }

    /// What becomes of the datagrams that are sent from now on with
    /// [`notify`](DatagramOptions::notify). Any number of streams may be beside each other.
    ///
    /// ```
    /// use paceline::{DatagramOptions, DatagramOutcome};
    /// use std::time::Duration;
    ///
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, server) = connected().await?;
    /// let mut events = client.datagram_events();
    /// let options = DatagramOptions::default().ttl(Duration::from_secs(1)).notify(true);
    /// let id = client.send_datagram_with("position 3, 4".into(), options)?;
    ///
    /// let event = events.next().await.ok_or("the connection is over")?;
    /// assert_eq!((event.id, event.outcome), (id, DatagramOutcome::Sent));
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    pub fn datagram_events(&self) -> DatagramEvents {
        let (events, source) = DatagramEvents::new();
        let mut state = self.state();
        if state.error.is_none() {
            state.driver.add_datagram_listener(source);
        }
        events
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
            match self.try_send_datagram(data, DatagramOptions::default(), false) {
                Ok(_) => return Ok(()),
                Err(Refusal::Error(error)) => return Err(error),
                Err(Refusal::Blocked(back)) => data = back,
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

    /// Bytes that one datagram can have without older ones being dropped for it.
    pub fn datagram_send_buffer_space(&self) -> usize {
        self.state().driver.datagram_space()
    }

    fn try_send_datagram(
        &self,
        data: Bytes,
        options: DatagramOptions,
        drops_oldest: bool,
    ) -> Result<DatagramId, Refusal> {
        let mut state = self.state();
        if let Some(error) = &state.error {
            return Err(Refusal::Error(error.clone().into()));
        }
        let now = clock::now();
        let id = state
            .driver
            .send_datagram(now, data, options, drops_oldest)?;
        drop(state);
        self.0.schedule();
        Ok(id)
    }
}
