//! The phases of a flow, and for how long it stays in Cruise.

use super::probe::{Overflow, Probe};
use crate::parts::transition::Machine;
use units::Rng;

/// ```text
///  ┌─────────┐ full ┌───────┐ drained ┌────────┐ 2 to 7 rounds ┌────┐ one round ┌──────┐
///  │ Startup ├─────▶│ Drain ├────────▶│        ├──────────────▶│    ├──────────▶│      │
///  └─────────┘      └───────┘         │ Cruise │               │ Up │           │ Down │
///                                     │        │◀──────────────┤    │           │      │
///                                     └────────┘  RTT doubled  └────┘           └─┬──┬─┘
///                                          ▲                      ▲     it grew   │  │
///                                          │                      └───────────────┘  │
///                                          └─────────────────────────────────────────┘
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Doubles the rate each round trip.
    Startup,
    /// At half of the estimate until the queue of Startup is gone.
    Drain,
    /// At the estimate.
    Cruise,
    /// Above the estimate, to see whether there is more.
    Up,
    /// Below the estimate, while what Up sent is acknowledged.
    Down,
}

impl Machine for Phase {
    fn name(&self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Drain => "Drain",
            Self::Cruise => "Cruise",
            Self::Up => "Up",
            Self::Down => "Down",
        }
    }

    fn may_become(&self, next: &Self) -> bool {
        use Phase::{Cruise, Down, Drain, Startup, Up};
        matches!(
            (self, next),
            (Startup, Drain) | (Drain | Up | Down, Cruise) | (Cruise | Down, Up) | (Up, Down)
        )
    }
}

/// Where the flow is in its cycle.
#[derive(Debug)]
pub(super) struct Cycle {
    pub(super) phase: Phase,
    /// The phase in which left what is acknowledged now.
    pub(super) acked: Phase,
    /// Round trips that have ended in this phase.
    pub(super) rounds: u32,
    /// Round trips in Cruise this time.
    cruise_rounds: u32,
    rng: Rng,
}

impl Cycle {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            phase: Phase::Startup,
            acked: Phase::Startup,
            rounds: 0,
            cruise_rounds: 0,
            rng: Rng::new(seed),
        }
    }

    /// A round trip has ended.
    pub(super) fn on_round(&mut self, began_in: Phase) {
        self.acked = began_in;
        self.rounds += 1;
    }

    /// Draws for how long to cruise, so that flows do not probe together for ever. A flow with less
    /// than half of the bottleneck probes twice as often, and so does one with long round trips on
    /// a path that loses too little for Downs at half of the rate; one whose Up has overflowed a
    /// queue waits some 1.5 s, in which CUBIC regains what it lost, and twice as long before a
    /// policer, where each Up loses all that it adds.
    pub(super) fn begin_cruise(&mut self, probe: &Probe, rtt: f64, has_loss: bool) {
        let few = if probe.share() < 0.5 || (rtt > LONG_RTT && !has_loss) {
            2
        } else {
            4
        };
        self.cruise_rounds = few + self.draw(few);
        if let Some(cause) = probe.overflow {
            let (time, most) = match cause {
                Overflow::Queue => (AFTER_OVERFLOW, MOST_ROUNDS),
                Overflow::Policer => (AFTER_POLICED, MOST_POLICED_ROUNDS),
            };
            let rounds = ((time / rtt.max(LEAST_RTT)) as u32).min(most);
            let percent = 75 + self.draw(50);
            self.cruise_rounds = self.cruise_rounds.max(rounds * percent / 100);
        }
    }

    /// After Startup there is more to learn by an Up than by waiting.
    pub(super) fn probe_soon(&mut self) {
        self.cruise_rounds = 1;
    }

    pub(super) fn is_cruise_over(&self) -> bool {
        self.rounds >= self.cruise_rounds
    }

    /// From 0 to `below` − 1.
    fn draw(&mut self, below: u32) -> u32 {
        (self.rng.next_u64() % u64::from(below)) as u32
    }
}

/// s; above it a rate that rose tenfold was found after 20 round trips, rarely before.
const LONG_RTT: f64 = 0.18;
/// s.
const AFTER_OVERFLOW: f64 = 1.5;
/// s; BBR waits for two to three before it probes (draft-ietf-ccwg-bbr-06 §5.3.3.8.2).
const AFTER_POLICED: f64 = 3.0;
/// As in BBR (draft-ietf-ccwg-bbr-06 §5.3.3.8.2).
const MOST_ROUNDS: u32 = 63;
/// A bucket fills with time, not with round trips: no bound but that of the time.
const MOST_POLICED_ROUNDS: u32 = (AFTER_POLICED / LEAST_RTT) as u32;
/// s.
const LEAST_RTT: f64 = 0.001;
