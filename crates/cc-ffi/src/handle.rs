//! A connection's congestion control as a C caller holds it.

use crate::packets::Packets;
use crate::status::PacelineCcStatus as Status;
use crate::structs::{PacelineCcControl, PacelineCcFeedback, PacelineCcPath, PacelineCcSetup};
use cc_core::{AckedPacket, ControllerChoice, Feedback, Flow, LostPacket, Setup};
use core::mem;
use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};
use units::{Bytes, Timestamp};

/// Congestion control of one connection. `paceline_cc_new` makes it, `paceline_cc_free` ends it.
#[derive(Debug)]
pub struct PacelineCc {
    connection: Connection,
    has_panicked: bool,
}

impl PacelineCc {
    pub(crate) fn new(choice: ControllerChoice, setup: &PacelineCcSetup) -> Result<Self, Status> {
        let connection = catch_unwind(AssertUnwindSafe(|| Connection::new(choice, *setup)));
        Ok(Self {
            connection: connection.unwrap_or(Err(Status::Panicked))?,
            has_panicked: false,
        })
    }

    /// Calls the controller. A panic in it ends the handle, whose state is then unknown.
    pub(crate) fn change(
        &mut self,
        call: impl FnOnce(&mut Connection) -> Result<(), Status>,
    ) -> Result<(), Status> {
        if self.has_panicked {
            return Err(Status::Panicked);
        }
        let result = catch_unwind(AssertUnwindSafe(|| call(&mut self.connection)));
        result.unwrap_or_else(|_| {
            self.has_panicked = true;
            Err(Status::Panicked)
        })
    }

    /// Reads from the controller.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Connection) -> T) -> Result<T, Status> {
        if self.has_panicked {
            return Err(Status::Panicked);
        }
        catch_unwind(AssertUnwindSafe(|| read(&self.connection))).map_err(|_| Status::Panicked)
    }
}

/// What a handle does as long as nothing has panicked.
#[derive(Debug)]
pub(crate) struct Connection {
    choice: ControllerChoice,
    /// As of the present path.
    setup: PacelineCcSetup,
    flow: Flow,
    packets: Packets,
    /// What was reported since the last end of feedback.
    reported: Reported,
    /// Whether [`Self::reported`] has to be ended first.
    is_feedback_open: bool,
    now: Timestamp,
}

/// Packets of one ACK or one expiry of the loss timer.
#[derive(Debug, Default)]
struct Reported {
    acked: Vec<AckedPacket>,
    lost: Vec<(u64, LostPacket)>,
}

impl Connection {
    fn new(choice: ControllerChoice, setup: PacelineCcSetup) -> Result<Self, Status> {
        Ok(Self {
            flow: flow(&choice, &setup)?,
            choice,
            setup,
            packets: Packets::default(),
            reported: Reported::default(),
            is_feedback_open: false,
            now: Timestamp::from_nanos(setup.now_ns),
        })
    }

    pub(crate) fn on_sent(&mut self, now_ns: u64, number: u64, bytes: u64) -> Result<(), Status> {
        self.check_feedback_ended()?;
        let bytes = Bytes::new(within(bytes, 1, MAX_PACKET)?);
        self.packets.check_new(number)?;
        self.advance(now_ns)?;
        let stamp = self.flow.on_sent(self.now, bytes);
        self.packets.push(number, stamp, bytes);
        Ok(())
    }

    pub(crate) fn on_acked(&mut self, number: u64) -> Result<(), Status> {
        self.reported.acked.extend(self.packets.take(number)?);
        self.is_feedback_open = true;
        Ok(())
    }

    pub(crate) fn on_lost(&mut self, number: u64) -> Result<(), Status> {
        let taken = self.packets.take(number)?;
        self.reported.lost.extend(taken.map(|packet| {
            let lost = LostPacket {
                stamp: packet.stamp,
                bytes: packet.bytes,
                starts_range: true,
            };
            (number, lost)
        }));
        self.is_feedback_open = true;
        Ok(())
    }

    pub(crate) fn end_feedback(&mut self, feedback: &PacelineCcFeedback) -> Result<(), Status> {
        let rtt = within(feedback.rtt_ns, 0, MAX_RTT_NS)?;
        let ce_marked = within(feedback.ce_marked, 0, MAX_COUNT)?;
        let is_persistent_congestion = switch(feedback.is_persistent_congestion)?;
        self.advance(feedback.now_ns)?;
        let Reported {
            mut acked,
            mut lost,
        } = mem::take(&mut self.reported);
        self.is_feedback_open = false;
        mark_ranges(&mut lost);
        let of_lost: Vec<_> = lost.iter().map(|(_, packet)| *packet).collect();
        self.flow.on_feedback(
            &Feedback {
                acked: &acked,
                lost: &of_lost,
                rtt: (rtt > 0).then(|| Duration::from_nanos(rtt)),
                ce_marked,
                is_persistent_congestion,
                ..Feedback::at(self.now)
            },
            &mut (),
        );
        for (number, packet) in lost.drain(..) {
            self.packets.remember_lost(number, packet);
        }
        acked.clear();
        acked.shrink_to(USUAL_ACK);
        lost.shrink_to(USUAL_ACK);
        self.reported = Reported { acked, lost };
        Ok(())
    }

    pub(crate) fn on_spurious_loss(&mut self, now_ns: u64, number: u64) -> Result<(), Status> {
        self.check_feedback_ended()?;
        self.check_time(now_ns)?;
        let late = self.packets.take_late(number)?;
        self.advance(now_ns)?;
        if let Some(packet) = late {
            self.flow.on_spurious_loss(self.now, &packet, &mut ());
        }
        Ok(())
    }

    pub(crate) fn on_discarded(&mut self, number: u64) -> Result<(), Status> {
        self.check_feedback_ended()?;
        if let Some(packet) = self.packets.take(number)? {
            self.flow.on_discarded(packet.bytes);
        }
        Ok(())
    }

    pub(crate) fn on_app_limited(&mut self) -> Result<(), Status> {
        self.check_feedback_ended()?;
        self.flow.on_app_limited();
        Ok(())
    }

    pub(crate) fn on_mss(&mut self, now_ns: u64, mss: u64) -> Result<(), Status> {
        self.check_feedback_ended()?;
        let mss = Bytes::new(within(mss, MIN_MSS, MAX_PACKET)?);
        self.advance(now_ns)?;
        self.flow.on_mtu(self.now, mss);
        Ok(())
    }

    pub(crate) fn on_path_change(&mut self, now_ns: u64, mss: u64) -> Result<(), Status> {
        self.check_feedback_ended()?;
        within(mss, MIN_MSS, MAX_PACKET)?;
        self.advance(now_ns)?;
        self.setup = PacelineCcSetup {
            now_ns,
            mss,
            initial_cwnd: match self.setup.initial_cwnd {
                0 => 0,
                window => window.max(2 * mss),
            },
            // The same as before would probe in step with the path before.
            seed: self.setup.seed.wrapping_add(1),
            ..self.setup
        };
        self.flow = flow(&self.choice, &self.setup)?;
        self.packets.leave_path();
        Ok(())
    }

    pub(crate) fn set_sends_ect1(&mut self, now_ns: u64, sends: u64) -> Result<(), Status> {
        self.check_feedback_ended()?;
        let is_sent = switch(sends)?;
        self.advance(now_ns)?;
        self.setup.sends_ect1 = sends;
        self.flow.set_sends_ect1(self.now, is_sent);
        Ok(())
    }

    pub(crate) fn control(&self) -> PacelineCcControl {
        let control = self.flow.control();
        PacelineCcControl {
            cwnd: control.cwnd.get(),
            pacing_rate: control.pacing_rate.bytes_per_sec(),
            send_quantum: control.send_quantum.get(),
            wants_ect1: self.flow.wants_ect1().into(),
        }
    }

    pub(crate) fn path(&self) -> PacelineCcPath {
        let path = self.flow.path_state();
        let nanos = |time: Option<Duration>| time.map_or(0, units::duration::nanos);
        PacelineCcPath {
            in_flight: path.inflight.get(),
            delivered: path.delivered.get(),
            lost: path.lost.get(),
            srtt_ns: nanos(path.srtt),
            min_rtt_ns: nanos(path.min_rtt),
        }
    }

    pub(crate) fn state(&self) -> &'static str {
        self.flow.snapshot().state
    }

    fn check_feedback_ended(&self) -> Result<(), Status> {
        if self.is_feedback_open {
            return Err(Status::FeedbackNotEnded);
        }
        Ok(())
    }

    fn check_time(&self, now_ns: u64) -> Result<(), Status> {
        if now_ns < self.now.as_nanos() {
            return Err(Status::TimeWentBack);
        }
        Ok(())
    }

    fn advance(&mut self, now_ns: u64) -> Result<(), Status> {
        self.check_time(now_ns)?;
        self.now = Timestamp::from_nanos(now_ns);
        Ok(())
    }
}

fn flow(choice: &ControllerChoice, setup: &PacelineCcSetup) -> Result<Flow, Status> {
    let mss = within(setup.mss, MIN_MSS, MAX_PACKET)?;
    let now = Timestamp::from_nanos(setup.now_ns);
    let mut read = Setup::new(now, Bytes::new(mss), setup.seed);
    if setup.initial_cwnd != 0 {
        read.initial_cwnd = Bytes::new(within(setup.initial_cwnd, 2 * mss, MAX_COUNT)?);
    }
    read.sends_ect1 = switch(setup.sends_ect1)?;
    Ok(Flow::new(choice.build(&read), &read))
}

/// Puts lost packets in the order of sending, and notes which of them start a range.
fn mark_ranges(lost: &mut [(u64, LostPacket)]) {
    lost.sort_unstable_by_key(|(number, _)| *number);
    let mut previous = None;
    for (_, packet) in lost {
        let sequence = packet.stamp.sequence;
        packet.starts_range = previous.is_none_or(|previous| previous + 1 != sequence);
        previous = Some(sequence);
    }
}

fn within(number: u64, least: u64, most: u64) -> Result<u64, Status> {
    if (least..=most).contains(&number) {
        Ok(number)
    } else {
        Err(Status::BadArgument)
    }
}

fn switch(number: u64) -> Result<bool, Status> {
    Ok(within(number, 0, 1)? == 1)
}

/// Below this a packet holds hardly more than its headers.
const MIN_MSS: u64 = 64;
/// The largest UDP payload over IPv6 without jumbograms: what 16 bits say, less UDP's header.
const MAX_PACKET: u64 = 65_527;
/// A day. It catches a difference of times that went below zero.
const MAX_RTT_NS: u64 = 86_400_000_000_000;
const MAX_COUNT: u64 = 1 << 32;
/// Packets of an ACK for which room is kept.
const USUAL_ACK: usize = 256;

#[cfg(test)]
mod tests;
