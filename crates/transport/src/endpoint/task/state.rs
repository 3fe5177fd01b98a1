//! What the task consists of.

use super::arrivals::ArrivalClock;
use crate::clock;
use crate::connection::{Shared, Wakeups};
use crate::endpoint::deadlines::Deadlines;
use crate::endpoint::inner::Inner;
use crate::endpoint::newcomers::Newcomers;
use crate::endpoint::receive::ReceiveBuffers;
use crate::socket::{BatchOptions, Socket};
use crate::timer::Timer;
use quinn_proto::{ConnectionEvent, EndpointEvent, Transmit};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

pub(in crate::endpoint) struct Task {
    pub(super) inner: Arc<Inner>,
    pub(super) socket: Arc<Socket>,
    /// The socket before it, until something has arrived at the present one.
    pub(super) former_socket: Option<Arc<Socket>>,
    /// How often the socket had been replaced when the task last took it over.
    pub(super) rebinds: u64,
    pub(super) timer: Timer,
    pub(super) deadlines: Deadlines,
    pub(super) buffers: ReceiveBuffers,
    pub(super) arrivals: ArrivalClock,
    /// Connections to drive, each at most once, in order of arrival.
    pub(super) ready: VecDeque<Arc<Shared>>,
    pub(super) refused: Option<Refused>,
    /// The other connections that may have packets to send once the socket takes some.
    pub(super) waiting: Vec<Arc<Shared>>,
    pub(super) is_busy: bool,
    /// Whether this turn has left datagrams in the socket.
    pub(super) has_unread: bool,
    pub(super) receive_errors: u32,
    /// Clients' first packets that have not been looked at.
    pub(super) newcomers: Newcomers,
    pub(super) scratch: Scratch,
}

/// Packets that the socket did not take, and whose they are.
pub(super) struct Refused {
    pub(super) transmit: Transmit,
    pub(super) options: BatchOptions,
    pub(super) packets: Vec<u8>,
    pub(super) connection: Arc<Shared>,
}

/// Memory that outlives its use.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) packets: Vec<u8>,
    pub(super) answer: Vec<u8>,
    pub(super) wakeups: Wakeups,
    pub(super) events: Vec<EndpointEvent>,
    pub(super) replies: Vec<ConnectionEvent>,
    pub(super) observed: Vec<Arc<Shared>>,
}

impl Task {
    pub(in crate::endpoint) fn new(inner: Arc<Inner>) -> io::Result<Self> {
        Ok(Self {
            timer: Timer::new(Arc::clone(&inner.lateness))?,
            socket: inner.socket(),
            former_socket: None,
            rebinds: 0,
            inner,
            deadlines: Deadlines::default(),
            buffers: ReceiveBuffers::new(),
            arrivals: ArrivalClock::new(clock::now()),
            ready: VecDeque::new(),
            refused: None,
            waiting: Vec::new(),
            is_busy: false,
            has_unread: false,
            receive_errors: 0,
            newcomers: Newcomers::default(),
            scratch: Scratch::default(),
        })
    }
}
