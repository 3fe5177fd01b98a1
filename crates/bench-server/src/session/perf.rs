//! A client of the protocol `perf`, which may be of any stack.

use super::state::{Fault, Session, TOO_LONG};
use crate::quota::{self, Transferred};
use crate::turns::{RunKey, TurnAnswer};
use bench_kit::perf::{ALPN, BLOCK, STREAMS, UNLIMITED};
use bench_kit::transport_settings;
use bench_report::text::amount;
use bytes::Bytes;
use cc_core::ControllerChoice;
use paceline::crypto::rustls::HandshakeData;
use paceline::{Connection, ConnectionError, ReadError, RecvStream, SendStream, VarInt};
use paceline::{ReadExactError, WriteError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;
use units::Bandwidth;

pub(super) fn is_negotiated(connection: &Connection) -> bool {
    let data = connection.handshake_data().map(|data| data.downcast());
    let data: Option<Box<HandshakeData>> = data.and_then(Result::ok);
    data.is_some_and(|data| data.protocol.as_deref() == Some(ALPN))
}

impl Session {
    /// Answers until the client goes, or has had what the server allows.
    pub(super) async fn perf(&self, connection: &Connection) -> Result<(), Fault> {
        let key = RunKey::Single(self.number);
        // Its protocol has no word for waiting.
        let _turn = match self.shared.turns.ask(key, Duration::ZERO).answer().await {
            TurnAnswer::Turn(turn) => turn,
            TurnAnswer::Busy(busy) => return Err(Fault::Client(busy.to_string())),
            TurnAnswer::Wait(_) => return Err(Fault::Bug),
        };
        let congestion = self.shared.perf_congestion.as_ref();
        let congestion = congestion.expect("perf is offered with a controller alone");
        self.prepare(connection, congestion);
        self.log(format_args!("client uses ALPN perf, {congestion}"));
        let served = Arc::new(Served::default());
        let limits = self.limits(connection);
        let serving = serve(connection, &served, self.shared.perf_block());
        let ended = tokio::select! {
            biased;
            why = quota::exceeded(limits, || served.transferred()) => Err(Fault::Client(why)),
            served = timeout(limits.duration, serving) => match served {
                Ok(ConnectionError::ApplicationClosed(_)) => Ok(()),
                Ok(_) => Err(Fault::Lost),
                Err(_) => Err(Fault::Client(TOO_LONG.to_owned())),
            },
        };
        let transferred = served.transferred();
        self.shared
            .totals
            .add(transferred.received, transferred.sent);
        self.log(format_args!(
            "{} streams, {} received, {} sent",
            served.streams.load(Ordering::Relaxed),
            amount(transferred.received),
            amount(transferred.sent)
        ));
        ended
    }

    /// What a plan would have said.
    fn prepare(&self, connection: &Connection, congestion: &ControllerChoice) {
        let limits = self.limits(connection);
        let window = limits.window.get().min(WINDOW);
        let streams = VarInt::from_u32(STREAMS);
        connection.set_max_concurrent_bi_streams(streams);
        connection.set_max_concurrent_uni_streams(streams);
        connection.set_receive_window(VarInt::try_from(window).unwrap_or(VarInt::MAX));
        transport_settings::set_send_buffer(connection, window);
        connection.set_congestion(congestion);
        connection.set_max_rate((limits.rate < Bandwidth::MAX).then_some(limits.rate));
    }
}

#[derive(Debug, Default)]
struct Served {
    streams: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
}

impl Served {
    fn transferred(&self) -> Transferred {
        Transferred {
            sent: self.sent.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
        }
    }
}

/// Answers every stream until the connection ends.
async fn serve(connection: &Connection, served: &Arc<Served>, block: Bytes) -> ConnectionError {
    let answer = Answer {
        connection: connection.clone(),
        served: Arc::clone(served),
        block,
    };
    let mut streams = JoinSet::new();
    loop {
        // A request on a unidirectional stream is over when it has been read, and its answer may
        // wait for a stream that the client never permits.
        let has_room = streams.len() < MAX_ANSWERS;
        let accepted = tokio::select! {
            biased;
            Some(_) = streams.join_next() => continue,
            both = connection.accept_bi(), if has_room => both.map(|(send, receive)| {
                streams.spawn(answer.clone().on_same(send, receive));
            }),
            one = connection.accept_uni(), if has_room => one.map(|receive| {
                streams.spawn(answer.clone().on_another(receive));
            }),
        };
        match accepted {
            Ok(()) => served.streams.fetch_add(1, Ordering::Relaxed),
            Err(error) => return error,
        };
    }
}

#[derive(Clone)]
struct Answer {
    connection: Connection,
    served: Arc<Served>,
    block: Bytes,
}

impl Answer {
    /// An error means that the client wants no more, or has gone.
    async fn on_same(
        self,
        mut send: SendStream,
        mut receive: RecvStream,
    ) -> Result<(), StreamClosed> {
        let length = self.request(&mut receive).await?;
        self.send(&mut send, length.unwrap_or(0)).await
    }

    async fn on_another(self, mut receive: RecvStream) -> Result<(), StreamClosed> {
        match self.request(&mut receive).await? {
            None | Some(0) => Ok(()),
            Some(length) => {
                let opened = self.connection.open_uni().await;
                self.send(&mut opened.map_err(|_| StreamClosed)?, length)
                    .await
            }
        }
    }

    /// Reads all that the client sends; the length that it asks for, `None` when the stream is too
    /// short to say one.
    async fn request(&self, receive: &mut RecvStream) -> Result<Option<u64>, StreamClosed> {
        let mut length = [0; 8];
        match receive.read_exact(&mut length).await {
            Ok(()) => {}
            Err(ReadExactError::FinishedEarly(_)) => return Ok(None),
            Err(ReadExactError::ReadError(_)) => return Err(StreamClosed),
        }
        while let Some(chunk) = receive.read_chunk(usize::MAX, true).await? {
            let bytes = chunk.bytes.len() as u64;
            self.served.received.fetch_add(bytes, Ordering::Relaxed);
        }
        Ok(Some(u64::from_be_bytes(length)))
    }

    async fn send(&self, send: &mut SendStream, length: u64) -> Result<(), StreamClosed> {
        let mut left = length;
        while left > 0 {
            let bytes = left.min(BLOCK);
            let block = self.block.slice(..bytes as usize);
            send.write_chunk(block).await?;
            self.served.sent.fetch_add(bytes, Ordering::Relaxed);
            if length != UNLIMITED {
                left -= bytes;
            }
        }
        send.finish().map_err(|_| StreamClosed)
    }
}

struct StreamClosed;

impl From<ReadError> for StreamClosed {
    fn from(_: ReadError) -> Self {
        Self
    }
}

impl From<WriteError> for StreamClosed {
    fn from(_: WriteError) -> Self {
        Self
    }
}

/// Answers of a connection that may be under way: as many as streams that a client may have open.
const MAX_ANSWERS: usize = 2 * STREAMS as usize;

/// The largest window of a client that cannot ask for one: that of `bench-client`.
const WINDOW: u64 = 32 << 20;
