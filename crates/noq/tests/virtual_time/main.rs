//! noq-proto's connections under our controllers over emulated links, in virtual time.

mod world;

use noq_proto::PathId;
use std::time::Duration;
use units::Timestamp;
use world::World;

/// Megabits per second that the server reads from the third second to the eighth, and noq's
/// round-trip times meanwhile, in milliseconds.
fn measure(controller: &str, link: &str) -> (f64, f64) {
    let controller = paceline_noq::controller(controller).expect("it is a name");
    let mut world = World::new(link, "delay 20ms", controller);
    world.run_until(Duration::from_secs(2));
    let before = world.received;
    let mut rtt_ms = 0.0;
    for step in 1..=60_u32 {
        world.run_until(Duration::from_secs(2) + Duration::from_millis(100) * step);
        rtt_ms += world.rtt().as_secs_f64() * 1e3 / 60.0;
    }
    let mbit = (world.received - before) as f64 * 8.0 / 6e6;
    (mbit, rtt_ms)
}

#[test]
fn controllers_fill_a_link_as_they_do_in_our_transport() {
    for (controller, least_mbit, most_rtt_ms) in [
        ("bbr3", 17.0, 55.0),
        ("paceline", 18.0, 50.0),
        ("cubic", 18.5, 82.0),
        ("copa", 18.0, 60.0),
    ] {
        let (mbit, rtt_ms) = measure(controller, "delay 20ms rate 20mbit queue 1bdp");
        assert!((least_mbit..20.0).contains(&mbit), "{controller}: {mbit}");
        assert!(
            (40.0..most_rtt_ms).contains(&rtt_ms),
            "{controller}: {rtt_ms}"
        );
    }
}

#[test]
fn random_loss_does_not_stop_those_that_tolerate_it() {
    let lossy = "delay 20ms loss 1% rate 20mbit queue 1bdp";
    let (paceline, _) = measure("paceline", lossy);
    let (cubic, _) = measure("cubic", lossy);
    assert!(
        paceline > 16.0 && paceline > cubic * 1.5,
        "{paceline} and {cubic}"
    );
}

#[test]
fn noq_sends_what_our_pacing_rate_says() {
    let controller = paceline_noq::controller("fixed:rate=8mbit").expect("it is a name");
    let mut world = World::new("delay 20ms", "delay 20ms", controller);
    world.run_until(Duration::from_secs(5));
    let from = Timestamp::from_millis(1_000);
    let in_time = world.sent.iter().filter(|(time, _)| *time >= from);
    let sent: u64 = in_time.map(|(_, bytes)| bytes).sum();
    assert!(
        (3_880_000..=4_040_000).contains(&sent),
        "{sent} bytes in 4 s at 1 MB/s"
    );
    let state = world
        .client()
        .congestion_state(PathId::ZERO)
        .expect("the path is there");
    assert_eq!(state.metrics().pacing_rate, Some(1_000_000));
}

#[test]
fn late_packets_are_not_taken_for_lost_ones() {
    // Packets overtake each other by more than the three that noq waits for. Without what it says
    // of spurious losses, CUBIC has 1.4 Mbit/s here and BBR 2.1.
    let link = "delay 20ms 5ms rate 20mbit queue 4bdp";
    for controller in ["cubic", "bbr3"] {
        let (mbit, _) = measure(controller, link);
        assert!(mbit > 4.0, "{controller}: {mbit}");
    }
}
