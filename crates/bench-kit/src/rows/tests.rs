use super::*;
use crate::plan::{Extras, Limit};
use bench_report::result::Counts;

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
        extras: Extras::default(),
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
        ..Sample::default()
    }
}

fn sending() -> SenderState {
    SenderState {
        counts: Counts::of([
            (Quantity::PacketsLost, 1),
            (Quantity::SmoothedRtt, 20_000_000),
            (Quantity::Cwnd, 12_000),
        ]),
        ..SenderState::default()
    }
}

fn lost(row: &Row) -> Option<u64> {
    row.figures.whole(Quantity::PacketsLost)
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
    let mut rows = Rows::new(&plan, 1, STEP * 5);
    let mut out: Vec<Interval> = (1..=20)
        .filter_map(|tenths| rows.client(0, &sample(tenths, tenths <= 7, true)))
        .collect();
    out.extend(rows.finish(0));
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
    assert_eq!(lost(&out[0].sum), Some(5));
    assert_eq!(lost(&out[0].streams[0]), None);
    assert_eq!(out[0].streams[1].socket, Some(2));
    assert_eq!(out[0].sum.bits_per_second, Finite::new(12_000.0).unwrap());
}

#[test]
fn steps_that_are_rounded_down_fill_their_interval_all_the_same() {
    let third = Duration::from_nanos(83_333_333);
    let plan = Plan {
        step: third,
        ..plan(Direction::Forward, Duration::ZERO)
    };
    let mut rows = Rows::new(&plan, 1, Duration::from_millis(250));
    let filled = (1..=6).map(|n| {
        let sample = Sample {
            at: third * n,
            length: third,
            ..sample(0, false, true)
        };
        rows.client(0, &sample).is_some()
    });
    assert!(filled.eq([false, false, true, false, false, true]));
}

#[test]
fn a_receiving_client_shows_the_servers_figures() {
    let plan = plan(Direction::Reverse, Duration::ZERO);
    let mut rows = Rows::new(&plan, 1, STEP * 2);
    for _ in 0..3 {
        rows.server(0, &sample(1, false, true));
    }
    assert_eq!(rows.client(0, &sample(1, false, false)), None);
    let first = rows.client(0, &sample(2, false, false)).unwrap();
    assert!(!first.sum.sender);
    assert_eq!(first.sum.bytes, 300);
    assert_eq!(
        (lost(&first.sum), first.sum.figures.whole(Quantity::Cwnd)),
        (Some(3), Some(12_000))
    );
    rows.client(0, &sample(3, false, false));
    let second = rows.client(0, &sample(4, false, false)).unwrap();
    assert_eq!(lost(&second.sum), Some(0));
}

#[test]
fn both_directions_have_their_own_streams_and_sums() {
    let plan = plan(Direction::Both, Duration::ZERO);
    let mut rows = Rows::new(&plan, 1, STEP);
    let both = Sample {
        received: vec![7, 8],
        ..sample(1, false, true)
    };
    let row = rows.client(0, &both).unwrap();
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

#[test]
fn connections_have_rows_of_their_own_and_a_common_sum() {
    let plan = plan(Direction::Forward, Duration::ZERO);
    let mut rows = Rows::new(&plan, 2, STEP);
    assert_eq!(rows.client(0, &sample(1, false, true)), None);
    let row = rows.client(1, &sample(1, false, true)).unwrap();
    let ids: Vec<_> = row.streams.iter().map(|row| row.socket).collect();
    assert_eq!(ids, [1, 2, 3, 4].map(Some));
    let sum = &row.sum;
    assert_eq!((sum.socket, sum.bytes, lost(sum)), (None, 300, Some(2)));
    let whole = |quantity| sum.figures.whole(quantity);
    assert_eq!(whole(Quantity::Cwnd), Some(24_000));
    assert_eq!(whole(Quantity::SmoothedRtt), Some(20_000_000));
    assert_eq!(sum.bits_per_second, Finite::new(24_000.0).unwrap());
}

#[test]
fn a_connection_that_is_done_or_stuck_does_not_hold_the_others_up() {
    let plan = plan(Direction::Forward, Duration::ZERO);
    let mut rows = Rows::new(&plan, 2, STEP);
    let shown = |rows: &mut Rows, tenths| {
        let rows = rows.client(0, &sample(tenths, false, true));
        rows.map(|rows| rows.streams.len())
    };
    assert_eq!((1..=2).find_map(|tenths| shown(&mut rows, tenths)), None);
    assert_eq!(shown(&mut rows, 3), Some(2));
    assert_eq!(rows.finish(1).len(), 2);
    assert_eq!(shown(&mut rows, 4), Some(2));
}

#[test]
fn frames_stand_in_the_row_of_the_video_and_in_the_sum() {
    let counts = |row: &Row| {
        let frames = row.frames?;
        Some([frames.sent, frames.complete, frames.late, frames.lost])
    };
    let tally = |complete, late, lost| FrameTally {
        complete,
        late,
        lost,
    };
    let video = |tenths: u32, sends: bool, tally: Option<FrameTally>| Sample {
        frames_sent: sends.then_some(3),
        frames: tally,
        ..sample(tenths, false, sends)
    };
    let mut rows = Rows::new(&plan(Direction::Both, Duration::ZERO), 2, STEP * 2);
    let client = |tenths| Sample {
        received: vec![7, 8],
        ..video(tenths, true, Some(tally(2, 1, 0)))
    };
    // The server tells of one connection, and not in time of the second step.
    rows.server(0, &video(1, true, Some(tally(3, 0, 1))));
    for flow in [0, 1] {
        rows.client(flow, &client(1));
    }
    rows.client(0, &client(2));
    let first = rows.client(1, &client(2)).unwrap();
    assert_eq!(
        counts(&first.sum),
        Some([Some(12), Some(3), Some(0), Some(1)])
    );
    let received = first.sum_bidir_reverse.unwrap();
    assert_eq!(counts(&received), Some([None, Some(8), Some(4), Some(0)]));
    let per_stream: Vec<_> = first.streams.iter().map(counts).collect();
    assert_eq!(per_stream[0], Some([Some(6), Some(3), Some(0), Some(1)]));
    assert_eq!(per_stream[1], None);
    assert_eq!(per_stream[2], Some([Some(6), None, None, None]));
    assert_eq!(per_stream[4], Some([None, Some(4), Some(2), Some(0)]));
    // What comes late stands in the next row, once.
    rows.server(0, &video(2, true, Some(tally(4, 0, 0))));
    rows.client(0, &client(3));
    rows.client(1, &client(3));
    rows.client(0, &client(4));
    let second = rows.client(1, &client(4)).unwrap();
    assert_eq!(
        counts(&second.sum),
        Some([Some(12), Some(4), Some(0), Some(0)])
    );
}

const STEP: Duration = Duration::from_millis(100);
