//! Links of any description under any schedule: the fuzz targets' harness on random bytes, and on
//! the bytes with which libFuzzer once broke a promise.

#[path = "any_link/harness.rs"]
mod harness;

use link_sim::{Ecn, LinkSpec, Packet};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use units::{Bytes, Timestamp};

proptest! {
    #[test]
    fn any_link_keeps_its_promises_under_any_schedule(
        data in proptest::collection::vec(any::<u8>(), 0..600)
    ) {
        harness::link(&data);
    }

    #[test]
    fn any_bytes_are_a_recording_or_a_refusal(
        data in proptest::collection::vec(any::<u8>(), 0..200)
    ) {
        harness::recording(&data);
    }

    #[test]
    fn any_capture_is_a_recording_or_a_refusal(
        link in proptest::sample::select(vec![0_u8, 1, 12, 101, 113, 127]),
        data in proptest::collection::vec(0..70_u8, 0..300),
    ) {
        let mut capture = vec![0xd4, 0xc3, 0xb2, 0xa1];
        capture.extend([0; 16]);
        capture.extend([link, 0, 0, 0]);
        capture.extend(data);
        harness::recording(&capture);
    }

    #[test]
    fn any_text_is_a_link_or_a_refusal(text in "\\PC{0,200}") {
        harness::parse(&text);
    }
}

#[test]
fn what_broke_a_link_once_does_not_again() {
    regressions("link").for_each(|data| harness::link(&data));
}

#[test]
fn what_broke_the_parser_once_does_not_again() {
    regressions("parse").for_each(|data| harness::parse(&String::from_utf8_lossy(&data)));
}

#[test]
fn the_most_and_the_least_of_everything_ends_and_loses_count_of_nothing() {
    for text in EXTREMES {
        let spec = LinkSpec::parse_with(text, harness::read_trace).expect(text);
        let mut link = spec.build(spec.delay(), 1);
        let ends = [
            0,
            1,
            1_000_000,
            3_600_000_000_000,
            u64::MAX / 2,
            u64::MAX - 1,
            u64::MAX,
        ];
        for now in ends.map(Timestamp::from_nanos) {
            for number in 0..60 {
                let size = [0, 1, 1_514, 65_535, 1 << 40][number % 5];
                let packet = Packet::new(Bytes::new(size), number);
                link.handle_packet(now, packet.flow(number as u64 % 3).ecn(Ecn::Ect1));
            }
            while link.poll_output(now).is_some() {}
        }
        while link.poll_output(Timestamp::MAX).is_some() {}
        let stats = link.stats();
        assert_eq!(stats.arrived.packets, 7 * 60, "{text}");
        assert_eq!(
            stats.arrived + stats.duplicated,
            stats.delivered + stats.dropped.total() + stats.held,
            "{text}"
        );
        assert_eq!(stats.held.packets, 0, "{text}");
    }
}

#[test]
fn what_is_kept_of_recordings_is_still_read() {
    let read = regressions("recording").inspect(|data| harness::recording(data));
    assert!(read.count() >= 4);
}

/// The inputs that are kept for a target.
fn regressions(target: &str) -> impl Iterator<Item = Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions");
    let files = fs::read_dir(folder.join(target)).expect("there is a folder for each target");
    files.map(|file| {
        let file = file.expect("the folder is readable");
        fs::read(file.path()).expect("an input is a file")
    })
}

/// The ends of what each clause takes, by itself and against others.
const EXTREMES: [&str; 36] = [
    "rate 8bit",
    "rate 8bit queue 1p",
    "rate 10tbit queue 1000bdp delay 3600s",
    "rate 8bit 65535 1 65535 queue 1b",
    "rate 10tbit -65535 aqm cake rtt 3600s",
    "delay 3600s 3600s 100% distribution pareto",
    "delay 1ns 3600s ordered",
    "delay 1ns 3600s rate 8bit limit 1",
    "delay 3600s reorder 100% 100% gap 1",
    "delay 3600s reorder 0% gap 4294967295",
    "loss 0% 100%",
    "loss 100% 100% ecn",
    "loss gemodel 100% 0% 100% 100%",
    "loss state 100% 100% 0% 100%",
    "loss packets 1,3-18446744073709551615",
    "duplicate 100% corrupt 100% 100% limit 1",
    "slot 1ns packets 1 bytes 1b",
    "slot 3600s packets 1",
    "slot distribution pareto 1ns 3600s packets 1",
    "tbf 8bit burst 1b",
    "tbf 8bit burst 1024gb peakrate 10tbit mtu 1b",
    "policer 8bit burst 1b",
    "delay trace 3600000,0 every 1ns",
    "delay trace 3600000,0,0 every 3600s rate 8bit limit 1",
    "loss trace 1,0 ecn",
    "trace 1",
    "trace 86400000 aqm codel target 1ns interval 1ns",
    "trace 0,0,0,0,1,1,1 queue 1p",
    "radio 3600s suspend 3600s every 1ns",
    "radio 0s suspend 1ns every 1ns rate 8bit queue 1p",
    "rate 8bit aqm codel target 3600s interval 3600s",
    "rate 8bit aqm pie target 1ns tupdate 1ns",
    "rate 8bit aqm dualpi2 target 1ns tupdate 1ns",
    "rate 8bit aqm red min 1b avpkt 1b burst 1 probability 100% ecn",
    "rate 8bit aqm fq_codel flows 1 quantum 256b target 1ns interval 1ns",
    "delay 3600s at 0s loss 100% at 0s..3600s loss 0% at 0s..1ns rate 8bit at 1ns..3600s \
     queue 1p rate 10tbit",
];
