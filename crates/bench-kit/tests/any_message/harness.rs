//! Bytes as a message of a client and as one of a server. Whatever is taken is given to what
//! takes messages of a run; whatever is refused is one printable line.

use bench_kit::plan::{Direction, Extras, Limit, Limits, Plan};
use bench_kit::rows::Rows;
use bench_kit::sample::{Sample, Sequence, Series, SideReport};
use bench_kit::wire::{Message, Reply, Request, WireError, read_message};
use std::time::Duration;

/// Reads `data` as whoever serves and as whoever asks; which of the two took it.
pub(crate) fn message(data: &[u8]) -> (bool, bool) {
    let request = read::<Request>(data);
    let reply = read::<Reply>(data);
    let taken = (request.is_some(), reply.is_some());
    match request {
        Some(Request::Run(plan)) => take_plan(&plan),
        Some(Request::Finished(report)) => take_report(*report),
        Some(Request::Token(_)) | None => {}
    }
    match reply {
        Some(Reply::Samples(samples)) => take_samples(&samples),
        Some(Reply::Finished(report)) => take_report(*report),
        Some(Reply::Accepted | Reply::Waiting(_) | Reply::Refused(_)) | None => {}
    }
    taken
}

/// An honest plan of a short run in both directions.
pub(crate) fn plan() -> Plan {
    Plan {
        direction: Direction::Both,
        limit: Limit::Time(Duration::from_secs(1)),
        omit: Duration::ZERO,
        streams: 1,
        length: 131_072,
        rate: None,
        client_congestion: "cubic".to_owned(),
        server_congestion: "cubic".to_owned(),
        window: 1 << 20,
        step: Duration::from_millis(100),
        extras: Extras::default(),
    }
}

fn read<T: Message>(mut data: &[u8]) -> Option<T> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime
        .build()
        .expect("a runtime without I/O needs nothing");
    match runtime.block_on(read_message(&mut data)) {
        Ok(message) => message,
        Err(error) => {
            check_line(&error);
            None
        }
    }
}

fn check_line(error: &WireError) {
    let line = error.to_string();
    assert!(line.len() < 3_000, "{} bytes", line.len());
    assert!(!line.contains(char::is_control), "{line:?}");
}

fn take_plan(plan: &Plan) {
    let registry = cc_core::Registry::standard();
    if plan.check(&Limits::NONE, &registry).is_ok() {
        let _ = Rows::new(plan, 1, Duration::from_millis(100));
    }
}

fn take_report(report: SideReport) {
    let mut sum = SideReport::default();
    sum.add(report.clone());
    sum.add(report);
    let _ = (sum.total_sent(), sum.total_received());
    if let Some(sender) = &sum.sender {
        let _ = sender.rtt_distribution.shares();
    }
    serde_json::to_vec(&sum).expect("it was JSON");
}

fn take_samples(samples: &[Sample]) {
    let mut sequence = Sequence::default();
    let mut follow = |sample: &Sample| sequence.next(sample.at, sample.omitted).is_ok();
    let samples: Vec<&Sample> = samples.iter().take_while(|sample| follow(sample)).collect();
    let mut rows = Rows::new(&plan(), 1, Duration::from_secs(1));
    let mut series = Series::default();
    for sample in samples {
        rows.server(0, sample);
        let _ = rows.client(0, sample);
        series.push(sample.clone());
    }
    let _ = rows.finish(0);
}
