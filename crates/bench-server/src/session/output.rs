//! What a session has logged, for a client that wants to see it.

use bench_kit::plan::{Direction, Plan};
use bench_kit::rows::Rows;
use bench_kit::sample::{Sample, SideReport};
use bench_report::table::{Columns, interval_header, interval_row};
use bench_report::text::{Unit, amount};
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Lines as they come, within [`MAX_BYTES`].
#[derive(Default)]
pub(super) struct Output(Mutex<State>);

#[derive(Default)]
struct State {
    text: String,
    /// Of this side's view; `None` when the client has not asked.
    rows: Option<Rows>,
}

impl Output {
    pub(super) fn line(&self, line: fmt::Arguments<'_>) {
        self.with(|state| state.push(&line.to_string()));
    }

    /// The run begins; rows from now on if the plan asks for them.
    pub(super) fn begin(&self, plan: &Plan) {
        let Some(interval) = plan.extras.server_output else {
            return;
        };
        let here = Plan {
            direction: match plan.direction {
                Direction::Forward => Direction::Reverse,
                Direction::Reverse => Direction::Forward,
                Direction::Both => Direction::Both,
            },
            ..plan.clone()
        };
        self.with(|state| {
            state.push(&interval_header(Columns::Narrow));
            state.rows = Some(Rows::new(&here, 1, interval));
        });
    }

    pub(super) fn sample(&self, sample: &Sample) {
        self.with(|state| {
            let rows = state.rows.as_mut().and_then(|rows| rows.client(0, sample));
            if let Some(rows) = rows {
                state.show(&rows);
            }
        });
    }

    pub(super) fn end(&self, report: &SideReport) -> Option<String> {
        self.with(|state| {
            let rows = state.rows.as_mut()?.finish(0);
            rows.iter().for_each(|rows| state.show(rows));
            state.push(&format!(
                "sent {}, received {} in {:.2} sec",
                amount(report.total_sent()),
                amount(report.total_received()),
                report.measured.as_secs_f64()
            ));
            Some(std::mem::take(&mut state.text))
        })
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        // What a bug has left half done is still text.
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn show(&mut self, interval: &bench_report::result::iperf::Interval) {
        for row in &interval.streams {
            self.push(&interval_row(row, Unit::Adaptive, Columns::Narrow));
        }
    }

    fn push(&mut self, line: &str) {
        if self.text.len() + line.len() < MAX_BYTES {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }
}

/// Ten thousand rows and more, and far less than a message may have.
const MAX_BYTES: usize = 1 << 20;
