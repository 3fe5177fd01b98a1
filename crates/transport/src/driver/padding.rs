//! Padding on its way into packets, where the application has the connection probe.

use super::limited_probe::{LONGEST_INTERVAL, LimitedProbe};
use super::path_estimate::greatest_hint;
use super::state::ConnectionDriver;
use crate::clock;
use crate::datagrams::{DatagramOptions, DatagramPriority};
use crate::random;
use crate::tap::{Content, PaddingMark, Sent};
use std::time::Instant;
use units::{Bandwidth, Bytes, Timestamp};

impl ConnectionDriver {
    /// Probes up to this hint from now on, or no more.
    pub(crate) fn probe_up_to(&mut self, now: Instant, target: Option<Bandwidth>) {
        let hint = self.path_estimate(now).send_rate_hint;
        let now = clock::timestamp(now);
        if let Some(probe) = &mut self.datagrams.probe {
            probe.set_target(now, target, hint);
            return;
        }
        let Some(target) = target else { return };
        let mark = || {
            let mut mark = PaddingMark::default();
            random::fill(&mut mark);
            mark
        };
        let mark = self.congestion.tap().padding_mark(mark);
        self.datagrams.probe = Some(Box::new(LimitedProbe::new(now, target, mark)));
    }

    /// Nothing is left to send: puts behind it what padding is due.
    pub(super) fn add_padding(&mut self, now: Timestamp) {
        let probe = self.datagrams.probe.as_deref();
        if !probe.is_some_and(|probe| probe.is_due(now)) || !self.may_pad() {
            return;
        }
        let estimate = self.path_estimate(clock::instant(now));
        let (Some(probe), Some(most)) =
            (&mut self.datagrams.probe, self.conn.datagrams().max_size())
        else {
            return;
        };
        let greatest = greatest_hint(self.max_rate);
        let packets = probe.take(now, &estimate, greatest, self.mss);
        if packets == 0 || most < probe.mark.len() {
            return;
        }
        let mut data = vec![0; most];
        data[..probe.mark.len()].copy_from_slice(&probe.mark);
        let data = bytes::Bytes::from(data);
        let options = DatagramOptions {
            is_padding: true,
            ..DatagramOptions::default()
        };
        let options = options
            .ttl(LONGEST_INTERVAL)
            .priority(DatagramPriority::AfterStreams);
        for _ in 0..packets {
            let queue = &mut self.datagrams;
            let queued = queue.push(now, data.clone(), options, Some(most), false);
            if queued.is_err() {
                break;
            }
        }
    }

    /// When padding is due, if nothing else happens before.
    pub(super) fn next_padding(&mut self) -> Option<Timestamp> {
        let due = self.datagrams.probe.as_deref()?.next()?;
        // What is overdue leaves when the connection is idle, which something else brings about.
        let is_ahead = due > clock::timestamp(self.now);
        (is_ahead && self.may_pad()).then_some(due)
    }

    fn may_pad(&mut self) -> bool {
        let is_empty = !self.datagrams.is_waiting() && !self.datagrams.has_handed();
        let is_open = self.is_confirmed && !self.conn.is_closed();
        is_empty && is_open && self.conn.datagrams().max_size().is_some()
    }

    /// A batch has left in which so many packets were padding.
    pub(super) fn note_sent_beside_padding(&mut self, now: Timestamp, padding: u64) {
        let Some(probe) = &mut self.datagrams.probe else {
            return;
        };
        let eliciting = |sent: &&Sent| sent.content == Content::AckEliciting;
        let sent = self.sent.iter().filter(eliciting);
        let sent: Bytes = sent.map(|sent| Bytes::new(sent.bytes.into())).sum();
        let of_application = sent.saturating_sub(self.mss * padding);
        if of_application > Bytes::ZERO {
            probe.sent += of_application;
            probe.sent_at = now;
        }
    }
}
