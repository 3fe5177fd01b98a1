use bench_kit::plan::Plan;
use bench_kit::sample::{Sample, Series, SideReport};
use bench_report::result::Finite;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

/// One connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flow {
    /// The client's address and the server's, where there are sockets.
    pub(crate) addresses: Option<(SocketAddr, SocketAddr)>,
    pub(crate) client: Side,
    pub(crate) server: Side,
}

impl Flow {
    /// A connection of which nothing has been measured yet.
    pub(crate) fn between(addresses: (SocketAddr, SocketAddr)) -> Self {
        Self {
            addresses: Some(addresses),
            ..Self::default()
        }
    }

    /// The sending side and the receiving one; with `--bidir`, of the direction to the server.
    pub(super) fn sides(&self, plan: &Plan) -> (&Side, &Side) {
        if plan.direction.client_sends() {
            (&self.client, &self.server)
        } else {
            (&self.server, &self.client)
        }
    }
}

/// One side's account of one connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Side {
    pub(crate) series: Series,
    /// The side's own sum; `None` when it ended before it could report.
    pub(crate) report: Option<SideReport>,
}

impl Side {
    /// The side's own sum, or that of its samples so far.
    pub(super) fn totals(&self) -> SideReport {
        self.report.clone().unwrap_or_else(|| {
            let measured = self
                .series
                .samples()
                .iter()
                .filter(|sample| !sample.omitted);
            let mut sum = Sample::default();
            measured.for_each(|sample| sum.extend(sample));
            SideReport {
                measured: sum.length,
                sent: sum.sent,
                received: sum.received,
                ..SideReport::default()
            }
        })
    }
}

/// One side's sum over its connections.
pub(super) fn sum(sides: &[&Side]) -> SideReport {
    let mut totals = sides.iter().map(|side| side.totals());
    let mut sum = totals.next().unwrap_or_default();
    totals.for_each(|report| sum.add(report));
    sum
}

/// Processor time of one side; `None` when it did not report.
pub(super) fn cpu(sides: &[&Side]) -> Option<Finite> {
    is_reported(sides).then(|| Finite::seconds(cpu_time(sides)))
}

/// The same in percent of one core.
pub(super) fn busy_percent(sides: &[&Side]) -> Option<Finite> {
    let share = cpu_time(sides).as_secs_f64() / sum(sides).measured.as_secs_f64() * 100.0;
    is_reported(sides).then(|| Finite::new(share))?
}

/// That of the threads that had the connections, each counted once.
fn cpu_time(sides: &[&Side]) -> Duration {
    let mut threads: BTreeMap<Option<u32>, Duration> = BTreeMap::new();
    for report in sides.iter().filter_map(|side| side.report.as_ref()) {
        let cpu = threads.entry(report.thread).or_default();
        *cpu = report.cpu.max(*cpu);
    }
    threads.into_values().sum()
}

fn is_reported(sides: &[&Side]) -> bool {
    !sides.is_empty() && sides.iter().all(|side| side.report.is_some())
}
