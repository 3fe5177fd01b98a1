//! The frames of a video between the two ends of a simulated connection.

use bench_kit::media::{Encoder, FrameLedger};
use bench_kit::plan::Plan;
use bench_kit::sample::{FrameReport, FrameTally};
use bytes::Bytes;
use paceline::testing::{EndId, World};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use units::Timestamp;

/// A video under way.
pub(super) struct Video {
    encoder: Encoder,
    sender: EndId,
    arrivals: Rc<RefCell<Arrivals>>,
    sent: u64,
}

struct Arrivals {
    ledger: FrameLedger,
    received: u64,
}

impl Video {
    /// Has `receiver` count what `sender` sends from now on; `None` where the plan has no video.
    pub(super) fn begin(
        world: &mut World,
        plan: &Plan,
        sender: EndId,
        receiver: EndId,
    ) -> Option<Self> {
        let noise = Bytes::from(vec![0; LARGEST]);
        let encoder = Encoder::new(plan, now(world), CLOCK, noise)?;
        let arrivals = Rc::new(RefCell::new(Arrivals {
            ledger: FrameLedger::new(plan, CLOCK)?,
            received: 0,
        }));
        let counted = Rc::clone(&arrivals);
        world.watch_received_datagrams(receiver, move |at, datagram| {
            let mut arrivals = counted.borrow_mut();
            if arrivals.ledger.arrive(&datagram, time(at)).is_some() {
                arrivals.received += datagram.len() as u64;
            }
        });
        Some(Self {
            encoder,
            sender,
            arrivals,
            sent: 0,
        })
    }

    /// When the next frame is due.
    pub(super) fn due(&self) -> Timestamp {
        Timestamp::ZERO + self.encoder.due()
    }

    /// Sends the frames that are due.
    ///
    /// # Errors
    /// When their datagrams do not fit.
    pub(super) fn send_due(&mut self, world: &mut World) -> Result<(), String> {
        while self.due() <= world.now() {
            let hint = world.path_estimate(self.sender).send_rate_hint;
            for datagram in self.encoder.frame(now(world), hint) {
                let size = datagram.len();
                let sent = world.send_datagram(self.sender, datagram, self.encoder.options());
                if let Err(error) = sent {
                    return Err(format!(
                        "datagram of {size} bytes cannot be sent: {error}; use a smaller -l"
                    ));
                }
                self.sent += size as u64;
            }
        }
        Ok(())
    }

    /// Bytes of datagrams so far.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// Bytes of datagrams so far.
    pub(super) fn received(&self) -> u64 {
        self.arrivals.borrow().received
    }

    pub(super) fn frames_sent(&self) -> u64 {
        self.encoder.sent()
    }

    /// All frames so far.
    pub(super) fn frames_made(&self) -> u64 {
        self.encoder.made()
    }

    /// What is known of them by now.
    pub(super) fn tally(&self, now: Timestamp) -> FrameTally {
        let ledger = &mut self.arrivals.borrow_mut().ledger;
        ledger.tally(time(now), Duration::ZERO)
    }

    pub(super) fn report(&self) -> FrameReport {
        // All ends have one clock.
        self.arrivals.borrow().ledger.report(Duration::ZERO)
    }
}

fn now(world: &World) -> Duration {
    time(world.now())
}

fn time(at: Timestamp) -> Duration {
    at.since(Timestamp::ZERO)
}

/// What the clock of the simulation is called.
const CLOCK: u64 = 0;

/// The largest UDP payload.
const LARGEST: usize = 65_527;
