//! The congestion window: what is in flight never exceeds it, and a small one does not stall.

use crate::{config, connect, connected};
use e2e::choose;
use paceline::testing::{Load, Pair, Side};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use units::Bytes;

/// The most that ever was in flight beyond the window, from now on.
fn watch_excess(pair: &mut Pair, side: Side) -> Rc<Cell<Bytes>> {
    let excess = Rc::new(Cell::new(Bytes::ZERO));
    let seen = Rc::clone(&excess);
    pair.watch_departures(side, move |departure| {
        let beyond = departure.in_flight.saturating_sub(departure.cwnd);
        seen.set(seen.get().max(beyond));
    });
    excess
}

#[test]
fn what_is_in_flight_stays_within_the_window() {
    for cwnd in [3_000, 6_000, 50_000, 500_000] {
        let mut config = config(
            "delay 20ms rate 50mbit queue 1bdp",
            "delay 20ms",
            &format!("fixed:pacing=off,cwnd={cwnd}"),
        );
        config.client.mtu_discovery_config(None);
        let mut pair = connect(&config);
        pair.send(Side::Client, Load::Endless);
        // What is in flight when quinn-proto discards the handshake's keys is forgotten one ACK
        // later.
        pair.run_for(Duration::from_millis(500));
        let excess = watch_excess(&mut pair, Side::Client);
        pair.run_for(Duration::from_secs(5));
        assert_eq!(excess.get(), Bytes::ZERO, "window of {cwnd}");
        let in_flight = pair.stats(Side::Client).in_flight;
        let mtu = Bytes::new(1_200);
        assert!(in_flight + mtu > Bytes::new(cwnd), "{in_flight} of {cwnd}");
    }
}

#[test]
fn only_an_mtu_probe_goes_beyond_the_window() {
    let mut pair = connected(
        "delay 20ms rate 50mbit queue 1bdp",
        "delay 20ms",
        "fixed:pacing=off,cwnd=30000",
    );
    let excess = watch_excess(&mut pair, Side::Client);
    pair.send(Side::Client, Load::Endless);
    pair.run_for(Duration::from_secs(5));
    assert!(excess.get() <= Bytes::new(1_452), "{}", excess.get());
}

#[test]
fn a_window_below_two_packets_sends_one_at_a_time() {
    for cwnd in [1, 1_199, 1_452, 2_903] {
        let mut pair = connected(
            "delay 20ms",
            "delay 20ms",
            &format!("fixed:pacing=off,cwnd={cwnd}"),
        );
        pair.send(Side::Client, Load::Bytes(100_000));
        // 83 packets, one in a round trip and the peer's delay of 25 ms.
        let done = pair.run_until_received(
            Side::Server,
            Bytes::new(100_000),
            Duration::from_millis(83 * 65 + 500),
        );
        assert!(done, "window of {cwnd}: {}", pair.received(Side::Server));
    }
}

#[test]
fn a_change_of_controller_keeps_what_is_in_flight_and_goes_on() {
    let mut pair = connected(
        "delay 20ms rate 50mbit queue 1bdp",
        "delay 20ms",
        "fixed:pacing=off,cwnd=250k",
    );
    pair.send(Side::Client, Load::Endless);
    pair.run_for(Duration::from_secs(1));
    for name in [
        "fixed:rate=30mbit,cwnd=250k",
        "new_reno",
        "cubic",
        "bbr3",
        "fixed:pacing=off,cwnd=250k",
    ] {
        let before = pair.stats(Side::Client);
        pair.set_congestion(Side::Client, &choose(name));
        let after = pair.stats(Side::Client);
        let appeared = after.in_flight.saturating_sub(before.in_flight);
        assert!(after.in_flight >= before.in_flight, "{name} forgot packets");
        assert!(appeared <= after.cwnd, "{name}");
        assert_eq!(after.delivered, before.delivered, "{name}");

        let received = pair.received(Side::Server);
        pair.run_for(Duration::from_millis(500));
        let rate = (pair.received(Side::Server) - received).get() * 8 * 2;
        assert!(rate > 20_000_000, "{name}: {rate} bit/s after the change");
    }
}
