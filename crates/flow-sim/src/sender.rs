//! The near end of a flow: what it sends and when, and what it concludes from ACKs.

mod commands;
mod counts;
mod log;

use super::app::App;
use super::flow::Flow;
use super::path::{Ack, Content, Data};
use super::persistent::{self, probe_timeout};
use super::ranges::RangeSet;
use super::sent::{SentPacket, SentPackets};
use cc_core::{
    AckedPacket, Control, Feedback, LostPacket, Pacer, PathState, Registry, Setup, Snapshot,
};
use commands::{Command, commands};
use core::ops::Range;
use core::time::Duration;
pub(crate) use counts::Counts;
use link_sim::Ecn;
use link_sim::sim::{NodeId, Transmit};
pub(crate) use log::Log;
use std::collections::VecDeque;
use units::{Bytes, Rng, Timestamp};

/// One connection's sending half.
#[derive(Debug)]
pub(crate) struct Sender {
    peer: NodeId,
    start: Timestamp,
    mss: Bytes,
    is_ecn: bool,
    max_ack_delay: Duration,
    receive_window: u64,
    flow: cc_core::Flow,
    pacer: Pacer,
    /// The decision that the pacer knows.
    obeyed: Control,
    app: App,
    commands: VecDeque<(Timestamp, Command)>,
    /// How much of the stream has left at least once.
    sent_end: u64,
    acked: RangeSet,
    /// Lost stretches of the stream, to be sent again.
    repeat: VecDeque<Range<u64>>,
    sent: SentPackets,
    largest_acked: Option<u64>,
    first_rtt_at: Option<Timestamp>,
    ce_count: u64,
    /// When the oldest packet in flight will be too old (RFC 9002 §6.1.2).
    loss_at: Option<Timestamp>,
    last_sent_at: Timestamp,
    backoff: u32,
    probes_due: u32,
    wake: Option<Timestamp>,
    counts: Counts,
    log: Log,
    scratch: Scratch,
    outbox: VecDeque<Transmit<Content>>,
}

/// Lists that one ACK fills, kept for their memory.
#[derive(Debug, Default)]
struct Scratch {
    acked: Vec<AckedPacket>,
    late: Vec<LostPacket>,
    lost: Vec<(u64, LostPacket)>,
    lost_packets: Vec<LostPacket>,
}

impl Sender {
    pub(crate) fn new(
        index: usize,
        plan: &Flow,
        peer: NodeId,
        registry: &Registry,
        seed: u64,
    ) -> Self {
        let start = Timestamp::ZERO + plan.start;
        let choose = |text: &str| match registry.choose(text) {
            Ok(choice) => choice,
            Err(error) => panic!("flow {index}: {error}"),
        };
        let flow_seed = Rng::derive(seed, FLOW_SEEDS + index as u64).next_u64();
        let mut setup = Setup::new(start, plan.mss, flow_seed);
        setup.sends_ect1 = plan.sends_ect1;
        let flow = cc_core::Flow::new(choose(&plan.controller).build(&setup), &setup);
        Self {
            peer,
            start,
            mss: plan.mss,
            is_ecn: plan.is_ecn,
            max_ack_delay: plan.acks.max_delay,
            receive_window: plan.receive_window.get(),
            pacer: Pacer::new(start, flow.control(), plan.mss),
            obeyed: flow.control(),
            app: App::new(&plan.phases),
            commands: commands(plan, choose),
            sent_end: 0,
            acked: RangeSet::default(),
            repeat: VecDeque::new(),
            sent: SentPackets::default(),
            largest_acked: None,
            first_rtt_at: None,
            ce_count: 0,
            loss_at: None,
            last_sent_at: start,
            backoff: 0,
            probes_due: 0,
            wake: Some(start),
            counts: Counts::default(),
            log: Log::new(start, flow.snapshot().state),
            scratch: Scratch::default(),
            outbox: VecDeque::new(),
            flow,
        }
    }

    /// When [`on_time`](Self::on_time) has something to do.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        match (self.wake, self.timer()) {
            (Some(wake), Some(timer)) => Some(wake.min(timer)),
            (one, other) => one.or(other),
        }
    }

    /// Does what is due and sends what may leave.
    pub(crate) fn on_time(&mut self, now: Timestamp) {
        if now < self.start {
            return;
        }
        while self.commands.front().is_some_and(|(time, _)| *time <= now) {
            if let Some((_, command)) = self.commands.pop_front() {
                self.execute(now, command);
            }
        }
        if self.timer().is_some_and(|timer| timer <= now) {
            self.on_timer(now);
        }
        self.send(now);
    }

    /// The next packet that leaves now.
    pub(crate) fn poll_transmit(&mut self) -> Option<Transmit<Content>> {
        self.outbox.pop_front()
    }

    /// An ACK arrived at `now`. What it allows is for [`on_time`](Self::on_time) to send.
    pub(crate) fn on_ack(&mut self, now: Timestamp, ack: &Ack) {
        let Some(largest) = ack.ranges.last().map(|range| range.end - 1) else {
            return;
        };
        let rtt = self.take_acked(now, ack, largest);
        self.largest_acked = self.largest_acked.max(Some(largest));
        let ce_marked = ack.ce_count.saturating_sub(self.ce_count);
        self.ce_count += ce_marked;
        self.tell_late(now);
        self.detect_losses(now, rtt);
        if !self.scratch.acked.is_empty() {
            self.backoff = 0;
        }
        self.tell(now, rtt, ce_marked);
        if rtt.is_some() {
            self.first_rtt_at.get_or_insert(now);
        }
    }

    /// Length of the whole stream, once the application has written the last of it.
    pub(crate) fn final_length(&self) -> Option<u64> {
        self.app.final_length()
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    pub(crate) fn path(&self) -> PathState {
        self.flow.path_state()
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.flow.snapshot()
    }

    /// # Panics
    /// When a packet is neither acknowledged nor lost nor in flight, or when congestion control
    /// counts other bytes in flight than there are.
    pub(crate) fn assert_books_balance(&self) {
        let Counts {
            sent, acked, lost, ..
        } = self.counts;
        assert_eq!(sent, acked + lost + self.sent.count(), "packets sent");
        assert_eq!(self.path().inflight, self.sent.bytes(), "bytes in flight");
    }

    fn execute(&mut self, now: Timestamp, command: Command) {
        match command {
            Command::Mss(mss) => {
                self.mss = mss;
                self.flow.on_mtu(now, mss);
                self.pacer.set_control(now, self.flow.control(), mss);
            }
            Command::Controller(choice) => {
                self.flow
                    .change_controller(now, |setup| choice.build(setup));
                self.log.enter(now, self.flow.snapshot().state);
            }
            Command::SendsEct1(sends_ect1) => self.flow.set_sends_ect1(now, sends_ect1),
        }
    }

    /// Takes out what `ack` reports; the RTT, if its largest number is newly acknowledged.
    fn take_acked(&mut self, now: Timestamp, ack: &Ack, largest: u64) -> Option<Duration> {
        let Self {
            sent,
            acked,
            scratch,
            ..
        } = self;
        let mut newest_sent_at = None;
        for range in &ack.ranges {
            sent.take(range, |number, SentPacket { stamp, bytes, span }| {
                acked.insert(span);
                scratch.acked.push(AckedPacket { stamp, bytes });
                if number == largest {
                    newest_sent_at = Some(stamp.sent_at);
                }
            });
            sent.take_late(range, |packet, span| {
                acked.insert(span);
                scratch.late.push(packet);
            });
        }
        self.counts.acked += self.scratch.acked.len() as u64;
        newest_sent_at.map(|sent_at| self.adjusted_rtt(now.since(sent_at), ack.delay))
    }

    /// Less the peer's delay where that leaves at least the least RTT (RFC 9002 §5.3).
    fn adjusted_rtt(&mut self, rtt: Duration, delay: Duration) -> Duration {
        self.log.on_rtt(rtt);
        let min_rtt = self.flow.path_state().min_rtt.unwrap_or(Duration::MAX);
        let delay = delay.min(self.max_ack_delay);
        match rtt.checked_sub(delay) {
            Some(adjusted) if adjusted >= min_rtt => adjusted,
            _ => rtt,
        }
    }

    fn tell_late(&mut self, now: Timestamp) {
        for packet in self.scratch.late.drain(..) {
            self.counts.spurious += 1;
            self.counts.spurious_bytes += packet.bytes;
            self.flow.on_spurious_loss(now, &packet, &mut self.log);
        }
    }

    /// RFC 9002 §6.1 and appendix A.10.
    fn detect_losses(&mut self, now: Timestamp, rtt: Option<Duration>) {
        self.loss_at = None;
        let Some(largest) = self.largest_acked else {
            return;
        };
        let path = self.flow.path_state();
        let latest = rtt.or(path.latest_rtt).unwrap_or_default();
        let rtt = path.srtt.unwrap_or(latest).max(latest);
        let patience = (rtt * 9 / 8).max(persistent::GRANULARITY);
        let mut lost = 0..0;
        for (number, packet) in self.sent.up_to(largest) {
            let too_old_at = packet.stamp.sent_at + patience;
            if number + PACKET_THRESHOLD > largest && too_old_at > now {
                self.loss_at = Some(too_old_at);
                break;
            }
            let start = if lost.is_empty() { number } else { lost.start };
            lost = start..number + 1;
        }
        self.take_lost(&lost);
        let memory = probe_timeout(&path, self.max_ack_delay) * LOST_MEMORY;
        self.sent.forget_lost(now - memory);
    }

    fn take_lost(&mut self, range: &Range<u64>) {
        let Self {
            sent,
            acked,
            scratch,
            repeat,
            counts,
            ..
        } = self;
        let mut spans = Vec::new();
        sent.take(range, |number, SentPacket { stamp, bytes, span }| {
            let follows = scratch
                .lost
                .last()
                .is_some_and(|(last, _)| last + 1 == number);
            let packet = LostPacket {
                stamp,
                bytes,
                starts_range: !follows,
            };
            counts.lost += 1;
            counts.lost_bytes += bytes;
            scratch.lost.push((number, packet));
            spans.push(span);
        });
        for ((number, packet), span) in scratch.lost.iter().zip(spans) {
            if !acked.contains(&span) {
                repeat.push_back(span.clone());
            }
            sent.remember_lost(*number, *packet, span);
        }
    }

    /// Tells the controller what the lists hold, and empties them.
    fn tell(&mut self, now: Timestamp, rtt: Option<Duration>, ce_marked: u64) {
        let Scratch {
            acked,
            lost,
            lost_packets,
            ..
        } = &mut self.scratch;
        lost_packets.extend(lost.iter().map(|(_, packet)| *packet));
        let path = self.flow.path_state();
        let is_persistent_congestion =
            persistent::is_established(lost, &path, self.max_ack_delay, self.first_rtt_at);
        self.counts.persistent_congestions += u64::from(is_persistent_congestion);
        if !acked.is_empty() || !lost.is_empty() || ce_marked > 0 {
            let feedback = Feedback {
                acked,
                lost: lost_packets,
                rtt,
                ce_marked,
                is_persistent_congestion,
                ..Feedback::at(now)
            };
            self.flow.on_feedback(&feedback, &mut self.log);
        }
        acked.clear();
        lost.clear();
        lost_packets.clear();
    }

    /// The loss timer, or the probe timer where that does not run (RFC 9002 §6.2.1).
    fn timer(&self) -> Option<Timestamp> {
        self.loss_at.or_else(|| {
            let timeout = probe_timeout(&self.flow.path_state(), self.max_ack_delay);
            let timeout = timeout * (1 << self.backoff.min(MAX_BACKOFF));
            (self.sent.count() > 0).then(|| self.last_sent_at + timeout)
        })
    }

    fn on_timer(&mut self, now: Timestamp) {
        if self.loss_at.is_some() {
            self.detect_losses(now, None);
            self.tell(now, None, 0);
        } else {
            self.counts.probe_timeouts += 1;
            self.backoff += 1;
            self.probes_due = 2;
        }
    }

    /// Sends until the application, the window or the pacer says stop.
    fn send(&mut self, now: Timestamp) {
        let is_drained = self.acked.contiguous_end() == self.sent_end;
        self.app.advance(now, self.sent_end, is_drained);
        self.obey(now);
        while self.probes_due > 0 {
            self.probes_due -= 1;
            if let Some(span) = self.next_span().or_else(|| self.oldest_span()) {
                self.send_packet(now, span);
            }
        }
        let departure = self.send_freely(now);
        let command = self.commands.front().map(|(time, _)| *time);
        self.wake = [departure, self.app.next(), command]
            .into_iter()
            .flatten()
            .min();
    }

    /// When the pacer wants to be asked again, if it is what stops.
    fn send_freely(&mut self, now: Timestamp) -> Option<Timestamp> {
        loop {
            let span = self.next_span();
            let bytes = span.as_ref().map_or(self.mss, length);
            if self.flow.path_state().inflight + bytes > self.obeyed.cwnd {
                return None;
            }
            if self.pacer.budget(now) < bytes {
                return Some(self.pacer.next_departure(now));
            }
            let Some(span) = span else {
                // A closed receive window is no limit of the application's (BBR draft §4.1.1.3).
                if self.sent_end == self.app.written() {
                    self.flow.on_app_limited();
                } else {
                    self.flow.on_blocked();
                }
                return None;
            };
            self.send_packet(now, span);
        }
    }

    fn obey(&mut self, now: Timestamp) {
        let control = self.flow.control();
        if control != self.obeyed {
            self.obeyed = control;
            self.pacer.set_control(now, control, self.mss);
        }
    }

    /// The codepoint of what leaves now.
    fn ecn(&self) -> Ecn {
        match (self.flow.wants_ect1(), self.is_ecn) {
            (true, _) => Ecn::Ect1,
            (false, true) => Ecn::Ect0,
            (false, false) => Ecn::NotEct,
        }
    }

    /// What a packet would carry: first what was lost, then what is new.
    fn next_span(&mut self) -> Option<Range<u64>> {
        while self
            .repeat
            .front()
            .is_some_and(|span| self.acked.contains(span))
        {
            self.repeat.pop_front();
        }
        let mss = self.mss.get();
        if let Some(span) = self.repeat.front() {
            return Some(span.start..span.end.min(span.start + mss));
        }
        let allowed = self
            .acked
            .contiguous_end()
            .saturating_add(self.receive_window);
        let end = self.app.written().min(allowed).min(self.sent_end + mss);
        (self.sent_end < end).then_some(self.sent_end..end)
    }

    /// What a probe repeats when there is nothing else.
    fn oldest_span(&self) -> Option<Range<u64>> {
        self.sent.oldest().map(|packet| packet.span.clone())
    }

    fn send_packet(&mut self, now: Timestamp, span: Range<u64>) {
        let bytes = length(&span);
        if span.start < self.sent_end {
            self.counts.retransmitted_bytes += bytes;
        }
        self.sent_end = self.sent_end.max(span.end);
        if let Some(front) = self.repeat.front_mut()
            && front.start == span.start
        {
            front.start = span.end;
            if front.is_empty() {
                self.repeat.pop_front();
            }
        }
        let number = self.sent.next_number();
        let stamp = self.flow.on_sent(now, bytes);
        self.pacer.on_sent(now, bytes);
        self.obey(now);
        self.last_sent_at = now;
        self.counts.sent += 1;
        self.counts.sent_bytes += bytes;
        let data = Data {
            number,
            span: span.clone(),
        };
        self.outbox.push_back(Transmit {
            to: self.peer,
            packet: Content::data(data, self.ecn()),
        });
        self.sent.push(SentPacket { stamp, bytes, span });
    }
}

fn length(span: &Range<u64>) -> Bytes {
    Bytes::new(span.end - span.start)
}

/// kPacketThreshold (RFC 9002 §6.1.1).
const PACKET_THRESHOLD: u64 = 3;
/// Streams of random numbers: links have the low numbers, flows these.
const FLOW_SEEDS: u64 = 1 << 32;
/// Probe timeouts for which a lost packet is remembered, in case it arrives after all.
const LOST_MEMORY: u32 = 3;
/// Doublings of the probe timeout: 2⁶ of the shortest one are longer than any test's silence.
const MAX_BACKOFF: u32 = 6;
