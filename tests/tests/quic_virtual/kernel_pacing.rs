//! A kernel that keeps departure times: packets are handed over before they leave, and nothing else
//! changes. The emulated one is exact.

use crate::{config, connect, percent, send_rate};
use paceline::testing::{Departure, Load, Pair, Side};
use paceline::{KernelPacing, VarInt};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use units::{Bandwidth, Bytes};

/// Two connected ends over 10 ms there and back, `mode` at both.
fn pair(link: &str, cc: &str, mode: KernelPacing) -> Pair {
    let mut config = config(link, "delay 5ms", cc);
    config.client.kernel_pacing(mode).mtu_discovery_config(None);
    config.server.kernel_pacing(mode).mtu_discovery_config(None);
    config.server.receive_window(VarInt::from_u32(128 << 20));
    connect(&config)
}

/// What leaves the client from now on.
fn departures(pair: &mut Pair) -> Rc<RefCell<Vec<Departure>>> {
    let log = Rc::new(RefCell::new(Vec::new()));
    let writer = Rc::clone(&log);
    pair.watch_departures(Side::Client, move |departure| {
        writer.borrow_mut().push(*departure);
    });
    log
}

/// Bytes by which the fullest window of time exceeds rate × its length.
fn excess(log: &[Departure], rate: Bandwidth) -> Bytes {
    let (mut level, mut highest) = (Bytes::ZERO, Bytes::ZERO);
    let mut last = None;
    for departure in log {
        if let Some(last) = last.replace(departure.at) {
            assert!(departure.at >= last, "packets keep their order");
            level = level.saturating_sub(rate * departure.at.since(last));
        }
        level += departure.bytes;
        highest = highest.max(level);
    }
    highest
}

#[test]
fn every_rate_is_kept_in_every_window_of_departures() {
    for (rate, millis) in [
        ("64kbit", 20_000),
        ("10mbit", 5_000),
        ("100mbit", 1_000),
        ("1gbit", 200),
        ("5gbit", 100),
    ] {
        let fixed = format!("fixed:rate={rate}");
        let mut pair = pair("delay 5ms limit 1000000", &fixed, KernelPacing::On);
        let log = departures(&mut pair);
        pair.send(Side::Client, Load::Endless);
        pair.run_for(Duration::from_millis(30));
        let sent = send_rate(&mut pair, Side::Client, Duration::from_millis(millis));

        let asked: Bandwidth = rate.parse().expect("a rate");
        assert!(sent >= percent(asked, 95), "{sent} of {rate}");
        let quantum = pair.congestion(Side::Client).control.send_quantum;
        let mtu = Bytes::new(pair.stats(Side::Client).path.current_mtu.into());
        let excess = excess(&log.borrow(), asked);
        assert!(excess <= quantum + mtu, "{excess} at {rate}, {quantum}");
    }
}

#[test]
fn a_wake_up_serves_half_a_millisecond_of_bursts() {
    let wakeups = [KernelPacing::Off, KernelPacing::On].map(|mode| {
        let mut pair = pair("delay 5ms limit 1000000", "fixed:rate=1gbit", mode);
        pair.send(Side::Client, Load::Endless);
        pair.run_for(Duration::from_millis(100));
        let before = pair.pacer_wakeups(Side::Client);
        pair.run_for(Duration::from_millis(100));
        pair.pacer_wakeups(Side::Client) - before
    });
    // ACKs wake as well, and what is due then is handed over with them.
    assert!(wakeups[0] > 300, "{wakeups:?}");
    assert!(wakeups[1] <= 200, "{wakeups:?}");
}

#[test]
fn waiting_in_the_kernel_is_no_part_of_round_trips_and_rates() {
    let [own, kernel] = [KernelPacing::Off, KernelPacing::On].map(|mode| {
        let link = "delay 5ms rate 1gbit limit 1000000";
        let mut pair = pair(link, "fixed:rate=800mbit", mode);
        pair.send(Side::Client, Load::Endless);
        pair.run_for(Duration::from_secs(1));
        assert_eq!(pair.stats(Side::Client).path.lost_packets, 0);
        let stats = pair.stats(Side::Client);
        (
            stats.srtt.unwrap(),
            stats.path.rtt,
            stats.delivery_rate.unwrap(),
        )
    });
    // A burst of 32 KiB takes 260 us on the link.
    let near = |a: Duration, b: Duration| a.abs_diff(b) < Duration::from_micros(300);
    assert!(near(own.0, kernel.0), "{own:?} {kernel:?}");
    assert!(near(own.1, kernel.1), "{own:?} {kernel:?}");
    assert!(kernel.2 > percent(own.2, 95), "{own:?} {kernel:?}");
    assert!(kernel.2 < percent(own.2, 105), "{own:?} {kernel:?}");
}

#[test]
fn controllers_get_from_a_link_what_they_get_without() {
    for cc in ["cubic", "bbr3", "paceline"] {
        let [own, kernel] = [KernelPacing::Off, KernelPacing::On].map(|mode| {
            let mut pair = pair("delay 5ms rate 200mbit queue 1bdp", cc, mode);
            let log = departures(&mut pair);
            pair.send(Side::Client, Load::Endless);
            pair.run_for(Duration::from_secs(5));
            // Loss probes, two at a time, do not wait for the window.
            let probes = Bytes::new(2 * 1_452);
            for departure in log.borrow().iter() {
                let most = departure.cwnd + probes;
                assert!(departure.in_flight <= most, "{cc}: {departure:?}");
            }
            send_rate(&mut pair, Side::Client, Duration::from_secs(5))
        });
        assert!(kernel >= percent(own, 97), "{cc}: {kernel}, {own} without");
    }
}

#[test]
fn acks_between_scheduled_packets_keep_their_order() {
    let mut pair = pair(
        "delay 5ms rate 500mbit limit 1000000",
        "fixed:rate=300mbit",
        KernelPacing::On,
    );
    // Between its bursts the client has ACKs to send and nothing else.
    let bursts = Load::Every {
        bytes: 60_000,
        interval: Duration::from_millis(3),
    };
    pair.send(Side::Client, bursts);
    pair.send(Side::Server, Load::Endless);
    pair.run_for(Duration::from_secs(1));
    for side in [Side::Client, Side::Server] {
        let stats = pair.stats(side);
        assert_eq!(stats.path.lost_packets, 0, "{side:?}");
        assert_eq!(stats.spurious_losses, 0, "{side:?}");
    }
}
