//! `bbr3`, `cubic` and `paceline` in real QUIC endpoints and in the small transport, in the same
//! situations: those of `situations.rs`, and a shallow and a deep queue.
//!
//! `docs/testing.md` has the figures, and what of the differences is allowed for.

use core::time::Duration;
use e2e::seed;
use e2e::sim::{Flow, Scenario};
use paceline::testing::{ConnectionPlan, Ends, LinkId, Load, World};
use units::{Bandwidth, Bytes, Timestamp};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const IDEAL: &str = "rate 20mbit delay 50ms queue 1bdp";

/// What happens on a path, and what of it is compared.
#[derive(Debug, Clone, Copy)]
struct Situation {
    link: &'static str,
    return_link: &'static str,
    /// What the link becomes, and when.
    changes: &'static [(u32, &'static str)],
    /// For three seconds a quarter of 20 Mbit/s is written, then nothing for one.
    is_application_limited: bool,
    is_ecn: bool,
    /// What arrives in this time, in seconds, is compared.
    seconds: [u32; 2],
    /// Runs whose mean is compared.
    seeds: u64,
}

const STANDARD: Situation = Situation {
    link: IDEAL,
    return_link: "delay 50ms",
    changes: &[],
    is_application_limited: false,
    is_ecn: false,
    seconds: [0, 8],
    seeds: 1,
};

impl Situation {
    /// Bytes of the application's data that arrive in the small transport.
    fn small(&self, cc: &str, seed: u64) -> Bytes {
        let mut flow = Flow::of(cc).mss(MTU);
        if self.is_ecn {
            flow = flow.ecn();
        }
        if self.is_application_limited {
            flow = flow.rate(QUARTER, SECOND * 3).pause(SECOND);
            flow = flow.backlogged_for(SECOND * self.seconds[1]);
        }
        let mut scenario = Scenario::new(self.link)
            .return_link(self.return_link)
            .seed(seed);
        for (at, link) in self.changes {
            scenario = scenario.change_link(SECOND * *at, link);
        }
        let [from, to] = self.seconds.map(|time| SECOND * time);
        let outcome = scenario.flow(flow).sample_every(MS * 100).run_for(to);
        let flow = outcome.flow(0);
        let before = flow.points.iter().rev();
        let mut before = before.filter(|point| point.at <= Timestamp::ZERO + from);
        flow.delivered - before.next().map_or(Bytes::ZERO, |point| point.delivered)
    }

    /// The same over quinn-proto, from the end of the handshake on.
    fn real(&self, cc: &str, seed: u64) -> Bytes {
        let seed = seed::choose(seed, format_args!("{cc} in {self:?}"));
        let mut run = Run::new(self, cc, seed);
        let [from, to] = self.seconds.map(|time| SECOND * time);
        let start = run.world.now();
        if self.is_application_limited {
            for _ in 0..3_000 {
                run.send(Load::Bytes((QUARTER * MS).get()));
                run.world.run_for(MS);
            }
            run.world.run_for(SECOND);
        }
        run.send(Load::Endless);
        let mut before = Bytes::ZERO;
        let changes = self
            .changes
            .iter()
            .map(|(at, link)| (SECOND * *at, Some(link)));
        let mut steps: Vec<_> = changes.chain([(from, None), (to, None)]).collect();
        steps.sort_by_key(|(at, _)| *at);
        for (at, link) in steps {
            let elapsed = run.world.now().since(start);
            run.world.run_for(at - elapsed);
            if let Some(link) = link {
                let spec = link.parse().expect("a link");
                run.world.change_link(run.link, &spec, MS * 100);
            } else if at == from {
                before = run.world.received(run.ends.server);
            }
        }
        run.world.received(run.ends.server) - before
    }

    fn mean(&self, run: impl Fn(u64) -> Bytes) -> u64 {
        let sum: u64 = (1..=self.seeds).map(|seed| run(seed).get()).sum();
        sum / self.seeds
    }

    fn assert_agreement(&self) {
        for cc in ["bbr3", "cubic", "paceline"] {
            let small = self.mean(|seed| self.small(cc, seed)) * PAYLOAD / MTU;
            let real = self.mean(|seed| self.real(cc, seed));
            let off = real.abs_diff(small) * 1_000 / small;
            assert!(off <= 30, "{cc}: {real} bytes and {small}, {off} of 1,000");
        }
    }
}

/// A connection over quinn-proto that is past its handshake.
struct Run {
    world: World,
    link: LinkId,
    ends: Ends,
}

impl Run {
    fn new(situation: &Situation, cc: &str, seed: u64) -> Self {
        let mut world = World::new(seed).unencrypted();
        let [there, back] = [situation.link, situation.return_link].map(|link| link.parse());
        let (there, back) = (there.expect("a link"), back.expect("a link"));
        let (link, back) = world.add_links(&there, &back).expect("links with a delay");
        let mut plan = ConnectionPlan {
            there: vec![link],
            back: vec![back],
            ..ConnectionPlan::default()
        };
        for end in [&mut plan.client, &mut plan.server] {
            end.initial_mtu(MTU as u16).mtu_discovery_config(None);
            end.max_concurrent_uni_streams(10_000u32.into());
            end.send_window(WINDOW)
                .receive_window((WINDOW as u32).into());
        }
        plan.client.congestion(e2e::choose(cc));
        let ends = world.add_connection(&plan);
        let connected = world.run_until_connected(ends, SECOND * 5);
        connected.expect("a handshake");
        Self { world, link, ends }
    }

    fn send(&mut self, load: Load) {
        self.world.send(self.ends.client, load);
    }
}

/// Of flow control, which the small transport does without.
const WINDOW: u64 = 1 << 24;

const QUARTER: Bandwidth = Bandwidth::from_bits_per_sec(5_000_000);

/// UDP payload of a packet, and what a full one carries of a stream.
const MTU: u64 = 1_452;
const PAYLOAD: u64 = 1_418;

#[test]
fn start() {
    STANDARD.assert_agreement();
}

#[test]
fn losses() {
    Situation {
        link: "rate 20mbit delay 50ms queue 1bdp loss packets 300,8000-8019",
        ..STANDARD
    }
    .assert_agreement();
}

#[test]
fn application() {
    Situation {
        is_application_limited: true,
        seconds: [4, 8],
        ..STANDARD
    }
    .assert_agreement();
}

#[test]
fn marks() {
    Situation {
        link: "rate 20mbit delay 10ms aqm dualpi2",
        return_link: "delay 10ms",
        is_ecn: true,
        seeds: 3,
        ..STANDARD
    }
    .assert_agreement();
}

#[test]
fn random_loss() {
    Situation {
        link: "rate 20mbit delay 50ms queue 1bdp loss 1%",
        seeds: 20,
        ..STANDARD
    }
    .assert_agreement();
}

#[test]
fn rate_drop() {
    Situation {
        changes: &[(3, "rate 5mbit delay 50ms queue 250kb"), (6, IDEAL)],
        ..STANDARD
    }
    .assert_agreement();
}

#[test]
fn shallow_queue() {
    Situation {
        link: "rate 20mbit delay 50ms queue 0.25bdp",
        ..STANDARD
    }
    .assert_agreement();
}

#[test]
fn deep_queue() {
    Situation {
        link: "rate 20mbit delay 50ms queue 4bdp",
        ..STANDARD
    }
    .assert_agreement();
}
