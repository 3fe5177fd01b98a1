//! `bbr3` and `bbr2` in real QUIC endpoints in virtual time: packets of a batch share a stamp,
//! losses come as sums, and nobody tells of packets that arrive late.

use cc_core::Registry;
use core::time::Duration;
use e2e::seed;
use transport::testing::{Load, Pair, PairConfig, Side};
use units::{Bandwidth, Bytes};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const BOTH: [&str; 2] = ["bbr3", "bbr2"];

/// A connected pair whose client sends under `controller`.
fn pair(controller: &str, link: &str, return_link: &str) -> Pair {
    let mut config = PairConfig {
        link: link.parse().expect("a link"),
        return_link: return_link.parse().expect("a link"),
        seed: seed::choose(1, format_args!("{controller} over `{link}`")),
        ..PairConfig::default()
    };
    let choice = Registry::standard().choose(controller);
    config.client.congestion(choice.expect("a controller"));
    let mut pair = Pair::new(&config).expect("the links have a delay");
    pair.connect(SECOND * 5).expect("the link is up");
    pair
}

/// Megabits per second that an endless stream gets in `time`, handshake left out.
fn goodput(controller: &str, link: &str, return_link: &str, time: Duration) -> u64 {
    let mut pair = pair(controller, link, return_link);
    pair.send(Side::Client, Load::Endless);
    pair.run_for(time);
    let received = pair.received(Side::Server);
    Bandwidth::from_transfer(received, time).bits_per_sec() / 1_000_000
}

#[test]
fn an_ideal_link_is_filled() {
    // A datagram of 1,452 bytes carries 1,418 of a stream: 95 Mbit/s at most.
    for controller in BOTH {
        for (one_way, least) in [("10ms", 91), ("50ms", 88)] {
            let link = format!("rate 100mbit delay {one_way} queue 4bdp");
            let back = format!("delay {one_way}");
            let rate = goodput(controller, &link, &back, SECOND * 20);
            assert!(rate >= least, "{controller} {one_way}: {rate}");
        }
    }
}

#[test]
fn one_percent_of_random_loss_leaves_ten_times_what_cubic_gets() {
    let link = "rate 100mbit delay 20ms queue 1bdp loss 1%";
    let bbr = goodput("bbr3", link, "delay 20ms", SECOND * 20);
    let cubic = goodput("cubic", link, "delay 20ms", SECOND * 20);
    assert!(bbr >= 70 && bbr >= cubic * 10, "{bbr} against {cubic}");
}

/// 12 MB over 4 Mbit/s and 64 ms, which take no more than 30 seconds.
fn transfer(controller: &str, queue: &str) -> Pair {
    let link = format!("rate 4mbit delay 32ms queue {queue}");
    let mut pair = pair(controller, &link, "delay 32ms");
    let began_at = pair.now();
    pair.send(Side::Client, Load::Bytes(12_000_000));
    let is_done = pair.run_until_received(Side::Server, Bytes::new(12_000_000), SECOND * 60);
    assert!(is_done, "{controller}");
    let took = pair.now().since(began_at);
    assert!(took <= SECOND * 30, "{controller}: {took:?}");
    pair
}

#[test]
fn a_simple_transfer_takes_its_time_without_loss_and_without_a_long_queue() {
    for controller in BOTH {
        let pair = transfer(controller, "2bdp");
        let stats = pair.stats(Side::Client);
        assert_eq!(stats.path.lost_packets, 0, "{controller}");
        let srtt = stats.srtt.unwrap();
        assert!(srtt <= MS * 160, "{controller}: {srtt:?}");
        let min_rtt = pair.congestion(Side::Client).min_rtt.unwrap();
        assert!(min_rtt >= MS * 64 && min_rtt <= MS * 77, "{min_rtt:?}");
    }
}

#[test]
fn a_queue_of_half_a_bdp_loses_little() {
    for controller in BOTH {
        let path = transfer(controller, "0.5bdp").stats(Side::Client).path;
        let is_little = path.lost_packets * 20 <= path.sent_packets;
        assert!(is_little, "{controller}: {path:?}");
    }
}

#[test]
fn a_running_connection_changes_to_bbr_and_back() {
    let mut pair = pair("cubic", "rate 20mbit delay 20ms queue 2bdp", "delay 20ms");
    pair.send(Side::Client, Load::Endless);
    pair.run_for(SECOND * 3);
    let registry = Registry::standard();
    for name in ["bbr3", "cubic", "bbr2", "bbr3"] {
        let choice = registry.choose(name).unwrap();
        pair.set_congestion(Side::Client, &choice);
        let before = pair.received(Side::Server);
        pair.run_for(SECOND * 5);
        let rate = Bandwidth::from_transfer(pair.received(Side::Server) - before, SECOND * 5);
        assert_eq!(pair.congestion(Side::Client).algorithm, name);
        assert!(
            rate >= Bandwidth::from_bits_per_sec(17_500_000),
            "{name}: {rate}"
        );
    }
}
