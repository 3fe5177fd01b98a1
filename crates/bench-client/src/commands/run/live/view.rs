use crate::client;
use bench_kit::sample::{Sample, SenderState, total};
use bench_report::result::iperf::{Interval, Row};
use bench_report::result::{Finite, Quantity};
use bench_report::text::{Unit, amount, printable};
use std::collections::VecDeque;
use std::time::Duration;

/// What the screen shows: a state that samples change, and lines for any size of terminal.
#[derive(Debug)]
pub(super) struct View {
    headline: String,
    at: Duration,
    is_omitted: bool,
    /// Payload of all connections since the first one's sample before.
    bytes: u64,
    moved: u64,
    lost: u64,
    /// The longest time of a sample so far.
    step: Duration,
    throughput: TimeSeries,
    rtt: TimeSeries,
    cwnd: TimeSeries,
    pacing: TimeSeries,
    /// The newest row, which has the server's figures where the server sends.
    row: Option<Row>,
    /// The newest row of what the server sends, where both sides do.
    reverse: Option<Row>,
    state: String,
    /// How many runs are ahead, while the server is busy.
    ahead: Option<u32>,
}

type Show = fn(u64) -> String;

#[derive(Debug, Default)]
struct TimeSeries {
    values: VecDeque<u64>,
    max: u64,
}

impl View {
    pub(super) fn new(headline: String) -> Self {
        Self {
            headline,
            at: Duration::ZERO,
            is_omitted: false,
            bytes: 0,
            moved: 0,
            lost: 0,
            step: Duration::ZERO,
            throughput: TimeSeries::default(),
            rtt: TimeSeries::default(),
            cwnd: TimeSeries::default(),
            pacing: TimeSeries::default(),
            row: None,
            reverse: None,
            state: String::new(),
            ahead: None,
        }
    }

    /// Notes how many runs are ahead at a busy server; `None` when the run's turn has come.
    pub(super) fn waiting(&mut self, ahead: Option<u32>) {
        self.ahead = ahead;
    }

    pub(super) fn sample(&mut self, flow: usize, sample: &Sample) {
        self.bytes += total(&sample.sent).saturating_add(total(&sample.received));
        if flow > 0 {
            return;
        }
        let bytes = std::mem::take(&mut self.bytes);
        self.moved += bytes;
        self.at = sample.at;
        self.is_omitted = sample.omitted;
        // The last one may end early, and a burst in a few milliseconds is no rate.
        self.step = self.step.max(sample.length);
        if sample.length >= self.step / 2 {
            let nanos = u128::from(units::duration::nanos(sample.length)).max(1);
            let rate = u128::from(bytes) * 8_000_000_000 / nanos;
            self.throughput
                .push(u64::try_from(rate).unwrap_or(u64::MAX));
        }
        if let Some(sending) = &sample.sending {
            self.sending(sending);
        }
    }

    fn sending(&mut self, sending: &SenderState) {
        let count = |quantity| sending.counts.get(quantity).unwrap_or(0);
        self.rtt.push(count(Quantity::SmoothedRtt));
        self.cwnd.push(count(Quantity::Cwnd));
        self.pacing.push(count(Quantity::PacingRate));
        self.state.clone_from(&sending.state);
    }

    pub(super) fn rows(&mut self, interval: &Interval) {
        let row = &interval.sum;
        let figure = |quantity| row.figures.whole(quantity).unwrap_or(0);
        self.lost = self.lost.saturating_add(figure(Quantity::PacketsLost));
        if !row.sender {
            self.rtt.push(figure(Quantity::SmoothedRtt));
            self.cwnd.push(figure(Quantity::Cwnd));
            self.pacing.push(figure(Quantity::PacingRate));
            self.state = row.state.clone().unwrap_or_default();
        }
        self.row = Some(row.clone());
        self.reverse.clone_from(&interval.sum_bidir_reverse);
    }

    /// The screen, at most this large.
    pub(super) fn lines(&self, columns: usize, lines: usize) -> Vec<String> {
        let rate = |value: u64| Unit::Adaptive.rate(value as f64);
        let millis = |nanos: u64| format!("{:.2} ms", nanos as f64 / 1e6);
        let phase = if self.is_omitted { " (omitted)" } else { "" };
        if let Some(ahead) = self.ahead {
            let mut all = vec![self.headline.clone()];
            // A line for each half, which fit on narrow terminals too.
            let text = client::waiting(ahead);
            let parts = text.split_inclusive("; ");
            all.extend(parts.map(|part| part.trim_end().to_owned()));
            return fitting(all, columns, lines);
        }
        let mut all = vec![
            self.headline.clone(),
            whole_fields(
                &format!(
                    "{:>7.1} s{phase}  {} transferred  {} packets lost",
                    self.at.as_secs_f64(),
                    amount(self.moved),
                    self.lost
                ),
                columns,
            ),
            String::new(),
        ];
        if let (Some(to), Some(from)) = (&self.row, &self.reverse) {
            let rate = |row: &Row| Unit::Adaptive.rate(row.bits_per_second.get());
            all.push(format!("to the server {}", rate(to)));
            all.push(format!("from the server {}", rate(from)));
            all.push("Throughput of both, else to the server:".to_owned());
        }
        let all_series: [(&str, &TimeSeries, Show); 4] = [
            ("Throughput", &self.throughput, rate),
            ("RTT", &self.rtt, millis),
            ("Window", &self.cwnd, amount),
            ("Pacing", &self.pacing, rate),
        ];
        for (name, series, show) in all_series {
            let figures = format!(
                "{name:<10} {:>16}   max {}",
                show(series.last()),
                show(series.max)
            );
            all.push(whole_fields(&figures, columns));
            all.push(series.sparkline(columns));
        }
        all.push(String::new());
        let details = self.details().into_iter();
        all.extend(details.map(|line| whole_fields(&line, columns)));
        fitting(all, columns, lines)
    }

    /// The fields of `ss -tin`.
    fn details(&self) -> Vec<String> {
        let mut lines = vec![format!("state {}", printable(&self.state))];
        let Some(row) = &self.row else {
            return lines;
        };
        let known = |quantity| row.figures.get(quantity).map(Finite::get);
        let or_zero = |quantity| known(quantity).unwrap_or(0.0);
        let gain = |quantity| known(quantity).map_or_else(dash, |gain| format!("{gain:.2}"));
        lines.push(format!(
            "minrtt {:.2} ms  rttvar {:.2} ms  mtu {}",
            or_zero(Quantity::MinRtt),
            or_zero(Quantity::RttVar),
            or_zero(Quantity::Mtu)
        ));
        let in_flight = row.figures.whole(Quantity::InFlight);
        let delivery = known(Quantity::DeliveryRate);
        lines.push(format!(
            "in flight {}  delivery rate {}",
            in_flight.map_or_else(dash, amount),
            delivery.map_or_else(dash, |rate| Unit::Adaptive.rate(rate))
        ));
        lines.push(format!(
            "gains {} pacing, {} window  app limited {:.0} %  CE {}",
            gain(Quantity::PacingGain),
            gain(Quantity::CwndGain),
            or_zero(Quantity::ApplicationLimited) * 100.0,
            or_zero(Quantity::CeMarked)
        ));
        lines
    }
}

impl TimeSeries {
    fn push(&mut self, value: u64) {
        if self.values.len() == MAX_VALUES {
            self.values.pop_front();
        }
        self.values.push_back(value);
        self.max = self.max.max(value);
    }

    fn last(&self) -> u64 {
        self.values.back().copied().unwrap_or(0)
    }

    /// The newest values, a character each, against the largest of those that are shown.
    fn sparkline(&self, columns: usize) -> String {
        let shown = self.values.len().min(columns);
        let shown = self.values.iter().skip(self.values.len() - shown);
        let max = shown.clone().max().copied().unwrap_or(0).max(1);
        let bar = |value: &u64| {
            let steps = u128::from(*value) * (BARS.len() as u128 - 1);
            // Rounded up, so that what is not zero can be seen.
            BARS[usize::try_from(steps.div_ceil(u128::from(max))).unwrap_or(0)]
        };
        shown.map(bar).collect()
    }
}

/// What of `all` a screen of this size has room for.
fn fitting(all: Vec<String>, columns: usize, lines: usize) -> Vec<String> {
    let cut = |line: String| line.chars().take(columns).collect();
    all.into_iter().take(lines).map(cut).collect()
}

/// As many of the fields of `line`, which two spaces or more part, as fit whole: a figure without
/// its unit is another figure.
fn whole_fields(line: &str, columns: usize) -> String {
    if line.chars().count() <= columns {
        return line.to_owned();
    }
    let fits = |at: &usize| line[..*at].trim_end().chars().count() <= columns;
    let ends = line.match_indices("  ").map(|(at, _)| at).filter(fits);
    let end = ends.filter(|at| !line[..*at].trim().is_empty()).last();
    let kept = end.map_or(line, |end| line[..end].trim_end());
    kept.to_owned()
}

/// In the place of what is not known.
fn dash() -> String {
    "-".to_owned()
}

/// From nothing to the most.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// As wide as terminals get.
const MAX_VALUES: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use bench_report::result::{Counts, Figures};

    fn view() -> View {
        let mut view = View::new("bench-client to host:4433, bbr3".to_owned());
        for tenth in 1..=100_u32 {
            let sample = Sample {
                at: Duration::from_millis(100) * tenth,
                length: Duration::from_millis(100),
                sent: vec![u64::from(tenth.min(60)) * 10_000, 0],
                sending: Some(SenderState {
                    counts: Counts::of([
                        (
                            Quantity::SmoothedRtt,
                            40_000_000 + u64::from(tenth % 10) * 1_000_000,
                        ),
                        (Quantity::Cwnd, 500_000 + u64::from(tenth) * 1_000),
                        (Quantity::PacingRate, 50_000_000),
                    ]),
                    state: "ProbeBW_CRUISE".to_owned(),
                }),
                ..Sample::default()
            };
            view.sample(0, &sample);
        }
        view.rows(&Interval {
            sum: Row {
                figures: Figures::of([
                    (Quantity::PacketsLost, 3.0),
                    (Quantity::MinRtt, 40.0),
                    (Quantity::RttVar, 1.2),
                    (Quantity::Mtu, 1_452.0),
                    (Quantity::InFlight, 480_000.0),
                    (Quantity::DeliveryRate, 47_100_000.0),
                    (Quantity::PacingGain, 1.25),
                    (Quantity::CwndGain, 2.0),
                    (Quantity::ApplicationLimited, 0.03),
                ]),
                sender: true,
                ..Row::default()
            },
            ..Interval::default()
        });
        view
    }

    #[test]
    fn a_usual_terminal_shows_everything() {
        insta::assert_snapshot!(view().lines(80, 24).join("\n"));
    }

    #[test]
    fn a_run_that_waits_for_its_turn_says_so_until_it_has_come() {
        let mut view = View::new("run".to_owned());
        view.waiting(Some(2));
        assert_eq!(
            view.lines(40, 24),
            ["run", "The server is busy;", "waiting for 2 runs to end."]
        );
        view.waiting(None);
        assert!(view.lines(80, 24).len() > 2);
    }

    #[test]
    fn the_rest_of_a_run_that_ended_early_is_no_rate() {
        let mut view = view();
        let throughput = |view: &View| {
            let lines = view.lines(80, 24);
            let line = lines.into_iter().find(|line| line.contains("Throughput"));
            line.expect("it is shown")
        };
        let before = throughput(&view);
        view.sample(
            0,
            &Sample {
                at: Duration::from_millis(10_005),
                length: Duration::from_millis(5),
                sent: vec![600_000],
                ..Sample::default()
            },
        );
        assert_eq!(throughput(&view), before);
    }

    #[test]
    fn a_small_terminal_shows_what_fits() {
        for (columns, lines) in [(40, 10), (20, 3), (1, 1), (0, 0)] {
            let shown = view().lines(columns, lines);
            assert!(shown.len() <= lines, "{shown:?}");
            assert!(shown.iter().all(|line| line.chars().count() <= columns));
        }
        insta::assert_snapshot!(view().lines(40, 10).join("\n"));
    }

    #[test]
    fn a_receiver_shows_what_the_server_tells() {
        let mut view = View::new(String::new());
        view.rows(&Interval {
            sum: Row {
                figures: Figures::of([(Quantity::SmoothedRtt, 20.0)]),
                state: Some("SlowStart\u{1b}[2J".to_owned()),
                ..Row::default()
            },
            ..Interval::default()
        });
        let text = view.lines(80, 24).join("\n");
        assert!(text.contains("20.00 ms"), "{text}");
        // What another machine sends does not control this terminal.
        assert!(text.contains("state SlowStart\u{fffd}[2J"), "{text}");
    }

    #[test]
    fn both_directions_have_their_rates_and_no_figure_loses_its_unit() {
        let row = |rate: f64| Row {
            bits_per_second: Finite::new(rate).unwrap(),
            sender: true,
            ..Row::default()
        };
        let mut view = View::new("run".to_owned());
        view.rows(&Interval {
            sum: row(94e6),
            sum_bidir_reverse: Some(row(7e6)),
            ..Interval::default()
        });
        let wide = view.lines(80, 40).join("\n");
        assert!(wide.contains("to the server 94.0 Mbits/sec\nfrom the server 7.00 Mbits/sec"));
        assert_eq!(
            whole_fields("Window   1.00 MBytes   max 2.00 MBytes", 30),
            "Window   1.00 MBytes"
        );
        assert_eq!(
            whole_fields("in flight 2 B  delivery rate 3", 40),
            "in flight 2 B  delivery rate 3"
        );
        assert!(
            view.lines(30, 40)
                .iter()
                .all(|line| line.chars().count() <= 30)
        );
    }
}
