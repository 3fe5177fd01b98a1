//! Videos, whose frames come in time or not.

use super::{ab, measured, parse};
use e2e::programs::{Running, bench_server, run};
use serde_json::Value;

/// The median over the rounds of a variant.
fn median(variant: &Value, metric: &str) -> f64 {
    let median = &variant["summary"][metric]["median"];
    median.as_f64().unwrap_or_else(|| panic!("{variant}"))
}

fn video<'a>(source: &'a str, link: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let plan = ["-u", "--source", source, "--link", link];
    [&plan[..], more].concat()
}

#[test]
fn a_lone_frame_takes_the_links_delay_and_its_own_time_on_it() {
    // One datagram of 1,000 bytes a second.
    let source = "video:8kbit,1fps,key=1s,ratio=1";
    let more = ["-t", "4", "--rounds", "1"];
    let exact = measured(&video(source, "delay 30ms", &more));
    for variant in exact["variants"].as_array().unwrap() {
        let frames = &variant["rounds"][0]["frames"];
        assert_eq!(frames["source"], source);
        assert_eq!(frames["clock"], "shared");
        let counts = ["count", "sent", "complete", "late", "lost"].map(|name| &frames[name]);
        assert_eq!(counts, [3, 3, 3, 0, 0], "{frames}");
        for quantile in ["min", "p50", "p95", "p99", "max"] {
            assert_eq!(frames["latency_ms"][quantile], 30.0, "{frames}");
        }
    }
    // At 1 Mbit/s the 1,000 bytes take 8 ms; with QUIC's header and tag and the link's 42 bytes of
    // lower layers less than 9.
    let link = "delay 30ms rate 1mbit";
    let shaped = measured(&video(source, link, &more));
    let p50 = median(&shaped["variants"][0], "frame_latency_ms_p50");
    assert!(38.0 < p50 && p50 < 39.0, "{p50}");
}

#[test]
fn frames_behind_a_full_queue_are_late() {
    let link = "delay 30ms rate 10mbit queue 2bdp";
    let more = ["--return-link", "delay 30ms", "-t", "8", "--rounds", "3"];
    let more = [&more[..], &["--bulk"]].concat();
    let result = measured(&video("video:2mbit,30fps,key=2s", link, &more));
    let [cubic, paceline] = [0, 1].map(|index| &result["variants"][index]);
    let missed = "frames_missed";
    assert!(median(cubic, missed) > 0.8 && median(paceline, missed) < 0.05);
    for metric in [missed, "frame_latency_ms_p95", "frame_latency_ms_p99"] {
        let decision = &result["comparison"][metric]["decision"];
        assert_eq!(decision, "b_lower", "{metric}");
    }
    // Of each tenth of a second it is known what was sent and what has become of it.
    let intervals = cubic["rounds"][0]["intervals"].as_array().unwrap();
    let of = |count: &str| {
        let intervals = intervals.iter();
        let counts = intervals.map(|interval| interval["frames"][count].as_u64().unwrap());
        counts.sum::<u64>()
    };
    let frames = &cubic["rounds"][0]["frames"];
    let [sent, complete, late, lost] = ["sent", "complete", "late", "lost"].map(of);
    // A second of warm-up as well, and the last second, of which the sum has nothing, with the
    // frame that is due at its end.
    assert_eq!((sent, &frames["count"]), (9 * 30 + 1, &(7 * 30).into()));
    // Some are on their way at the end.
    assert!(
        (sent - 30..=sent).contains(&(complete + lost)),
        "{complete} and {lost}"
    );
    let counting = |count: &str| frames[count].as_u64().unwrap();
    assert!((counting("complete")..=counting("complete") + 60).contains(&complete));
    assert!((counting("late")..=complete).contains(&late), "{late}");
    // The stream takes what the video leaves.
    assert!(median(paceline, "goodput_bits_per_second") > 8.5e6);
    assert_eq!(paceline["rounds"][0]["streams"], 2);
    let verdict = run(
        "bench-client",
        [
            &["ab", "--no-report", "--virtual"][..],
            &video("video:2mbit,30fps,key=2s", link, &more),
        ]
        .concat(),
    );
    assert!(
        verdict.stdout.contains("share of missed frames")
            && verdict.stdout.contains("Frame p95 ms"),
        "{verdict:?}"
    );
    assert!(
        verdict
            .stdout
            .lines()
            .all(|line| line.chars().count() <= 80)
    );
}

#[test]
fn an_encoder_that_follows_the_path_uses_it() {
    let link = "delay 30ms rate 10mbit queue 2bdp";
    let more = ["--return-link", "delay 30ms", "-t", "5", "--rounds", "1"];
    let result = measured(&video("video:auto,30fps,key=2s", link, &more));
    let goodput = median(&result["variants"][1], "goodput_bits_per_second");
    assert!(5e6 < goodput && goodput < 9.5e6, "{goodput}");
}

#[test]
fn a_video_in_real_time_has_the_same_figures() {
    let link = "delay 20ms";
    let more = ["-t", "2", "-O", "0.2", "--rounds", "1", "--late", "100ms"];
    let ended = ab(&video("video:1mbit,30fps,key=1s", link, &more));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let result = parse(&ended.stdout);
    for variant in result["variants"].as_array().unwrap() {
        let frames = &variant["rounds"][0]["frames"];
        assert_eq!(
            (&frames["count"], &frames["clock"]),
            (&30.into(), &"shared".into())
        );
        // The link is one way: half of the round trip would be 10 ms.
        let least = frames["latency_ms"]["min"].as_f64();
        assert!(least >= Some(20.0), "{frames}");
    }
}

#[test]
fn a_run_shows_what_became_of_frames() {
    let (_server, port) = bench_server(&[]);
    let server = format!("127.0.0.1:{port}");
    let flags = ["-u", "--source", "video:1mbit,30fps,key=1s", "-t", "2"];
    let client = |more: &[&str]| {
        let args = [&["run", server.as_str()], &flags[..], more].concat();
        run("bench-client", args)
    };
    let ended = client(&[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for part in [
        // A row ends where the machine let it: 1.00 s, or a little later.
        "\n[VID]  0.00-",
        " frames sent, ",
        "\nFrames: 30 of 30 complete",
        "\nFrame latency: p50/p95/p99/max ",
    ] {
        assert!(ended.stdout.contains(part), "{part} in:\n{}", ended.stdout);
    }
    let both = client(&["--bidir", "--bulk", "-J"]);
    assert_eq!(both.code, Some(0), "{both:?}");
    let both = parse(&both.stdout);
    for frames in [&both["result"]["frames"], &both["frames_bidir_reverse"]] {
        assert_eq!(frames["count"], 30, "{frames}");
        assert_eq!(frames["clock"], "half_of_least_rtt");
    }
    // Rows have all frames, those of the last second too.
    let intervals = both["intervals"].as_array().unwrap();
    let total = |sum: &str, count: &str| -> u64 {
        let counts = intervals
            .iter()
            .filter_map(|interval| interval[sum]["frames"][count].as_u64());
        counts.sum()
    };
    let [sent, complete, lost] = ["sent", "complete", "lost"].map(|count| total("sum", count));
    assert!(sent >= 30, "{sent}");
    // What the server has told by then.
    assert!(
        (1..=sent).contains(&(complete + lost)),
        "{complete} and {lost} of {sent}"
    );
    let received = total("sum_bidir_reverse", "complete");
    let counting = both["frames_bidir_reverse"]["complete"].as_u64().unwrap();
    assert!((counting..=counting + 32).contains(&received), "{received}");
    // The video's stream has them, and the stream beside it does not.
    let streams = &intervals[0]["streams"];
    assert_eq!(streams[0]["frames"], intervals[0]["sum"]["frames"]);
    assert_eq!(streams[1].get("frames"), None);
}

#[test]
fn wrong_words_of_videos_are_named() {
    let source = "video:2mbit,30fps,key=2s";
    let cases: [(&[&str], &str); 10] = [
        (
            &["-u", "--source", "video:4mbit,0fps,key=2s"],
            "`0fps` is not a number of frames per",
        ),
        (
            &["-u", "--source", "video:4mbit,30fps,key=0s"],
            "`key=0s` is not the time between key",
        ),
        (
            &["-u", "--source", "video:"],
            "`video:` is not a source such as video:4mbit,30fps",
        ),
        (
            &["-u", "--source", "audio:64kbit"],
            "`audio:64kbit` is not a source such as video:",
        ),
        (
            &["-u", "--source", "video:8kbit,30fps,key=2s"],
            "frames smaller than their header",
        ),
        (&["--source", source], "were not provided: --udp"),
        (&["-u"], "were not provided: --source <SOURCE>"),
        (
            &["-u", "--source", source, "-b", "1M"],
            "cannot be used with '--bitrate <RATE>'",
        ),
        (
            &["-u", "--source", source, "-t", "1"],
            "run too short for video: frames of the last 1s",
        ),
        (
            &["--late", "50ms"],
            "were not provided: --udp; --source <SOURCE>",
        ),
    ];
    for (args, part) in cases {
        let ended = ab(args);
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        assert!(ended.stderr.contains(part), "{args:?}: {}", ended.stderr);
    }
}

#[test]
fn a_server_with_a_limit_knows_the_rate_of_a_video() {
    let server = |limit: &str| -> (Running, u16) { bench_server(&["--max-rate", limit]) };
    let client = |port: u16, more: &[&str]| {
        let server = format!("127.0.0.1:{port}");
        let source = "video:2mbit,30fps,key=1s";
        let args = ["run", &server, "-u", "--source", source, "-t", "2"];
        run("bench-client", [&args[..], more].concat())
    };
    let (_server, port) = server("3M");
    assert_eq!(client(port, &[]).code, Some(0));
    let refused = client(port, &["--bulk"]);
    assert!(refused.stderr.contains("rate too high"), "{refused:?}");
}
