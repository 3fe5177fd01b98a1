//! Rows of a run: those of intervals, and the closing ones.

use crate::fixtures::finite;
use crate::result::iperf::{CpuUtilization, End, EndStream, Row};
use crate::result::{Figures, Quantity};
use crate::table::*;
use crate::text::Unit;

pub(super) fn row(second: u32, mbytes: u64) -> Row {
    Row {
        socket: Some(1),
        start: finite(f64::from(second)),
        end: finite(f64::from(second + 1)),
        seconds: finite(1.0),
        bytes: mbytes * 1_000_000,
        bits_per_second: finite(mbytes as f64 * 8e6),
        figures: Figures::of([
            (Quantity::PacketsLost, (mbytes % 7) as f64),
            (Quantity::Cwnd, 512_345.0),
            (Quantity::SmoothedRtt, 40.234),
            (Quantity::PacingRate, 95_012_345.0),
        ]),
        state: Some("ProbeBW_CRUISE".to_owned()),
        sender: true,
        ..Row::default()
    }
}

fn sum(row: &Row) -> Row {
    Row {
        socket: None,
        bytes: row.bytes * 2,
        bits_per_second: finite(row.bits_per_second.get() * 2.0),
        figures: Figures::default().with(
            Quantity::PacketsLost,
            row.figures.get(Quantity::PacketsLost),
        ),
        state: None,
        ..row.clone()
    }
}

fn interval_rows(columns: Columns) -> String {
    let warm_up = Row {
        omitted: Some(true),
        ..row(0, 5)
    };
    let receiver = Row {
        figures: Figures::default(),
        state: None,
        ..row(12, 11)
    };
    let extreme = Row {
        socket: Some(128),
        bytes: 1_098_437_885_952,
        bits_per_second: finite(999_499_999_999.0),
        figures: Figures::of([
            (Quantity::PacketsLost, 9_999.0),
            (Quantity::Cwnd, 1_047_000.0),
            (Quantity::SmoothedRtt, 9_999.4),
            (Quantity::PacingRate, 999_400_000.0),
        ]),
        ..row(998, 0)
    };
    let stalled = Row {
        figures: row(2, 0)
            .figures
            .with(Quantity::SmoothedRtt, Some(finite(0.117)))
            .with(Quantity::Cwnd, Some(finite(2_904.0)))
            .with(Quantity::PacingRate, None),
        ..row(2, 0)
    };
    let mut text = interval_header(columns);
    for row in [
        warm_up,
        row(1, 11),
        sum(&row(1, 11)),
        stalled,
        receiver,
        extreme,
    ] {
        text.push('\n');
        text.push_str(&interval_row(&row, Unit::Adaptive, columns));
    }
    text
}

#[test]
fn interval_rows_fit_into_80_columns() {
    let text = interval_rows(Columns::fitting(80));
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    insta::assert_snapshot!(text);
}

#[test]
fn a_row_has_the_columns_that_fit() {
    for (width, columns) in [
        (37, Columns::Least),
        (59, Columns::Least),
        (60, Columns::Few),
        (74, Columns::Short),
        (79, Columns::Short),
    ] {
        assert_eq!(Columns::fitting(width), columns);
        let lines = [
            interval_header(columns),
            interval_row(&row(12, 11), Unit::Adaptive, columns),
        ];
        for line in &lines {
            assert!(line.chars().count() <= width, "{line}");
            assert!(
                line.contains("Bitrate") || line.contains(" 88.0 Mbits/sec    4"),
                "{line}"
            );
        }
        let ends = lines.map(|line| line.len());
        assert_eq!(ends[0], ends[1], "{columns:?}");
    }
}

#[test]
fn a_wide_terminal_shows_the_state_as_well() {
    insta::assert_snapshot!(interval_rows(Columns::fitting(100)));
}

fn detailed_row() -> Row {
    let details = [
        (Quantity::MinRtt, 40.012),
        (Quantity::InFlight, 498_100.0),
        (Quantity::DeliveryRate, 93_400_000.0),
        (Quantity::PacingGain, 1.25),
        (Quantity::CwndGain, 2.0),
        (Quantity::ApplicationLimited, 0.031),
        (Quantity::CeMarked, 12.0),
    ];
    let mut row = row(1, 11);
    for (quantity, figure) in details {
        row.figures.set(quantity, Some(finite(figure)));
    }
    row
}

#[test]
fn verbose_rows_have_the_columns_of_ss() {
    let row = detailed_row();
    assert_eq!(Columns::with_details(150), (Columns::Full, false));
    let lines = [
        interval_header(Columns::Full),
        interval_row(&row, Unit::Adaptive, Columns::Full),
        interval_row(&self::row(2, 0), Unit::Adaptive, Columns::Full),
    ];
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn where_verbose_rows_have_no_room_the_columns_of_ss_stand_below() {
    let mut row = detailed_row();
    row.state = Some("ProbeBW_REFILL".to_owned());
    let full = interval_row(&row, Unit::Adaptive, Columns::Full);
    for width in [149, 80, 74, 60] {
        let (columns, is_below) = Columns::with_details(width);
        assert!(is_below);
        let lines = [
            interval_header(columns),
            detail_header(),
            interval_row(&row, Unit::Adaptive, columns),
            detail_row(&row).unwrap(),
        ];
        if width >= 74 {
            let longest = lines.iter().map(|line| line.chars().count()).max();
            assert!(longest <= Some(width), "{}", lines.join("\n"));
        }
        let words = |text: &str| text.split_whitespace().count();
        let shown = words(&lines[2]) + words(&lines[3]);
        assert_eq!(shown == words(&full), width >= 80, "{}", lines.join("\n"));
        if width == 80 {
            insta::assert_snapshot!("verbose_rows_in_80_columns", lines.join("\n"));
        }
    }
    row.omitted = Some(true);
    assert_eq!(detail_row(&row), None);
    assert_eq!(detail_row(&Row::default()), None);
}

#[test]
fn the_closing_rows_are_as_recorded() {
    let (sender, receiver) = (row(0, 94), row(0, 93));
    let end = End {
        streams: vec![
            EndStream {
                sender: sender.clone(),
                receiver: Row {
                    figures: Figures::default(),
                    ..receiver.clone()
                },
            };
            2
        ],
        sum_sent: sum(&sender),
        sum_received: Row {
            figures: Figures::default(),
            ..sum(&receiver)
        },
        ..End::default()
    };
    insta::assert_snapshot!(end_block(&end, Unit::Bits(2), Columns::Narrow));
}

#[test]
fn one_stream_each_way_has_no_sums() {
    let row = row(0, 94);
    let stream = EndStream {
        sender: row.clone(),
        receiver: row.clone(),
    };
    let end = End {
        streams: vec![stream.clone(), stream.clone()],
        sum_sent: sum(&row),
        sum_received: sum(&row),
        sum_sent_bidir_reverse: Some(sum(&row)),
        sum_received_bidir_reverse: Some(sum(&row)),
        ..End::default()
    };
    assert!(!end_block(&end, Unit::Bits(2), Columns::Narrow).contains("[SUM]"));
    let two = End {
        streams: vec![stream; 4],
        ..end
    };
    assert_eq!(
        end_block(&two, Unit::Bits(2), Columns::Narrow)
            .matches("[SUM]")
            .count(),
        4
    );
}

#[test]
fn processor_time_is_of_both_sides_and_says_whose() {
    let figure = |value| Some(finite(value));
    let mut end = End {
        sum_sent: sum(&row(0, 94)),
        ..End::default()
    };
    assert_eq!(cpu_line(&end), None);
    end.cpu_utilization_percent = CpuUtilization {
        host_total: figure(12.14),
        host_user: figure(3.4),
        host_system: figure(8.74),
        remote_total: figure(9.0),
        ..CpuUtilization::default()
    };
    assert_eq!(
        cpu_line(&end).unwrap(),
        "CPU Utilization: local/sender 12.1% (3.4%u/8.7%s), remote/receiver 9.0%"
    );
    end.sum_sent.sender = false;
    let line = cpu_line(&end).unwrap();
    assert!(line.contains("local/receiver 12.1%"), "{line}");
    end.sum_sent_bidir_reverse = Some(Row::default());
    let line = cpu_line(&end).unwrap();
    assert!(line.contains("local 12.1%"), "{line}");
}

#[test]
fn where_both_sides_send_every_row_says_which_did() {
    let mut server = row(0, 94);
    server.sender = false;
    let [client, server] = [row(0, 94), server].map(|row| EndStream {
        sender: row.clone(),
        receiver: row,
    });
    let end = End {
        sum_sent: sum(&client.sender),
        sum_received: sum(&client.sender),
        sum_sent_bidir_reverse: Some(sum(&server.sender)),
        sum_received_bidir_reverse: Some(sum(&server.sender)),
        streams: vec![client.clone(), client, server.clone(), server],
        ..End::default()
    };
    let block = end_block(&end, Unit::Adaptive, Columns::Narrow);
    let starts = |text: &str| block.lines().filter(|line| line.starts_with(text)).count();
    assert_eq!(starts("[ ID][Role]  Interval"), 1, "{block}");
    assert_eq!(
        (starts("[SUM][TX-C]"), starts("[SUM][RX-C]")),
        (2, 2),
        "{block}"
    );
    let short = interval_row(&row(0, 94), Unit::Adaptive, Columns::Short);
    let short = with_direction(&short, Some(&row(0, 94)));
    assert!(short.starts_with("[  1][TX-C]  0.00-1.00"), "{short}");
    assert!(short.chars().count() <= 80, "{short}");
}
