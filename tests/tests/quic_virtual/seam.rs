//! Controllers between a connection and quinn-proto: alone in its hands, and at the end of a
//! connection. What quinn-proto does by itself is in `habits.rs`.

use crate::{config, connect};
use e2e::choose;
use paceline::testing::{Load, Pair, PairConfig, PlainQuinn, Side};
use std::time::Duration;
use units::Bytes;

/// The same link for both: 100 Mbit/s, 40 ms, a queue of one BDP.
fn transfer(plain: Option<PlainQuinn>) -> Pair {
    let config = PairConfig {
        plain,
        ..config(
            "delay 20ms rate 100mbit queue 1bdp",
            "delay 20ms",
            "new_reno",
        )
    };
    let mut pair = connect(&config);
    pair.send(Side::Client, Load::Bytes(20_000_000));
    let limit = Duration::from_secs(20);
    assert!(pair.run_until_received(Side::Server, Bytes::new(20_000_000), limit));
    pair
}

#[test]
fn a_controller_works_in_quinn_protos_hands_alone() {
    let plain = PlainQuinn::with(choose("new_reno"), 1);
    let mut alone = transfer(Some(plain));
    let path = alone.proto_stats(Side::Client).path;
    // Slow start filled the queue; without feedback the window would have stayed at the initial
    // one, which takes 27 s.
    assert!(path.lost_packets > 0 && path.cwnd > 100_000, "{path:?}");
    assert!(alone.now().as_nanos() < 4_000_000_000, "{}", alone.now());
}

/// A window of two bandwidth-delay products, as a paced controller has it, lost 37 % of the packets
/// here: quinn-proto has no other pace than the window's.
#[test]
fn a_paced_controller_keeps_to_its_rate_in_quinn_protos_hands() {
    for (cc, queue) in [
        ("paceline", "1bdp"),
        ("paceline", "0.2bdp"),
        ("bbr3", "1bdp"),
        ("copa", "1bdp"),
    ] {
        let link = format!("delay 20ms rate 20mbit queue {queue}");
        let plain = PlainQuinn::with(choose(cc), 1);
        let config = PairConfig {
            plain: Some(plain),
            ..config(&link, "delay 20ms", cc)
        };
        let mut pair = connect(&config);
        pair.send(Side::Client, Load::Endless);
        pair.run_for(Duration::from_secs(5));
        let before = (
            pair.received(Side::Server),
            pair.proto_stats(Side::Client).path,
        );
        pair.run_for(Duration::from_secs(20));
        let path = pair.proto_stats(Side::Client).path;
        let received = pair.received(Side::Server) - before.0;
        let lost = path.lost_packets - before.1.lost_packets;
        let sent = path.sent_packets - before.1.sent_packets;
        // 50 MB are 20 s at the link's rate.
        assert!(
            received > Bytes::new(42_000_000),
            "{cc}, {queue}: {received}"
        );
        assert!(
            lost * 100 <= sent,
            "{cc}, {queue}: {lost} of {sent} are lost"
        );
    }
}

#[test]
fn a_connection_closes_while_data_waits_behind_a_full_window() {
    for cc in ["fixed:pacing=off,cwnd=5000", "fixed:rate=10kbit"] {
        let config = config("delay 20ms", "delay 20ms", cc);
        let mut pair = connect(&config);
        pair.send(Side::Client, Load::Endless);
        pair.run_for(Duration::from_millis(110));
        pair.close(Side::Client);
        pair.run_for(Duration::from_millis(100));
        assert!(pair.error(Side::Server).is_some(), "{cc}: not told");
    }
}
