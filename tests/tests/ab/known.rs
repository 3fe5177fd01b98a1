//! Results that are known beforehand.

use super::{goodput_ratio, measured};

/// How many of the seeds that CI tries; `just aa` tries a hundred.
fn seeds() -> u64 {
    let asked = std::env::var("PACELINE_AA_SEEDS");
    asked.map_or(20, |seeds| {
        seeds.parse().expect("PACELINE_AA_SEEDS is a number")
    })
}

#[test]
#[expect(clippy::print_stdout, reason = "a figure for `just aa`")]
fn a_controller_against_itself_is_not_called_different() {
    let link = "delay 20ms loss 0.5% rate 10mbit queue 1bdp";
    let plan = [
        "--a",
        "cubic",
        "--b",
        "cubic",
        "--independent",
        "--rounds",
        "6",
    ];
    let plan = [&plan[..], &["-t", "2", "-O", "0.5", "--link", link]].concat();
    let contains_one = |seed: &u64| {
        let seed = seed.to_string();
        let [low, ratio, high] =
            goodput_ratio(&measured(&[&plan[..], &["--seed", &seed]].concat()), "b");
        // The rounds have losses of their own, so that there is something to be mistaken about.
        assert!(
            low < ratio && ratio < high,
            "seed {seed}: {low} {ratio} {high}"
        );
        (low..=high).contains(&1.0)
    };
    let seeds = 1..=seeds();
    let count = seeds.end();
    let contained = seeds.clone().filter(contains_one).count() as u64;
    println!("{contained} of {count} intervals contain 1");
    assert!(contained * 10 >= count * 9, "{contained} of {count}");
}

#[test]
fn without_losses_of_their_own_the_rounds_of_a_block_are_equal() {
    let plan = ["--a", "cubic", "--b", "cubic", "--rounds", "3", "-t", "1"];
    let link = ["--link", "delay 20ms loss 1% rate 10mbit queue 1bdp"];
    let result = measured(&[&plan[..], &link].concat());
    assert_eq!(goodput_ratio(&result, "b"), [1.0; 3]);
    assert!(result["independent"].is_null());
}

#[test]
fn twice_the_rate_is_found() {
    let controllers = ["--a", "fixed:rate=10mbit", "--b", "fixed:rate=20mbit"];
    let plan = ["-t", "2", "--link", "delay 20ms rate 100mbit queue 1bdp"];
    let result = measured(&[&controllers[..], &plan].concat());
    let [low, ratio, high] = goodput_ratio(&result, "b");
    assert!(1.99 < low && high < 2.01, "{low} {ratio} {high}");
    let goodput = &result["comparison"]["goodput_bits_per_second"];
    assert_eq!(goodput["decision"], "b_higher");
}

/// Additive increase by one packet, and a factor β at each loss, have a mean window of
/// √((1 + β) / (2 (1 − β) p)) packets at a random loss of p (RFC 9438 §4.3, which has it from
/// Floyd, Handley and Padhye). CUBIC is to equal β = 0.5 where Reno is faster than its curve, as on
/// this short path.
///
/// The law is one of a fluid: it knows neither timeouts, nor packets that are lost and recovered
/// together, nor how windows are rounded. The ratio is asked for to 15 %, what it is a ratio of to
/// 20 %.
#[test]
fn windows_follow_the_response_function_at_random_loss() {
    let loss: f64 = 0.005;
    let plan = ["--independent", "--rounds", "8", "-t", "15", "-O", "3"];
    let controllers = [
        "--a",
        "new_reno",
        "--b",
        "new_reno:beta=0.7",
        "--also",
        "cubic",
    ];
    let link = ["--link", "delay 40ms loss 0.5%"];
    let result = measured(&[&plan[..], &controllers, &link].concat());
    let window = |beta: f64| ((1.0 + beta) / (2.0 * (1.0 - beta) * loss)).sqrt();

    let goodput = &result["variants"][0]["summary"]["goodput_bits_per_second"]["median"];
    let packets = goodput.as_f64().expect("it is a number") * 0.04 / 8.0 / PAYLOAD;
    let off = packets / window(0.5);
    assert!(
        (0.8..1.2).contains(&off),
        "{packets} packets, {off} of the law's"
    );

    let [low, ratio, high] = goodput_ratio(&result, "b");
    let off = ratio / (window(0.7) / window(0.5));
    assert!(
        (0.85..1.15).contains(&off),
        "{low} {ratio} {high}: {off} of the law's"
    );
    assert!(low > 1.0, "{low} {ratio} {high}");

    let [low, ratio, high] = goodput_ratio(&result, "c");
    assert!((0.85..1.2).contains(&ratio), "{low} {ratio} {high}");
}

/// Of a packet of 1,452 bytes.
const PAYLOAD: f64 = 1_420.0;
