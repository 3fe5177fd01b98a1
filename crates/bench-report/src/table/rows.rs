use crate::result::Quantity;
use crate::result::iperf::{End, Row};
use crate::text::{Unit, amount, printable, short_rate, significant};

/// Which columns a row has. Where a terminal has no room for all, those go first that say least of
/// how a run goes: the state, the pacing rate, the window, then the RTT and what was transferred;
/// bitrate and losses stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    /// Interval, bitrate and losses: 37 characters.
    Least,
    /// iperf3's and the RTT, without the window: 60 characters.
    Few,
    /// RTT: 74 characters, for rows whose direction stands before them.
    Short,
    /// RTT and pacing rate: 80 characters.
    Narrow,
    /// The controller's state as well: 95 characters and more.
    Wide,
    /// Before the state what `ss -ti` has, too: 150 characters.
    Full,
}

impl Columns {
    /// What fits into a terminal of this many characters; the least there is, where nothing does.
    pub fn fitting(width: usize) -> Self {
        match width {
            WIDE.. => Self::Wide,
            NARROW..WIDE => Self::Narrow,
            SHORT..NARROW => Self::Short,
            FEW..SHORT => Self::Few,
            ..FEW => Self::Least,
        }
    }

    /// The same for rows of which the controller's details are wanted, and whether these stand in a
    /// [line of their own](detail_row) below.
    pub fn with_details(width: usize) -> (Self, bool) {
        match width {
            FULL.. => (Self::Full, false),
            // Where the state ends the first line it would not end the second.
            NARROW..FULL => (Self::Narrow, true),
            ..NARROW => (Self::fitting(width), true),
        }
    }

    const fn has_window(self) -> bool {
        !matches!(self, Self::Least | Self::Few)
    }
}

/// A row of a run in which both sides send: behind its number, as in iperf3, `[TX-C]` where the
/// client sends and `[RX-C]` where it receives. `line` is a row or, without a `row`, their head.
pub fn with_direction(line: &str, row: Option<&Row>) -> String {
    let direction = match row.map(|row| row.sender) {
        None => "[Role]",
        Some(true) => "[TX-C]",
        Some(false) => "[RX-C]",
    };
    let (id, rest) = line.split_at(line.find(']').map_or(0, |at| at + 1));
    format!("{id}{direction}{rest}")
}

/// The head of the interval rows.
pub fn interval_header(columns: Columns) -> String {
    let losses = format!("{} {:>4}", head(columns), "Retr");
    let short = format!("{losses} {:>11} {:>6}", "Cwnd", "RTT");
    let narrow = format!("{short} {:>5}", "Pace");
    match columns {
        Columns::Least => losses,
        Columns::Few => format!("{losses} {:>6}", "RTT"),
        Columns::Short => short,
        Columns::Narrow => narrow,
        Columns::Wide => format!("{narrow} State"),
        Columns::Full => format!("{narrow}{} State", details_head()),
    }
}

fn details_head() -> String {
    format!(
        " {:>6} {:>11} {:>5} {:>9} {:>4} {:>4}",
        "MinRTT", "InFlight", "Deliv", "Gains", "App", "CE"
    )
}

/// The head of [`detail_row`]s.
pub fn detail_header() -> String {
    format!("{DETAIL_INDENT}{} State", details_head())
}

/// What [`Columns::Full`] has behind the other columns, as a line of 67 characters below a row;
/// `None` for rows that have no such figures: those of datagrams and of the warm-up.
pub fn detail_row(row: &Row) -> Option<String> {
    if datagrams(row).is_some() || row.omitted == Some(true) {
        return None;
    }
    let state = row.state.as_deref().map(printable).unwrap_or_default();
    let line = format!("{DETAIL_INDENT}{} {state}", details(row));
    let line = line.trim_end();
    (!line.is_empty()).then(|| line.to_owned())
}

/// The head of the interval rows of datagrams; `arrive` where this side receives them.
pub fn datagram_header(arrive: bool, columns: Columns) -> String {
    let of_datagrams = if arrive {
        "   Jitter  Lost/Total Datagrams"
    } else {
        " Total Datagrams"
    };
    format!("{}{of_datagrams}", head(columns))
}

/// One interval of one stream, or of the sum of all when `row` has no socket.
///
/// ```text
/// [  1]  0.00-1.00  sec 11.2 MBytes 94.0 Mbits/sec    3  500 KBytes 40.2ms 95.0M
/// ```
/// Figures that the row does not have are blank. A row of the warm-up says `(omitted)` in the
/// place of the last columns.
pub fn interval_row(row: &Row, unit: Unit, columns: Columns) -> String {
    let mut line = transfer(row, unit, columns);
    if let Some(datagrams) = datagrams(row) {
        line.push_str(&datagrams);
        if row.omitted == Some(true) {
            line.push_str("  (omitted)");
        }
        return line;
    }
    line.push_str(&format!(" {:>4}", text(whole(row, Quantity::PacketsLost))));
    if columns.has_window() {
        let cwnd = whole(row, Quantity::Cwnd).map(amount);
        line.push_str(&format!(" {:>11}", text(cwnd)));
    }
    if row.omitted == Some(true) {
        line.push_str("    (omitted)");
        return line;
    }
    if columns != Columns::Least {
        line.push_str(&format!(" {:>6}", text(millis(row, Quantity::SmoothedRtt))));
    }
    if matches!(columns, Columns::Narrow | Columns::Wide | Columns::Full) {
        let pacing = whole(row, Quantity::PacingRate).map(short_rate);
        line.push_str(&format!(" {:>5}", text(pacing)));
    }
    if columns == Columns::Full {
        line.push_str(&details(row));
    }
    if matches!(columns, Columns::Wide | Columns::Full)
        && let Some(state) = &row.state
    {
        line.push(' ');
        line.push_str(&printable(state));
    }
    line.truncate(line.trim_end().len());
    line
}

/// The columns of `ss -ti`: least RTT, bytes in flight, delivery rate, the gains of pacing and of
/// the window, the share of the time with nothing to send, and CE marks.
fn details(row: &Row) -> String {
    let figure = |quantity| row.figures.get(quantity);
    let gains = figure(Quantity::PacingGain).zip(figure(Quantity::CwndGain));
    let gains = gains.map(|(pacing, cwnd)| format!("{:.2}/{:.2}", pacing.get(), cwnd.get()));
    let application = figure(Quantity::ApplicationLimited);
    let application = application.map(|share| format!("{:.0}%", share.get() * 100.0));
    format!(
        " {:>6} {:>11} {:>5} {:>9} {:>4} {:>4}",
        text(millis(row, Quantity::MinRtt)),
        text(whole(row, Quantity::InFlight).map(amount)),
        text(whole(row, Quantity::DeliveryRate).map(short_rate)),
        text(gains),
        text(application),
        text(whole(row, Quantity::CeMarked))
    )
}

/// The closing rows: what each stream's sender and receiver counted, and the sums when there are
/// several streams in a direction. Ends with a newline.
pub fn end_block(end: &End, unit: Unit, columns: Columns) -> String {
    let dashes = if columns == Columns::Least { 19 } else { 25 };
    let mut block = "- ".repeat(dashes);
    block.truncate(block.len() - 1);
    let is_of_datagrams = end.sum_sent.packets.is_some() || end.sum_received.packets.is_some();
    let is_bidir = end.sum_sent_bidir_reverse.is_some();
    let header = if is_of_datagrams {
        datagram_header(true, columns)
    } else {
        format!("{} {:>4}", head(columns), "Retr")
    };
    block.push_str(&match is_bidir {
        true => format!("\n{}\n", with_direction(&header, None)),
        false => format!("\n{header}\n"),
    });
    for stream in &end.streams {
        end_rows(
            &mut block,
            [&stream.sender, &stream.receiver],
            is_bidir,
            unit,
            columns,
        );
    }
    let reverse = end.sum_sent_bidir_reverse.as_ref();
    let reverse = reverse.zip(end.sum_received_bidir_reverse.as_ref());
    if end.streams.len() > 1 + usize::from(reverse.is_some()) {
        end_rows(
            &mut block,
            [&end.sum_sent, &end.sum_received],
            is_bidir,
            unit,
            columns,
        );
        if let Some((sent, received)) = reverse {
            end_rows(&mut block, [sent, received], is_bidir, unit, columns);
        }
    }
    block
}

/// Processor time of both sides, as iperf3's `-V` has it; `None` where neither reported it.
///
/// ```text
/// CPU Utilization: local/sender 12.1% (3.4%u/8.7%s), remote/receiver 9.0% (2.9%u/6.1%s)
/// ```
pub fn cpu_line(end: &End) -> Option<String> {
    let cpu = &end.cpu_utilization_percent;
    let is_bidir = end.sum_sent_bidir_reverse.is_some();
    let roles = match (is_bidir, end.sum_sent.sender) {
        (true, _) => ["local", "remote"],
        (false, true) => ["local/sender", "remote/receiver"],
        (false, false) => ["local/receiver", "remote/sender"],
    };
    let sides = [
        (cpu.host_total, cpu.host_user.zip(cpu.host_system)),
        (cpu.remote_total, cpu.remote_user.zip(cpu.remote_system)),
    ];
    let sides = roles
        .into_iter()
        .zip(sides)
        .filter_map(|(role, (total, split))| {
            let split =
                split.map(|(user, system)| format!(" ({:.1}%u/{:.1}%s)", user.get(), system.get()));
            Some(format!("{role} {:.1}%{}", total?.get(), text(split)))
        });
    let sides: Vec<String> = sides.collect();
    (!sides.is_empty()).then(|| format!("CPU Utilization: {}", sides.join(", ")))
}

fn end_rows(block: &mut String, rows: [&Row; 2], is_bidir: bool, unit: Unit, columns: Columns) {
    let gap = if columns.has_window() { 13 } else { 1 };
    for (row, role) in rows.into_iter().zip(["sender", "receiver"]) {
        let counts = match datagrams(row) {
            Some(datagrams) => format!("{datagrams}  {role}"),
            None => {
                let lost = text(whole(row, Quantity::PacketsLost));
                format!(" {lost:>4}{:gap$}{role}", "")
            }
        };
        let line = format!("{}{counts}", transfer(row, unit, columns));
        block.push_str(&match is_bidir {
            true => with_direction(&line, Some(row)),
            false => line,
        });
        block.push('\n');
    }
}

/// iperf3's columns of UDP: jitter and losses where the row knows them, else the datagrams sent.
fn datagrams(row: &Row) -> Option<String> {
    let packets = row.packets?;
    let Some(((jitter, lost), percent)) = row.jitter_ms.zip(row.lost_packets).zip(row.lost_percent)
    else {
        return Some(format!(" {packets:>15}"));
    };
    let jitter = jitter.get();
    let late = row.out_of_order.filter(|late| *late > 0);
    let late = late
        .map(|late| format!(", {late} late"))
        .unwrap_or_default();
    Some(format!(
        " {jitter:>6.3} ms  {lost}/{packets} ({}%{late})",
        significant(percent.get())
    ))
}

fn head(columns: Columns) -> String {
    match columns {
        Columns::Least => format!("[ ID]  {:<10} {:>14}", "Seconds", "Bitrate"),
        _ => format!(
            "[ ID]  {:<14} {:>11} {:>14}",
            "Interval", "Transfer", "Bitrate"
        ),
    }
}

fn transfer(row: &Row, unit: Unit, columns: Columns) -> String {
    let id = match row.socket {
        Some(id) => format!("[{id:>3}]"),
        None => "[SUM]".to_owned(),
    };
    let (start, end) = (row.start.get(), row.end.get());
    let rate = unit.rate(row.bits_per_second.get());
    match columns {
        Columns::Least => format!("{id} {start:>5.2}-{end:<5.2} {rate:>14}"),
        _ => {
            let amount = amount(row.bytes);
            format!("{id} {start:>5.2}-{end:<5.2} sec {amount:>11} {rate:>14}")
        }
    }
}

fn whole(row: &Row, quantity: Quantity) -> Option<u64> {
    row.figures.whole(quantity)
}

/// A time in milliseconds, in at most six characters.
fn millis(row: &Row, quantity: Quantity) -> Option<String> {
    Some(match row.figures.get(quantity)?.get() {
        ms if ms < 9.995 => format!("{ms:.2}ms"),
        ms if ms < 99.95 => format!("{ms:.1}ms"),
        ms if ms < 9_999.5 => format!("{ms:.0}ms"),
        ms => format!("{:.0}s", ms / 1000.0),
    })
}

fn text(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// What these columns need.
const FEW: usize = 60;
const SHORT: usize = 74;
const NARROW: usize = 80;

/// Where the longest state of the controllers that come with this project ends, `ProbeBW_REFILL`.
const WIDE: usize = 95;
const FULL: usize = 150;

/// Below the number of a row.
const DETAIL_INDENT: &str = "      ";
