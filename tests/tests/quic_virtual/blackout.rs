//! Paths that have lost nearly everything for minutes, and then lose nothing.

use crate::plan_over;
use e2e::{choose, seed};
use paceline::testing::{Ends, Load, World};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use units::Rng;

const RTT: Duration = Duration::from_millis(50);

struct Blackout {
    world: World,
    ends: Ends,
    /// Percent of the packets, in both directions.
    loss: Rc<Cell<u64>>,
}

impl Blackout {
    /// A client that sends as fast as it may, over 20 Mbit/s.
    fn new(cc: &str, seed: u64, max_probe_interval: Option<Duration>) -> Self {
        let mut world =
            World::new(seed::choose(seed, format_args!("{cc} in the dark"))).unencrypted();
        let mut plan = plan_over(&mut world, "delay 25ms rate 20mbit queue 1bdp");
        for config in [&mut plan.client, &mut plan.server] {
            config.congestion(choose(cc));
            config.max_idle_timeout(None);
            config.max_probe_interval(max_probe_interval);
        }
        plan.client_load = Some(Load::Endless);
        let ends = world.add_connection(&plan);
        let loss = Rc::<Cell<u64>>::default();
        for end in [ends.client, ends.server] {
            let (loss, mut rng) = (Rc::clone(&loss), Rng::new(seed));
            world.tamper(end, move |datagram| {
                let is_lost = rng.below(100) < loss.get();
                if is_lost { Vec::new() } else { vec![datagram] }
            });
        }
        Self { world, ends, loss }
    }

    /// 95 % of loss in both directions for four minutes; how long nothing is acknowledged then.
    fn live_through(&mut self) -> Duration {
        self.world.run_for(Duration::from_secs(10));
        self.loss.set(95);
        self.world.run_for(Duration::from_secs(240));
        self.loss.set(0);
        let (healed, delivered) = (self.world.now(), self.delivered());
        while self.delivered() == delivered {
            self.world.run_for(Duration::from_millis(1));
        }
        self.world.now().since(healed)
    }

    fn sent(&self) -> u64 {
        self.world.stats(self.ends.client).udp_tx.datagrams
    }

    fn delivered(&self) -> u64 {
        self.world.stats(self.ends.client).delivered.get()
    }
}

#[test]
fn a_path_that_has_healed_is_in_use_again_after_the_probe_interval() {
    for cc in ["cubic", "new_reno", "bbr1", "bbr3", "paceline", "copa"] {
        for seed in 1..=3 {
            let mut path = Blackout::new(cc, seed, Some(INTERVAL));
            let silence = path.live_through();
            // Without a bound it was 177 s at most.
            assert!(silence <= INTERVAL + RTT * 2, "{cc}, {seed}: {silence:?}");
        }
    }
}

#[test]
fn probes_into_a_dead_path_cost_what_the_option_says() {
    for (interval, least, most) in [
        (Some(INTERVAL), 58, 62),
        (Some(INTERVAL * 10), 5, 7),
        // By then the next probe timeout is minutes away (RFC 9002 §6.2.1).
        (None, 0, 2),
    ] {
        let mut path = Blackout::new("cubic", 1, interval);
        path.world.run_for(Duration::from_secs(5));
        path.loss.set(100);
        path.world.run_for(Duration::from_secs(60));
        let before = path.sent();
        path.world.run_for(Duration::from_secs(60));
        let sent = path.sent() - before;
        assert!(
            (least..=most).contains(&sent),
            "{interval:?}: {sent} packets in a minute"
        );
    }
}

#[test]
fn the_interval_changes_nothing_where_acknowledgements_come() {
    let sent = |interval| {
        let mut path = Blackout::new("cubic", 1, interval);
        path.world.run_for(Duration::from_secs(20));
        (path.sent(), path.delivered())
    };
    assert_eq!(sent(Some(INTERVAL)), sent(None));
}

const INTERVAL: Duration = Duration::from_secs(1);
