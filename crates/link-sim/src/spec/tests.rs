use super::aqm::dualpi2::{OnOverload, StepThreshold};
use super::aqm::{Cake, Codel, DualPi2, FqCodel, Pie, Red};
use super::*;
use proptest::prelude::*;
use units::{Bytes, Gain, duration};

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
    let spec = spec.clauses;
    let delay = spec.delay.unwrap();
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
        "expected delay, loss, corrupt, duplicate",
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
    assert_refused("delay 5ms 1ms 2", "2", 15, "expected a percentage");
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
    assert_refused("delay 50ms 10ms 25% 3%", "3%", 21, "before a value");
    assert_refused("50ms", "50ms", 1, "before a value");
}

#[test]
fn clauses_that_need_another_say_so() {
    assert_refused("delay 0ms 10ms", "10ms", 11, "jitter needs a delay");
    assert_refused("delay 5ms ordered", "ordered", 11, "needs a jitter");
    assert_refused("queue 10p delay 1ms", "queue", 1, "needs a `rate`");
    assert_refused("aqm codel", "aqm", 1, "needs a `rate`");
    assert_refused("loss 1% reorder 25% gap 5", "reorder", 9, "needs a `delay`");
    assert_refused("delay 5ms gap 5", "gap", 11, "belongs behind `reorder P%`");
    assert_refused("loss 1% delay 1ms drop 2%", "drop", 19, "stands here twice");
}

#[test]
fn red_wants_thresholds_that_have_a_meaning() {
    assert_refused("rate 1mbit aqm red", "", 19, "`min` and a size in bytes");
    assert_refused(
        "rate 1mbit aqm red min 30kb max 20kb",
        "20kb",
        33,
        "`max` is at least `min`",
    );
    assert_refused(
        "rate 1mbit aqm red min 30000b burst 29",
        "29",
        37,
        "`burst` is `min` ÷ `avpkt` or a few times that",
    );
    assert_refused(
        "rate 1mbit aqm red min 500b",
        "500b",
        24,
        "`min` is more than one `avpkt`",
    );
    assert_refused(
        "rate 1mbit aqm red min 30kb probability 0%",
        "0%",
        41,
        "above 0%",
    );
    assert_refused("delay 1ms harddrop", "harddrop", 11, "behind `aqm red`");
}

#[test]
fn pie_has_tcs_ranges() {
    assert_refused("rate 1mbit aqm pie alpha 33", "33", 26, "from 0 to 32");
    assert_refused("rate 1mbit aqm pie beta 1.5", "1.5", 25, "whole number");
    assert_refused("rate 1mbit aqm pie target 0ms", "0ms", 27, "above zero");
    assert_eq!(
        spec("rate 1mbit aqm pie target 15ms ecn noecn nobytemode").to_string(),
        "rate 1mbit aqm pie"
    );
}

#[test]
fn dualpi2_has_tcs_ranges() {
    let refused = |parameter: &str, value: &str, says: &str| {
        let text = format!("rate 1mbit aqm dualpi2 {parameter} {value}");
        assert_refused(&text, value, 25 + parameter.len(), says);
    };
    refused("coupling_factor", "0", "from 1 to 255");
    refused("alpha", "0", "above 0");
    refused("beta", "8388608", "below 2^23");
    refused("beta", "3%", "such as 0.16");
    refused("step_thresh", "5", "such as 1ms");
    refused("classic_protection", "101%", "to 100%");
    assert_eq!(
        spec("rate 1mbit aqm dualpi2 overflow drop_on_overload any_ect l4s_ect drop_dequeue")
            .to_string(),
        "rate 1mbit aqm dualpi2"
    );
}

#[test]
fn columns_count_characters() {
    assert_refused("delay 5ms ü 1%", "ü", 11, "expected delay");
    assert_eq!(error("delay\u{a0}x\n").word(), "x");
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
         step_thresh 5p classic_protection 12.5% overflow drop_enqueue any_ect",
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

fn probability() -> impl Strategy<Value = Gain> {
    (0..=1_000_000_u64).prop_map(Gain::from_millionths)
}

/// Numbers from 1 of any length in bits, so that small ones come as often as large ones.
fn numbers(most: u64) -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..u64::BITS).prop_map(move |(bits, less)| (bits >> less) % most + 1)
}

fn time() -> impl Strategy<Value = Duration> {
    numbers(3_600_000_000_000).prop_map(Duration::from_nanos)
}

fn chances() -> impl Strategy<Value = Chance> {
    [probability(), probability()].prop_map(|[probability, correlation]| Chance {
        probability,
        correlation,
    })
}

fn bandwidths() -> impl Strategy<Value = Bandwidth> {
    numbers(1_250_000_000_000).prop_map(Bandwidth::from_bytes_per_sec)
}

fn sizes() -> impl Strategy<Value = Bytes> {
    numbers(1 << 40).prop_map(Bytes::new)
}

fn delays() -> impl Strategy<Value = Delay> {
    let distribution = proptest::sample::select(Distribution::ALL.to_vec());
    let jitter = prop_oneof![Just(Duration::ZERO), time()];
    (time(), jitter, distribution, any::<bool>(), probability()).prop_map(
        |(time, jitter, distribution, ordered, correlation)| match jitter {
            Duration::ZERO => Delay {
                time,
                jitter,
                correlation: Gain::ZERO,
                distribution: Distribution::Uniform,
                ordered: false,
            },
            jitter => Delay {
                time,
                jitter,
                correlation,
                distribution,
                ordered,
            },
        },
    )
}

fn losses() -> impl Strategy<Value = Loss> {
    let list = proptest::collection::vec((1..1_000_u64, 0..1_000_u64), 1..5);
    let half = || (0..=500_000_u64).prop_map(Gain::from_millionths);
    let model = prop_oneof![
        chances().prop_map(LossModel::Random),
        [probability(), probability(), probability(), probability()].prop_map(
            |[p, r, loss_in_bad, loss_in_good]| {
                LossModel::GilbertElliott(GilbertElliott {
                    p,
                    r,
                    loss_in_bad,
                    loss_in_good,
                })
            }
        ),
        (half(), half(), half(), half(), probability()).prop_map(|(p13, p31, p32, p14, p23)| {
            LossModel::FourState(FourState {
                p13,
                p31,
                p32,
                p23,
                p14,
            })
        }),
        list.prop_map(|gaps| {
            let mut end = 0;
            let ranges = gaps.iter().map(|(gap, more)| {
                let first = end + gap;
                end = first + more;
                first..=end
            });
            LossModel::Packets(ranges.collect())
        }),
    ];
    (model, any::<bool>()).prop_map(|(model, ecn)| Loss { model, ecn })
}

fn services() -> impl Strategy<Value = Service> {
    let peak = proptest::option::of((1..1_000_u64, sizes()));
    prop_oneof![
        4 => (bandwidths(), -65_535..=65_535, 1..=65_535_u32, 0..=65_535).prop_map(
            |(rate, overhead, cell, cell_overhead)| {
                let cell = if cell % 2 == 0 { cell } else { 0 };
                let cell_overhead = if cell == 0 { 0 } else { cell_overhead };
                Service::Rate(Rate { rate, overhead, cell, cell_overhead })
            }
        ),
        4 => bandwidths().prop_map(|rate| Service::Rate(Rate::new(rate))),
        1 => (1..=1_000_000_u64, sizes(), peak).prop_map(|(rate, burst, peak)| {
            let rate = Bandwidth::from_bytes_per_sec(rate);
            let peak = peak.map(|(more, mtu)| (rate + Bandwidth::from_bytes_per_sec(more), mtu));
            Service::TokenBucket(TokenBucketFilter { rate, burst, peak })
        }),
        1 => proptest::collection::vec(0..100_u32, 1..20).prop_map(|mut lines| {
            lines.sort_unstable();
            *lines.last_mut().unwrap() += 1;
            let text: Vec<String> = lines.iter().map(u32::to_string).collect();
            Service::Trace(Trace { name: text.join(","), opportunities: lines.into() })
        }),
    ]
}

/// Where the tests' traces are: their name is what they hold.
pub(crate) fn read_trace(name: &str) -> io::Result<String> {
    Ok(name.replace(',', "\n"))
}

fn slots() -> impl Strategy<Value = Slot> {
    let distribution = proptest::sample::select(Distribution::ALL.to_vec());
    let interval = prop_oneof![
        [time(), time()].prop_map(|[a, b]| SlotInterval::Between(a.min(b), a.max(b))),
        (distribution, time(), time())
            .prop_map(|(distribution, mean, j)| SlotInterval::Distributed(distribution, mean, j)),
    ];
    let (packets, bytes) = (1..=u32::MAX, sizes());
    let bounds = (proptest::option::of(packets), proptest::option::of(bytes));
    (interval, bounds).prop_map(|(interval, (packets, bytes))| Slot {
        interval,
        packets,
        bytes,
    })
}

fn queues() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (1..=1_000_000_000_u64).prop_map(|n| QueueLimit::Bdp(Gain::from_millionths(n))),
        (1..=u32::MAX).prop_map(QueueLimit::Packets),
        sizes().prop_map(QueueLimit::Bytes),
    ]
}

fn reds() -> impl Strategy<Value = Red> {
    let thresholds = (1..=1_000_u64, 1..=65_535_u64, 0..=1_u64 << 40);
    let flags = [any::<bool>(), any::<bool>(), any::<bool>()];
    (thresholds, 1..=1_000_000_u64, 0..3_000_u32, flags).prop_filter_map(
        "a burst that has a weight",
        |((packets, avpkt, more), millionths, burst, [ecn, harddrop, nodrop])| {
            let min = Bytes::new(packets * avpkt);
            let red = Red {
                max: min + Bytes::new(more),
                probability: Gain::from_millionths(millionths),
                avpkt: Bytes::new(avpkt),
                burst: packets as u32 + burst,
                ecn,
                harddrop,
                nodrop,
                ..Red::of(min)
            };
            red.weight_log().map(|_| red)
        },
    )
}

fn pies() -> impl Strategy<Value = Pie> {
    let flags = [any::<bool>(), any::<bool>()];
    (time(), time(), 0..=32_u32, 0..=32_u32, flags).prop_map(
        |(target, tupdate, alpha, beta, [ecn, bytemode])| Pie {
            target,
            tupdate,
            alpha,
            beta,
            ecn,
            bytemode,
        },
    )
}

fn dualpi2s() -> impl Strategy<Value = DualPi2> {
    let factor = || (1..=(1_u64 << 23) * 999_999).prop_map(Gain::from_millionths);
    let step = prop_oneof![
        time().prop_map(StepThreshold::Time),
        (1..=u32::MAX).prop_map(StepThreshold::Packets),
    ];
    let flags = [any::<bool>(), any::<bool>(), any::<bool>()];
    let controller = (time(), time(), factor(), factor(), 1..=u8::MAX);
    (controller, step, probability(), flags).prop_map(
        |(controller, step_thresh, classic_protection, [drops, drop_enqueue, any_ect])| {
            let (target, tupdate, alpha, beta, coupling_factor) = controller;
            let on_overload = if drops {
                OnOverload::Drop
            } else {
                OnOverload::Overflow
            };
            DualPi2 {
                target,
                tupdate,
                alpha,
                beta,
                coupling_factor,
                step_thresh,
                on_overload,
                drop_enqueue,
                any_ect,
                classic_protection,
            }
        },
    )
}

fn codels() -> impl Strategy<Value = Codel> {
    let threshold = proptest::option::of(prop_oneof![Just(Duration::ZERO), time()]);
    (time(), time(), any::<bool>(), threshold).prop_map(|(target, interval, ecn, ce_threshold)| {
        Codel {
            target,
            interval,
            ecn,
            ce_threshold,
        }
    })
}

/// Any discipline.
pub(crate) fn aqms() -> impl Strategy<Value = Aqm> {
    prop_oneof![
        Just(Aqm::DropTail),
        Just(Aqm::DropHead),
        reds().prop_map(Aqm::Red),
        pies().prop_map(Aqm::Pie),
        dualpi2s().prop_map(Aqm::DualPi2),
        codels().prop_map(Aqm::Codel),
        (1..=65_536_u32, 256..=1_u64 << 20, codels()).prop_map(|(flows, quantum, codel)| {
            let quantum = Bytes::new(quantum);
            Aqm::FqCodel(FqCodel {
                flows,
                quantum,
                codel,
            })
        }),
        time().prop_map(|rtt| Aqm::Cake(Cake { rtt })),
    ]
}

fn radios() -> impl Strategy<Value = Radio> {
    let suspension = (time(), time()).prop_map(|(length, every)| Suspension { length, every });
    (time(), proptest::option::of(suspension))
        .prop_map(|(access, suspension)| Radio { access, suspension })
}

/// Any valid clauses, none of them a seed.
fn clauses() -> impl Strategy<Value = Clauses> {
    let of = proptest::option::of::<BoxedStrategy<Chance>>;
    let policer = (bandwidths(), sizes()).prop_map(|(rate, burst)| Policer { rate, burst });
    let what_is_lost = (
        proptest::option::of(delays()),
        proptest::option::of(losses()),
        of(chances().boxed()),
        of(chances().boxed()),
        proptest::option::of((chances(), 1..=u32::MAX)),
    );
    let what_waits = (
        proptest::option::of(services()),
        proptest::option::weighted(0.2, slots()),
        proptest::option::of(1..=u32::MAX),
        proptest::option::weighted(0.2, policer),
        proptest::option::of(queues()),
        proptest::option::of(aqms()),
        proptest::option::weighted(0.2, radios()),
    );
    (what_is_lost, what_waits).prop_map(
        |((delay, loss, corrupt, duplicate, reorder), what_waits)| {
            let (service, slot, limit, policer, queue, aqm, radio) = what_waits;
            let reorder = reorder.filter(|_| delay.is_some());
            let is_served = service.is_some();
            Clauses {
                delay,
                loss,
                corrupt,
                duplicate,
                reorder: reorder.map(|(chance, gap)| Reorder { chance, gap }),
                service,
                slot,
                limit,
                policer,
                queue: queue.filter(|_| is_served),
                aqm: aqm.filter(|_| is_served),
                radio,
                seed: None,
            }
        },
    )
}

/// Any valid description.
pub(crate) fn specs() -> impl Strategy<Value = LinkSpec> {
    let change = (0..20_u64, proptest::option::of(1..20_u64), clauses());
    let changes = proptest::collection::vec(change, 0..3);
    let seed = proptest::option::of(any::<u64>());
    (clauses(), changes, seed).prop_map(|(mut clauses, changes, seed)| {
        clauses.seed = seed;
        let text: String = changes
            .into_iter()
            .filter(|(.., clauses)| *clauses != Clauses::default())
            .map(|(from, length, clauses)| match length {
                None => format!(" at {from}s {clauses}"),
                Some(length) => format!(" at {from}s..{}s {clauses}", from + length),
            })
            .collect();
        let text = format!("{clauses}{text}");
        // Of changes, only reading finds out which go together.
        LinkSpec::parse_with(&text, read_trace).unwrap_or_else(|_| LinkSpec {
            clauses,
            changes: Changes::default(),
        })
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_as_the_same_link(spec in specs()) {
        let text = spec.to_string();
        prop_assert_eq!(LinkSpec::parse_with(&text, read_trace), Ok(spec), "{}", text);
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
        words in proptest::collection::vec("delay|loss|random|gemodel|rate|queue|\
            limit|gap|reorder|distribution|normal|ordered|5ms|3%|1mbit|2bdp|9p|1kb|7|\
            duplicate|seed|state|packets|ecn|corrupt|tbf|burst|policer|trace|slot|aqm|codel|\
            fq_codel|cake|flows|rtt|target|radio|suspend|every|at|1s..2s|1-9|red|min|max|\
            probability|avpkt|pie|tupdate|alpha|beta|bytemode|dualpi2|coupling_factor|\
            step_thresh|overflow", 0..16)
    ) {
        let text = words.join(" ");
        if let Ok(spec) = LinkSpec::parse_with(&text, read_trace) {
            prop_assert_eq!(LinkSpec::parse_with(&spec.to_string(), read_trace), Ok(spec));
        }
    }
}

#[test]
fn durations_print_as_they_parse() {
    let time = Duration::from_nanos(1_234_567_891);
    let text = format!("delay {}", duration::display(time));
    assert_eq!(spec(&text).delay(), time);
}

#[test]
fn each_new_clause_refuses_what_it_cannot_be() {
    assert_refused("loss state 60% 10% 10% 10% 50%", "50%", 28, "P13 and P14");
    assert_refused("loss packets 3,2", "3,2", 14, "ascending order");
    assert_refused("loss packets 0", "0", 14, "ascending order");
    assert_refused(
        "rate 1mbit tbf 1mbit burst 1kb",
        "tbf",
        12,
        "`rate` sets the pace",
    );
    assert_refused("rate 1mbit 0 5 -5", "-5", 16, "no bytes at all");
    assert_refused("tbf 1mbit", "", 10, "`burst` and a size");
    assert_refused("tbf 1mbit limit 5", "limit", 11, "expected `burst`");
    assert_refused(
        "tbf 1mbit burst 1kb peakrate 1mbit mtu 1kb",
        "1mbit",
        30,
        "above the rate",
    );
    assert_refused("slot 5ms 4ms", "4ms", 10, "below the shortest");
    assert_refused("slot 0ms", "0ms", 6, "above zero");
    assert_refused("policer 1mbit burst 1500", "1500", 21, "with its unit");
    assert_refused("rate 1mbit aqm cdel", "cdel", 16, "did you mean `codel`?");
    let fq_codel = |what| format!("rate 1mbit aqm fq_codel {what}");
    assert_refused(&fq_codel("flows 0"), "0", 31, "from 1 to 65536");
    assert_refused(&fq_codel("flows 65537"), "65537", 31, "from 1 to 65536");
    assert_refused(&fq_codel("quantum 255b"), "255b", 33, "from 256b to 1mb");
    assert_refused(&fq_codel("quantum 1514"), "1514", 33, "from 256b to 1mb");
    assert_refused("rate 1mbit aqm cake rtt 0s", "0s", 25, "above zero");
    assert_refused("rate 1mbit rtt 5ms", "rtt", 12, "behind `aqm cake`");
    assert_refused("radio 1ms suspend 5ms", "", 22, "`every` and a time");
    assert_refused(
        "trace /nowhere/at/all",
        "/nowhere/at/all",
        7,
        "cannot be read",
    );
    assert_refused("trace /dev/zero", "/dev/zero", 7, "not a file");
}

#[test]
fn a_trace_says_which_of_its_lines_is_wrong() {
    let refused = |name: &str| {
        let error = LinkSpec::parse_with(&format!("trace {name}"), read_trace).unwrap_err();
        error.problem().to_owned()
    };
    assert!(
        refused("1,x").contains("line 2 of the trace, `x`"),
        "{}",
        refused("1,x")
    );
    assert!(refused("5,4").contains("line 2 of the trace is earlier"));
    assert!(refused("0").contains("no line later than 0 ms"));
    let spec = LinkSpec::parse_with("trace 1,2,3,4", read_trace).unwrap();
    assert_eq!(spec.rate(), Some(Bandwidth::from_bits_per_sec(12_112_000)));
}

#[test]
fn a_trace_is_read_once_however_often_the_link_changes_to_it() {
    let reads = core::cell::Cell::new(0);
    let read = |name: &str| {
        reads.set(reads.get() + 1);
        read_trace(name)
    };
    let text = "trace 1,2 at 1s trace 5 at 2s trace 1,2 at 3s trace 5";
    assert_eq!(LinkSpec::parse_with(text, read).unwrap().to_string(), text);
    assert_eq!(reads.get(), 2);
}

#[test]
fn changes_are_checked_at_the_time_at_which_they_hold() {
    assert_refused("at 5s", "5s", 4, "nothing changes");
    assert_refused(
        "at 7s..5s loss 1%",
        "7s..5s",
        4,
        "such as 10s, or a stretch",
    );
    assert_refused("delay 5ms at 5s queue 5p", "queue", 17, "needs a `rate`");
    assert_refused("at 1s seed 5", "5", 12, "a seed cannot change");
    spec("at 1s rate 1mbit at 2s queue 5p");
    spec("at 1s..3s rate 1mbit at 2s..3s queue 5p");
    assert_refused(
        "at 1s..3s rate 1mbit at 2s..4s queue 5p",
        "queue",
        32,
        "needs a `rate`",
    );
}

#[test]
fn the_last_of_two_changes_of_one_clause_holds() {
    let link = spec("delay 1ms at 2s delay 2ms at 5s..7s delay 3ms at 6s loss 1%");
    let at = |seconds| {
        link.changes
            .clauses_at(&link.clauses, Duration::from_secs(seconds))
            .to_string()
    };
    assert_eq!(at(0), "delay 1ms");
    assert_eq!(at(4), "delay 2ms");
    assert_eq!(at(5), "delay 3ms");
    assert_eq!(at(6), "delay 3ms loss 1%");
    assert_eq!(at(7), "delay 2ms loss 1%");
}
