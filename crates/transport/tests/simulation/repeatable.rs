//! The same seed is the same run, to the packet and the nanosecond.

use crate::support::{address, configs, connect, receive_for, send_endlessly, simulation};
use paceline::Endpoint;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// What two clients see of a bad link that they share, in one line each 100 ms.
fn trace(seed: u64, controller: &str) -> Vec<String> {
    let link = "delay 20ms 4ms loss 1% rate 20mbit queue 1bdp";
    simulation(seed, link).shared().run(async {
        let (server, client) = configs(controller);
        let server = Endpoint::server(server, address("10.0.0.1:443")).unwrap();
        tokio::spawn(send_endlessly(server));
        let begun = Instant::now();
        let first = connect(client.clone(), "0.0.0.0:0", address("10.0.0.1:443")).await;
        let watched = first.clone();
        let watch = tokio::spawn(async move {
            let mut lines = Vec::new();
            for _ in 0..30 {
                sleep(Duration::from_millis(100)).await;
                let (at, stats) = (begun.elapsed(), watched.stats());
                lines.push(format!(
                    "{at:?} {} {:?}",
                    stats.udp_rx.datagrams, stats.path.rtt
                ));
            }
            lines
        });
        let second = connect(client, "0.0.0.0:0", address("10.0.0.1:443")).await;
        let third = tokio::spawn(async move { receive_for(&second, Duration::from_secs(3)).await });
        let received = receive_for(&first, Duration::from_secs(3)).await;
        let mut lines = watch.await.unwrap();
        lines.push(format!("{received} {}", third.await.unwrap()));
        lines
    })
}

#[test]
fn the_same_seed_gives_the_same_packets_on_every_thread() {
    for controller in ["cubic", "bbr3", "paceline"] {
        let first = trace(1, controller);
        assert_eq!(first, trace(1, controller), "{controller}");
        let elsewhere = std::thread::spawn(move || trace(1, controller));
        assert_eq!(first, elsewhere.join().unwrap(), "{controller}");
        assert_ne!(first, trace(2, controller), "{controller}");
    }
}
