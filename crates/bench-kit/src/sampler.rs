//! Reads the counters of one side of a run on a real connection for its meter.

use crate::clock;
use crate::counters::Counters;
use crate::meter::{CounterSnapshot, Meter};
use crate::plan::Plan;
use crate::role::Role;
use crate::sample::{Sample, SideReport};
use cc_core::ControllerChoice;
use paceline::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Takes one side's samples at their times.
pub(crate) struct Sampler<'a> {
    connection: &'a Connection,
    counters: Arc<Counters>,
    meter: Meter,
    begin: Instant,
}

impl<'a> Sampler<'a> {
    /// Observes the connection from now on.
    pub(crate) fn new(connection: &'a Connection, counters: Arc<Counters>, role: Role) -> Self {
        let meter = Meter::new(role, read(Duration::ZERO, connection, &counters));
        connection.set_observer(meter.observer());
        Self {
            connection,
            counters,
            meter,
            begin: clock::now(),
        }
    }

    /// Time counts from `now` on.
    pub(crate) fn begin(&mut self, now: Instant, plan: &Plan) {
        self.begin = now;
        self.meter.begin(plan);
    }

    pub(crate) fn next_tick(&self) -> Instant {
        self.begin + self.meter.next_tick()
    }

    /// What happened since the sample before.
    pub(crate) fn tick(&mut self, now: Instant) -> Sample {
        let at = now.saturating_duration_since(self.begin);
        let snapshot = read(at, self.connection, &self.counters);
        self.meter.tick(snapshot)
    }

    /// Whether the measured part has passed.
    pub(crate) fn is_over(&self) -> bool {
        self.meter.is_over()
    }

    /// The rest that no tick has covered, and the sum of the measured part.
    pub(crate) fn finish(
        mut self,
        now: Instant,
        congestion: &ControllerChoice,
    ) -> (Option<Sample>, SideReport) {
        let sample = (!self.is_over()).then(|| self.tick(now));
        self.connection.set_observer(Box::new(()));
        (sample, self.meter.report(congestion))
    }
}

fn read(at: Duration, connection: &Connection, counters: &Counters) -> CounterSnapshot {
    let read = |counters: &[AtomicU64]| {
        let values = counters.iter();
        values.map(|value| value.load(Ordering::Relaxed)).collect()
    };
    let congestion = connection.congestion();
    let stats = connection.stats();
    let one_way = stats.min_rtt.unwrap_or_else(|| connection.rtt()) / 2;
    CounterSnapshot {
        at,
        sent: counters.departed(|id| connection.stream_bytes_sent(id)),
        received: read(&counters.received),
        datagrams_sent: counters.datagrams.sent(),
        arrivals: counters.datagrams.arrivals(),
        frames_sent: counters.frames.sent(),
        frames: counters.frames.tally(clock::process_time(), one_way),
        stats,
        state: congestion.state,
        pacing_gain: congestion.pacing_gain,
        cwnd_gain: congestion.cwnd_gain,
        cpu: clock::thread_cpu(),
        cpu_user: clock::thread_user_cpu(),
    }
}
