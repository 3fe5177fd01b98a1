//! What drives a simulated connection: our driver, or quinn-proto alone to compare with.

use crate::cc_adapter::SumsFactory;
use crate::clock;
use crate::datagrams::{DatagramId, DatagramOptions};
use crate::driver::{ConnectionDriver, Datagram, DriverConfig, Reason, Refusal};
use crate::error::SendDatagramError;
use crate::kernel_pacing::KernelPacing;
use bytes::Bytes;
use cc_core::ControllerChoice;
use quinn_proto::congestion::ControllerFactory;
use quinn_proto::{
    Chunk, Connection, ConnectionEvent, EndpointEvent, Event, ReadError, StreamId, Transmit,
    WriteError, Written,
};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;
use units::Timestamp;

/// quinn-proto with a controller in its own vocabulary and with its own pacer: what a connection
/// would do without this crate.
#[derive(Clone)]
pub struct PlainQuinn(pub Arc<dyn ControllerFactory + Send + Sync>);

impl PlainQuinn {
    /// One of cc-core's controllers in quinn-proto's hands: without a driver its window is obeyed,
    /// and its pacing rate as far as a window can.
    pub fn with(choice: ControllerChoice, seed: u64) -> Self {
        Self(SumsFactory::new(choice, Some(seed)))
    }
}

impl fmt::Debug for PlainQuinn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PlainQuinn")
    }
}

#[expect(
    clippy::large_enum_variant,
    reason = "a host keeps its one engine in a box"
)]
pub(super) enum Engine {
    Driven(ConnectionDriver),
    Plain(Connection),
}

impl Engine {
    pub(super) fn new(
        conn: Connection,
        config: DriverConfig,
        now: Instant,
        is_plain: bool,
    ) -> Self {
        if is_plain {
            Self::Plain(conn)
        } else {
            let mut driver = ConnectionDriver::new(conn, config, now);
            if driver.kernel_pacing_mode() != KernelPacing::Off {
                driver.set_kernel_pacing(Ok(()));
            }
            Self::Driven(driver)
        }
    }

    pub(super) fn driver(&self) -> &ConnectionDriver {
        match self {
            Self::Driven(driver) => driver,
            Self::Plain(_) => panic!("{NO_DRIVER}"),
        }
    }

    pub(super) fn driver_mut(&mut self) -> &mut ConnectionDriver {
        match self {
            Self::Driven(driver) => driver,
            Self::Plain(_) => panic!("{NO_DRIVER}"),
        }
    }

    pub(super) fn conn(&mut self) -> &mut Connection {
        match self {
            Self::Driven(driver) => driver.conn(),
            Self::Plain(conn) => conn,
        }
    }

    pub(super) fn send_datagram(
        &mut self,
        now: Instant,
        data: Bytes,
        options: DatagramOptions,
    ) -> Result<DatagramId, SendDatagramError> {
        let sent = self.driver_mut().send_datagram(now, data, options, true);
        sent.map_err(|refusal| match refusal {
            Refusal::Blocked(_) => unreachable!("old datagrams make room"),
            Refusal::Error(error) => error,
        })
    }

    pub(super) fn handle_datagram(
        &mut self,
        now: Instant,
        datagram: Datagram,
        event: ConnectionEvent,
    ) {
        match self {
            Self::Driven(driver) => {
                driver.handle_datagram(now, datagram, event);
                call_observer(driver);
            }
            Self::Plain(conn) => conn.handle_event(event),
        }
    }

    pub(super) fn handle_event(&mut self, now: Instant, event: ConnectionEvent) {
        match self {
            Self::Driven(driver) => {
                driver.handle_event(now, event);
                call_observer(driver);
            }
            Self::Plain(conn) => conn.handle_event(event),
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Driven(driver) => {
                driver.handle_timeout(now);
                call_observer(driver);
            }
            Self::Plain(conn) => conn.handle_timeout(now),
        }
    }

    /// Has `read` take chunks of a stream, in order, by their greatest length. A stream that has
    /// been read to its end has none.
    pub(super) fn read(
        &mut self,
        id: StreamId,
        read: impl FnOnce(&mut dyn FnMut(usize) -> Option<Chunk>),
    ) {
        match self {
            Self::Driven(driver) => {
                let mut is_over = false;
                let result = driver.read(id, true, |reader| {
                    read(&mut |most| {
                        let chunk = reader.next(most);
                        is_over = matches!(chunk, Ok(None) | Err(ReadError::Reset(_)));
                        chunk.ok()?
                    });
                });
                if is_over || result.is_err() {
                    driver.end_reading(id);
                }
            }
            Self::Plain(conn) => {
                if let Ok(mut chunks) = conn.recv_stream(id).read(true) {
                    read(&mut |most| chunks.next(most).ok()?);
                    let _ = chunks.finalize();
                }
            }
        }
    }

    pub(super) fn tune_receive_window(&mut self, now: Instant, is_awaited: bool) {
        if let Self::Driven(driver) = self {
            driver.tune_receive_window(now, is_awaited);
        }
    }

    pub(super) fn poll_transmit(
        &mut self,
        now: Instant,
        max_segments: usize,
        buf: &mut Vec<u8>,
    ) -> Option<Transmit> {
        match self {
            Self::Driven(driver) => driver.poll_transmit(now, max_segments, buf),
            Self::Plain(conn) => conn.poll_transmit(now, max_segments, buf),
        }
    }

    /// When the kernel is to send what was polled last, if not at once.
    pub(super) fn batch_departure(&self) -> Option<Instant> {
        match self {
            Self::Driven(driver) => driver.batch_departure(),
            Self::Plain(_) => None,
        }
    }

    pub(super) fn poll_timeout(&mut self) -> Option<(Timestamp, Reason)> {
        let (at, reason) = match self {
            Self::Driven(driver) => {
                if let Some(reason) = driver.panic() {
                    panic!("{reason}");
                }
                driver.poll_timeout()?
            }
            Self::Plain(conn) => (conn.poll_timeout()?, Reason::Protocol),
        };
        Some((clock::timestamp(at), reason))
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        match self {
            Self::Driven(driver) => driver.poll_event(),
            Self::Plain(conn) => conn.poll(),
        }
    }

    pub(super) fn poll_endpoint_event(&mut self) -> Option<EndpointEvent> {
        match self {
            Self::Driven(driver) => driver.poll_endpoint_event(),
            Self::Plain(conn) => conn.poll_endpoint_events(),
        }
    }

    pub(super) fn write(
        &mut self,
        id: StreamId,
        chunks: &mut [Bytes],
    ) -> Result<Written, WriteError> {
        match self {
            Self::Driven(driver) => driver.write(id, |stream| stream.write_chunks(chunks)),
            Self::Plain(conn) => conn.send_stream(id).write_chunks(chunks),
        }
    }
}

fn call_observer(driver: &mut ConnectionDriver) {
    if let Some(mut delivery) = driver.take_events() {
        delivery.call();
        driver.give_back_observers(delivery);
    }
}

const NO_DRIVER: &str = "plain quinn-proto has no driver to ask";
