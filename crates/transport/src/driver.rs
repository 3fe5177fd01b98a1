//! What a connection does next: the sans-IO core between quinn-proto and what moves datagrams.
//!
//! Time comes in as an argument, so that the simulator runs the code that ships. The order of work
//! for a caller is: hand in what arrived ([`handle_event`](ConnectionDriver::handle_event)) and
//! what is due ([`handle_timeout`](ConnectionDriver::handle_timeout)), take what may leave
//! ([`poll_transmit`](ConnectionDriver::poll_transmit)) until there is no more, then events, then
//! [`poll_timeout`](ConnectionDriver::poll_timeout).

mod ack_frequency;
mod asked_acks;
mod close_reason;
mod closing;
mod control;
mod datagram;
mod datagram_queue;
mod ecn;
mod fair_queue;
mod inbound;
mod kernel;
mod last_flight;
mod limited_probe;
mod limits;
mod padding;
mod path_estimate;
mod probe_timer;
mod probing;
mod raised_limit;
mod receiving;
mod remembered;
mod reorder_buffer;
mod repeated_flight;
mod resume;
mod retired_ids;
mod retirement;
mod schedule;
mod send_window;
mod sending_datagrams;
mod state;
mod stream_limits;
mod streams;
#[cfg(feature = "qlog")]
mod trace;
mod transmit_pacing;
mod unreadable;
mod unvalidated;
mod window_size;
mod windows;

#[cfg(feature = "testing")]
use crate::cc_adapter::FactWatch;
use crate::clock;
use crate::datagrams::DatagramPriority;
use crate::gate::SendPermission;
use crate::stats::{ConnectionStats, EcnStats};
use ack_frequency::AckFrequency;
pub(crate) use ack_frequency::UNASKED;
use asked_acks::AskedAcks;
use cc_core::Pacer;
use close_reason::{Cause, PendingClose};
use closing::EXCUSES;
use control::capped;
pub(crate) use datagram::Datagram;
use datagram_queue::DatagramQueue;
pub(crate) use datagram_queue::{DatagramLimits, Refusal};
pub(crate) use fair_queue::Amount;
use fair_queue::FairQueue;
pub(crate) use inbound::Reader;
use inbound::{Held, Inbound};
use limits::{Limiter, Limits};
use probe_timer::ProbeTimer;
use quinn_proto::{Connection, ConnectionEvent, Event, StreamEvent, Transmit, VarInt};
pub(crate) use raised_limit::RaisedLimit;
pub(crate) use remembered::ResumeConfig;
pub(crate) use schedule::KernelOptions;
use schedule::Schedule;
use send_window::SendWindow;
pub(crate) use sending_datagrams::PROTO_DATAGRAM_BUFFER;
use state::Arrivals;
pub(crate) use state::{ConnectionDriver, DriverConfig, Reason};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;
#[cfg(feature = "qlog")]
use trace::Trace;
use units::{Bytes, Timestamp};
use windows::ReceiveWindow;
pub(crate) use windows::WindowConfig;

impl ConnectionDriver {
    /// Drives `conn`, whose own configuration was made together with `config`.
    pub(crate) fn new(conn: Connection, config: DriverConfig, began: Instant) -> Self {
        let now = clock::timestamp(began);
        let mss = Bytes::new(conn.current_mtu().into());
        let DriverConfig {
            congestion,
            error,
            max_rate,
            windows,
            handshake_timeout,
            datagrams,
            budget,
            kernel,
            is_validated,
            max_packets_per_ack,
            max_probe_interval,
            raised_limits,
            resume,
            #[cfg(feature = "qlog")]
            qlog,
        } = config;
        #[cfg(feature = "qlog")]
        let trace = qlog.map(|stream| Trace::of(&congestion, now, stream, &conn));
        let control = capped(congestion.lock().control(), max_rate, mss);
        let driver = Self {
            ack_frames: conn.stats().frame_rx.acks,
            conn,
            is_validated,
            congestion,
            pacer: Pacer::new(now, control, mss),
            control,
            max_rate,
            mss,
            departure: None,
            schedule: Schedule::new(kernel),
            receive_window: ReceiveWindow::new(now, windows.receive, &budget),
            send_window: SendWindow::new(now, windows.send, &budget),
            inbound: BTreeMap::new(),
            due_inbound: BTreeSet::new(),
            held: Held::default(),
            withheld: 0,
            handshake_timeout,
            excuses_left: EXCUSES,
            pending_close: error.map(|error| PendingClose::at_once(began, error)),
            close_event: None,
            now: began,
            arrivals: Arrivals::default(),
            limits: Limits::new(now),
            ack_frequency: AckFrequency::new(max_packets_per_ack),
            asked_acks: AskedAcks::default(),
            raised_limits,
            probing: ProbeTimer::new(max_probe_interval),
            remembered: None,
            ecn: EcnStats::default(),
            loss_time: None,
            sent: Vec::new(),
            datagrams: DatagramQueue::new(datagrams),
            path_watchers: Vec::new(),
            wakers: Vec::new(),
            blocked_writers: BTreeSet::new(),
            fair_queue: FairQueue::default(),
            is_round_over: true,
            has_events: false,
            is_app_limited: false,
            wants_ect1: false,
            is_confirmed: false,
            #[cfg(feature = "qlog")]
            trace,
        };
        driver.adopt_limits(now, resume)
    }

    fn adopt_limits(mut self, now: Timestamp, resume: ResumeConfig) -> Self {
        self.remember(now, resume);
        self.adopt_window();
        self.tune_send_window(now, Bytes::ZERO);
        self.raise_stream_limits();
        self
    }

    /// Hands in a reply of the endpoint.
    pub(crate) fn handle_event(&mut self, now: Instant, event: ConnectionEvent) {
        self.handle_event_of(now, now, event);
    }

    /// The same for an event that `came_at` a time before: that is when congestion control has
    /// what it brings, so that no RTT has the time in it that the host took to read it.
    fn handle_event_of(&mut self, now: Instant, came_at: Instant, event: ConnectionEvent) {
        self.now = now;
        self.conn.handle_event(event);
        self.settle_at(clock::timestamp(now), clock::timestamp(came_at));
    }

    /// Lets timers that are due expire. Harmless when none is.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.excuse_lateness(now);
        self.now = now;
        self.hand_on_due(now);
        self.conn.handle_timeout(now);
        self.close_if_due(now);
        self.datagrams.expire(clock::timestamp(now));
        self.settle(clock::timestamp(now));
    }

    /// Lets the receive window follow the path after datagrams have come. It grows if the
    /// application has a use for it: if it has read what came before, and somebody was waiting for
    /// data when they came. To be called before [`Self::poll_transmit`].
    pub(crate) fn tune_receive_window(&mut self, now: Instant, is_awaited: bool) {
        if !std::mem::take(&mut self.arrivals.is_any) || !self.receive_window.is_open() {
            return;
        }
        let (now, rtt) = (clock::timestamp(now), self.conn.rtt());
        let is_awaited = is_awaited && std::mem::take(&mut self.arrivals.has_stream_data);
        let (held, inbound) = (self.held.bytes, &self.inbound);
        let gapped = || match held {
            0 => 0,
            _ => inbound.values().map(Inbound::gapped).sum(),
        };
        if self.receive_window.tune(now, rtt, is_awaited, gapped) {
            self.adopt_receive_window();
        }
    }

    /// Keeps the receive window at `size` from now on.
    pub(crate) fn set_receive_window(&mut self, size: VarInt) {
        self.receive_window.fix(size.into_inner());
        self.adopt_receive_window();
    }

    /// Lets the receive window grow to `most` from now on.
    pub(crate) fn set_max_receive_window(&mut self, most: VarInt) {
        self.receive_window.set_most(most.into_inner());
        self.adopt_receive_window();
    }

    /// Keeps the send window at `size` from now on.
    pub(crate) fn set_send_window(&mut self, size: u64) {
        self.send_window.fix(size);
        self.conn.set_send_window(size);
    }

    /// Lets the send window grow to `most` from now on.
    pub(crate) fn set_max_send_window(&mut self, most: u64) {
        self.send_window.set_most(most);
        self.conn.set_send_window(self.send_window.size());
    }

    /// The next batch of at most `max_segments` datagrams that may leave at `now`, written to the
    /// empty `buf`. Call it until it gives nothing; less is the caller's own limit.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        max_segments: usize,
        buf: &mut Vec<u8>,
    ) -> Option<Transmit> {
        debug_assert!(
            buf.is_empty(),
            "quinn-proto writes from the start of the buffer"
        );
        let at = clock::timestamp(now);
        self.now = now;
        self.begin_handshake(now);
        self.departure = None;
        if let Some(transmit) = self.poll_repeated_flight(buf) {
            return Some(transmit);
        }
        self.probe_to_acknowledge(at);
        let (permission, leaves) = match self.begin_probe(at) {
            true => (SendPermission::Unlimited, self.schedule.earliest(at)),
            false => self.permission(at),
        };
        let packets = self.batch_limit(leaves, permission, max_segments);
        let packets = self.within_amplification_limit(packets);
        if packets == 0 {
            self.on_nothing(at, permission, false);
            return None;
        }
        // quinn-proto measures round trips from the time that it is told.
        let leaves_at = if leaves > at {
            clock::instant(leaves)
        } else {
            now
        };
        self.hand_over_datagrams(at, permission, packets, DatagramPriority::BeforeStreams);
        if let Some(mut transmit) = self.poll_with_request(leaves_at, permission, buf) {
            self.on_transmit(at, leaves, &mut transmit);
            return Some(transmit);
        }
        let (mut transmit, mut has_asked) = self.poll_proto(leaves_at, permission, packets, buf);
        let is_idle = transmit.is_none() && !has_asked;
        if is_idle && self.datagrams.probe.is_some() {
            self.add_padding(at);
        }
        let least = DatagramPriority::AfterStreams;
        if is_idle && self.hand_over_datagrams(at, permission, packets, least) {
            (transmit, has_asked) = self.poll_proto(leaves_at, permission, packets, buf);
        }
        match &mut transmit {
            Some(transmit) => {
                self.on_transmit(at, leaves, transmit);
                self.keep_flight(transmit, buf);
            }
            None => self.on_nothing(at, permission, has_asked || self.datagrams.is_waiting()),
        }
        transmit
    }

    /// When the kernel is to send what [`Self::poll_transmit`] has given last; `None` is at once.
    pub(crate) fn batch_departure(&self) -> Option<Instant> {
        let departure = self.schedule.departure(clock::timestamp(self.now));
        departure.map(clock::instant)
    }

    /// A batch of at most `packets` datagrams, and whether quinn-proto would send something that
    /// congestion control has to permit.
    fn poll_proto(
        &mut self,
        now: Instant,
        permission: SendPermission,
        packets: usize,
        buf: &mut Vec<u8>,
    ) -> (Option<Transmit>, bool) {
        self.congestion.gate().begin_poll(permission);
        let transmit = self.conn.poll_transmit(now, packets, buf);
        (transmit, self.congestion.gate().end_poll())
    }

    /// When to come back, with [`Self::handle_timeout`] and then [`Self::poll_transmit`], and why.
    pub(crate) fn poll_timeout(&mut self) -> Option<(Instant, Reason)> {
        let protocol = self.conn.poll_timeout().map(|at| (at, Reason::Protocol));
        let pacing = self
            .departure
            .map(|at| (clock::instant(at), Reason::Pacing));
        let pending_close = self.pending_close.as_ref();
        let pending_close = pending_close.map(|close| (close.at, Reason::Protocol));
        let own = match (self.loss_time, self.arrivals.hand_on_at) {
            (Some(loss), Some(hand_on)) => Some(loss.min(hand_on)),
            (loss, hand_on) => loss.or(hand_on),
        };
        let own = [
            own,
            self.datagrams.next_expiry(),
            self.next_probe(),
            self.next_padding(),
        ];
        let own = own.into_iter().flatten().min();
        let own = own.map(|at| (clock::instant(at), Reason::Protocol));
        // Another round of events, as soon as those notified of room have had their time, or to
        // notify them of the room that there is now.
        let has_events = self.fair_queue.has_deferred() || self.send_window.is_on_trial();
        let turn = has_events.then_some((self.now, Reason::Protocol));
        [protocol, pacing, pending_close, own, turn]
            .into_iter()
            .flatten()
            .min_by_key(|&(at, _)| at)
    }

    /// The next event for the application.
    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.is_round_over) {
            self.fair_queue.begin_round();
        }
        if let Some(event) = self.poll_datagrams() {
            return Some(event);
        }
        let event = loop {
            let closed = self.close_event.take();
            let closed = closed.map(|reason| Event::ConnectionLost { reason });
            match closed.or_else(|| self.conn.poll()) {
                Some(Event::Stream(StreamEvent::Readable { id })) if !self.on_readable(id) => {}
                Some(Event::Stream(StreamEvent::Writable { id })) if !self.on_room(id) => {}
                Some(event) => break event,
                None => match self.poll_taken() {
                    Some(event) => break Event::Stream(event),
                    None => {
                        self.arrivals.unpolled = 0;
                        self.is_round_over = true;
                        self.end_send_window_trial();
                        return None;
                    }
                },
            }
        };
        match &event {
            Event::Stream(StreamEvent::Writable { id }) => {
                self.blocked_writers.remove(id);
            }
            Event::Stream(StreamEvent::Finished { id } | StreamEvent::Stopped { id, .. }) => {
                self.on_write_ended(*id);
            }
            Event::Connected => {
                // Within its time limit.
                self.pending_close
                    .take_if(|close| close.cause == Cause::Handshake);
                // Before the handshake's end there are streams of 0-RTT alone.
                if self.conn.side().is_client() && !self.conn.accepted_0rtt() {
                    self.blocked_writers.clear();
                    self.fair_queue = FairQueue::default();
                    self.inbound.clear();
                }
            }
            Event::Stream(StreamEvent::Opened { .. } | StreamEvent::Readable { .. }) => {
                self.arrivals.has_stream_data = true;
            }
            #[cfg_attr(not(feature = "qlog"), expect(unused_variables, reason = "for qlog"))]
            Event::ConnectionLost { reason } => {
                self.pending_close = None;
                self.blocked_writers.clear();
                self.fair_queue = FairQueue::default();
                #[cfg(feature = "qlog")]
                self.trace
                    .iter_mut()
                    .for_each(|trace| trace.on_lost(reason));
            }
            _ => {}
        }
        Some(event)
    }

    /// quinn-proto's connection, for streams, datagrams and closing.
    pub(crate) fn conn(&mut self) -> &mut Connection {
        &mut self.conn
    }

    /// The socket takes no more.
    pub(crate) fn note_host_blocked(&mut self, now: Instant) {
        self.limits.set(clock::timestamp(now), Limiter::Host);
        self.congestion.lock().on_blocked();
    }

    pub(crate) fn stats(&self, now: Instant) -> ConnectionStats {
        let conn = self.conn.stats();
        let state = self.congestion.lock();
        let path = state.path_state();
        let control = state.control();
        let mut stats = ConnectionStats {
            udp_tx: conn.udp_tx,
            udp_rx: conn.udp_rx,
            frame_tx: conn.frame_tx,
            frame_rx: conn.frame_rx,
            path: conn.path,
            min_rtt: path.min_rtt,
            srtt: path.srtt,
            latest_rtt: path.latest_rtt,
            rttvar: path.rttvar,
            in_flight: path.inflight,
            cwnd: control.cwnd,
            pacing_rate: self.control.pacing_rate,
            send_quantum: self.control.send_quantum,
            delivery_rate: state.delivery_rate(),
            delivered: path.delivered,
            limited_by: self.limits.until(clock::timestamp(now)),
            receive_window: Bytes::new(self.receive_window.size()),
            send_window: Bytes::new(self.send_window.size()),
            rtt_histogram: state.rtt_histogram(),
            ecn: EcnStats {
                ce_reports: state.counts().ce_reports,
                ce_marked: state.counts().ce_marked,
                ..self.ecn
            },
            spurious_losses: state.counts().spurious_losses,
            held_back: self.arrivals.held_back,
            packets_per_ack: self.ack_frequency.packets(),
            datagrams: self.datagrams.stats(),
        };
        stats.path.cwnd = control.cwnd.get();
        stats
    }

    /// Whom to tell what congestion control learns of packets from now on.
    #[cfg(feature = "testing")]
    pub(crate) fn watch_facts(&self, watch: FactWatch) {
        self.congestion.lock().watch_facts(watch);
    }

    /// Bytes in flight and the window.
    #[cfg(feature = "testing")]
    pub(crate) fn flight(&self) -> (Bytes, Bytes) {
        (self.in_flight(), self.control.cwnd)
    }
}
