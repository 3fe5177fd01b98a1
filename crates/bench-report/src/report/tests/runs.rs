//! Reports of single runs.

use super::*;

#[test]
fn a_run_has_the_lines_of_its_link_and_no_letter() {
    let mut result = fixtures::run();
    let page = run_html(&result, Path::default());
    assert!(!page.contains("reference\"") && !page.contains("a bbr3"));
    assert!(page.contains("State of the controller"));
    result.link = "delay 40ms rate 100mbit queue 1bdp".to_owned();
    result.return_link = "delay 10ms".to_owned();
    let path = Path {
        rate: Some(Bandwidth::from_bits_per_sec(100_000_000)),
        base_rtt: Some(Duration::from_millis(50)),
    };
    let page = run_html(&result, path);
    for line in ["link 100 Mbit/s", "base RTT 50 ms", "BDP"] {
        assert!(page.contains(line), "{line}");
    }
    // A link of a later version.
    result.link = "warp 9".to_owned();
    assert!(run_html(&result, Path::default()).contains("warp 9"));
}

#[test]
fn a_run_in_both_directions_shows_both_by_name() {
    let mut result = fixtures::run();
    let page = run_html(&result, Path::default());
    assert!(!page.contains("from server") && !page.contains("Both directions"));
    let back = iperf::Row {
        bits_per_second: fixtures::finite(12.3e6),
        ..result.intervals[0].sum.clone()
    };
    let received = iperf::Row {
        sender: false,
        ..result.intervals[0].streams[0].clone()
    };
    result.intervals[0].streams.push(received);
    result.intervals[0].sum_bidir_reverse = Some(back);
    let page = run_html(&result, Path::default());
    for part in [
        "to server",
        "from server",
        "Both directions:",
        "Data to the server.",
        "from (server) over time",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let both = |result: &RunResult| {
        let path = Path {
            rate: Some(Bandwidth::from_bits_per_sec(20_000_000)),
            ..Path::default()
        };
        let mut figures = run_figures(result, path).into_iter();
        let both = figures.find(|(name, _)| name == "both-directions");
        both.unwrap().1.inline()
    };
    result.return_link = "rate 5mbit".to_owned();
    let drawn = both(&result);
    assert_eq!(drawn.matches("bold ").count(), 4);
    assert!(!drawn.contains("link 20 Mbit/s"), "{drawn}");
    // What exceeds a link that both share has its reason beside it.
    result.return_link.clone_from(&result.link);
    let drawn = both(&result);
    for part in ["link 20 Mbit/s", "above the link: data that waited"] {
        assert!(drawn.contains(part), "{part}: {drawn}");
    }
}

#[test]
fn a_run_says_what_it_was_for() {
    let mut result = fixtures::run();
    assert!(run_html(&result, Path::default()).contains("bbr3: goodput 94.0 Mbit/s, p95 RTT"));
    result.end.sum_received_bidir_reverse = Some(iperf::Row {
        bits_per_second: fixtures::finite(12.3e6),
        ..iperf::Row::default()
    });
    let page = run_html(&result, Path::default());
    assert!(page.contains("goodput 94.0 Mbit/s to the server, p95"));
    assert!(page.contains("From the server: 12.3 Mbit/s."));

    result.end.sum = Some(iperf::Row {
        jitter_ms: Some(fixtures::finite(0.25)),
        lost_packets: Some(3),
        packets: Some(1_000),
        out_of_order: Some(7),
        ..iperf::Row::default()
    });
    let page = text(&parse(&run_html(&result, Path::default())));
    for part in [
        "Jitter\n0.250 ms",
        "Datagrams lost\n3 of 1000",
        "Out of order\n7",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn what_became_of_a_videos_frames_is_shown() {
    let frames = |missed: f64| Frames {
        source: "video:2mbit,30fps,key=2s".to_owned(),
        count: 120,
        complete: 118,
        late: 7,
        lost: 2,
        missed_share: Some(fixtures::finite(missed)),
        late_after_ms: fixtures::finite(100.0),
        latency_ms: RttMs {
            p50: Some(fixtures::finite(36.6)),
            p95: Some(fixtures::finite(63.2)),
            ..RttMs::default()
        },
        longest_freeze_ms: fixtures::finite(276.0),
        ..Frames::default()
    };
    let mut run = fixtures::run();
    run.result.frames = Some(frames(0.075));
    let page = run_html(&run, Path::default());
    let said = text(&parse(&page));
    for part in [
        "video:2mbit,30fps,key=2s",
        "118 of 120 complete",
        "7 (over 100 ms)",
        "36.6, 63.2, -, - ms (both sides read one clock)",
        "276 ms",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let mut ab = fixtures::ab();
    for (variant, missed) in ab.variants.iter_mut().zip([0.075, 0.025]) {
        for round in &mut variant.rounds {
            round.frames = Some(frames(missed));
        }
    }
    stats::conclude(&mut ab);
    assert!(
        verdict(&ab).contains("share of missed frames of"),
        "{}",
        verdict(&ab)
    );
    let page = html(&ab);
    let said = text(&parse(&page));
    for part in ["Frames missed", "Frame p95", "Freeze"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_run_of_requests_shows_their_times_and_no_empty_figure() {
    let times = |first: f64| RequestTimes {
        count: 30,
        p50: Some(fixtures::finite(first)),
        p95: Some(fixtures::finite(first + 1.0)),
        p99: Some(fixtures::finite(first + 2.0)),
        ..RequestTimes::default()
    };
    let mut result = fixtures::run();
    result.result = Round::default();
    result.requests = Some(RunRequests {
        interval_ms: fixtures::finite(100.0),
        rtt_ms: times(20.0),
        rtt_distribution: fixtures::round("", 0, 1).rtt_distribution,
        responsiveness_rpm: Some(fixtures::finite(2_900.4)),
        ..RunRequests::default()
    });
    let page = run_html(&result, Path::default());
    let said = text(&parse(&page));
    for part in [
        "Response time: median 20.0 ms, p95 21.0 ms.",
        "30, one every 100 ms",
        "20.0, 21.0, 22.0 ms",
        "2900 round trips/min",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(page.matches("<figure>").count(), 2);
    assert!(!page.contains(": goodput") && !page.contains("no samples recorded"));

    result.requests.as_mut().unwrap().under_load = true;
    result.result = fixtures::round("bbr3", 0, 94_000_000);
    let page = run_html(&result, Path::default());
    assert!(page.contains("goodput 94.0 Mbit/s") && page.contains("Response time: median"));
    assert_eq!(page.matches("<figure>").count(), 6);
    result.result = Round::default();
    result.requests = Some(RunRequests::default());
    assert!(run_html(&result, Path::default()).contains("No responses received."));
}

#[test]
fn datagrams_have_their_loss_and_jitter_over_time() {
    let mut result = fixtures::run();
    assert!(plot::datagrams(&as_ab(&result, Path::default())).is_none());
    for (index, interval) in result.result.intervals.iter_mut().enumerate() {
        interval.datagrams = Some(IntervalDatagrams {
            packets: 200,
            lost: index as u64 % 3,
            jitter_ms: fixtures::finite(0.25),
        });
    }
    let page = run_html(&result, Path::default());
    parse(&page);
    assert!(page.contains("Datagrams lost, %") && page.contains("Jitter of datagrams, ms"));
}
