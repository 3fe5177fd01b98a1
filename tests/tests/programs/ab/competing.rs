//! Variants that run at once.

use super::{ab, measured, parse};
use serde_json::Value;

fn figure(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn shares_sum_to_one_and_the_link_is_full() {
    let plan = ["--compete", "--rounds", "3", "-t", "10", "--flows", "2"];
    let link = ["--link", "delay 20ms rate 20mbit queue 1bdp"];
    let controllers = ["--a", "cubic", "--b", "bbr3", "--also", "new_reno"];
    let result = measured(&[&plan[..], &link, &controllers].concat());
    let rounds = result["competition"]["rounds"].as_array().expect("a list");
    assert_eq!(rounds.len(), 3);
    for (block, round) in rounds.iter().enumerate() {
        let shares = round["shares"].as_object().expect("by name");
        assert_eq!(shares.len(), 3);
        let sum: f64 = shares.values().map(figure).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{round}");
        assert!(
            (0.97..=1.001).contains(&figure(&round["link_utilisation"])),
            "{round}"
        );
        let jain = figure(&round["jain_index"]);
        assert!((1.0 / 6.0..=1.0).contains(&jain), "{round}");
        let variants = result["variants"].as_array().expect("a list");
        let goodput =
            |variant: &Value| figure(&variant["rounds"][block]["goodput_bits_per_second"]);
        let total: f64 = variants.iter().map(goodput).sum();
        let share = goodput(&variants[1]) / total;
        // A goodput is in whole bits per second.
        assert!(
            (share - figure(&shares["b"])).abs() < 1e-6,
            "{share}: {round}"
        );
        assert!((18.0e6..19.6e6).contains(&total), "{total}");
    }
}

#[test]
fn a_later_flow_of_the_same_kind_gets_its_share_and_the_time_series_shows_from_when() {
    let plan = [
        "--compete",
        "--rounds",
        "2",
        "-t",
        "30",
        "-O",
        "0",
        "--stagger",
        "5",
    ];
    let link = ["--link", "delay 40ms rate 20mbit queue 1bdp"];
    let controllers = ["--a", "new_reno", "--b", "new_reno"];
    let result = measured(&[&plan[..], &link, &controllers].concat());
    let competition = &result["competition"];
    assert!(
        figure(&competition["jain_index"]["median"]) > 0.98,
        "{competition}"
    );
    let convergence = figure(&competition["convergence_seconds"]["median"]);
    assert!((0.0..25.0).contains(&convergence), "{competition}");
    let newcomer = &result["variants"][1];
    assert_eq!(newcomer["start_seconds"], 5.0);
    let round = &newcomer["rounds"][0];
    assert_eq!(round["seconds"], 30.0);
    assert!(
        (5.0..5.3).contains(&figure(&round["intervals"][0]["t"])),
        "{round}"
    );
    // The first of them runs as long beforehand.
    let first = &result["variants"][0]["rounds"][0]["intervals"];
    let warm_up = first.as_array().expect("a list").iter();
    assert!(
        warm_up
            .filter(|interval| interval["omitted"] == true)
            .count()
            >= 50
    );
}

#[test]
fn a_longer_path_of_its_own_is_in_the_round_trip_of_that_variant_alone() {
    for direction in [&[][..], &["-R"]] {
        let plan = [
            "--compete",
            "--rounds",
            "1",
            "-t",
            "5",
            "--extra-delay",
            "b=60ms",
        ];
        let link = ["--link", "delay 40ms rate 20mbit queue 1bdp"];
        let controllers = ["--a", "new_reno", "--b", "new_reno"];
        let result = measured(&[&plan[..], &link, &controllers, direction].concat());
        let least =
            |variant: usize| figure(&result["variants"][variant]["rounds"][0]["rtt_ms"]["min"]);
        assert!((40.0..65.0).contains(&least(0)), "{}", least(0));
        assert!((100.0..125.0).contains(&least(1)), "{}", least(1));
        let shares = &result["competition"]["rounds"][0]["shares"];
        assert!(figure(&shares["a"]) > 0.55, "{shares}");
    }
}

#[test]
fn connections_compete_over_sockets_as_well() {
    let plan = [
        "--compete",
        "--rounds",
        "1",
        // Longer than a handshake's first retransmission holds one of them back.
        "-t",
        "3",
        "-O",
        "0.3",
        "--flows",
        "2",
    ];
    let more = ["--stagger", "0.3", "--extra-delay", "b=10ms"];
    let link = ["--link", "delay 10ms rate 10mbit queue 2bdp"];
    let ended = ab(&[&plan[..], &more, &link].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let result = parse(&ended.stdout);
    let round = &result["competition"]["rounds"][0];
    assert!(
        (0.5..=1.01).contains(&figure(&round["link_utilisation"])),
        "{round}"
    );
    for variant in result["variants"].as_array().expect("a list") {
        let round = &variant["rounds"][0];
        assert!(round["bytes"].as_u64() > Some(0), "{round}");
        assert_eq!(round["streams"], 2);
        // The server's thread has worked for both variants.
        assert!(round["cpu_seconds_receiver"].is_null(), "{round}");
        assert!(round["cpu_seconds_sender"].is_number(), "{round}");
    }
}
