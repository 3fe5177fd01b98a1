//! What link-relay shows a person, in 80 columns.

use core::fmt;
use core::time::Duration;
use link_sim::relay::{Direction, RelayStats};
use link_sim::{Count, Lateness, LinkSpec, LinkStats};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::time::Instant;
use units::{Bandwidth, Gain};

/// A seed that nobody chose; it is printed, so that the run can be repeated.
pub(super) fn random_seed() -> u64 {
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
    writeln!(out, "link-relay {between}")?;
    writeln!(out, "  {TO_SERVER} {}", name(link))?;
    writeln!(out, "  {TO_CLIENT} {}", name(return_link))?;
    out.flush()
}

/// A link that is another one from `at` on, counted from the begin.
pub(super) fn print_change(
    out: &mut impl io::Write,
    at: Duration,
    direction: Direction,
    link: &LinkSpec,
) -> io::Result<()> {
    let arrow = match direction {
        Direction::ToServer => TO_SERVER,
        Direction::ToClient => TO_CLIENT,
    };
    writeln!(
        out,
        "{:8.3} {arrow} changed to {}",
        at.as_secs_f64(),
        name(link)
    )?;
    out.flush()
}

fn name(link: &LinkSpec) -> String {
    match link.to_string() {
        transparent if transparent.is_empty() => "no link".to_owned(),
        words => words,
    }
}

/// What the figures are of: a link, the one back, and how well this machine ran them.
#[derive(Debug, Clone, Default)]
pub(super) struct PathStats {
    pub(super) link: LinkStats,
    pub(super) return_link: LinkStats,
    pub(super) lateness: Lateness,
    /// Numbers of packets, and what befell them that was not asked for; always the same list.
    pub(super) anomalies: Vec<(u64, &'static str)>,
}

impl PathStats {
    fn since(&self, earlier: &Self) -> Self {
        let before = |index: usize| earlier.anomalies.get(index).map_or(0, |(count, _)| *count);
        let anomalies = self.anomalies.iter().enumerate();
        Self {
            link: self.link.since(&earlier.link),
            return_link: self.return_link.since(&earlier.return_link),
            lateness: self.lateness.since(&earlier.lateness),
            anomalies: anomalies
                .map(|(index, (count, what))| (count.saturating_sub(before(index)), *what))
                .collect(),
        }
    }

    /// Whatever made these links others than those that were asked for.
    fn print_warnings(&self, out: &mut impl io::Write) -> io::Result<()> {
        if self.lateness.is_considerable() {
            let share = percentage(self.lateness.late(), self.lateness.all().count());
            writeln!(out, "{}", late_packets(&share))?;
        }
        for (count, what) in self.anomalies.iter().filter(|(count, _)| *count > 0) {
            writeln!(out, "warning: {count} {what}")?;
        }
        Ok(())
    }
}

fn late_packets(share: &str) -> String {
    format!("warning: {share} of packets left over 1 ms late; stop other programs")
}

impl From<&RelayStats> for PathStats {
    fn from(stats: &RelayStats) -> Self {
        let dropped = stats.kernel_dropped.unwrap_or(0);
        Self {
            link: stats.link.clone(),
            return_link: stats.return_link.clone(),
            lateness: stats.lateness.clone(),
            anomalies: vec![
                (
                    dropped,
                    "datagrams lost at full socket buffers; raise net.core.rmem_max",
                ),
                (stats.unsent, "datagrams refused by the kernel when sending"),
                (
                    stats.refused,
                    "datagrams of too many clients dropped; raise --max-clients",
                ),
                (
                    stats.unserved,
                    "datagrams dropped, no socket for their client; raise ulimit -n",
                ),
            ],
        }
    }
}

#[derive(Debug)]
pub(super) struct IntervalReport {
    begin: Instant,
    last: Instant,
    path: PathStats,
    rows: u64,
}

impl IntervalReport {
    pub(super) fn begin(now: Instant) -> Self {
        Self {
            begin: now,
            last: now,
            path: PathStats::default(),
            rows: 0,
        }
    }

    pub(super) fn print_interval(
        &mut self,
        out: &mut impl io::Write,
        now: Instant,
        path: PathStats,
    ) -> io::Result<()> {
        let (interval, at) = (now - self.last, now - self.begin);
        if self.rows.is_multiple_of(ROWS_PER_HEADING) {
            let titles: String = COLUMNS.iter().map(Column::title).collect();
            writeln!(out, "{:>8}   {titles}", "seconds")?;
        }
        let new = path.since(&self.path);
        let row = |link: &LinkStats| -> String {
            let cells = COLUMNS.iter().map(|column| column.cell(link, interval));
            cells.collect()
        };
        writeln!(
            out,
            "{:8.1} {TO_SERVER}{}",
            at.as_secs_f64(),
            row(&new.link)
        )?;
        writeln!(out, "{:8} {TO_CLIENT}{}", "", row(&new.return_link))?;
        new.print_warnings(out)?;
        out.flush()?;
        self.rows += 1;
        self.last = now;
        self.path = path;
        Ok(())
    }
}

pub(super) fn print_totals(out: &mut impl io::Write, path: &PathStats) -> io::Result<()> {
    writeln!(out, "{:24}{TO_SERVER:>14}{TO_CLIENT:>14}", "packets")?;
    for (what, figure) in TOTALS {
        let [link, return_link] = [&path.link, &path.return_link].map(figure);
        writeln!(out, "{what:24}{link:>14}{return_link:>14}")?;
    }
    let all = path.lateness.all();
    let lateness = |percent| micros(all.quantile(Gain::percent(percent)));
    writeln!(
        out,
        "sent late by: p50 {}, p99 {}, max {}",
        lateness(50),
        lateness(99),
        micros(all.max())
    )?;
    path.print_warnings(out)?;
    out.flush()
}

struct Column {
    title: &'static str,
    width: usize,
    figure: fn(&LinkStats, Duration) -> String,
}

impl Column {
    const fn new(
        title: &'static str,
        width: usize,
        figure: fn(&LinkStats, Duration) -> String,
    ) -> Self {
        Self {
            title,
            width,
            figure,
        }
    }

    fn title(&self) -> String {
        format!("{:>1$}", self.title, self.width)
    }

    fn cell(&self, link: &LinkStats, interval: Duration) -> String {
        format!("{:>1$}", (self.figure)(link, interval), self.width)
    }
}

fn count(count: Count) -> String {
    count.packets.to_string()
}

fn megabits_per_second(link: &LinkStats, interval: Duration) -> String {
    let rate = Bandwidth::from_transfer(link.delivered.bytes, interval);
    format!("{:.3}", rate.bits_per_sec() as f64 / 1e6)
}

/// How long this share of the packets waited at most.
fn wait(link: &LinkStats, percent: u64) -> String {
    millis(link.queue_delay.quantile(Gain::percent(percent)))
}

fn millis(duration: Duration) -> String {
    format!("{:.2}", duration.as_secs_f64() * 1e3)
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

/// Behind the time and the arrow, which take 11 of 80 columns.
const COLUMNS: [Column; 8] = [
    Column::new("packets", 9, |link, _| count(link.delivered)),
    Column::new("Mbit/s", 10, megabits_per_second),
    Column::new("lost", 8, |link, _| count(link.dropped.loss)),
    // All but those of the loss model: limit, policer, queue and its discipline.
    Column::new("dropped", 8, |link, _| {
        count(link.dropped.total() - link.dropped.loss)
    }),
    Column::new("marked", 8, |link, _| count(link.marked)),
    Column::new("inside", 8, |link, _| count(link.held)),
    Column::new("wait ms", 9, |link, _| wait(link, 50)),
    Column::new("max ms", 9, |link, _| wait(link, 100)),
];

type Total = (&'static str, fn(&LinkStats) -> String);

const TOTALS: [Total; 14] = [
    ("received", |link| count(link.arrived)),
    ("duplicated", |link| count(link.duplicated)),
    ("delivered", |link| count(link.delivered)),
    ("  corrupted", |link| count(link.corrupted)),
    ("marked CE", |link| count(link.marked)),
    ("lost", |link| count(link.dropped.loss)),
    ("dropped at the limit", |link| count(link.dropped.limit)),
    ("  by the policer", |link| count(link.dropped.policer)),
    ("  at the full queue", |link| count(link.dropped.queue)),
    ("  by the AQM", |link| count(link.dropped.aqm)),
    ("inside", |link| count(link.held)),
    ("queue delay, p50 ms", |link| wait(link, 50)),
    ("  p99 ms", |link| wait(link, 99)),
    ("  max ms", |link| wait(link, 100)),
];

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    fn many(packets: u64) -> Count {
        Count {
            packets,
            bytes: Bytes::new(1_494 * packets),
        }
    }

    /// What two minutes at 10 Gbit/s give.
    fn busy() -> PathStats {
        let mut link = LinkStats {
            arrived: many(100_000_000),
            delivered: many(99_000_000),
            marked: many(999_999),
            held: many(1_048_576),
            ..LinkStats::default()
        };
        link.dropped.loss = many(1_000_000);
        link.dropped.queue = many(1_000_000);
        link.queue_delay.record(Duration::from_secs(60));
        PathStats {
            return_link: link.clone(),
            link,
            anomalies: vec![(3, "refused by the kernel when sending"), (0, "refused")],
            lateness: Lateness::default(),
        }
    }

    fn printed(print: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Vec<String> {
        let mut out = Vec::new();
        print(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn large_figures_stand_below_their_titles_in_80_columns() {
        let begin = tokio::time::Instant::now().into_std();
        let mut figures = IntervalReport::begin(begin);
        let later = begin + Duration::from_secs(100_000);
        let lines = printed(|out| figures.print_interval(out, later, busy()));
        assert_eq!(lines.len(), 4);
        assert!(lines.iter().all(|line| line.len() <= 80), "{lines:#?}");
        let ends = |line: &str| -> Vec<usize> {
            let bytes = line.as_bytes();
            let is_end = |at: &usize| bytes[*at] != b' ' && bytes.get(at + 1) == Some(&b' ');
            (11..line.len()).filter(is_end).collect()
        };
        // Titles of two words have one gap more.
        let titles = ends(&lines[0].replace(" ms", "_ms"));
        assert_eq!(ends(&lines[1]), titles, "{lines:#?}");
        assert_eq!(ends(&lines[2]), titles, "{lines:#?}");
        assert_eq!(lines[3], "warning: 3 refused by the kernel when sending");
        let totals = printed(|out| print_totals(out, &busy()));
        assert!(totals.iter().all(|line| line.len() <= 80), "{totals:#?}");
    }

    #[test]
    fn a_warning_of_millions_of_packets_fits_into_80_columns() {
        const MANY: u64 = 9_999_999;
        let relay = RelayStats {
            kernel_dropped: Some(MANY),
            unsent: MANY,
            refused: MANY,
            unserved: MANY,
            ..RelayStats::default()
        };
        let mut all = PathStats::from(&relay);
        #[cfg(target_os = "linux")]
        {
            let tun = link_sim::tun::TunStats {
                unread: MANY,
                unsent: MANY,
                malformed: MANY,
                ..link_sim::tun::TunStats::default()
            };
            all.anomalies.extend(crate::tun::anomalies(&tun, MANY));
        }
        let mut lines = printed(|out| all.print_warnings(out));
        assert_eq!(lines.len(), all.anomalies.len());
        lines.push(late_packets("100.00 %"));
        assert!(lines.iter().all(|line| line.len() <= 80), "{lines:#?}");
    }

    #[test]
    fn an_interval_shows_what_is_new() {
        let begin = tokio::time::Instant::now().into_std();
        let mut figures = IntervalReport::begin(begin);
        let second = Duration::from_secs(1);
        printed(|out| figures.print_interval(out, begin + second, busy()));
        let mut path = busy();
        path.link.delivered += many(7);
        let lines = printed(|out| figures.print_interval(out, begin + 2 * second, path));
        let words: Vec<&str> = lines[0].split_whitespace().collect();
        assert_eq!(words[..4], ["2.0", "->", "7", "0.084"]);
        assert_eq!(lines.len(), 2, "{lines:#?}");
    }
}
