//! Datagrams on their way into packets (RFC 9221).

use super::datagram_queue::Refusal;
use super::state::ConnectionDriver;
use super::transmit_pacing::MAX_UDP_PAYLOAD;
use crate::cc_adapter::DatagramFate;
use crate::clock;
use crate::datagrams::{DatagramId, DatagramOptions, DatagramPriority, Source};
use crate::gate::SendPermission;
use bytes::Bytes;
use quinn_proto::Event;
use std::time::Instant;
use units::Timestamp;

impl ConnectionDriver {
    /// Has a datagram sent as soon as it may leave.
    pub(crate) fn send_datagram(
        &mut self,
        now: Instant,
        data: Bytes,
        options: DatagramOptions,
        drops_oldest: bool,
    ) -> Result<DatagramId, Refusal> {
        let most = self.conn.datagrams().max_size();
        let now = clock::timestamp(now);
        self.datagrams.push(now, data, options, most, drops_oldest)
    }

    /// Bytes of one datagram for which none has to be dropped.
    pub(crate) fn datagram_space(&self) -> usize {
        self.datagrams.space()
    }

    /// Who is told what becomes of datagrams from now on.
    pub(crate) fn add_datagram_listener(&mut self, source: Source) {
        self.datagrams.listen(source);
    }

    /// Nothing becomes of datagrams any more.
    pub(super) fn end_datagram_events(&mut self) {
        self.datagrams.end_listening();
    }

    /// Gives quinn-proto the datagrams of this priority that may leave now, in at most `packets`
    /// packets. Whether there are some.
    pub(super) fn hand_over_datagrams(
        &mut self,
        now: Timestamp,
        permission: SendPermission,
        packets: usize,
        priority: DatagramPriority,
    ) -> bool {
        self.datagrams.expire(now);
        self.forget_oversized(now);
        if !self.datagrams.has(priority) {
            return false;
        }
        let Some(most) = self.conn.datagrams().max_size() else {
            return false;
        };
        self.datagrams.drop_unsendable(now, priority, most);
        let packets = packets.min(self.packets_admitted(permission));
        let batch = self
            .datagrams
            .hand_over(priority, packets, most + FRAME_OVERHEAD);
        let is_any = !batch.is_empty();
        for data in batch {
            let sent = self.conn.datagrams().send(data, false);
            debug_assert!(sent.is_ok(), "a batch fits: {sent:?}");
        }
        self.congestion
            .tap()
            .count_datagrams(self.datagrams.has_handed());
        is_any
    }

    /// How many packets congestion control admits, without the pacer.
    fn packets_admitted(&self, permission: SendPermission) -> usize {
        if matches!(
            permission,
            SendPermission::Closed | SendPermission::Unlimited
        ) {
            return 0;
        }
        let in_flight = self.in_flight();
        let room = self.control.cwnd.max(self.mss).saturating_sub(in_flight);
        usize::try_from(room.packets_floor(self.mss)).unwrap_or(usize::MAX)
    }

    /// Forgets what quinn-proto has dropped because packets have become smaller.
    fn forget_oversized(&mut self, now: Timestamp) {
        if !self.datagrams.has_handed() {
            return;
        }
        let space = self.conn.datagrams().send_buffer_space();
        let used = PROTO_DATAGRAM_BUFFER - size_of::<Bytes>() - space;
        if used < self.datagrams.handed_memory()
            && let Some(most) = self.conn.datagrams().max_size()
        {
            self.datagrams.drop_oversized(now, most);
        }
    }

    /// A batch has left: which datagrams were in which of its packets. How many were padding.
    pub(super) fn on_datagrams_sent(&mut self, now: Timestamp) -> u64 {
        let mut padding = 0;
        if !self.datagrams.has_handed() {
            return padding;
        }
        for sent in &self.sent {
            for _ in 0..sent.datagrams {
                let Some(handed) = self.datagrams.on_sent(now) else {
                    continue;
                };
                padding += u64::from(handed.is_padding);
                if handed.is_notified {
                    let mut congestion = self.congestion.lock();
                    congestion.track_datagram(sent.number, handed.id);
                }
            }
        }
        padding
    }

    /// Tells what has become of datagrams by what congestion control has learned.
    pub(super) fn report_datagram_fates(&mut self, fates: Vec<DatagramFate>) {
        for fate in fates {
            self.datagrams.tell(fate.at, fate.id, true, fate.outcome);
        }
    }

    /// Whether those that wait to send a datagram may go on.
    pub(super) fn poll_datagrams(&mut self) -> Option<Event> {
        let has_room = self.datagrams.take_unblocked();
        has_room.then_some(Event::DatagramsUnblocked)
    }
}

/// Most bytes that the frame of a datagram has besides its contents, as quinn-proto counts: type
/// and length.
const FRAME_OVERHEAD: usize = 9;

/// quinn-proto's own buffer: for a batch of datagrams of a byte each, with the memory that each
/// takes.
pub(crate) const PROTO_DATAGRAM_BUFFER: usize = 1 << 20;

const _: () = assert!(
    PROTO_DATAGRAM_BUFFER as u64 >= MAX_UDP_PAYLOAD.get() / 3 * (1 + size_of::<Bytes>() as u64)
);
