//! Where the samples of all connections and of both sides come together.

use super::outcome::Outcome;
use super::progress::Progress;
use super::requests;
use bench_kit::counters::Counters;
use bench_kit::plan::Plan;
use bench_kit::rows::Rows;
use bench_kit::sample::{Sample, SideReport};
use bench_report::result::iperf;
use std::sync::Arc;
use std::time::Duration;

/// What is known of a run so far, and who wants to see it.
pub(super) struct Record<'a> {
    rows: Rows,
    outcome: &'a mut Outcome,
    /// The counters of the connection that asks.
    counters: Option<Arc<Counters>>,
    on_progress: &'a mut dyn FnMut(Progress<'_>),
}

impl<'a> Record<'a> {
    /// A record of the connections that `outcome` has.
    pub(super) fn new(
        plan: &Plan,
        interval: Duration,
        outcome: &'a mut Outcome,
        on_progress: &'a mut dyn FnMut(Progress<'_>),
    ) -> Self {
        Self {
            rows: Rows::new(plan, outcome.flows.len(), interval),
            outcome,
            counters: None,
            on_progress,
        }
    }

    /// What this connection counts; the first one's requests are those of the run.
    pub(super) fn set_counters(&mut self, flow: usize, counters: Arc<Counters>) {
        if flow == 0 {
            self.counters = Some(counters);
        }
    }

    /// The client's next sample of this connection.
    pub(super) fn client(&mut self, flow: usize, sample: &Sample) {
        (self.on_progress)(Progress::Sample(flow, sample));
        self.outcome.flows[flow].client.series.push(sample.clone());
        if let Some(rows) = self.rows.client(flow, sample) {
            self.show(rows);
        }
    }

    /// The server's next samples of this connection.
    pub(super) fn server(&mut self, flow: usize, samples: Vec<Sample>) {
        for sample in samples {
            self.rows.server(flow, &sample);
            self.outcome.flows[flow].server.series.push(sample);
        }
    }

    /// The client's sum of this connection, whose last sample has come.
    pub(super) fn finish(&mut self, flow: usize, report: &SideReport) {
        for rows in self.rows.finish(flow) {
            self.show(rows);
        }
        self.outcome.flows[flow].client.report = Some(report.clone());
    }

    /// The server's sum of this connection.
    pub(super) fn set_report(&mut self, flow: usize, report: SideReport) {
        self.outcome.flows[flow].server.report = Some(report);
    }

    /// Whether the server's sum of this connection has come.
    pub(super) fn has_report(&self, flow: usize) -> bool {
        self.outcome.flows[flow].server.report.is_some()
    }

    fn show(&mut self, mut rows: iperf::Interval) {
        if let Some(counters) = &self.counters {
            let answers = counters.answers.after(self.outcome.answers.len());
            rows.requests = requests::row(&answers);
            self.outcome.answers.extend(answers);
        }
        (self.on_progress)(Progress::Rows(&rows));
        // A run of an hour with ten rows a second has 36,000.
        if self.outcome.rows.len() < MAX_ROWS {
            self.outcome.rows.push(rows);
        }
    }
}

const MAX_ROWS: usize = 50_000;
