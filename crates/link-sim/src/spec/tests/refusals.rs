//! What is no link is refused with the word, its place and what was expected.

use super::{assert_refused, error, spec};

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
    assert_refused("delay 3601s", "3601s", 7, "a time up to 1 hour");
    assert_refused("delay 5ms 1%", "1%", 11, "expected a jitter");
    assert_refused("delay 5ms 1ms 2", "2", 15, "expected a percentage");
    assert_refused("loss 3", "3", 6, "expected a percentage");
    assert_refused("loss 101%", "101%", 6, "from 0% to 100%");
    assert_refused("loss 0.00001%", "0.00001%", 6, "expected a percentage");
    assert_refused("duplicate -1%", "-1%", 11, "expected a percentage");
    assert_refused("rate 0", "0", 6, "from 8bit to 10tbit");
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
        "end at column 5 of link `rate`: expected a rate from 8bit to 10tbit, such as 100mbit or \
         64kbit, after `rate`"
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
    assert_refused(
        "delay 5ms gap 5",
        "gap",
        11,
        "only allowed after `reorder P%`",
    );
    assert_refused("loss 1% delay 1ms drop 2%", "drop", 19, "given twice");
}

#[test]
fn red_wants_thresholds_that_have_a_meaning() {
    assert_refused("rate 1mbit aqm red", "", 19, "`min` and a size in bytes");
    assert_refused(
        "rate 1mbit aqm red min 30kb max 20kb",
        "20kb",
        33,
        "`max` must be at least `min`",
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
    assert_refused("delay 1ms harddrop", "harddrop", 11, "after `aqm red`");
}

#[test]
fn pie_has_tcs_ranges() {
    assert_refused("rate 1mbit aqm pie alpha 33", "33", 26, "from 0 to 32");
    assert_refused("rate 1mbit aqm pie beta 1.5", "1.5", 25, "whole number");
    assert_refused(
        "rate 1mbit aqm pie target 0ms",
        "0ms",
        27,
        "from 1ns to 1 hour",
    );
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
    refused("min_qlen_step", "2p", "a number of packets");
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
fn each_new_clause_refuses_what_it_cannot_be() {
    assert_refused("loss state 60% 10% 10% 10% 50%", "50%", 28, "P13 and P14");
    assert_refused("loss packets 3,2", "3,2", 14, "ascending order");
    assert_refused("loss packets 0", "0", 14, "ascending order");
    assert_refused(
        "rate 1mbit tbf 1mbit burst 1kb",
        "tbf",
        12,
        "already set by `rate`",
    );
    assert_refused("rate 1mbit 0 5 -5", "-5", 16, "leaves no bytes");
    assert_refused("tbf 1mbit", "", 10, "`burst` and a size");
    assert_refused("tbf 1mbit limit 5", "limit", 11, "expected `burst`");
    assert_refused(
        "tbf 1mbit burst 1kb peakrate 1mbit mtu 1kb",
        "1mbit",
        30,
        "above the rate",
    );
    assert_refused("slot 5ms 4ms", "4ms", 10, "below the minimum");
    assert_refused("slot 0ms", "0ms", 6, "from 1ns to 1 hour");
    assert_refused("policer 1mbit burst 1500", "1500", 21, "with its unit");
    assert_refused("rate 1mbit aqm cdel", "cdel", 16, "did you mean `codel`?");
    let fq_codel = |what| format!("rate 1mbit aqm fq_codel {what}");
    assert_refused(&fq_codel("flows 0"), "0", 31, "from 1 to 65536");
    assert_refused(&fq_codel("flows 65537"), "65537", 31, "from 1 to 65536");
    assert_refused(&fq_codel("quantum 255b"), "255b", 33, "from 256b to 1mb");
    assert_refused(&fq_codel("quantum 1514"), "1514", 33, "from 256b to 1mb");
    assert_refused("rate 1mbit aqm cake rtt 0s", "0s", 25, "from 1ns to 1 hour");
    assert_refused("rate 1mbit rtt 5ms", "rtt", 12, "after `aqm cake`");
    assert_refused("radio 1ms suspend 5ms", "", 22, "`every` and a time");
    assert_refused(
        "trace /nowhere/at/all",
        "/nowhere/at/all",
        7,
        "no such file; built-in traces: 0.12mbps, ",
    );
    assert_refused("trace /dev/zero", "/dev/zero", 7, "not a regular file");
}
