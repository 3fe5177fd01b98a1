//! Any link there can be, and any text that is none.

use super::*;

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

fn netem_delays() -> impl Strategy<Value = NetemDelay> {
    let distribution = proptest::sample::select(Distribution::ALL.to_vec());
    let jitter = prop_oneof![Just(Duration::ZERO), time()];
    (time(), jitter, distribution, any::<bool>(), probability()).prop_map(
        |(time, jitter, distribution, ordered, correlation)| match jitter {
            Duration::ZERO => NetemDelay {
                time,
                jitter,
                correlation: Gain::ZERO,
                distribution: Distribution::Uniform,
                ordered: false,
            },
            jitter => NetemDelay {
                time,
                jitter,
                correlation,
                distribution,
                ordered,
            },
        },
    )
}

fn delays() -> impl Strategy<Value = Delay> {
    let values = proptest::collection::vec(0..=3_600_000_u32, 1..20);
    prop_oneof![
        4 => netem_delays().prop_map(Delay::Netem),
        1 => (values, time()).prop_map(|(values, every)| {
            let text: Vec<String> = values.iter().map(u32::to_string).collect();
            let trace = DelayTrace::parse(&text.join("\n")).unwrap();
            let recorded = Recorded::new(&text.join(","), trace);
            Delay::Recorded(RecordedDelay { recorded, every })
        }),
    ]
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
        "[01]{1,20}".prop_map(|digits| {
            let trace = LossTrace::parse(&digits).unwrap();
            LossModel::Trace(Recorded::new(&digits, trace))
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
            let trace = RateTrace::from_millis(lines).unwrap();
            Service::Trace(Recorded::new(&text.join(","), trace))
        }),
    ]
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
    let step = (step, prop_oneof![Just(0), any::<u32>()]);
    (controller, step, probability(), flags).prop_map(
        |(
            controller,
            (step_thresh, min_qlen_step),
            classic_protection,
            [drops, drop_enqueue, any_ect],
        )| {
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
                min_qlen_step,
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
            duplicate|seed|state|packets|ecn|corrupt|tbf|burst|policer|trace|1,10|slot|aqm|codel|\
            fq_codel|cake|flows|rtt|target|radio|suspend|every|at|1s..2s|1-9|red|min|max|\
            probability|avpkt|pie|tupdate|alpha|beta|bytemode|dualpi2|coupling_factor|\
            step_thresh|min_qlen_step|overflow", 0..16)
    ) {
        let text = words.join(" ");
        if let Ok(spec) = LinkSpec::parse_with(&text, read_trace) {
            prop_assert_eq!(LinkSpec::parse_with(&spec.to_string(), read_trace), Ok(spec));
        }
    }
}
