//! Packets that were late, not lost: a controller takes back what it concluded from their loss.

use e2e::{choose, seed};
use paceline::testing::{ConnectionPlan, Ends, LinkId, Load, World};
use std::time::Duration;
use units::Bytes;

/// Without a queue.
const RTT: Duration = Duration::from_millis(40);
/// Time in which the late packets leave the bottleneck: at 10 Mbit/s, 12 of them.
const BURST: Duration = Duration::from_millis(15);
/// How much later than others they arrive. By then fewer than 128 others have passed them, which is
/// how far back quinn-proto's receiver can tell a late packet from a duplicate.
const LATENESS: Duration = Duration::from_millis(60);

const MS: Duration = Duration::from_millis(1);

/// What may be in flight.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    cwnd: Bytes,
    /// Of BBR: whether it has learned bounds from loss.
    has_learned: bool,
}

/// Around the burst: when it began, at the worst, and a round trip after the late packets'
/// acknowledgement.
#[derive(Debug)]
struct Undo {
    before: Bounds,
    least: Bytes,
    after: Bounds,
    lost: u64,
    spurious: u64,
}

struct Transfer {
    world: World,
    ends: Ends,
    /// Behind the bottleneck, for this connection alone.
    delay: LinkId,
}

impl Transfer {
    /// Of `cc`, with one of CUBIC on the same bottleneck if `has_competitor`.
    fn new(cc: &str, has_competitor: bool) -> Self {
        let mut world = World::new(seed::choose(1, format_args!("late for {cc}"))).unencrypted();
        let mut link = |text: &str| world.add_link(&text.parse().expect("a link"), RTT);
        let bottleneck = link("rate 10mbit queue 2bdp");
        let (delay, others_delay, back) =
            (link("delay 20ms"), link("delay 20ms"), link("delay 20ms"));
        let plan = |cc: &str, delay| {
            let mut plan = ConnectionPlan {
                there: vec![bottleneck, delay],
                back: vec![back],
                client_load: Some(Load::Endless),
                ..ConnectionPlan::default()
            };
            plan.client.congestion(choose(cc));
            plan
        };
        let ends = world.add_connection(&plan(cc, delay));
        if has_competitor {
            world.add_connection(&plan("cubic", others_delay));
        }
        Self { world, ends, delay }
    }

    /// Runs for `time`, and on until the controller is in `state`.
    fn run_until_in(&mut self, time: Duration, state: &str) {
        self.world.run_for(time);
        for _ in 0..10_000 {
            if self.world.congestion(self.ends.client).state == state {
                return;
            }
            self.world.run_for(MS);
        }
        panic!("never in {state}");
    }

    fn bounds(&self) -> Bounds {
        let snapshot = self.world.congestion(self.ends.client);
        let bounds = snapshot.inflight_shortterm.or(snapshot.inflight_longterm);
        Bounds {
            cwnd: snapshot.control.cwnd,
            has_learned: bounds.is_some(),
        }
    }

    /// Has what leaves the bottleneck in the next 15 ms arrive 60 ms late, once.
    fn delay_burst(&mut self) -> Undo {
        let losses = |transfer: &Self| {
            let stats = transfer.world.stats(transfer.ends.client);
            (stats.path.lost_packets, stats.spurious_losses)
        };
        let (before, losses_before) = (self.bounds(), losses(self));
        let srtt = self.world.stats(self.ends.client).srtt.expect("a sample");
        self.set_delay(RTT / 2 + LATENESS);
        self.world.run_for(BURST);
        self.set_delay(RTT / 2);
        let mut least = before.cwnd;
        let time = LATENESS + RTT + srtt;
        for _ in 0..time.as_millis() {
            self.world.run_for(MS);
            least = least.min(self.bounds().cwnd);
        }
        let losses_after = losses(self);
        Undo {
            before,
            least,
            after: self.bounds(),
            lost: losses_after.0 - losses_before.0,
            spurious: losses_after.1 - losses_before.1,
        }
    }

    fn set_delay(&mut self, delay: Duration) {
        let link = format!("delay {}ms", delay.as_millis());
        let link = link.parse().expect("a link");
        self.world.change_link(self.delay, &link, RTT);
    }
}

/// Copa reacts to losses only beside a flow that fills the queue.
#[test]
fn what_a_late_burst_took_from_the_window_is_back_within_a_round_trip() {
    const SECOND: Duration = Duration::from_secs(1);
    for (cc, has_competitor, after, state) in [
        ("new_reno", false, 2 * SECOND, "CongestionAvoidance"),
        ("cubic", false, 2 * SECOND, "CongestionAvoidance"),
        ("prague", false, 2 * SECOND, "CongestionAvoidance"),
        ("ledbat_pp", false, 2 * SECOND, "CongestionAvoidance"),
        ("bbr3", false, 2 * SECOND, "ProbeBW_UP"),
        ("bbr3", false, 2 * SECOND, "ProbeBW_CRUISE"),
        ("copa", true, 9 * SECOND, "Competitive"),
    ] {
        let mut transfer = Transfer::new(cc, has_competitor);
        transfer.run_until_in(after, state);
        let undo = transfer.delay_burst();
        let what = format!("{cc} in {state}: {undo:?}");
        // With another seed nothing may leave in time, or BBR's round trip end too late.
        let has_fallen = undo.least.get() * 100 < undo.before.cwnd.get() * 90;
        assert!(has_fallen || seed::is_overridden(), "{what}");
        assert_eq!(undo.spurious, undo.lost, "{what}");
        assert!(undo.after.cwnd >= undo.before.cwnd, "{what}");
        assert_eq!(undo.after.has_learned, undo.before.has_learned, "{what}");
    }
}
