//! Loss: real loss detection feeds the controllers, and nothing stalls.

use crate::{config, connect, connected};
use e2e::seed;
use std::time::Duration;
use transport::testing::{Load, Pair, PairConfig, Side};
use units::Bytes;

/// 100 Mbit/s, 40 ms, 1 % loss, a queue of one BDP.
fn lossy(cc: &str) -> Pair {
    connected(
        "delay 20ms rate 100mbit queue 1bdp loss 1%",
        "delay 20ms",
        cc,
    )
}

/// Bits per second of application data within 20 s.
fn goodput(pair: &mut Pair) -> u64 {
    pair.send(Side::Client, Load::Endless);
    pair.run_for(Duration::from_secs(20));
    pair.received(Side::Server).get() * 8 / 20
}

#[test]
fn loss_based_controllers_are_held_down_by_random_loss() {
    // Mathis: 1452 B ÷ 40 ms × 1.22 ÷ √1 % = 3.5 Mbit/s for Reno.
    for (cc, low, high) in [
        ("new_reno", 2_000_000, 6_000_000),
        ("cubic", 2_000_000, 10_000_000),
    ] {
        let mut pair = lossy(cc);
        let goodput = goodput(&mut pair);
        assert!((low..high).contains(&goodput), "{cc}: {goodput} bit/s");
        let path = pair.stats(Side::Client).path;
        let share = path.lost_packets * 1_000 / path.sent_packets;
        assert!((5..20).contains(&share), "{cc}: {share} of 1000 lost");
    }
}

#[test]
fn bbr3_uses_the_link_in_spite_of_random_loss() {
    // The simulator that tells a controller everything gives 76 to 80 Mbit/s here, too.
    let mut pair = lossy("bbr3");
    let goodput = goodput(&mut pair);
    assert!(goodput > 65_000_000, "{goodput} bit/s");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let figures = || {
        let mut pair = lossy("cubic");
        let goodput = goodput(&mut pair);
        let stats = pair.stats(Side::Client);
        let path = stats.path;
        let counts = (path.sent_packets, path.lost_packets, stats.udp_tx.bytes);
        (goodput, counts, stats.srtt, stats.cwnd)
    };
    assert_eq!(figures(), figures());
}

#[test]
fn a_handshake_survives_loss_in_both_directions() {
    for seed in 0..20 {
        let config = PairConfig {
            seed: seed::choose(seed, "a handshake with loss"),
            ..config("delay 20ms loss 30%", "delay 20ms loss 30%", "cubic")
        };
        let mut pair = connect(&config);
        pair.send(Side::Client, Load::Bytes(10_000));
        let done =
            pair.run_until_received(Side::Server, Bytes::new(10_000), Duration::from_secs(60));
        assert!(done, "seed {seed}: {}", pair.received(Side::Server));
    }
}

#[test]
fn bursts_of_loss_are_survived() {
    for cc in ["new_reno", "cubic", "bbr3"] {
        // Everything is lost in the bad state: bursts of 5 packets on average.
        let mut pair = connected(
            "delay 20ms rate 20mbit queue 1bdp loss gemodel 0.5% 20%",
            "delay 20ms",
            cc,
        );
        pair.send(Side::Client, Load::Bytes(2_000_000));
        let done = pair.run_until_received(
            Side::Server,
            Bytes::new(2_000_000),
            Duration::from_secs(300),
        );
        assert!(done, "{cc}: {}", pair.received(Side::Server));
    }
}
