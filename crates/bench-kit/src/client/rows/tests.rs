use super::*;
use crate::plan::Limit;

fn plan(direction: Direction, omit: Duration) -> Plan {
    Plan {
        direction,
        limit: Limit::Time(Duration::from_secs(2)),
        omit,
        streams: 2,
        length: 131_072,
        rate: None,
        client_congestion: "cubic".to_owned(),
        server_congestion: "cubic".to_owned(),
        window: 32 << 20,
        step: STEP,
    }
}

/// The sample that ends at `tenths` tenths of a second, of 100 and 50 bytes.
fn sample(tenths: u32, omitted: bool, sends: bool) -> Sample {
    let bytes = vec![100, 50];
    Sample {
        at: STEP * tenths,
        length: STEP,
        omitted,
        sent: if sends { bytes.clone() } else { Vec::new() },
        received: if sends { Vec::new() } else { bytes },
        sending: sends.then(sending),
    }
}

fn sending() -> Sending {
    Sending {
        packets_lost: 1,
        cwnd: 12_000,
        ..Sending::default()
    }
}

fn spans(rows: &[Interval]) -> Vec<(f64, f64, u64, bool)> {
    let span = |row: &Interval| {
        let sum = &row.sum;
        (
            sum.start.get(),
            sum.end.get(),
            sum.bytes,
            sum.omitted == Some(true),
        )
    };
    rows.iter().map(span).collect()
}

#[test]
fn rows_begin_anew_after_the_warm_up() {
    let plan = plan(Direction::Forward, STEP * 7);
    let mut rows = Rows::new(&plan, STEP * 5);
    let mut out: Vec<Interval> = (1..=20)
        .filter_map(|tenths| rows.client(&sample(tenths, tenths <= 7, true)))
        .collect();
    out.extend(rows.finish());
    assert_eq!(
        spans(&out),
        [
            (0.0, 0.5, 750, true),
            (0.5, 0.7, 300, true),
            (0.0, 0.5, 750, false),
            (0.5, 1.0, 750, false),
            (1.0, 1.3, 450, false),
        ]
    );
    assert_eq!(out[0].sum.retransmits, Some(5));
    assert_eq!(out[0].streams[0].retransmits, None);
    assert_eq!(out[0].streams[1].socket, Some(2));
    assert_eq!(out[0].sum.bits_per_second, Finite::new(12_000.0).unwrap());
}

#[test]
fn a_receiving_client_shows_the_servers_figures() {
    let plan = plan(Direction::Reverse, Duration::ZERO);
    let mut rows = Rows::new(&plan, STEP * 2);
    for _ in 0..3 {
        rows.server(&sample(1, false, true));
    }
    assert_eq!(rows.client(&sample(1, false, false)), None);
    let first = rows.client(&sample(2, false, false)).unwrap();
    assert!(!first.sum.sender);
    assert_eq!(first.sum.bytes, 300);
    assert_eq!(
        (first.sum.retransmits, first.sum.snd_cwnd),
        (Some(3), Some(12_000))
    );
    rows.client(&sample(3, false, false));
    let second = rows.client(&sample(4, false, false)).unwrap();
    assert_eq!(second.sum.retransmits, Some(0));
}

#[test]
fn both_directions_have_their_own_streams_and_sums() {
    let plan = plan(Direction::Both, Duration::ZERO);
    let mut rows = Rows::new(&plan, STEP);
    let both = Sample {
        received: vec![7, 8],
        ..sample(1, false, true)
    };
    let row = rows.client(&both).unwrap();
    let ids: Vec<_> = row
        .streams
        .iter()
        .map(|row| (row.socket, row.bytes))
        .collect();
    assert_eq!(
        ids,
        [(Some(1), 100), (Some(2), 50), (Some(3), 7), (Some(4), 8)]
    );
    assert_eq!(
        (row.sum.bytes, row.sum_bidir_reverse.unwrap().bytes),
        (150, 15)
    );
}

const STEP: Duration = Duration::from_millis(100);
