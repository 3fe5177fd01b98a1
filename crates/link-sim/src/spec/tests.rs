mod any_spec;
mod changes;
mod refusals;

use super::clauses::aqm::dualpi2::{OnOverload, StepThreshold};
use super::clauses::aqm::{Cake, Codel, DualPi2, FqCodel, Pie, Red};
use super::clauses::delay::RecordedDelay;
use super::clauses::queue::QueueLimit;
use super::trace::Recorded;
use super::*;
use core::time::Duration;
use proptest::prelude::*;
use std::io;
use units::{Bandwidth, Bytes, Gain, duration};

pub(crate) use any_spec::{aqms, specs};

fn spec(text: &str) -> LinkSpec {
    text.parse().unwrap()
}

fn error(text: &str) -> SpecError {
    text.parse::<LinkSpec>().unwrap_err()
}

/// The refused word, its column, and the whole line.
#[track_caller]
fn assert_refused(text: &str, word: &str, column: usize, says: &str) {
    let error = error(text);
    assert_eq!((error.word(), error.column()), (word, column), "{error}");
    assert!(error.problem().contains(says), "{error}");
    assert_eq!(error.to_string().lines().count(), 1);
}

/// Where the tests' traces are: their name is what they hold.
pub(crate) fn read_trace(name: &str) -> io::Result<String> {
    Ok(name.replace(',', "\n"))
}

#[test]
fn the_readme_of_netem_parses() {
    let spec = spec("delay 50ms 20ms distribution normal loss 3% rate 100mbit limit 1000");
    let spec = spec.clauses;
    let Some(Delay::Netem(delay)) = spec.delay else {
        panic!("{spec:?}");
    };
    assert_eq!(delay.time, Duration::from_millis(50));
    assert_eq!(delay.jitter, Duration::from_millis(20));
    assert_eq!(delay.distribution, Distribution::Normal);
    let three = Chance {
        probability: Gain::percent(3),
        correlation: Gain::ZERO,
    };
    assert_eq!(spec.loss.unwrap().model, LossModel::Random(three));
    assert_eq!(
        spec.service,
        Some(Service::Rate(Rate::new(Bandwidth::from_bits_per_sec(
            100_000_000
        ))))
    );
    assert_eq!(spec.limit, Some(1_000));
}

#[test]
fn clauses_stand_in_any_order_and_tcs_aliases_are_known() {
    assert_eq!(
        spec("queue 1bdp rate 1gbit drop random 1% latency 5ms"),
        spec("delay 5ms loss 1% rate 1gbit queue 1bdp")
    );
}

#[test]
fn gemodel_has_tcs_defaults() {
    let model = |text: &str| match spec(text).clauses.loss.unwrap().model {
        LossModel::GilbertElliott(model) => model,
        other => panic!("{other:?}"),
    };
    let default = model("loss gemodel 1%");
    assert_eq!(default.r, Gain::percent(99));
    assert_eq!(default.loss_in_bad, Gain::ONE);
    assert_eq!(default.loss_in_good, Gain::ZERO);
    let full = model("loss gemodel 1% 25% 70% 0.1%");
    assert_eq!(full.r, Gain::percent(25));
    assert_eq!(full.loss_in_bad, Gain::percent(70));
    assert_eq!(full.loss_in_good, Gain::new(1, 1_000));
}

#[test]
fn queues_are_read_in_their_three_units() {
    let queue = |limit: &str| {
        spec(&format!("rate 1mbit queue {limit}"))
            .clauses
            .queue
            .unwrap()
    };
    assert_eq!(queue("0.5bdp"), QueueLimit::Bdp(Gain::new(1, 2)));
    assert_eq!(queue("100p"), QueueLimit::Packets(100));
    assert_eq!(queue("250kb"), QueueLimit::Bytes(Bytes::new(256_000)));
    assert_eq!(queue("1500b"), QueueLimit::Bytes(Bytes::new(1_500)));
}

#[test]
fn an_empty_string_is_a_transparent_link() {
    assert_eq!(spec("  "), LinkSpec::default());
    assert_eq!(LinkSpec::default().to_string(), "");
}

#[test]
fn an_endless_description_is_refused() {
    assert!(error(&"loss ".repeat(1_000)).problem().contains("4096"));
    // What is accepted can be read again: `.05%` is written as `0.05%`.
    let changes = |count| "at 1s loss .05% ".repeat(count);
    assert!(error(&changes(250)).problem().contains("4096"));
    let most = spec(&changes(240));
    assert_eq!(spec(&most.to_string()), most);
}

#[test]
fn a_queue_in_bdp_needs_a_delay_in_one_of_both_directions() {
    let (queue, delay) = (spec("rate 1mbit queue 1bdp"), spec("delay 20ms"));
    assert_eq!(queue.base_rtt(&delay).unwrap(), Duration::from_millis(20));
    assert_eq!(delay.base_rtt(&delay).unwrap(), Duration::from_millis(40));
    let error = LinkSpec::default().base_rtt(&queue).unwrap_err();
    assert_eq!((error.word(), error.column()), ("queue", 12));
}

#[test]
fn the_longest_rtt_is_that_with_full_queues() {
    let longest = |there: &str, back: &str| spec(there).longest_rtt(&spec(back));
    let millis = |millis| Some(Duration::from_millis(millis));
    let one_way = "delay 40ms loss 1% rate 100mbit queue 1bdp";
    assert_eq!(longest(one_way, ""), millis(80));
    assert_eq!(longest(one_way, "delay 10ms"), millis(100));
    // 100,000 bytes at 8 Mbit/s, and 1,000 at 80 kbit/s.
    let back = "rate 80kbit queue 1000b";
    assert_eq!(
        longest("delay 5ms rate 8mbit queue 100000b", back),
        millis(205)
    );
    for unbounded in [
        "delay 40ms 10ms rate 100mbit queue 1bdp",
        "delay 40ms rate 100mbit",
        "delay 40ms rate 100mbit queue 100p",
        "delay 40ms rate 100mbit queue 1bdp at 1s rate 10mbit",
        "delay 40ms rate 100mbit 20 queue 1bdp",
        "delay 40ms slot 10ms 20ms rate 100mbit queue 1bdp",
    ] {
        assert_eq!(longest(unbounded, ""), None, "{unbounded}");
        assert_eq!(longest(one_way, unbounded), None, "{unbounded}");
    }
}

#[test]
fn trailing_defaults_are_not_written() {
    for text in [
        "delay 50ms 20ms distribution pareto ordered loss gemodel 1% 25% rate 1.5mbit",
        "loss gemodel 1%",
        "loss gemodel 1% 99% 50%",
        "delay 10ms reorder 25% gap 5 seed 7",
        "loss state 1%",
        "loss state 1% 25% 10% 80% 0.1% ecn",
        "loss packets 1,3-5,9",
        "delay 10ms 3ms 25% loss 1% 25% corrupt 0.1% duplicate 1% 50% reorder 5% 10%",
        "rate 1mbit 20",
        "rate 1mbit 0 48 5",
        "tbf 1mbit burst 15000b peakrate 2mbit mtu 1514b queue 100p",
        "slot 5ms",
        "slot 5ms 10ms packets 4 bytes 6000b",
        "slot distribution normal 5ms 1ms packets 4",
        "rate 10mbit policer 1mbit burst 15000b",
        "rate 10mbit queue 1bdp aqm drophead",
        "rate 10mbit aqm codel",
        "rate 10mbit aqm red min 30000b",
        "rate 10mbit aqm red min 30000b max 60000b probability 10% avpkt 1500b burst 40 ecn \
         harddrop nodrop",
        "rate 10mbit aqm pie",
        "rate 10mbit aqm pie target 5ms tupdate 10ms alpha 4 beta 0 ecn bytemode",
        "rate 10mbit aqm dualpi2",
        "rate 10mbit aqm dualpi2 target 5ms tupdate 10ms alpha 0.1 beta 3 coupling_factor 4 \
         step_thresh 5p min_qlen_step 2 classic_protection 12.5% overflow drop_enqueue any_ect",
        "rate 10mbit aqm dualpi2 step_thresh 800us",
        "rate 10mbit aqm codel target 10ms interval 200ms ecn ce_threshold 1ms",
        "rate 10mbit aqm fq_codel",
        "rate 10mbit aqm fq_codel flows 16 quantum 300b target 2ms noecn ce_threshold 0s",
        "rate 10mbit aqm cake",
        "rate 10mbit aqm cake rtt 30ms",
        "delay 5ms radio 2ms suspend 60ms every 15s",
        "delay 5ms at 5s..7s loss 100% at 10s rate 100kbit queue 10p",
        "at 1s delay 5ms",
        "delay 0s",
    ] {
        assert_eq!(spec(text).to_string(), text);
    }
    for (text, shortest) in [
        ("delay 5ms 0ms duplicate 0.50%", "delay 5ms duplicate 0.5%"),
        ("delay 5ms 0ms 25%", "delay 5ms"),
        ("rate 1mbit 20 0 5", "rate 1mbit 20"),
    ] {
        assert_eq!(spec(text).to_string(), shortest);
        assert_eq!(spec(text), spec(shortest));
    }
}

#[test]
fn durations_print_as_they_parse() {
    let time = Duration::from_nanos(1_234_567_891);
    let text = format!("delay {}", duration::display(time));
    assert_eq!(spec(&text).delay(), time);
}
