//! Paths that have lost nearly everything for minutes, and then lose nothing.

use crate::plan_over;
use e2e::{choose, seed};
use paceline::testing::{Ends, Load, World};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use units::{Rng, Timestamp};

const RTT: Duration = Duration::from_millis(50);

struct Blackout {
    world: World,
    ends: Ends,
    is_dark: Rc<Cell<bool>>,
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
        let is_dark = Rc::<Cell<bool>>::default();
        for end in [ends.client, ends.server] {
            let (is_dark, mut rng) = (Rc::clone(&is_dark), Rng::new(seed));
            world.tamper(end, move |datagram| {
                let is_lost = is_dark.get() && rng.below(100) < 95;
                if is_lost { Vec::new() } else { vec![datagram] }
            });
        }
        Self {
            world,
            ends,
            is_dark,
        }
    }

    /// 95 % of loss in both directions for four minutes; how long nothing is acknowledged then.
    fn live_through(&mut self) -> Duration {
        self.world.run_for(Duration::from_secs(10));
        self.is_dark.set(true);
        self.world.run_for(Duration::from_secs(240));
        self.is_dark.set(false);
        let (healed, delivered) = (self.world.now(), self.delivered());
        while self.delivered() == delivered {
            self.world.run_for(Duration::from_millis(1));
        }
        self.world.now().since(healed)
    }

    fn delivered(&self) -> u64 {
        self.world.stats(self.ends.client).delivered.get()
    }
}

#[test]
fn explore() {
    for cc in ["cubic", "new_reno", "bbr1", "bbr3", "paceline", "copa"] {
        for most in [None, Some(Duration::from_secs(1))] {
            for seed in 1..4 {
                let mut path = Blackout::new(cc, seed, most);
                let silence = path.live_through();
                let mut rates = Vec::new();
                for _ in 0..12 {
                    let before = path.delivered();
                    path.world.run_for(RTT);
                    rates.push((path.delivered() - before) * 8 / 50_000);
                }
                println!("{cc} {most:?} {seed}: {silence:?} {rates:?}");
            }
        }
    }
    let _ = Timestamp::ZERO;
}
