use super::*;
use proptest::prelude::*;

fn video(text: &str) -> Video {
    text.parse().unwrap()
}

fn error(text: &str) -> String {
    text.parse::<Video>().unwrap_err().to_string()
}

#[test]
fn each_wrong_word_is_named_with_what_was_expected() {
    let source = "a source such as video:4mbit,30fps,key=2s or video:auto,30fps,key=2s";
    for wrong in [
        "",
        "video",
        "video:",
        "audio:64kbit",
        "video:4mbit",
        "video:4mbit,30fps",
    ] {
        assert_eq!(error(wrong), format!("`{wrong}` is not {source}"));
    }
    for (text, word, expected) in [
        (
            "video:,30fps,key=2s",
            "",
            "a rate from 8bit on, such as 4mbit, or `auto`",
        ),
        (
            "video:0,30fps,key=2s",
            "0",
            "a rate from 8bit on, such as 4mbit, or `auto`",
        ),
        ("video:4mbit,0fps,key=2s", "0fps", FPS_WORD),
        ("video:4mbit,241fps,key=2s", "241fps", FPS_WORD),
        ("video:4mbit,30,key=2s", "30", FPS_WORD),
        ("video:4mbit,30fps,key=0s", "key=0s", KEY_WORD),
        ("video:4mbit,30fps,key=601s", "key=601s", KEY_WORD),
        ("video:4mbit,30fps,2s", "2s", KEY_WORD),
        ("video:4mbit,30fps,key=2s,ratio=0", "ratio=0", RATIO_WORD),
        ("video:4mbit,30fps,key=2s,ratio=51", "ratio=51", RATIO_WORD),
        ("video:4mbit,30fps,key=2s,x", "x", RATIO_WORD),
    ] {
        assert_eq!(error(text), format!("`{word}` is not {expected}"));
    }
    let more = error("video:4mbit,30fps,key=2s,ratio=2,x");
    assert_eq!(more, "`x` is not expected: `ratio=N` is the last word");
}

#[test]
fn a_key_frame_is_larger_and_all_frames_add_up_to_the_rate() {
    let video = video("video:2400kbit,30fps,key=2s");
    // 600,000 bytes in 64 parts, of which the key frame has five.
    assert_eq!(video.bytes(0, 2_400_000), 46_875);
    assert_eq!(video.bytes(1, 2_400_000), 9_375);
    assert_eq!(video.bytes(60, 2_400_000), 46_875);
    let sum: u64 = (0..60).map(|frame| video.bytes(frame, 2_400_000)).sum();
    assert_eq!(sum, 600_000);
}

#[test]
fn frames_at_the_end_do_not_count() {
    let media = Media {
        video: video("video:2mbit,30fps,key=2s"),
        late: DEFAULT_LATE,
        bulk: false,
    };
    let seconds = Duration::from_secs;
    assert_eq!(media.judged(seconds(1), seconds(5)), 30..150);
    assert_eq!(media.judged(Duration::ZERO, seconds(1)), 0..0);
}

#[test]
fn auto_keeps_to_an_encoders_bounds_and_begins_slowly() {
    let video = video("video:auto,30fps,key=2s");
    let rate = |seconds, hint| {
        video.rate(
            Duration::from_secs(seconds),
            Bandwidth::from_bits_per_sec(hint),
        )
    };
    assert_eq!(rate(0, 8_000_000), 2_000_000);
    assert_eq!(rate(1, 8_000_000), 8_000_000);
    assert_eq!(rate(1, 80_000_000), 20_000_000);
    assert_eq!(rate(1, 8), 300_000);
}

#[test]
fn what_no_encoder_makes_is_refused() {
    let refused = |text: &str| video(text).check().unwrap_err().to_string();
    assert!(refused("video:8kbit,30fps,key=2s").starts_with("frames smaller than their header"));
    assert!(refused("video:10gbit,30fps,key=2s").starts_with("key frames larger than 4194304"));
    assert_eq!(
        refused("video:4mbit,30fps,key=1ms"),
        "key frame every 1ms: use one frame to 600s"
    );
    // A peer's plan does not come from the parser.
    let wrong = |change: fn(&mut Video)| {
        let mut video = video("video:4mbit,30fps,key=2s");
        change(&mut video);
        video.check().unwrap_err().to_string()
    };
    assert_eq!(
        wrong(|video| video.fps = 0),
        "0 frames per second: use 1 to 240"
    );
    assert_eq!(
        wrong(|video| video.ratio = 0),
        "key frames of 0 times: use 1 to 50"
    );
    wrong(|video| video.key = Duration::MAX);
    wrong(|video| video.rate = Some(u64::MAX));
    wrong(|video| video.rate = Some(0));
}

proptest! {
    #[test]
    fn a_source_reads_back(
        rate in prop::option::of(1_u64..=125_000_000),
        fps in FPS,
        key in 1_u64..=600_000_000,
        ratio in RATIOS,
    ) {
        let video = Video {
            // Bytes a second are the unit of rates; above a gigabit they are shown rounded.
            rate: rate.map(|rate| rate * 8),
            fps,
            key: Duration::from_micros(key),
            ratio,
        };
        prop_assert_eq!(video.to_string().parse::<Video>(), Ok(video));
    }

    #[test]
    fn the_mean_is_the_rate_whatever_the_group(
        rate in 100_000_u64..1 << 30,
        fps in FPS,
        key in 1_u64..=20_000,
        ratio in RATIOS,
    ) {
        let video = Video { rate: Some(rate), fps, key: Duration::from_millis(key), ratio };
        let group = u64::try_from(video.group()).unwrap();
        let sum: u64 = (0..group).map(|frame| video.bytes(frame, rate)).sum();
        let exact = u128::from(rate) * u128::from(group) / (8 * u128::from(fps));
        prop_assert_eq!(u128::from(sum), exact);
        let (key, other) = (video.bytes(0, rate), video.bytes(group + 1, rate));
        if group > 2 {
            prop_assert!(key.abs_diff(other * u64::from(ratio)) <= u64::from(ratio) + 1);
        }
    }
}
