//! ECT(1) on real endpoints: `prague` in the low-latency queue, over quinn-proto, which knows
//! nothing of it.

use crate::{choose, seed};
use link_sim::LinkSpec;
use paceline::testing::{ConnectionPlan, Ends, LinkId, Load, World};
use std::time::Duration;
use units::{Bandwidth, Bytes, Gain};

const MS: Duration = Duration::from_millis(1);
const SEC: Duration = Duration::from_secs(1);

/// Connections under these controllers that send all they can over one link.
struct Scene {
    world: World,
    link: LinkId,
    rtt: Duration,
    ends: Vec<Ends>,
}

impl Scene {
    fn new(mbit: u64, rtt: u32, controllers: &[&str]) -> Self {
        let seed = seed::choose(1, format_args!("{controllers:?} at {mbit} Mbit/s"));
        let mut world = World::new(seed).unencrypted();
        let rtt = MS * rtt;
        let link = world.add_link(&spec(mbit, rtt), rtt);
        let back = format!("delay {}us", rtt.as_micros() / 2);
        let back = world.add_link(&back.parse().expect("a link"), rtt);
        let ends = controllers.iter().map(|name| {
            let mut plan = ConnectionPlan {
                there: vec![link],
                back: vec![back],
                client_load: Some(Load::Endless),
                ..ConnectionPlan::default()
            };
            plan.client.congestion(choose(name));
            world.add_connection(&plan)
        });
        let ends = ends.collect();
        Self {
            world,
            link,
            rtt,
            ends,
        }
    }

    fn change_rate(&mut self, mbit: u64) {
        self.world
            .change_link(self.link, &spec(mbit, self.rtt), self.rtt);
    }

    /// What each connection delivers in `time`, per thousand of what the link carries.
    fn shares(&mut self, mbit: u64, time: Duration) -> Vec<u64> {
        let received = |scene: &Self| -> Vec<Bytes> {
            let ends = scene.ends.iter();
            ends.map(|ends| scene.world.received(ends.server)).collect()
        };
        let before = received(self);
        self.world.run_for(time);
        let carried = Bandwidth::from_bits_per_sec(mbit * 1_000_000).bytes_in(time);
        let after = received(self).into_iter();
        after
            .zip(before)
            .map(|(after, before)| (after - before).get() * 1_000 / carried.get())
            .collect()
    }
}

/// Where one packet takes longer than the step threshold of 1 ms, a packet behind one other is not
/// marked (RFC 9332 appendix A.1, `Th_len`). Linux does so with `min_qlen_step 1` only.
fn spec(mbit: u64, rtt: Duration) -> LinkSpec {
    let step = if mbit <= 10 { "min_qlen_step 1" } else { "" };
    let text = format!(
        "rate {mbit}mbit delay {}us aqm dualpi2 {step}",
        rtt.as_micros() / 2
    );
    text.parse().expect("a link")
}

#[test]
fn the_low_latency_queue_is_short_and_the_link_full() {
    for (mbit, rtt) in [(10, 20), (100, 20), (100, 50)] {
        let mut scene = Scene::new(mbit, rtt, &["prague"]);
        scene.world.run_for(SEC * 15);
        let early = scene.world.link_stats(scene.link).clone();
        let share = scene.shares(mbit, SEC * 15)[0];
        let stats = scene.world.link_stats(scene.link).since(&early);
        let p99 = stats.queue_delay.quantile(Gain::percent(99));
        let ends = scene.ends[0];
        let (sender, receiver) = (
            scene.world.stats(ends.client),
            scene.world.stats(ends.server),
        );
        assert!(p99 <= MS * 2, "{mbit} Mbit/s, {rtt} ms: p99 {p99:?}");
        assert!(share >= 900, "{mbit} Mbit/s, {rtt} ms: {share}");
        assert_eq!(stats.dropped.total().packets, 0);
        assert!(
            sender.ecn.sent_ect1 > 100 * sender.ecn.sent_ect0,
            "{:?}",
            sender.ecn
        );
        assert!(receiver.ecn.received_ce > 0);
        // Some are on their way.
        let marked = sender.ecn.ce_marked;
        assert!(
            (receiver.ecn.received_ce * 9 / 10..=receiver.ecn.received_ce).contains(&marked),
            "{marked} of {}",
            receiver.ecn.received_ce
        );
    }
}

#[test]
fn beside_cubic_in_the_classic_queue_both_have_about_half() {
    for (mbit, rtt) in [(10, 20), (10, 50), (40, 20), (100, 20)] {
        let mut scene = Scene::new(mbit, rtt, &["prague", "cubic"]);
        scene.world.run_for(SEC * 10);
        let shares = scene.shares(mbit, SEC * 40);
        let sum: u64 = shares.iter().sum();
        for (share, name) in shares.iter().zip(["prague", "cubic"]) {
            let percent = share * 100 / sum;
            assert!(
                (35..=65).contains(&percent),
                "{mbit} Mbit/s, {name}: {percent} % ({shares:?})"
            );
        }
        assert!(sum >= 900, "{shares:?}");
    }
}

#[test]
fn a_rate_that_falls_and_rises_loses_nothing() {
    let mut scene = Scene::new(10, 20, &["prague"]);
    scene.world.run_for(SEC * 10);
    scene.change_rate(2);
    scene.world.run_for(SEC * 10);
    let slow = scene.shares(2, SEC * 5)[0];
    scene.change_rate(10);
    scene.world.run_for(SEC * 10);
    let fast = scene.shares(10, SEC * 5)[0];
    let stats = scene.world.stats(scene.ends[0].client);
    assert_eq!((stats.path.lost_packets, stats.spurious_losses), (0, 0));
    // At 2 Mbit/s one packet is a queue of 6 ms, and marked.
    assert!(slow >= 800 && fast >= 900, "{slow}, {fast}");
}
