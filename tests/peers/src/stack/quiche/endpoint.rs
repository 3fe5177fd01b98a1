//! A socket, the connections on it, and the task that serves both.

use crate::Result;
use crate::machine::now;
use crate::settings::{LARGEST_PAYLOAD, Settings};
use quiche::{Config, Connection, ConnectionId, Header, RecvInfo, Type};
use quinn::udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::sync::Notify;
use tokio::time::{sleep_until, timeout_at};

pub(crate) struct Endpoint {
    pub(super) local: SocketAddr,
    socket: UdpSocket,
    io: UdpSocketState,
    is_server: bool,
    table: Mutex<Table>,
    /// The task has connections to look at.
    touched: Notify,
    attempted: Notify,
}

struct Table {
    config: Config,
    by_id: HashMap<Vec<u8>, Arc<Shared>>,
    by_number: HashMap<u64, Arc<Shared>>,
    next: u64,
    timers: BTreeSet<(Instant, u64)>,
    touched: VecDeque<Arc<Shared>>,
    attempts: VecDeque<Arc<Shared>>,
}

/// A connection, which streams and the task use in turn.
pub(crate) struct Shared {
    number: u64,
    ids: Vec<Vec<u8>>,
    state: Mutex<State>,
    /// The task has looked at it.
    changed: Notify,
}

struct State {
    connection: Connection,
    timer: Option<Instant>,
    is_touched: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn connection(&self) -> impl std::ops::DerefMut<Target = Connection> + '_ {
        Guard(self.state())
    }

    /// Waits until `attempt` has a result, or the connection is closed.
    pub(super) async fn until<T>(
        &self,
        mut attempt: impl FnMut(&mut Connection) -> Option<Result<T>>,
    ) -> Result<T> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let connection = &mut self.state().connection;
                if let Some(result) = attempt(connection) {
                    return result;
                }
                if connection.is_closed() || connection.is_draining() {
                    return Err("the connection is closed".into());
                }
            }
            changed.await;
        }
    }
}

struct Guard<'a>(MutexGuard<'a, State>);

impl std::ops::Deref for Guard<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.0.connection
    }
}

impl std::ops::DerefMut for Guard<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.0.connection
    }
}

impl Endpoint {
    pub(super) fn start(settings: &Settings, config: Config, is_server: bool) -> Result<Arc<Self>> {
        let socket = UdpSocket::from_std(settings.socket()?)?;
        let endpoint = Arc::new(Self {
            local: socket.local_addr()?,
            io: UdpSocketState::new((&socket).into())?,
            socket,
            is_server,
            table: Mutex::new(Table {
                config,
                by_id: HashMap::new(),
                by_number: HashMap::new(),
                next: 0,
                timers: BTreeSet::new(),
                touched: VecDeque::new(),
                attempts: VecDeque::new(),
            }),
            touched: Notify::new(),
            attempted: Notify::new(),
        });
        let task = Arc::clone(&endpoint);
        tokio::spawn(async move {
            if let Err(error) = task.run().await {
                eprintln!("the socket fails: {error}");
            }
        });
        Ok(endpoint)
    }

    pub(super) async fn accept(&self) -> Arc<Shared> {
        loop {
            let attempt = self.table().attempts.pop_front();
            if let Some(attempt) = attempt {
                return attempt;
            }
            self.attempted.notified().await;
        }
    }

    pub(super) fn connect(&self, name: &str, server: SocketAddr) -> Result<Arc<Shared>> {
        let id = random()?;
        let mut table = self.table();
        let scid = ConnectionId::from_ref(&id);
        let connection = quiche::connect(Some(name), &scid, self.local, server, &mut table.config)?;
        let shared = table.insert(connection, vec![id.to_vec()]);
        drop(table);
        self.touch(&shared);
        Ok(shared)
    }

    /// Has the task look at a connection.
    pub(super) fn touch(&self, shared: &Arc<Shared>) {
        if !std::mem::replace(&mut shared.state().is_touched, true) {
            self.table().touched.push_back(Arc::clone(shared));
            self.touched.notify_one();
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run(&self) -> io::Result<()> {
        let mut received = vec![0; BATCH_SIZE * BUFFER];
        let mut sent = vec![0; 2 * BUFFER];
        loop {
            let first = self.table().timers.first().map(|timer| timer.0);
            let due = first.unwrap_or_else(|| now() + LONG);
            tokio::select! {
                () = self.touched.notified() => {}
                ready = self.socket.readable() => ready?,
                () = sleep_until(due.into()) => {}
            }
            self.receive(&mut received)?;
            self.expire();
            loop {
                let next = self.table().touched.pop_front();
                let Some(shared) = next else {
                    break;
                };
                self.serve(&shared, &mut sent).await?;
            }
        }
    }

    /// One system call's worth.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<()> {
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let mut slices: Vec<_> = buffer.chunks_mut(BUFFER).map(IoSliceMut::new).collect();
        let received = self.socket.try_io(Interest::READABLE, || {
            self.io.recv((&self.socket).into(), &mut slices, &mut metas)
        });
        let count = match received {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        for (slice, meta) in slices.iter_mut().zip(&metas[..count]) {
            for datagram in slice[..meta.len].chunks_mut(meta.stride.max(1)) {
                let Some(shared) = self.find(datagram, meta.addr) else {
                    continue;
                };
                let info = RecvInfo {
                    from: meta.addr,
                    to: self.local,
                };
                // What it cannot read it drops.
                let _ = shared.state().connection.recv(datagram, info);
                self.touch(&shared);
            }
        }
        Ok(())
    }

    /// Whose datagram it is: at a server perhaps that of a new connection.
    fn find(&self, datagram: &mut [u8], from: SocketAddr) -> Option<Arc<Shared>> {
        let mut table = self.table();
        let is_long = datagram.first()? & 0x80 != 0;
        if !is_long {
            return table.by_id.get(datagram.get(1..=ID_LENGTH)?).cloned();
        }
        let header = Header::from_slice(datagram, ID_LENGTH).ok()?;
        if let Some(shared) = table.by_id.get(&*header.dcid) {
            return Some(Arc::clone(shared));
        }
        if !self.is_server || header.ty != Type::Initial {
            return None;
        }
        let id = random().ok()?;
        let scid = ConnectionId::from_ref(&id);
        let connection = quiche::accept(&scid, None, self.local, from, &mut table.config).ok()?;
        let shared = table.insert(connection, vec![id.to_vec(), header.dcid.to_vec()]);
        table.attempts.push_back(Arc::clone(&shared));
        self.attempted.notify_one();
        Some(shared)
    }

    fn expire(&self) {
        let time = now();
        loop {
            let mut table = self.table();
            let due = table
                .timers
                .first()
                .filter(|timer| timer.0 <= time)
                .copied();
            let Some(due) = due else {
                return;
            };
            table.timers.remove(&due);
            let shared = table.by_number.get(&due.1).cloned();
            drop(table);
            if let Some(shared) = shared {
                let mut state = shared.state();
                state.timer = None;
                state.connection.on_timeout();
                drop(state);
                self.touch(&shared);
            }
        }
    }

    /// Sends what a connection has to send, and tells who waits for it.
    async fn serve(&self, shared: &Arc<Shared>, buffer: &mut [u8]) -> io::Result<()> {
        shared.state().is_touched = false;
        let mut batch = Batch::default();
        while batch.fill(&mut shared.state().connection, buffer) {
            self.send(&batch, buffer).await?;
            batch.advance(buffer);
        }
        let mut state = shared.state();
        let is_closed = state.connection.is_closed();
        let timer = state.connection.timeout_instant().filter(|_| !is_closed);
        let before = std::mem::replace(&mut state.timer, timer);
        drop(state);
        if before != timer || is_closed {
            let mut table = self.table();
            if let Some(before) = before {
                table.timers.remove(&(before, shared.number));
            }
            if let Some(timer) = timer {
                table.timers.insert((timer, shared.number));
            }
            if is_closed {
                table.remove(shared);
            }
        }
        shared.changed.notify_waiters();
        Ok(())
    }

    async fn send(&self, batch: &Batch, buffer: &[u8]) -> io::Result<()> {
        let Some(destination) = batch.to else {
            return Ok(());
        };
        let transmit = Transmit {
            destination,
            ecn: None,
            contents: &buffer[..batch.length],
            segment_size: (batch.length > batch.segment).then_some(batch.segment),
            src_ip: None,
        };
        let send = || self.io.send((&self.socket).into(), &transmit);
        let limit = (now() + LONG).into();
        timeout_at(limit, self.socket.async_io(Interest::WRITABLE, send)).await?
    }
}

impl Table {
    fn insert(&mut self, connection: Connection, ids: Vec<Vec<u8>>) -> Arc<Shared> {
        let shared = Arc::new(Shared {
            number: self.next,
            ids,
            state: Mutex::new(State {
                connection,
                timer: None,
                is_touched: false,
            }),
            changed: Notify::new(),
        });
        self.next += 1;
        for id in &shared.ids {
            self.by_id.insert(id.clone(), Arc::clone(&shared));
        }
        self.by_number.insert(shared.number, Arc::clone(&shared));
        shared
    }

    fn remove(&mut self, shared: &Shared) {
        for id in &shared.ids {
            self.by_id.remove(id);
        }
        self.by_number.remove(&shared.number);
    }
}

/// Packets that leave with one system call: all as long as the first, but the last.
#[derive(Default)]
struct Batch {
    to: Option<SocketAddr>,
    segment: usize,
    length: usize,
    /// Of a longer packet behind them, which is the next batch's first.
    longer: usize,
}

impl Batch {
    /// Whether there is one.
    fn fill(&mut self, connection: &mut Connection, buffer: &mut [u8]) -> bool {
        while self.longer == 0 && self.has_room() {
            let Ok((length, info)) = connection.send(&mut buffer[self.length..]) else {
                break;
            };
            self.to = Some(info.to);
            if self.length > 0 && length > self.segment {
                self.longer = length;
                break;
            }
            self.segment = self.segment.max(length);
            self.length += length;
            if length < self.segment {
                break;
            }
        }
        self.length > 0
    }

    fn has_room(&self) -> bool {
        let count = self.length.checked_div(self.segment).unwrap_or(0);
        count < SEGMENTS && self.length + self.segment <= LARGEST_PAYLOAD
    }

    /// Begins the next one.
    fn advance(&mut self, buffer: &mut [u8]) {
        buffer.copy_within(self.length..self.length + self.longer, 0);
        *self = Self {
            to: self.to,
            segment: self.longer,
            length: self.longer,
            longer: 0,
        };
    }
}

fn random() -> Result<[u8; ID_LENGTH]> {
    let mut id = [0; ID_LENGTH];
    aws_lc_rs::rand::fill(&mut id).map_err(|_| "the system has no random numbers")?;
    Ok(id)
}

const ID_LENGTH: usize = 16;
/// What the kernel merges on arrival has 64 KiB at most.
const BUFFER: usize = 1 << 16;
/// The kernel's limit for one system call.
const SEGMENTS: usize = 64;
const LONG: Duration = Duration::from_secs(60);
