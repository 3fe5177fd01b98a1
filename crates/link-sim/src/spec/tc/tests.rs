use super::*;

const DEVICES: TcDevices<'_> = TcDevices {
    loss: "one",
    rate: "two",
    delay: "three",
};

fn commands(text: &str) -> Result<Vec<String>, SpecError> {
    let read = crate::spec::tests::read_trace;
    let spec = LinkSpec::parse_with(text, read).unwrap();
    spec.tc_commands(spec.delay(), DEVICES)
}

/// The qdiscs that a link becomes, as `DEVICE QDISC`.
#[track_caller]
fn assert_qdiscs(text: &str, expected: &[&str]) {
    let shorten = |command: String| {
        command
            .replace("tc qdisc replace dev ", "")
            .replace(" root ", " ")
    };
    let found: Vec<String> = commands(text).unwrap().into_iter().map(shorten).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn a_link_without_a_queue_is_one_netem() {
    assert_qdiscs("", &[]);
    assert_qdiscs("limit 5", &["three netem limit 5"]);
    assert_qdiscs(
        "delay 50ms 20ms 25% distribution normal loss 3% rate 100mbit 20 48 5 limit 500",
        &[
            "three netem limit 500 delay 50ms 20ms 25% distribution normal loss random 3% \
           rate 100mbit 20 48 5",
        ],
    );
    assert_qdiscs(
        "delay 10ms reorder 25% 50% gap 5 loss gemodel 1% 10% ecn corrupt 1% duplicate 2% 3%",
        &[
            "three netem limit 1000 delay 10ms reorder 25% 50% gap 5 loss gemodel 1% 10% ecn \
           corrupt 1% duplicate 2% 3%",
        ],
    );
    assert_qdiscs(
        "loss state 1% 20% 10% slot 5ms 10ms packets 4 bytes 6000b",
        &["three netem limit 1000 loss state 1% 20% 10% slot 5ms 10ms packets 4 bytes 6000b"],
    );
}

#[test]
fn order_is_kept_by_a_rate_that_is_not_felt() {
    assert_qdiscs(
        "delay 5ms 1ms ordered",
        &["three netem limit 1000 delay 5ms 1ms rate 1tbit"],
    );
    assert_qdiscs(
        "delay 5ms 1ms ordered rate 1mbit",
        &["three netem limit 1000 delay 5ms 1ms rate 1mbit"],
    );
    assert_qdiscs(
        "delay 5ms 1ms ordered rate 1mbit queue 5p",
        &[
            "two netem rate 1mbit limit 6",
            "three netem limit 100000 delay 5ms 1ms rate 1tbit",
        ],
    );
}

#[test]
fn a_bottleneck_has_a_device_of_its_own() {
    assert_qdiscs(
        "delay 20ms loss 1% duplicate 2% rate 100mbit queue 1bdp limit 700",
        &[
            "one netem limit 100000 loss random 1% duplicate 2%",
            "two tbf rate 100mbit burst 12500 limit 250000",
            "three netem limit 700 delay 20ms",
        ],
    );
    // A tbf sends what comes to an empty queue, if it is a frame.
    assert_qdiscs(
        "delay 1ms rate 64kbit queue 1bdp",
        &[
            "two tbf rate 64kbit burst 3028 limit 1514",
            "three netem limit 100000 delay 1ms",
        ],
    );
    assert_qdiscs(
        "rate 8mbit 20 queue 9p",
        &["two netem rate 8mbit 20 limit 10"],
    );
    assert_qdiscs(
        "rate 8mbit 20 48 5 queue 15000b",
        &["two tbf rate 8mbit burst 3028 overhead 20 linklayer atm limit 15000"],
    );
    assert_qdiscs(
        "tbf 8mbit burst 9000b peakrate 9mbit mtu 2000b queue 15000b",
        &["two tbf rate 8mbit burst 9000 peakrate 9mbit mtu 2000 limit 15000"],
    );
}

#[test]
fn every_discipline_is_a_qdisc_below_a_tbf() {
    for (aqm, child) in [
        ("queue 7p", "pfifo limit 7"),
        ("", "pfifo limit 1000"),
        ("aqm drophead queue 7p", "pfifo_head_drop limit 7"),
        (
            "aqm codel target 9ms ecn",
            "codel limit 1000 target 9ms ecn",
        ),
        (
            "aqm fq_codel flows 16 queue 99p",
            "fq_codel limit 99 flows 16",
        ),
        ("aqm pie target 20ms ecn", "pie limit 1000 target 20ms ecn"),
        (
            "aqm dualpi2 step_thresh 5p any_ect",
            "dualpi2 limit 10000 any_ect step_thresh 5packets",
        ),
        (
            "aqm dualpi2 min_qlen_step 1",
            "dualpi2 limit 10000 min_qlen_step 1",
        ),
        (
            "aqm red min 30000b probability 10% ecn queue 200kb",
            "red limit 204800 min 30000 max 90000 avpkt 1000 burst 50 probability 0.1 \
             bandwidth 8mbit ecn",
        ),
        (
            "aqm cake rtt 50ms queue 4mb",
            "cake unlimited besteffort flows rtt 50ms memlimit 4194304",
        ),
    ] {
        let tbf = "two handle 1: tbf rate 8mbit burst 3028 limit 1514";
        let child = format!("two parent 1:1 handle 10: {child}");
        assert_qdiscs(&format!("tbf 8mbit burst 3028b {aqm}"), &[tbf, &child]);
        let tbf_is_needed = aqm.starts_with("aqm") && !aqm.contains("cake");
        if tbf_is_needed {
            assert_qdiscs(&format!("rate 8mbit {aqm}"), &[tbf, &child]);
        }
    }
}

#[test]
fn cake_shapes_by_itself() {
    assert_qdiscs(
        "rate 8mbit aqm cake queue 4mb",
        &["two cake bandwidth 8mbit besteffort flows memlimit 4194304"],
    );
    // What it adds, it adds to the IP packet.
    assert_qdiscs(
        "rate 8mbit 10 48 5 aqm cake queue 4mb",
        &["two cake bandwidth 8mbit overhead 24 atm besteffort flows memlimit 4194304"],
    );
}

#[test]
fn recordings_are_refused_by_name() {
    for (text, word) in [
        ("trace 1,2", "trace"),
        ("delay trace 5", "delay trace"),
        ("delay 5ms loss trace 01", "loss trace"),
        ("delay 5ms at 1s delay trace 5", "delay trace"),
    ] {
        let error = commands(text).unwrap_err();
        assert_eq!(error.word(), word, "{error}");
        assert!(error.problem().contains("tc cannot play traces"), "{error}");
    }
}

#[test]
fn a_policer_comes_between_loss_and_everything_else() {
    let police = "tc filter replace dev two egress pref 1 handle 1 matchall action \
                  police rate 1mbit burst 15000 mtu 65535 conform-exceed drop/ok";
    assert_eq!(
        commands("loss 1% delay 5ms policer 1mbit burst 15000b").unwrap(),
        [
            "tc qdisc replace dev one root netem limit 100000 loss random 1%",
            "tc qdisc replace dev two clsact",
            police,
            "tc qdisc replace dev three root netem limit 1000 delay 5ms",
        ]
    );
    assert_eq!(
        commands("rate 8mbit queue 9p policer 1mbit burst 15000b").unwrap(),
        [
            "tc qdisc replace dev two clsact",
            police,
            "tc qdisc replace dev two root netem rate 8mbit limit 10",
        ]
    );
}

#[test]
fn changes_wait_for_their_time_and_touch_what_they_change() {
    assert_eq!(
        commands("delay 5ms rate 8mbit queue 9p at 1.5s rate 1mbit at 4s..5s loss 100%").unwrap(),
        [
            "tc qdisc replace dev two root netem rate 8mbit limit 10",
            "tc qdisc replace dev three root netem limit 100000 delay 5ms",
            "sleep 1.5",
            "tc qdisc replace dev two root netem rate 1mbit limit 10",
            "sleep 2.5",
            "tc qdisc replace dev one root netem limit 100000 loss random 100%",
            "sleep 1",
            "tc qdisc del dev one root",
        ]
    );
    assert_eq!(
        commands("at 0s..1ms policer 1mbit burst 15000b at 1ms..2ms policer 2mbit burst 15000b")
            .unwrap()
            .into_iter()
            .filter(|command| !command.starts_with("tc filter"))
            .collect::<Vec<_>>(),
        [
            "tc qdisc replace dev two clsact",
            "sleep 0.001",
            "sleep 0.001",
            "tc qdisc del dev two clsact",
        ]
    );
}

#[test]
fn what_tc_has_not_is_refused_by_the_word() {
    for (text, word, says) in [
        ("delay 1ms seed 5", "seed", "a seed"),
        ("radio 5ms", "radio", "no radios"),
        ("trace 1,2,3", "trace", "cannot play traces"),
        ("loss packets 1-3", "packets", "by number"),
        ("delay 1ms at 5s radio 1ms", "radio", "no radios"),
        ("rate 1mbit queue 1000b", "queue", "between 1514b"),
        ("rate 1mbit queue 5gb", "queue", "and 4294967295b"),
        (
            "rate 1mbit aqm codel queue 15kb",
            "queue",
            "codel counts packets",
        ),
        (
            "rate 1mbit aqm drophead queue 15kb",
            "queue",
            "pfifo_head_drop counts packets",
        ),
        ("rate 1mbit aqm red min 30000b", "aqm", "red counts bytes"),
        ("rate 1mbit aqm cake queue 15p", "aqm", "cake counts bytes"),
        ("rate 1mbit 0 47 5 queue 15kb", "rate", "only ATM's cells"),
        ("rate 1mbit -4 queue 15kb", "rate", "below zero"),
        ("rate 1mbit 300 aqm cake", "rate", "-78 to 242"),
        ("slot distribution uniform 1ms 5ms", "slot", "below zero"),
    ] {
        let error = commands(text).unwrap_err();
        assert_eq!(error.word(), word, "{error}");
        assert!(error.problem().contains(says), "{error}");
    }
}

#[test]
fn a_uniform_slot_is_tcs_usual_one() {
    assert_qdiscs(
        "slot distribution uniform 5ms 1ms packets 3",
        &["three netem limit 1000 slot 4ms 6ms packets 3"],
    );
    assert_qdiscs(
        "slot distribution pareto 5ms 1ms",
        &["three netem limit 1000 slot distribution pareto 5ms 1ms"],
    );
}
