//! Pacing: what may be sent now, and what is waited for if nothing is.

use super::limits::Limiter;
use super::state::ConnectionDriver;
use crate::cc_adapter::Batch;
use crate::clock;
use crate::gate::SendPermission;
use crate::tap::{Content, Sent};
use quinn_proto::{EcnCodepoint, Transmit};
use std::time::Instant;
use units::{Bytes, Timestamp};

impl ConnectionDriver {
    /// Whether datagrams that count in flight may be handed over, and when what is handed over now
    /// leaves: now, unless the kernel keeps departure times.
    ///
    /// A burst begins when the pacer's bucket is half full, one packet at least. With fewer tokens
    /// each ACK that arrives would send a packet or two of its own, and batches would stay small.
    pub(super) fn permission(&mut self, now: Timestamp) -> (SendPermission, Timestamp) {
        let earliest = self.schedule.earliest(now);
        if self.conn.is_closed() {
            return (SendPermission::Unlimited, earliest);
        }
        let departure = self.pacer.next_departure(earliest);
        if departure > self.schedule.horizon(now) {
            return (SendPermission::Closed, earliest);
        }
        self.is_confirmed = self.is_confirmed || self.has_confirmed_handshake();
        if self.is_confirmed {
            return (SendPermission::Open, departure);
        }
        let room = self.control.cwnd.saturating_sub(self.in_flight());
        let room = u32::try_from(room.packets_floor(self.mss)).unwrap_or(u32::MAX);
        (SendPermission::OpenDuringHandshake { room }, departure)
    }

    /// Whether quinn-proto has discarded the keys of the handshake (RFC 9001 §4.1.2).
    pub(super) fn has_confirmed_handshake(&self) -> bool {
        !self.conn.is_handshaking()
            && (self.conn.side().is_server() || self.conn.stats().frame_rx.handshake_done > 0)
    }

    /// How many datagrams one batch may hold: what the pacer allows, what the caller takes, and
    /// what fits into one UDP datagram, because a larger GSO batch is refused or, worse, lost.
    pub(super) fn batch_limit(
        &mut self,
        now: Timestamp,
        permission: SendPermission,
        max_segments: usize,
    ) -> usize {
        if matches!(
            permission,
            SendPermission::Closed | SendPermission::Unlimited
        ) {
            return 1;
        }
        let paced = self.pacer.budget(now).packets_floor(self.mss);
        let gso = MAX_UDP_PAYLOAD.packets_floor(self.mss);
        let limit = usize::try_from(paced.min(gso)).unwrap_or(usize::MAX);
        limit.min(max_segments).max(1)
    }

    /// One datagram that asks the peer for another number of ACKs, if that is due and application
    /// data is to be sent.
    pub(super) fn poll_with_request(
        &mut self,
        now: Instant,
        permission: SendPermission,
        buf: &mut Vec<u8>,
    ) -> Option<Transmit> {
        if permission != SendPermission::Open {
            return None;
        }
        let at = clock::timestamp(now);
        let tap = self.congestion.tap();
        let delay = || tap.askable_delay();
        let request = self.ack_frequency.request(at, delay)?;
        tap.begin_request(request);
        self.congestion.gate().begin_poll(permission);
        let transmit = self.conn.poll_transmit(now, 1, buf);
        self.congestion.gate().end_poll();
        if let Some(number) = tap.end_request() {
            let rtt = self.conn.rtt();
            self.ack_frequency.on_sent(at, request, number, rtt);
        }
        transmit
    }

    pub(super) fn in_flight(&self) -> Bytes {
        self.congestion.lock().in_flight()
    }

    /// A batch that leaves at `leaves` is handed over, with the codepoint that the controller
    /// wants.
    pub(super) fn on_transmit(
        &mut self,
        now: Timestamp,
        leaves: Timestamp,
        transmit: &mut Transmit,
    ) {
        // quinn-proto stops with ECT(0) when the path or the peer does not bring marks back.
        let can_send_ect1 = self.is_confirmed && transmit.ecn == Some(EcnCodepoint::Ect0);
        if can_send_ect1 && self.wants_ect1 {
            transmit.ecn = Some(EcnCodepoint::Ect1);
        }
        self.ecn.count_sent(transmit);
        #[cfg(feature = "qlog")]
        if let Some(trace) = &mut self.trace {
            trace.on_sent(now, transmit);
        }
        self.schedule.on_handed_over(now, leaves);
        self.pacer.on_sent(leaves, Bytes::new(transmit.size as u64));
        self.limits.set(now, Limiter::Host);
        let tap = self.congestion.tap();
        tap.take_sent(&mut self.sent, transmit.ecn);
        let padding = self.on_datagrams_sent(now);
        self.note_sent_beside_padding(now, padding);
        let is_mtu_probe = self.is_mtu_probe(transmit);
        let is_on_path = transmit.destination == self.conn.remote_address();
        let counts = |sent: &Sent| sent.content != Content::NotInFlight;
        // What validates another path is none of this one's business.
        if !is_on_path {
            return;
        }
        if self.sent.iter().any(counts) {
            self.is_app_limited = false;
            self.probing.on_sent(leaves);
        }
        let batch = Batch {
            leaves,
            packets: &self.sent,
            is_mtu_probe,
        };
        let mut congestion = self.congestion.lock();
        self.wants_ect1 = congestion.offer_ect1(now, can_send_ect1);
        let control = congestion.on_sent(now, batch);
        #[cfg(feature = "qlog")]
        let facts = congestion.take_noted();
        drop(congestion);
        #[cfg(feature = "qlog")]
        if let Some(trace) = &mut self.trace {
            trace.on_facts(now, &facts);
        }
        self.adopt_control(now, control);
    }

    /// Whether this is an MTU probe: they leave alone, and nothing else is larger than the MTU.
    pub(super) fn is_mtu_probe(&self, transmit: &Transmit) -> bool {
        transmit.segment_size.is_none() && transmit.size > usize::from(self.conn.current_mtu())
    }

    /// Nothing may or need leave now: say why, and wait for the pacer if it is the pacer.
    pub(super) fn on_nothing(
        &mut self,
        now: Timestamp,
        permission: SendPermission,
        has_asked: bool,
    ) {
        let limiter = match (has_asked, permission) {
            (true, SendPermission::Closed) => {
                // Even if the window seems full: only quinn-proto knows, and it did not compare.
                let departure = self.pacer.next_departure(self.schedule.earliest(now));
                self.departure = Some(self.schedule.wake_up(departure));
                if self.has_room() {
                    if self.max_rate == Some(self.control.pacing_rate) {
                        self.congestion.lock().on_blocked();
                    }
                    return self.limits.set_pacing(now, self.conn.rtt());
                }
                Limiter::CongestionWindow
            }
            (true, _) => Limiter::CongestionWindow,
            // What is to be sent has not been written yet, for others came first.
            (false, _) if self.fair_queue.has_deferred() => Limiter::Host,
            (false, _)
                if !self.blocked_writers.is_empty()
                    && self.has_room()
                    && self.extend_send_window() =>
            {
                Limiter::Host
            }
            (false, _) => {
                // Once reported, it holds until something is sent.
                if !self.is_app_limited && self.has_room() {
                    self.is_app_limited = true;
                    self.congestion.lock().on_app_limited();
                }
                if self.blocked_writers.is_empty() {
                    Limiter::Application
                } else {
                    Limiter::FlowControl
                }
            }
        };
        self.asked_acks.on_end(limiter == Limiter::CongestionWindow);
        self.limits.set(now, limiter);
    }

    /// Whether the window has room for another packet, by our own count.
    fn has_room(&self) -> bool {
        self.in_flight() + self.mss <= self.control.cwnd.max(self.mss)
    }
}

/// Largest UDP payload over IPv4 (RFC 768): 65,535 less 8 and 20 bytes of headers.
pub(super) const MAX_UDP_PAYLOAD: Bytes = Bytes::new(65_507);
