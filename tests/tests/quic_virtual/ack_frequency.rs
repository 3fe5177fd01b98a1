//! Fewer ACKs are asked for where the return path is too slow for one to each two packets, and
//! nowhere else.

use crate::{config, connect};
use paceline::testing::{Load, Pair, Side};
use std::time::Duration;
use units::Bytes;

const TIME: Duration = Duration::from_secs(10);

/// Bytes that an upload gets in [`TIME`], and the pair after it.
fn upload(
    cc: &str,
    link: &str,
    back: &str,
    packets_per_ack: impl Into<Option<u32>>,
) -> (Bytes, Pair) {
    let mut config = config(link, back, cc);
    config.client.max_packets_per_ack(packets_per_ack.into());
    let mut pair = connect(&config);
    pair.send(Side::Client, Load::Endless);
    pair.run_for(TIME);
    (pair.received(Side::Server), pair)
}

/// ACK_FREQUENCY frames that the server has got.
fn requests(pair: &mut Pair) -> u64 {
    pair.proto_stats(Side::Server).frame_rx.ack_frequency
}

#[test]
fn a_return_path_of_a_hundredth_does_not_hold_back_the_sender() {
    let (link, back) = (
        "delay 20ms rate 10mbit queue 100000b",
        "delay 20ms rate 100kbit queue 20p",
    );
    // CUBIC fills the return queue and goes on by the ACKs that are left (106.8 % when this was
    // written); the others never do.
    for (cc, percent) in [
        ("cubic", 106),
        ("bbr1", 130),
        ("bbr3", 200),
        ("copa", 150),
        ("paceline", 200),
    ] {
        let (unasked, _) = upload(cc, link, back, 2);
        let (asked, mut pair) = upload(cc, link, back, 10);
        assert!(
            asked.get() * 100 >= unasked.get() * percent,
            "{cc}: {asked} against {unasked}"
        );
        assert!(requests(&mut pair) > 0, "{cc}");
        assert!(pair.error(Side::Client).is_none() && pair.error(Side::Server).is_none());
    }
}

#[test]
fn unless_configured_and_without_a_queue_nothing_is_asked() {
    let link = "delay 20ms rate 20mbit queue 1bdp";
    let (_, mut pair) = upload("cubic", link, "delay 20ms", 2);
    assert_eq!(requests(&mut pair), 0);
    let mut config = config("delay 20ms", "delay 20ms", "cubic");
    config.client.max_packets_per_ack(Some(10));
    let mut pair = connect(&config);
    pair.send(Side::Client, Load::Endless);
    pair.run_for(Duration::from_millis(300));
    assert!(pair.stats(Side::Client).cwnd > Bytes::new(100_000));
    assert_eq!(requests(&mut pair), 0);
}

#[test]
fn paceline_asks_by_itself_where_acks_get_lost() {
    let link = "delay 20ms rate 10mbit queue 100000b";
    let back = "delay 20ms rate 100kbit queue 20p";
    let (unasked, _) = upload("paceline", link, back, 2);
    let (asked, mut pair) = upload("paceline", link, back, None);
    assert!(
        asked.get() * 100 >= unasked.get() * 130,
        "{asked} against {unasked}"
    );
    assert!(requests(&mut pair) > 0);
    // Nothing is lost, or nothing that is an ACK, or the controller does better with more.
    for (cc, link, back) in [
        ("paceline", link, "delay 20ms"),
        (
            "paceline",
            "delay 20ms rate 10mbit queue 1bdp loss 20%",
            "delay 20ms",
        ),
        ("paceline", link, "delay 20ms loss 3%"),
        ("cubic", link, back),
    ] {
        let (_, mut pair) = upload(cc, link, back, None);
        assert_eq!(requests(&mut pair), 0, "{cc}, {link}, {back}");
    }
}

#[test]
fn a_controller_that_follows_paceline_gets_each_ack() {
    let link = "delay 20ms rate 10mbit queue 100000b";
    let back = "delay 20ms rate 100kbit queue 20p";
    let (_, mut pair) = upload("paceline", link, back, None);
    assert!(pair.stats(Side::Client).packets_per_ack > 2);
    pair.set_congestion(Side::Client, &e2e::choose("cubic"));
    pair.run_for(TIME);
    assert_eq!(pair.stats(Side::Client).packets_per_ack, 2);
}

#[test]
fn requests_that_are_lost_are_made_again() {
    let link = "delay 20ms rate 10mbit queue 100000b loss 20%";
    let back = "delay 20ms rate 100kbit queue 1000p loss 20%";
    let (_, mut pair) = upload("bbr3", link, back, 10);
    assert!(requests(&mut pair) > 1);
    assert!(
        pair.error(Side::Client).is_none(),
        "{:?}",
        pair.error(Side::Client)
    );
}
