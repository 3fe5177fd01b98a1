use super::axis::Linear;
use super::bounds::MAX_POINTS;
use super::figure::Figure;
use super::legend::{self, LegendSymbol};
use super::panel::{Inside, Panel, TIME, XLABELS};
use super::series::Series;
use super::svg::Svg;
use crate::result::RunResult;
use crate::result::iperf::{Interval, Row};
use crate::text::Scale;

/// The load of a run, to the server and from it, above what requests took meanwhile, over one time
/// axis: flent's picture of a loaded path (RRUL). A point per report interval, each stream thin.
/// `None` where there were no requests, or nothing beside them.
pub fn loaded(result: &RunResult) -> Option<Figure> {
    let rows = Rows::of(result);
    let requests = rows.requests();
    let directions = [
        rows.direction("Goodput to the server", "a", true),
        rows.direction("Goodput from the server", "b", false),
    ];
    let directions: Vec<Lines> = directions.into_iter().flatten().collect();
    if requests.is_empty() || directions.is_empty() {
        return None;
    }
    let time = Linear::exact(0.0, rows.end(), 6);
    let mut svg = Svg::default();
    let mut top = 0.0;
    for lines in directions {
        top = lines.draw(&mut svg, top, &time, rows.warm_up).bottom() + GAP;
    }
    let panel = requests.draw(&mut svg, top, &time, rows.warm_up);
    panel.x_labels(&mut svg, TIME);
    let title = "Goodput and response time under load".to_owned();
    Some(Figure::new(title, panel.bottom() + XLABELS, svg))
}

/// The rows of a run with their times since it began.
struct Rows<'a> {
    intervals: &'a [Interval],
    /// Seconds of the warm-up, from whose end the other rows count.
    warm_up: f64,
}

impl<'a> Rows<'a> {
    fn of(result: &'a RunResult) -> Self {
        Self {
            intervals: &result.intervals,
            warm_up: warm_up(&result.intervals),
        }
    }

    fn end(&self) -> f64 {
        let ends = self.intervals.iter().map(|interval| self.at(&interval.sum));
        ends.fold(0.0, f64::max)
    }

    /// The end of a row.
    fn at(&self, row: &Row) -> f64 {
        since_begin(row, self.warm_up)
    }

    /// What the client sends, or else receives.
    fn direction(&self, heading: &'static str, class: &'static str, sent: bool) -> Option<Lines> {
        let mut streams: Vec<(u32, Vec<(f64, f64)>)> = Vec::new();
        let mut sum = Vec::new();
        for interval in self.intervals {
            let rows = interval.streams.iter().filter(|row| row.sender == sent);
            let mut bits = None;
            for row in rows {
                let point = (self.middle(row), row.bits_per_second.get());
                *bits.get_or_insert(0.0) += point.1;
                let socket = row.socket.unwrap_or(0);
                match streams.iter_mut().find(|(known, _)| *known == socket) {
                    Some((_, points)) => points.push(point),
                    None => streams.push((socket, vec![point])),
                }
            }
            sum.extend(bits.map(|bits| (self.middle(&interval.sum), bits)));
        }
        let thin = match streams.as_slice() {
            [] => return None,
            [_] => Vec::new(),
            several => several.iter().take(MAX_STREAMS).cloned().collect(),
        };
        let names = match thin.len() {
            0 => Vec::new(),
            _ => vec![
                (format!("bold {class}"), "sum"),
                (format!("thin {class}"), "each"),
            ],
        };
        let thin = thin.into_iter().map(|(_, points)| points);
        let thin = thin.map(|points| (format!("thin {class}"), Series(vec![points])));
        Some(Lines {
            heading,
            unit: Scale::bits_per_second,
            names,
            lines: thin
                .chain([(format!("bold {class}"), Series(vec![sum]))])
                .collect(),
        })
    }

    fn middle(&self, row: &Row) -> f64 {
        self.at(row) - row.seconds.get() / 2.0
    }

    fn requests(&self) -> Lines {
        let of = |value: fn(&crate::result::iperf::RequestRow) -> f64| {
            let answered = self.intervals.iter().filter_map(|interval| {
                let requests = interval.requests.as_ref()?;
                Some((self.middle(&interval.sum), value(requests)))
            });
            Series(vec![answered.collect()])
        };
        Lines {
            heading: "Response time",
            unit: Scale::milliseconds,
            names: vec![
                ("second".to_owned(), "median"),
                ("thin none".to_owned(), "shortest and longest"),
            ],
            lines: vec![
                ("thin none".to_owned(), of(|row| row.min_ms.get())),
                ("thin none".to_owned(), of(|row| row.max_ms.get())),
                ("second".to_owned(), of(|row| row.median_ms.get())),
            ],
        }
    }
}

/// Seconds of the warm-up; the other rows count from its end.
pub(crate) fn warm_up(intervals: &[Interval]) -> f64 {
    let omitted = intervals.iter().map(|interval| &interval.sum);
    let omitted = omitted.filter(|row| row.omitted == Some(true));
    omitted.map(|row| row.end.get()).fold(0.0, f64::max)
}

/// The end of a row in seconds since the run began, whose warm-up had so many.
pub(crate) fn since_begin(row: &Row, warm_up: f64) -> f64 {
    match row.omitted {
        Some(true) => row.end.get(),
        _ => row.end.get() + warm_up,
    }
}

/// One panel.
struct Lines {
    heading: &'static str,
    unit: fn(f64) -> Scale,
    /// What lines are, by their classes.
    names: Vec<(String, &'static str)>,
    lines: Vec<(String, Series)>,
}

impl Lines {
    fn is_empty(&self) -> bool {
        self.lines
            .iter()
            .all(|(_, line)| line.values().next().is_none())
    }

    fn draw(&self, svg: &mut Svg, top: f64, time: &Linear, warm_up: f64) -> Panel {
        let values = self.lines.iter().flat_map(|(_, line)| line.values());
        let highest = values.fold(0.0, f64::max) * 1.08;
        let scale = (self.unit)(highest);
        let axis = Linear::exact(0.0, highest / scale.divisor, 4);
        let heading = format!("{}, {}", self.heading, scale.unit);
        let panel = Panel::new(heading, top, HEIGHT, time.clone(), axis).over_time();
        panel.frame(svg);
        panel.area(svg, |svg, inside: &Inside<'_>| {
            if warm_up > 0.0 {
                inside.stretch(svg, "warm-up", 0.0, warm_up);
            }
            for (class, line) in &self.lines {
                let line = line.clone().thinned(MAX_POINTS);
                inside.line(svg, class, &line.divided_by(scale.divisor));
            }
        });
        let names = self.names.iter().map(|(class, name)| {
            let symbol = LegendSymbol::Line(class.clone());
            (symbol, (*name).to_owned())
        });
        legend::towards_right(svg, top, &names.collect::<Vec<_>>());
        panel
    }
}

const HEIGHT: f64 = 100.0;
/// Between one panel and the heading of the next.
const GAP: f64 = 8.0;
/// More thin lines hide each other.
const MAX_STREAMS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{self, finite};
    use crate::plot::tests::check_texts;
    use crate::result::iperf::RequestRow;

    /// Two seconds after a warm-up of one: two streams to the server and one from it.
    fn result() -> RunResult {
        let mut result = fixtures::run();
        let row = result.intervals[0].streams[0].clone();
        let rows = |second: u32| {
            let row = |socket: u32, sender: bool| Row {
                socket: Some(socket),
                sender,
                end: finite(f64::from(if second == 0 { 1 } else { second })),
                omitted: Some(second == 0),
                ..row.clone()
            };
            Interval {
                streams: vec![row(1, true), row(2, true), row(3, false)],
                sum: row(0, true),
                requests: Some(RequestRow {
                    answered: 5,
                    min_ms: finite(20.0),
                    median_ms: finite(30.0),
                    max_ms: finite(90.0),
                }),
                ..Interval::default()
            }
        };
        result.intervals = (0..3).map(rows).collect();
        result
    }

    #[test]
    fn both_directions_and_the_requests_share_a_time_axis_that_has_the_warm_up() {
        let result = result();
        let rows = Rows::of(&result);
        assert_eq!((rows.warm_up, rows.end()), (1.0, 3.0));
        let up = rows.direction("up", "a", true).unwrap();
        // Two streams and their sum, which is twice as high.
        assert_eq!(up.lines.len(), 3);
        let highest = |line: &(String, Series)| line.1.values().fold(0.0, f64::max);
        assert_eq!(highest(&up.lines[2]), 2.0 * highest(&up.lines[0]));
        let figure = loaded(&result).unwrap().inline();
        for heading in [
            "Goodput to the server, Mbit/s",
            "Goodput from the server, Mbit/s",
            "Response time, ms",
        ] {
            assert!(figure.contains(heading), "{heading}");
        }
    }

    #[test]
    fn headings_and_names_of_lines_stay_apart() {
        check_texts("loaded", &loaded(&result()).unwrap());
    }

    #[test]
    fn without_requests_or_load_there_is_no_such_figure() {
        assert!(loaded(&fixtures::run()).is_none());
        let mut idle = result();
        idle.intervals
            .iter_mut()
            .for_each(|interval| interval.streams.clear());
        assert!(loaded(&idle).is_none());
    }
}
