//! Results that are known beforehand.

use super::{goodput_ratio, measured};
use serde_json::Value;

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
#[expect(clippy::print_stdout, reason = "figures for `just response`")]
fn windows_follow_the_response_function_at_random_loss() {
    println!("loss: new_reno of the law's, beta 0.7 / 0.5 (the law: 1.37), cubic / new_reno");
    for &percent in losses() {
        let ratios = of_the_law(percent);
        let [reno, beta, cubic] = ratios.map(|ratio| format!("{ratio:.2}"));
        println!("{percent} %: {reno}, {beta}, {cubic}");
        let [reno, beta, cubic] = ratios;
        assert!((0.8..1.2).contains(&reno), "{percent} %: {ratios:?}");
        let beta = beta / (17.0_f64 / 9.0).sqrt();
        assert!((0.85..1.15).contains(&beta), "{percent} %: {ratios:?}");
        assert!((0.85..1.2).contains(&cubic), "{percent} %: {ratios:?}");
    }
}

/// In percent; the losses that CI tries. `just response` tries more.
fn losses() -> &'static [f64] {
    if std::env::var_os("PACELINE_RESPONSE").is_some() {
        &[0.1, 0.2, 0.5, 1.0, 2.0]
    } else {
        &[0.5]
    }
}

/// At a random loss: NewReno's goodput as a share of the law's, that of β = 0.7 as a multiple of
/// that of 0.5, and CUBIC's as a multiple of NewReno's.
fn of_the_law(percent: f64) -> [f64; 3] {
    let plan =
        "--independent --rounds 8 -t 20 -O 3 --a new_reno --b new_reno:beta=0.7 --also cubic";
    let plan: Vec<&str> = plan.split(' ').collect();
    let link = format!("delay 40ms loss {percent}%");
    let result = measured(&[&plan[..], &["--link", &link]].concat());
    let goodput = &result["variants"][0]["summary"]["goodput_bits_per_second"]["median"];
    let packets = goodput.as_f64().expect("it is a number") * 0.04 / 8.0 / PAYLOAD;
    let window = (1.5 / (percent / 100.0)).sqrt();
    let [[low, beta, _], [_, cubic, _]] = ["b", "c"].map(|name| goodput_ratio(&result, name));
    assert!(low > 1.0, "{percent} %: {low} {beta}");
    [packets / window, beta, cubic]
}

/// Slow start overshoots so far that a gap is open when the measured part begins; what waits behind
/// it has arrived before.
#[test]
fn goodput_is_not_more_than_the_link_carries() {
    let plan = "--a new_reno --b cubic -t 5 --rounds 1";
    let plan: Vec<&str> = plan.split(' ').collect();
    let link = ["--link", "delay 40ms rate 50mbit queue 16bdp", "-O", "4.6"];
    let result = measured(&[&plan[..], &link].concat());
    let round = &result["variants"][0]["rounds"][0];
    let intervals = round["intervals"].as_array().expect("a list");
    let waited = |interval: &&Value| {
        let rate = interval["goodput_bits_per_second"].as_f64();
        interval["omitted"] == false && rate.is_some_and(|rate| rate > 200e6)
    };
    assert!(intervals.iter().any(|interval| waited(&interval)), "no gap");
    let goodput = round["goodput_bits_per_second"].as_f64();
    let goodput = goodput.expect("it is a number");
    // The rate is one of layer 2, which 42 bytes below UDP's payload belong to.
    let carried = 50e6 * PAYLOAD / (1_452.0 + 42.0);
    assert!(
        (0.97 * carried..1.001 * carried).contains(&goodput),
        "{goodput} of {carried}"
    );
}

/// Of a packet of 1,452 bytes.
const PAYLOAD: f64 = 1_420.0;

/// One megabyte in a round trip of 200 ms is 42 Mbit/s, where the window stays as it begins.
#[test]
fn a_window_that_follows_the_path_is_soon_no_limit() {
    let goodput = |window| {
        let plan = ["--a", "fixed:rate=180mbit", "--b", "fixed:rate=90mbit"];
        let links = [
            "--link",
            "delay 100ms rate 200mbit queue 1bdp",
            "--return-link",
            "delay 100ms",
        ];
        let run = ["-t", "5", "-O", "3", "--rounds", "1", "-w", window];
        let result = measured(&[&plan[..], &links, &run].concat());
        let goodput = &result["variants"][0]["rounds"][0]["goodput_bits_per_second"];
        goodput.as_f64().unwrap_or_else(|| panic!("{result:#}"))
    };
    let (fixed, follows) = (goodput("1M"), goodput("auto"));
    assert!(fixed < 45e6 && follows > 165e6, "{fixed}, {follows}");
}
