//! Round trips so short that one burst takes longer.

use crate::{config, connect};
use paceline::testing::{Load, Side};
use std::time::Duration;
use units::Bytes;

/// What arrives in four seconds.
fn received(link: &str, delay: &str, controller: &str) -> Bytes {
    let mut pair = connect(&config(link, delay, controller));
    pair.send(Side::Client, Load::Endless);
    pair.run_for(Duration::from_secs(4));
    pair.received(Side::Server)
}

/// A burst of the flow's own is no queue, and after each stop of the hosts the rate is back.
#[test]
fn paceline_uses_a_local_network_however_its_hosts_stall() {
    for (delay, rest) in [
        ("50us", "rate 1gbit queue 1000p"),
        ("250us", "rate 100mbit queue 100p"),
        (
            "50us",
            "rate 1gbit queue 1000p radio 1us suspend 100ms every 500ms",
        ),
    ] {
        let link = format!("delay {delay} {rest}");
        let delay = format!("delay {delay}");
        let [plain, ours] = ["bbr3", "paceline"].map(|cc| received(&link, &delay, cc));
        assert!(
            ours.get() * 100 >= plain.get() * 95,
            "{link}: {ours} of {plain}"
        );
    }
}
