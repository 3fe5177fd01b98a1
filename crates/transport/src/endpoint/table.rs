//! The endpoint's state: quinn-proto's endpoint and the connections beside it.

#[cfg(feature = "metrics")]
use super::unreported::Unreported;
use crate::budget::Budget;
use crate::config::ServerConfig;
use crate::connection::{Lease, Shared, WorkQueue};
use crate::driver::{ConnectionDriver, DriverConfig};
use crate::socket::received_ecn;
use bytes::{Bytes, BytesMut};
use quinn_proto::{ConnectionHandle, DatagramEvent, VarInt};
use quinn_udp::RecvMeta;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// Statistics of an [`Endpoint`](crate::Endpoint).
#[derive(Debug, Default, Clone, Copy)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct EndpointStats {
    /// Attempts accepted.
    pub accepted_handshakes: u64,
    /// Attempts begun.
    pub outgoing_handshakes: u64,
    /// Attempts refused.
    pub refused_handshakes: u64,
    /// Attempts ignored.
    pub ignored_handshakes: u64,
    /// Datagrams of new clients: those that began with an Initial packet, or with a version that
    /// nobody knows, and were for no connection.
    pub initials_received: u64,
    /// Those of them that were dropped unread because more had come than the endpoint could
    /// answer beside its connections: the client sends its packet again.
    pub initials_shed: u64,
    /// Attempts answered with a Retry.
    pub retries_sent: u64,
    /// Datagrams or batches that the socket refused to send, MTU probes aside.
    pub send_errors: u64,
    /// Times that the socket took no more: the kernel's send buffer was full.
    pub send_blocked: u64,
    /// Datagrams of another shard's connections that came here and were forwarded; only in a
    /// [`ShardedServer`](crate::ShardedServer).
    pub misrouted: u64,
    /// Those of them that were lost because the other shard was behind with its work.
    pub misrouted_lost: u64,
    /// Bytes by which the flow-control windows of its connections have grown, in both directions.
    pub window_growth: u64,
    /// How late the endpoint's timer has been.
    pub timer: TimerStats,
}

/// How late the endpoint's timer woke it, with the time it was busy otherwise. Rounded up by no
/// more than 25 %.
#[derive(Debug, Default, Clone, Copy)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TimerStats {
    /// How often the timer went off.
    pub count: u64,
    /// Half of the time it was no later than this.
    #[cfg_attr(feature = "serde", serde(serialize_with = "units::encoding::seconds"))]
    pub p50: std::time::Duration,
    /// 99 times of 100 it was no later than this.
    #[cfg_attr(feature = "serde", serde(serialize_with = "units::encoding::seconds"))]
    pub p99: std::time::Duration,
}

pub(super) struct Table {
    pub(super) proto: quinn_proto::Endpoint,
    pub(super) server_config: Option<Arc<ServerConfig>>,
    /// Its part that quinn-proto has.
    proto_config: Option<Arc<quinn_proto::ServerConfig>>,
    /// The same with room for no attempt.
    shut_config: Option<Arc<quinn_proto::ServerConfig>>,
    /// By handle. Handles are the indices of a slab, so the table is as long as the most
    /// connections at one time.
    connections: Vec<Option<Arc<Shared>>>,
    count: usize,
    /// Attempts that nobody has accepted yet. quinn-proto bounds them by `max_incoming`.
    pub(super) incoming: VecDeque<(quinn_proto::Incoming, Arc<ServerConfig>)>,
    /// Given by the application for all connections, present and future.
    pub(super) closed: Option<(VarInt, Bytes)>,
    /// New attempts are somebody else's.
    pub(super) is_draining: bool,
    /// The task is gone, and nothing will move any more.
    pub(super) is_lost: bool,
    pub(super) stats: EndpointStats,
    queue: Arc<WorkQueue<Shared>>,
    /// What the windows of all connections grow from.
    pub(super) budget: Arc<Budget>,
    /// For metrics, if the application reports some.
    #[cfg(feature = "metrics")]
    pub(super) unreported: Option<Box<Unreported>>,
}

impl Table {
    pub(super) fn new(
        proto: quinn_proto::Endpoint,
        server_config: Option<Arc<ServerConfig>>,
        queue: Arc<WorkQueue<Shared>>,
    ) -> Self {
        let mut table = Self {
            proto,
            server_config: None,
            proto_config: None,
            shut_config: None,
            connections: Vec::new(),
            count: 0,
            incoming: VecDeque::new(),
            closed: None,
            is_draining: false,
            is_lost: false,
            stats: EndpointStats::default(),
            queue,
            budget: Arc::default(),
            #[cfg(feature = "metrics")]
            unreported: None,
        };
        table.set_server_config(server_config);
        table
    }

    /// What attempts that arrive from now on find.
    pub(super) fn set_server_config(&mut self, config: Option<Arc<ServerConfig>>) {
        let own = config.as_deref();
        self.proto_config = own.map(ServerConfig::for_endpoint);
        self.shut_config = own.map(ServerConfig::for_shut_endpoint);
        self.proto.set_server_config(self.proto_config.clone());
        self.server_config = config;
    }

    /// As quinn-proto's `handle`, but a datagram that is for no connection is dropped before keys
    /// are derived for it.
    pub(super) fn handle_known(
        &mut self,
        now: Instant,
        meta: &RecvMeta,
        data: BytesMut,
        answer: &mut Vec<u8>,
    ) -> Option<DatagramEvent> {
        self.proto.set_server_config(self.shut_config.clone());
        let ecn = received_ecn(meta);
        let event = self
            .proto
            .handle(now, meta.addr, meta.dst_ip, ecn, data, answer);
        self.proto.set_server_config(self.proto_config.clone());
        event
    }

    /// Adds a connection of quinn-proto's and has the task drive it.
    pub(super) fn insert(
        &mut self,
        handle: ConnectionHandle,
        conn: quinn_proto::Connection,
        config: DriverConfig,
        now: Instant,
    ) -> Lease {
        let config = DriverConfig {
            budget: Arc::clone(&self.budget),
            ..config
        };
        let driver = ConnectionDriver::new(conn, config, now);
        let shared = Shared::new(driver, handle, Arc::clone(&self.queue));
        if self.connections.len() <= handle.0 {
            self.connections.resize(handle.0 + 1, None);
        }
        self.connections[handle.0] = Some(Arc::clone(&shared));
        self.count += 1;
        shared.schedule();
        Lease::new(shared)
    }

    pub(super) fn get(&self, handle: ConnectionHandle) -> Option<&Arc<Shared>> {
        self.connections.get(handle.0)?.as_ref()
    }

    pub(super) fn remove(&mut self, handle: ConnectionHandle) {
        let slot = self.connections.get_mut(handle.0);
        if let Some(connection) = slot.and_then(Option::take) {
            self.count -= 1;
            self.count_ended(&connection);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Shared>> {
        self.connections.iter().flatten()
    }

    pub(super) fn clear(&mut self) -> Vec<Arc<Shared>> {
        self.count = 0;
        let connections: Vec<_> = self.connections.drain(..).flatten().collect();
        for connection in &connections {
            self.count_ended(connection);
        }
        connections
    }

    /// Keeps for metrics what they have not been told of a connection that is in the table no more.
    fn count_ended(&mut self, connection: &Shared) {
        #[cfg(feature = "metrics")]
        if let Some(unreported) = &mut self.unreported {
            unreported.count_ended(connection);
        }
        #[cfg(not(feature = "metrics"))]
        let _ = connection;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }
}
