use crate::ab::{AbProgress, AbSetup};
use crate::client;
use bench_kit::terminal;
use bench_report::result::sender;
use bench_report::text::Unit;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// A bar where somebody watches, a line per round elsewhere.
pub(super) struct Display {
    bar: Option<ProgressBar>,
    rounds: u32,
    at_once: u32,
    trial_time: Duration,
    /// Time of the rounds that are over.
    passed: Duration,
    variants: Vec<String>,
    /// That of the round that goes on.
    present: String,
    /// Payload and time since the bar was last written.
    recent: (u64, Duration),
}

impl Display {
    pub(super) fn new(setup: &AbSetup) -> Self {
        let variants = names(setup);
        let count = u32::try_from(variants.len()).unwrap_or(u32::MAX);
        let rounds = setup.max_rounds().saturating_mul(count);
        let at_once = if setup.competes { count } else { 1 };
        let trial_time = trial_time(setup);
        let total = trial_time.saturating_mul(rounds / at_once).as_millis();
        let total = u64::try_from(total).unwrap_or(u64::MAX);
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template(BAR).expect("the template is well-formed");
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            bar.with_style(style)
        });
        Self {
            bar,
            rounds,
            at_once,
            trial_time,
            passed: Duration::ZERO,
            variants,
            present: String::new(),
            recent: (0, Duration::ZERO),
        }
    }

    pub(super) fn show(&mut self, event: AbProgress<'_>) {
        match event {
            AbProgress::Begun { trial } => {
                let slots = trial.slots.as_slice();
                self.present = match slots {
                    [slot] => self.variants[slot.variant].clone(),
                    _ => "all at once".to_owned(),
                };
                self.passed = self.time_until(slots.first().map_or(0, |slot| slot.order));
                self.say(&self.present);
            }
            AbProgress::Waiting(ahead) => self.line(&client::waiting(ahead)),
            AbProgress::Transferred { at, bytes, length } => self.moved(at, bytes, length),
            AbProgress::Ended { slot, round } => {
                self.passed = self.time_until(slot.order + 1);
                self.move_to(self.passed);
                let figures = match &round.error {
                    None => Unit::Adaptive.rate(round.goodput_bits_per_second as f64),
                    Some(error) => format!("failed: {error}"),
                };
                let line = format!(
                    "{:>3}/{}  {:<20} {figures}",
                    slot.order + 1,
                    self.rounds,
                    self.variants[slot.variant]
                );
                self.line(&line);
            }
            AbProgress::Warning(warning) => self.line(&format!("warning: {warning}")),
        }
    }

    /// The planned time of this many rounds.
    fn time_until(&self, rounds: u32) -> Duration {
        self.trial_time.saturating_mul(rounds / self.at_once)
    }

    fn moved(&mut self, at: Duration, bytes: u64, length: Duration) {
        self.move_to(self.passed + at.min(self.trial_time));
        self.recent.0 += bytes;
        self.recent.1 += length;
        let (bytes, time) = self.recent;
        if time >= BETWEEN_RATES {
            let rate = Unit::Adaptive.rate(bytes as f64 * 8.0 / time.as_secs_f64());
            self.say(&format!("{:<14} {rate}", self.present));
            self.recent = (0, Duration::ZERO);
        }
    }

    fn move_to(&self, position: Duration) {
        if let Some(bar) = &self.bar {
            bar.set_position(u64::try_from(position.as_millis()).unwrap_or(u64::MAX));
        }
    }

    fn say(&self, message: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(message.to_owned());
        }
    }

    fn line(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None => terminal::note(format_args!("{line}")),
        }
    }

    pub(super) fn close(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The planned time of what runs at once.
fn trial_time(setup: &AbSetup) -> Duration {
    let last_start = setup.variants.iter().map(|variant| variant.start).max();
    let plan = &setup.variants[0].plan;
    let time = plan.measured_time().unwrap_or_default();
    time.saturating_add(plan.omit)
        .saturating_add(last_start.unwrap_or_default())
}

/// 80 columns: 30 for the bar, the rest for the controller and its rate.
const BAR: &str = "{wide_bar:30} {percent:>3} % {eta:>4} left  {msg}";

/// Often enough to look alive, seldom enough to be read.
const BETWEEN_RATES: Duration = Duration::from_millis(500);

pub(super) fn names(setup: &AbSetup) -> Vec<String> {
    let variants = setup.variants.iter().zip('a'..);
    variants
        .map(|(variant, name)| {
            let label = variant.server.as_ref().map_or(&variant.cc, |s| &s.name);
            format!("{name}: {}", sender(label, variant.duplicate))
        })
        .collect()
}
