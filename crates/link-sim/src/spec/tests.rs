use super::*;
use proptest::prelude::*;
use units::duration;

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

#[test]
fn the_readme_of_netem_parses() {
    let spec = spec("delay 50ms 20ms distribution normal loss 3% rate 100mbit limit 1000");
    let delay = spec.delay.unwrap();
    assert_eq!(delay.time, Duration::from_millis(50));
    assert_eq!(delay.jitter, Duration::from_millis(20));
    assert_eq!(delay.distribution, Distribution::Normal);
    assert_eq!(spec.loss, Some(Loss::Random(Gain::percent(3))));
    assert_eq!(spec.rate, Some(Bandwidth::from_bits_per_sec(100_000_000)));
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
    let model = |text: &str| match spec(text).loss {
        Some(Loss::GilbertElliott(model)) => model,
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
    let queue = |limit: &str| spec(&format!("rate 1mbit queue {limit}")).queue.unwrap();
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
fn a_misspelt_word_is_named_with_the_nearest_one() {
    assert_refused("dealy 50ms", "dealy", 1, "did you mean `delay`?");
    assert_refused(
        "delay 50ms distribution",
        "distribution",
        12,
        "needs a jitter",
    );
    assert_refused("loss 1% qeue 1bdp", "qeue", 9, "did you mean `queue`?");
    assert_refused(
        "frobnicate",
        "frobnicate",
        1,
        "expected delay, loss, duplicate",
    );
    assert!(!error("frobnicate").problem().contains("did you mean"));
}

#[test]
fn a_wrong_value_is_named_with_what_was_expected() {
    assert_refused("delay fast", "fast", 7, "expected a time");
    assert_refused("delay 50", "50", 7, "such as 50ms");
    assert_refused("delay 2h", "2h", 7, "expected a time");
    assert_refused("delay 3601s", "3601s", 7, "up to 1 hour");
    assert_refused("delay 5ms 1%", "1%", 11, "expected a jitter");
    assert_refused("loss 3", "3", 6, "expected a percentage");
    assert_refused("loss 101%", "101%", 6, "from 0% to 100%");
    assert_refused("loss 0.00001%", "0.00001%", 6, "expected a percentage");
    assert_refused("duplicate -1%", "-1%", 11, "expected a percentage");
    assert_refused("rate 0", "0", 6, "above zero");
    assert_refused("rate 11tbit", "11tbit", 6, "expected a rate");
    assert_refused("limit 0", "0", 7, "from 1");
    assert_refused("rate 1mbit queue 100", "100", 18, "100p (packets)");
    assert_refused("rate 1mbit queue 0bdp", "0bdp", 18, "1bdp");
    assert_refused("rate 1mbit queue 5%bdp", "5%bdp", 18, "1bdp");
    assert_refused(
        "delay 1ms 1ms distribution flat",
        "flat",
        28,
        "paretonormal",
    );
    assert_refused("seed x", "x", 6, "whole number");
}

#[test]
fn a_missing_value_is_reported_at_the_end() {
    assert_refused("delay 5ms loss", "", 15, "expected a percentage");
    assert_eq!(
        error("rate").to_string(),
        "end at column 5 of link `rate`: expected a rate above zero, such as 100mbit or 64kbit, \
         behind `rate`"
    );
}

#[test]
fn a_value_too_many_is_named() {
    assert_refused("delay 50ms 10ms 25%", "25%", 17, "before a value");
    assert_refused("50ms", "50ms", 1, "before a value");
}

#[test]
fn clauses_that_need_another_say_so() {
    assert_refused("delay 0ms 10ms", "10ms", 11, "jitter needs a delay");
    assert_refused("delay 5ms ordered", "ordered", 11, "needs a jitter");
    assert_refused("queue 10p delay 1ms", "queue", 1, "needs a `rate`");
    assert_refused("loss 1% reorder 25% gap 5", "reorder", 9, "needs a `delay`");
    assert_refused("delay 5ms gap 5", "gap", 11, "belongs behind `reorder P%`");
    assert_refused("loss 1% delay 1ms drop 2%", "drop", 19, "stands here twice");
}

#[test]
fn columns_count_characters() {
    assert_refused("delay 5ms ü 1%", "ü", 11, "expected delay");
    assert_eq!(error("delay\u{a0}x\n").word(), "x");
}

#[test]
fn an_endless_description_is_refused() {
    assert!(error(&"loss ".repeat(1_000)).problem().contains("4096"));
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
fn trailing_defaults_are_not_written() {
    for text in [
        "delay 50ms 20ms distribution pareto ordered loss gemodel 1% 25% rate 1.5mbit",
        "loss gemodel 1%",
        "loss gemodel 1% 99% 50%",
        "delay 10ms reorder 25% gap 5 seed 7",
        "delay 0s",
    ] {
        assert_eq!(spec(text).to_string(), text);
    }
    assert_eq!(
        spec("delay 5ms 0ms duplicate 0.50%").to_string(),
        "delay 5ms duplicate 0.5%"
    );
}

fn probability() -> impl Strategy<Value = Gain> {
    (0..=1_000_000_u64).prop_map(Gain::from_millionths)
}

fn time() -> impl Strategy<Value = Duration> {
    (1..=3_600_000_000_000_u64).prop_map(Duration::from_nanos)
}

fn delays() -> impl Strategy<Value = Delay> {
    let distribution = proptest::sample::select(Distribution::ALL.to_vec());
    (
        time(),
        prop_oneof![Just(Duration::ZERO), time()],
        distribution,
        any::<bool>(),
    )
        .prop_map(|(time, jitter, distribution, ordered)| Delay {
            time,
            jitter,
            distribution: if jitter.is_zero() {
                Distribution::Uniform
            } else {
                distribution
            },
            ordered: ordered && !jitter.is_zero(),
        })
}

fn losses() -> impl Strategy<Value = Loss> {
    let model = [probability(), probability(), probability(), probability()];
    prop_oneof![
        probability().prop_map(Loss::Random),
        model.prop_map(|[p, r, loss_in_bad, loss_in_good]| {
            Loss::GilbertElliott(GilbertElliott {
                p,
                r,
                loss_in_bad,
                loss_in_good,
            })
        }),
    ]
}

fn queues() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (1..=1_000_000_000_u64).prop_map(|n| QueueLimit::Bdp(Gain::from_millionths(n))),
        (1..=u32::MAX).prop_map(QueueLimit::Packets),
        (1..=1_u64 << 40).prop_map(|n| QueueLimit::Bytes(Bytes::new(n))),
    ]
}

/// Any valid description.
pub(crate) fn specs() -> impl Strategy<Value = LinkSpec> {
    let option = proptest::option::of::<BoxedStrategy<u64>>;
    let reorder = (probability(), 1..=u32::MAX);
    (
        proptest::option::of(delays()),
        proptest::option::of(losses()),
        proptest::option::of(probability()),
        proptest::option::of(reorder),
        option((1..=1_250_000_000_000_u64).boxed()),
        proptest::option::of(1..=u32::MAX),
        proptest::option::of(queues()),
        option(any::<u64>().boxed()),
    )
        .prop_map(
            |(delay, loss, duplicate, reorder, rate, limit, queue, seed)| LinkSpec {
                delay,
                loss,
                duplicate,
                reorder: reorder
                    .filter(|_| delay.is_some())
                    .map(|(probability, gap)| Reorder { probability, gap }),
                rate: rate.map(Bandwidth::from_bytes_per_sec),
                limit,
                queue: queue.filter(|_| rate.is_some()),
                seed,
            },
        )
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_as_the_same_link(spec in specs()) {
        let text = spec.to_string();
        prop_assert_eq!(text.parse::<LinkSpec>(), Ok(spec), "{}", text);
    }

    #[test]
    fn any_text_is_a_link_or_a_refusal_that_points_into_it(text in ".{0,80}") {
        if let Err(error) = text.parse::<LinkSpec>() {
            prop_assert!(error.column() <= text.chars().count() + 1);
            prop_assert!(!error.to_string().contains('\n'));
        }
    }

    #[test]
    fn any_words_are_a_link_or_a_refusal(
        words in proptest::collection::vec("delay|loss|random|gemodel|rate|queue|limit|gap|reorder|\
            distribution|normal|ordered|5ms|3%|1mbit|2bdp|9p|1kb|7|duplicate|seed", 0..12)
    ) {
        let text = words.join(" ");
        if let Ok(spec) = text.parse::<LinkSpec>() {
            prop_assert_eq!(spec.to_string().parse::<LinkSpec>(), Ok(spec));
        }
    }
}

#[test]
fn durations_print_as_they_parse() {
    let time = Duration::from_nanos(1_234_567_891);
    let text = format!("delay {}", duration::display(time));
    assert_eq!(spec(&text).delay(), time);
}
