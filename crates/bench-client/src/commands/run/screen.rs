//! What the user sees of a run.

use super::live::Live;
use crate::advice::{Drops, advice};
use crate::args::{JsonFormat, RunArgs};
use crate::client::{self, About, Beginning, ClientSetup, Progress, Trust};
use crate::commands::remote::NOT_VERIFIED;
use crate::commands::terminal_width;
use crate::emulated;
use crate::output::Log;
use bench_kit::clock;
use bench_kit::failure::Failure;
use bench_kit::plan::{Direction, Plan};
use bench_kit::terminal;
use bench_report::date;
use bench_report::result::iperf::{End, Interval, Row, Start};
use bench_report::result::{Round, RunRequests, RunResult};
use bench_report::table::{
    Columns, cpu_line, datagram_header, detail_header, detail_row, end_block, frame_block,
    frame_row, interval_header, interval_row, request_block, request_row, with_direction,
};
use bench_report::text::{Unit, amount, printable, wrapped, wrapped_row};
use paceline::NoKernelPacing;
use serde::Serialize;

pub(super) struct Screen {
    form: Form,
    unit: Unit,
    columns: Columns,
    /// Whether what `-V` adds stands below each row, for which a line has no room.
    has_details_below: bool,
    /// The characters of a line.
    width: usize,
    is_verbose: bool,
    title: Option<String>,
    /// Whether rows begin with the time.
    has_times: bool,
    is_perf: bool,
    /// While the run goes on.
    live: Option<Live>,
    /// Instead of stdout.
    log: Option<Log>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// iperf3's rows.
    Rows,
    Json(JsonFormat),
    /// A full screen, and iperf3's closing rows.
    Live,
    /// A JSON object per line, as things happen.
    JsonStream,
}

/// A line of `--json-stream`, with iperf3's names.
#[derive(Serialize)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
enum Event<'a> {
    Start(&'a Start),
    Interval(&'a Interval),
    End(&'a End),
    /// What iperf3 does not have: the run as the A/B test compares it.
    Result(&'a Round),
    Requests(&'a RunRequests),
    ServerOutputText(&'a str),
    Error(&'a str),
}

impl Screen {
    /// Opens the log that `args` name.
    ///
    /// # Errors
    /// When it cannot be written to.
    pub(super) fn open(args: &RunArgs) -> Result<Self, Failure> {
        let log = args.logfile.as_deref();
        Ok(Self {
            form: match (args.json_stream, args.print_json, args.live) {
                (true, ..) => Form::JsonStream,
                (false, true, _) => Form::Json(args.json_format),
                (false, false, true) => Form::Live,
                (false, false, false) => Form::Rows,
            },
            live: None,
            unit: args.format.unwrap_or_default(),
            columns: Columns::Narrow,
            has_details_below: false,
            width: match log {
                None => terminal_width::of_terminal().unwrap_or(usize::MAX),
                Some(_) => usize::MAX,
            },
            is_verbose: args.verbose,
            title: args.title.clone(),
            has_times: args.timestamps,
            is_perf: args.perf,
            log: log.map(|path| Log::open("--logfile", path)).transpose()?,
        })
    }

    /// What is known before anything is sent.
    ///
    /// # Errors
    /// When the full screen is asked for and there is no terminal.
    pub(super) fn connecting(&mut self, setup: &ClientSetup) -> Result<(), Failure> {
        if matches!(setup.remote.trust, Trust::Anyone) {
            terminal::note(format_args!("{NOT_VERIFIED}"));
        }
        self.row(&format!(
            "Connecting to host {}, port {}",
            setup.remote.host, setup.remote.port
        ));
        if self.form == Form::Live {
            let congestion = setup.plan.sender_congestion();
            self.live = Some(Live::open(format!("{}, {congestion}", setup.remote))?);
        }
        Ok(())
    }

    pub(super) fn show(&mut self, progress: &Progress<'_>, plan: &Plan, about: &About) {
        if let Some(live) = &mut self.live {
            live.show(progress);
        }
        match progress {
            Progress::Started(beginning) => {
                self.event(&Event::Start(&beginning.start(plan, about)));
                self.started(beginning, plan);
            }
            // The full screen says it.
            Progress::Waiting(_) if self.live.is_some() => {}
            Progress::Waiting(ahead) => {
                terminal::note(format_args!("{}", client::waiting(*ahead)));
            }
            Progress::Sample(..) => {}
            Progress::Rows(interval) => {
                self.event(&Event::Interval(interval));
                self.rows(interval);
            }
        }
    }

    fn started(&mut self, beginning: &Beginning<'_>, plan: &Plan) {
        for ((local, remote), index) in beginning.addresses.iter().zip(0..) {
            self.row(&format!(
                "[{:>3}] local {} port {} connected to {} port {}",
                index * plan.streams + 1,
                local.ip(),
                local.port(),
                remote.ip().to_canonical(),
                remote.port()
            ));
        }
        if self.is_verbose {
            self.kernel_pacing(beginning, plan);
        }
        if plan.extras.is_idle() {
            return;
        }
        let is_bidir = plan.direction == Direction::Both;
        (self.columns, self.has_details_below) = self.fitting(is_bidir);
        let header = match plan.extras.datagrams {
            Some(_) => datagram_header(plan.direction.server_sends(), self.columns),
            None => interval_header(self.columns),
        };
        self.row(&match is_bidir {
            true => with_direction(&header, None),
            false => header,
        });
        if self.has_details_below && plan.extras.datagrams.is_none() {
            self.row(&detail_header());
        }
    }

    /// The columns for which a line has room, without `-V` of those that 80 characters have room
    /// for, and whether the details of `-V` stand below. Behind the number of a row stands a
    /// direction where both sides send.
    fn fitting(&self, is_bidir: bool) -> (Columns, bool) {
        let room = self.width.saturating_sub(self.prefix().chars().count());
        let direction = if is_bidir { "[TX-C]".len() } else { 0 };
        if self.is_verbose {
            return Columns::with_details(room.saturating_sub(direction));
        }
        match Columns::fitting(room.min(80).saturating_sub(direction)) {
            Columns::Wide => (Columns::Narrow, false),
            columns => (columns, false),
        }
    }

    /// What stands before every row.
    fn prefix(&self) -> String {
        let time = match self.has_times {
            true => date::rfc3339(clock::since_1970().as_secs()) + " ",
            false => String::new(),
        };
        match &self.title {
            Some(title) => format!("{time}{title}:  "),
            None => time,
        }
    }

    /// Whether the kernel times what each connection sends, if that was asked for.
    fn kernel_pacing(&mut self, beginning: &Beginning<'_>, plan: &Plan) {
        for (pacing, index) in beginning.kernel_pacing.iter().zip(0..) {
            let number = index * plan.streams + 1;
            match pacing {
                Ok(()) => self.row(&format!("[{number:>3}] kernel pacing")),
                Err(NoKernelPacing::Off) => {}
                Err(reason) => self.row(&format!("[{number:>3}] no kernel pacing: {reason}")),
            }
        }
    }

    fn rows(&mut self, interval: &Interval) {
        self.payload_rows(interval);
        let reverse = interval.sum_bidir_reverse.as_ref();
        for sum in std::iter::once(&interval.sum).chain(reverse) {
            if let Some(row) = frame_row(sum, reverse.is_some()) {
                self.row(&row);
            }
        }
        if let Some(requests) = &interval.requests {
            self.row(&request_row(interval, requests));
        }
    }

    fn payload_rows(&mut self, interval: &Interval) {
        if interval.streams.is_empty() {
            return;
        }
        let is_bidir = interval.sum_bidir_reverse.is_some();
        let line = |row: &Row, unit, columns| {
            let line = interval_row(row, unit, columns);
            match is_bidir {
                true => with_direction(&line, Some(row)),
                false => line,
            }
        };
        for row in &interval.streams {
            self.row(&line(row, self.unit, self.columns));
            self.details(row);
        }
        let sums = [Some(&interval.sum), interval.sum_bidir_reverse.as_ref()];
        let directions = sums.iter().flatten().count();
        if interval.streams.len() > directions {
            for sum in sums.into_iter().flatten() {
                self.row(&line(sum, self.unit, self.columns));
                self.details(sum);
            }
        }
    }

    fn details(&mut self, row: &Row) {
        if self.has_details_below
            && let Some(details) = detail_row(row)
        {
            self.row(&details);
        }
    }

    pub(super) fn end(&mut self, result: &RunResult, plan: &Plan) {
        self.live = None;
        if let Form::Json(format) = self.form {
            self.text(&format.text(result));
        }
        if !result.start.connected.is_empty() {
            self.event(&Event::End(&result.end));
            self.event(&Event::Result(&result.result));
            if !plan.extras.is_idle() {
                let rows = end_block(&result.end, self.unit, self.columns);
                rows.lines().for_each(|line| self.row(line));
            }
            if self.is_verbose
                && let Some(line) = cpu_line(&result.end)
            {
                self.row(&line);
            }
            let of_server = result.frames_bidir_reverse.as_ref();
            let frames = result.result.frames.as_ref();
            let frames = frames.map(|frames| (frames, "")).into_iter();
            for (frames, heading) in frames.chain(of_server.map(|f| (f, "From the server:"))) {
                self.row(heading);
                let block = frame_block(frames);
                block.lines().for_each(|line| self.row(line));
            }
            if let Some(requests) = &result.requests {
                self.event(&Event::Requests(requests));
                self.row("");
                let block = request_block(requests);
                block.lines().for_each(|line| self.row(line));
            }
            if let Some(line) = file_line(result, plan) {
                self.row(&line);
            }
            if !plan.extras.is_idle()
                && result.error.is_none()
                && let Some(advice) = advice(
                    &result.result,
                    Drops::of(result),
                    plan,
                    emulated::path(result).rate,
                    self.is_perf,
                )
            {
                self.row("");
                self.prose(&advice);
            }
        }
        if let Some(output) = &result.server_output_text {
            self.event(&Event::ServerOutputText(output));
            self.row("");
            self.row("Server output:");
            output.lines().for_each(|line| self.row(&printable(line)));
        }
        if let Some(error) = &result.error {
            self.event(&Event::Error(error));
        }
    }

    /// Whether everything was written.
    ///
    /// # Errors
    /// When the log could not be: its disk is full, for example.
    pub(super) fn finish(&mut self) -> Result<(), Failure> {
        self.log.take().map_or(Ok(()), Log::close)
    }

    fn event(&mut self, event: &Event<'_>) {
        if self.form == Form::JsonStream {
            let line = serde_json::to_string(event);
            let line = line.expect("keys are strings and every figure is finite");
            self.text(&(line + "\n"));
        }
    }

    fn row(&mut self, row: &str) {
        let has_rows = matches!(self.form, Form::Rows | Form::Live);
        if has_rows && self.live.is_none() {
            let row = format!("{}{row}", self.prefix());
            for line in wrapped_row(&row, self.width) {
                self.text(&format!("{line}\n"));
            }
        }
    }

    /// Lines that a terminal would break within words.
    fn prose(&mut self, text: &str) {
        let width = terminal_width::of_terminal().unwrap_or(usize::MAX);
        for line in text.lines() {
            for part in wrapped(line, width) {
                self.row(&part);
            }
        }
    }

    fn text(&mut self, text: &str) {
        // What a full disk does not take is shown after all.
        let is_logged = self.log.as_mut().is_some_and(|log| log.write(text));
        if !is_logged {
            terminal::text(text);
        }
    }
}

/// What became of a file: its hash, or how much of it the time was enough for.
fn file_line(result: &RunResult, plan: &Plan) -> Option<String> {
    let hashes = result.sha256.as_ref().filter(|_| result.error.is_none())?;
    if let (Some(hash), Some(_)) = (&hashes.sender, &hashes.receiver) {
        let of = match plan.extras.continued {
            0 => "",
            _ => " of what was added",
        };
        return Some(format!("SHA-256{of} at both ends: {hash}"));
    }
    let (arrived, all) = (result.result.bytes, plan.bytes()?);
    let is_over = plan.extras.at_most.is_some();
    let (arrived, all) = (amount(arrived), amount(all));
    is_over.then(|| format!("-t was over first: {arrived} of the file's {all} arrived"))
}
