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

/// The same in percent of one core: all, the program's and the kernel's.
pub(super) fn busy_percent(sides: &[&Side]) -> [Option<Finite>; 3] {
    let measured = sum(sides).measured.as_secs_f64();
    let percent = |time: Duration| Finite::new(time.as_secs_f64() / measured * 100.0);
    if !is_reported(sides) {
        return [None; 3];
    }
    let total = cpu_time(sides);
    let user = user_time(sides).map(|user| user.min(total));
    let system = user.map(|user| total.saturating_sub(user));
    [Some(total), user, system].map(|time| time.and_then(percent))
}

/// That of the threads that had the connections, each counted once.
fn cpu_time(sides: &[&Side]) -> Duration {
    threads(sides).map(|report| report.cpu).sum()
}

fn user_time(sides: &[&Side]) -> Option<Duration> {
    threads(sides).map(|report| report.cpu_user).sum()
}

/// The report of each thread that says most of it.
fn threads<'a>(sides: &[&'a Side]) -> impl Iterator<Item = &'a SideReport> + use<'a> {
    let mut threads: BTreeMap<Option<u32>, &SideReport> = BTreeMap::new();
    for report in sides.iter().filter_map(|side| side.report.as_ref()) {
        let most = threads.entry(report.thread).or_insert(report);
        if report.cpu > most.cpu {
            *most = report;
        }
    }
    threads.into_values()
}

fn is_reported(sides: &[&Side]) -> bool {
    !sides.is_empty() && sides.iter().all(|side| side.report.is_some())
}
