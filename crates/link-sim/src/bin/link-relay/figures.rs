//! What the relay shows a person.

use core::fmt;
use core::time::Duration;
use link_sim::relay::RelayStats;
use link_sim::{Lateness, LinkSpec, LinkStats};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::time::Instant;
use units::{Bandwidth, Gain};

/// A seed that nobody chose; it is printed, so that the run can be repeated.
pub(super) fn arbitrary_seed() -> u64 {
    // The standard library's only source of randomness; 32 bits are easier to type again.
    RandomState::new().hash_one(()) >> 32
}

/// What the two links are, below a line that says between whom.
pub(super) fn print_heading(
    out: &mut impl io::Write,
    between: impl fmt::Display,
    link: &LinkSpec,
    return_link: &LinkSpec,
) -> io::Result<()> {
    let name = |link: &LinkSpec| match link.to_string() {
        transparent if transparent.is_empty() => "nothing".to_owned(),
        words => words,
    };
    writeln!(out, "link-relay {between}")?;
    writeln!(out, "  {TO_SERVER} {}", name(link))?;
    writeln!(out, "  {TO_CLIENT} {}", name(return_link))?;
    out.flush()
}

/// What the figures are of: a link, the one back, and how well this machine ran them.
#[derive(Debug, Clone, Default)]
pub(super) struct Path {
    pub(super) link: LinkStats,
    pub(super) return_link: LinkStats,
    pub(super) lateness: Lateness,
}

impl From<&RelayStats> for Path {
    fn from(stats: &RelayStats) -> Self {
        Self {
            link: stats.link.clone(),
            return_link: stats.return_link.clone(),
            lateness: stats.lateness.clone(),
        }
    }
}

/// Figures per interval.
#[derive(Debug)]
pub(super) struct Figures {
    begin: Instant,
    last: Instant,
    path: Path,
    rows: u64,
}

impl Figures {
    pub(super) fn begin(now: Instant) -> Self {
        Self {
            begin: now,
            last: now,
            path: Path::default(),
            rows: 0,
        }
    }

    /// Prints what happened since the last time.
    pub(super) fn print_interval(
        &mut self,
        out: &mut impl io::Write,
        now: Instant,
        path: Path,
    ) -> io::Result<()> {
        let interval = now - self.last;
        let (before, after) = (&self.path.lateness, &path.lateness);
        let sent = after.all().count() - before.all().count();
        let late = percentage(after.late() - before.late(), sent);
        let (from, to) = (self.last - self.begin, now - self.begin);
        if self.rows.is_multiple_of(ROWS_PER_HEADING) {
            writeln!(out, "{:>13}    {}", "seconds", columns(INTERVAL_COLUMNS))?;
        }
        let seconds = format!("{:.1}-{:.1}", from.as_secs_f64(), to.as_secs_f64());
        let link = path.link.since(&self.path.link);
        let back = path.return_link.since(&self.path.return_link);
        let row_of = |link| columns(row(link, interval));
        writeln!(
            out,
            "{seconds:>13} {TO_SERVER} {}  late {late}",
            row_of(&link)
        )?;
        writeln!(out, "{:>13} {TO_CLIENT} {}", "", row_of(&back))?;
        out.flush()?;
        self.rows += 1;
        self.last = now;
        self.path = path;
        Ok(())
    }
}

/// What happened from begin to end, and whatever made these links others than those that were
/// asked for: `mishaps` are numbers of packets and what befell them.
pub(super) fn print_totals(
    out: &mut impl io::Write,
    path: &Path,
    mishaps: &[(u64, &str)],
) -> io::Result<()> {
    writeln!(out, "   {}", columns(TOTAL_COLUMNS))?;
    for (arrow, link) in [(TO_SERVER, &path.link), (TO_CLIENT, &path.return_link)] {
        let drops = &link.dropped;
        let counts = [link.arrived, link.duplicated, link.delivered]
            .into_iter()
            .chain([drops.loss, drops.limit, drops.queue, link.held]);
        let counts: String = counts.map(|count| columns([count.packets])).collect();
        let waits = [
            millis(link.queue_delay.quantile(Gain::percent(50))),
            millis(link.queue_delay.max()),
        ];
        writeln!(out, "{arrow} {counts}{}", columns(waits))?;
    }
    let all = path.lateness.all();
    let lateness = |percent| micros(all.quantile(Gain::percent(percent)));
    writeln!(
        out,
        "sent later than the link says: p50 {}, p99 {}, most {}",
        lateness(50),
        lateness(99),
        micros(all.max())
    )?;
    if path.lateness.is_considerable() {
        let share = percentage(path.lateness.late(), all.count());
        writeln!(
            out,
            "warning: this machine did not keep up, {share} of the packets left over 1 ms late"
        )?;
    }
    for (count, what) in mishaps.iter().filter(|(count, _)| *count > 0) {
        writeln!(out, "warning: {count} {what}")?;
    }
    out.flush()
}

/// One direction of one interval, as in [`INTERVAL_COLUMNS`].
fn row(link: &LinkStats, interval: Duration) -> [String; 8] {
    let rate = Bandwidth::from_transfer(link.delivered.bytes, interval).bits_per_sec() as f64;
    [
        link.delivered.packets.to_string(),
        format!("{:.3}", rate / 1e6),
        link.dropped.loss.packets.to_string(),
        link.dropped.limit.packets.to_string(),
        link.dropped.queue.packets.to_string(),
        link.held.packets.to_string(),
        millis(link.queue_delay.quantile(Gain::percent(50))),
        millis(link.queue_delay.max()),
    ]
}

fn columns<const N: usize>(cells: [impl fmt::Display; N]) -> String {
    cells.map(|cell| format!("{cell:>10}")).concat()
}

fn millis(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1e3)
}

fn micros(duration: Duration) -> String {
    format!("{:.0} us", duration.as_secs_f64() * 1e6)
}

fn percentage(part: u64, whole: u64) -> String {
    format!("{:.2} %", 100.0 * part as f64 / whole.max(1) as f64)
}

const TO_SERVER: &str = "->";
const TO_CLIENT: &str = "<-";
const ROWS_PER_HEADING: u64 = 20;
const INTERVAL_COLUMNS: [&str; 8] = [
    "packets", "Mbit/s", "loss", "limit", "queue", "inside", "wait p50", "max",
];
const TOTAL_COLUMNS: [&str; 9] = [
    "given",
    "copies",
    "delivered",
    "loss",
    "limit",
    "queue",
    "inside",
    "wait p50",
    "max",
];
