//! What a controller costs: nanoseconds per acknowledged packet, all controllers on one history.
//!
//! ```text
//! cargo bench -p paceline-cc-core --bench per_ack                  every controller
//! cargo bench -p paceline-cc-core --bench per_ack -- cubic bbr3    these
//! ```
//!
//! Three columns for each of ours:
//!
//! - *alone*: what a [`Flow`](cc_core::Flow) asks of the [`Controller`](cc_core::Controller) over
//!   the history, asked again without the `Flow`;
//! - *Flow*: with RTT estimator, delivery-rate sampler and a stamp for each batch of packets, as
//!   the crate `paceline` drives it over quinn-proto;
//! - *per packet*: the same with a stamp for every packet.
//!
//! quinn-proto's are called as its connection calls them: `on_sent` once for a batch, `on_ack` for
//! every packet, `on_end_acks` for every ACK. The RTT estimator is the connection's and not
//! counted. All are asked for their window after each step. One round runs each of them once, in
//! turn, so that what else the machine does meets all alike; the figures are medians of the rounds.
//! Results are in `docs/measuring.md`.

mod clock;
mod history;
mod ours;
mod quinn;

use cc_core::{ControllerChoice, Registry};
use history::{History, PATTERNS, RTT};
use ours::{Calls, Stamps, Transport};
use std::time::Duration;

fn main() {
    // cargo adds `--bench`, and `--test` where it only wants to see it run.
    let (flags, names): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|arg| arg.starts_with('-'));
    let rounds = if flags.iter().any(|flag| flag == "--test") {
        1
    } else {
        ROUNDS
    };
    for pattern in &PATTERNS {
        let history = History::record(pattern);
        let mut subjects = subjects(&history, &names);
        for _ in 0..rounds {
            for subject in &mut subjects {
                subject.measure();
            }
        }
        report(pattern.name, &subjects, history.acked());
    }
}

/// One line of the table: its columns, each with what it runs and the times that took.
struct Subject<'a> {
    name: &'static str,
    columns: Vec<Column<'a>>,
}

struct Column<'a> {
    /// Makes a fresh controller, runs it through the history and answers how long that took.
    run: Box<dyn FnMut() -> Duration + 'a>,
    times: Vec<Duration>,
}

impl Subject<'_> {
    fn measure(&mut self) {
        for column in &mut self.columns {
            column.times.push((column.run)());
        }
    }
}

fn subjects<'a>(history: &'a History, names: &[String]) -> Vec<Subject<'a>> {
    let registry = Registry::standard();
    let specs = registry.specs().iter();
    let wanted = specs.filter(|spec| names.is_empty() || names.iter().any(|n| n == spec.name));
    let ours = wanted.map(|spec| {
        let choice = registry.choose(spec.name);
        let choice = choice.expect("a registered name can be chosen");
        let columns = vec![
            alone(choice.clone(), history),
            behind_flow(choice.clone(), history, Stamps::PerBatch),
            behind_flow(choice, history, Stamps::PerPacket),
        ];
        Subject {
            name: spec.name,
            columns,
        }
    });
    let rtt = quinn::rtt_estimator(RTT);
    let theirs = quinn::factories()
        .into_iter()
        .map(|(name, factory)| Subject {
            name,
            columns: vec![column(move || {
                let mut driver = quinn::Driver::new(&factory, rtt);
                clock::time(|| driver.run(history))
            })],
        });
    ours.chain(theirs).collect()
}

fn alone(choice: ControllerChoice, history: &History) -> Column<'static> {
    let calls = Calls::record(&choice, history);
    column(move || {
        let mut controller = Calls::controller(&choice);
        calls.run(&mut *controller)
    })
}

fn behind_flow(choice: ControllerChoice, history: &History, stamps: Stamps) -> Column<'_> {
    let mut transport = Transport::new(stamps);
    column(move || {
        let mut flow = Transport::flow(&choice);
        clock::time(|| transport.run(&mut flow, history))
    })
}

fn column<'a>(run: impl FnMut() -> Duration + 'a) -> Column<'a> {
    Column {
        run: Box::new(run),
        times: Vec::with_capacity(ROUNDS),
    }
}

#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
fn report(title: &str, subjects: &[Subject<'_>], acked: u64) {
    let per_packet = |column: &Column<'_>| median(&column.times).as_nanos() as f64 / acked as f64;
    println!("\nns per acknowledged packet; {title}");
    println!(
        "{:<18}{:>8}{:>8}{:>12}{:>16}{:>15}",
        "", "alone", "Flow", "per packet", "alone ÷ theirs", "Flow ÷ theirs"
    );
    for subject in subjects {
        let times: Vec<f64> = subject.columns.iter().map(per_packet).collect();
        print!("{:<18}", subject.name);
        for (time, width) in times.iter().zip([8, 8, 12]) {
            print!("{time:>width$.1}");
        }
        let theirs = theirs(subject.name);
        if let Some(theirs) = subjects.iter().find(|s| Some(s.name) == theirs) {
            let theirs = per_packet(&theirs.columns[0]);
            print!("{:>16.2}{:>15.2}", times[0] / theirs, times[1] / theirs);
        }
        println!();
    }
}

/// The controller of quinn-proto that one of ours is compared with.
fn theirs(name: &str) -> Option<&'static str> {
    match name {
        "cubic" => Some("quinn-proto Cubic"),
        "bbr3" => Some("quinn-proto Bbr"),
        _ => None,
    }
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times[times.len() / 2]
}

/// Each run takes a fraction of a millisecond, so that an interruption spoils few of them.
const ROUNDS: usize = 301;
