//! What the relay shows a person.

use core::fmt;
use core::time::Duration;
use link_sim::relay::{RelayConfig, RelayStats};
use link_sim::{LinkSpec, LinkStats};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::time::Instant;
use units::{Bandwidth, Gain};

/// A seed that nobody chose; it is printed, so that the run can be repeated.
pub(super) fn arbitrary_seed() -> u64 {
    // The standard library's only source of randomness; 32 bits are easier to type again.
    RandomState::new().hash_one(()) >> 32
}

/// What this relay is.
pub(super) fn print_heading(local: SocketAddr, config: &RelayConfig) -> io::Result<()> {
    let name = |link: &LinkSpec| match link.to_string() {
        transparent if transparent.is_empty() => "nothing".to_owned(),
        words => words,
    };
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "link-relay {local} to {}, seed {}",
        config.to, config.seed
    )?;
    writeln!(out, "  {TO_SERVER} {}", name(&config.link))?;
    writeln!(out, "  {TO_CLIENT} {}", name(&config.return_link))?;
    out.flush()
}

/// Figures per interval.
#[derive(Debug)]
pub(super) struct Figures {
    begin: Instant,
    last: Instant,
    stats: RelayStats,
    rows: u64,
}

impl Figures {
    pub(super) fn begin(now: Instant) -> Self {
        Self {
            begin: now,
            last: now,
            stats: RelayStats::default(),
            rows: 0,
        }
    }

    /// Prints what happened since the last time.
    pub(super) fn print_interval(&mut self, now: Instant, stats: &RelayStats) -> io::Result<()> {
        let interval = now - self.last;
        let sent = stats.lateness.all().count() - self.stats.lateness.all().count();
        let late = percentage(stats.lateness.late() - self.stats.lateness.late(), sent);
        let (from, to) = (self.last - self.begin, now - self.begin);
        let mut out = io::stdout().lock();
        if self.rows.is_multiple_of(ROWS_PER_HEADING) {
            writeln!(out, "{:>13}    {}", "seconds", columns(INTERVAL_COLUMNS))?;
        }
        let seconds = format!("{:.1}-{:.1}", from.as_secs_f64(), to.as_secs_f64());
        let link = stats.link.since(&self.stats.link);
        let back = stats.return_link.since(&self.stats.return_link);
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
        self.stats = stats.clone();
        Ok(())
    }
}

/// What happened from begin to end.
pub(super) fn print_totals(stats: &RelayStats) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "   {}", columns(TOTAL_COLUMNS))?;
    for (arrow, link) in [(TO_SERVER, &stats.link), (TO_CLIENT, &stats.return_link)] {
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
    let lateness = |percent| micros(stats.lateness.all().quantile(Gain::percent(percent)));
    writeln!(
        out,
        "sent later than the link says: p50 {}, p99 {}, most {}",
        lateness(50),
        lateness(99),
        micros(stats.lateness.all().max())
    )?;
    print_warnings(&mut out, stats)?;
    out.flush()
}

/// Whatever made these links others than those that were asked for.
fn print_warnings(out: &mut impl io::Write, stats: &RelayStats) -> io::Result<()> {
    if stats.fell_behind() {
        let share = percentage(stats.lateness.late(), stats.lateness.all().count());
        writeln!(
            out,
            "warning: this machine did not keep up, {share} of the datagrams left over 1 ms late"
        )?;
    }
    let counts = [
        (
            stats.kernel_dropped.unwrap_or(0),
            "datagrams dropped by the kernel at full socket buffers (see net.core.rmem_max)",
        ),
        (stats.unsent, "datagrams that the kernel would not send"),
        (stats.refused, "datagrams refused: too many clients"),
    ];
    for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
        writeln!(out, "warning: {count} {what}")?;
    }
    Ok(())
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
