//! Whatever networks and peers do to real endpoints, in virtual time: what arrives is what was
//! sent (the simulated application compares every byte), connections go on or end cleanly, and
//! neither time nor memory is without bound.

mod acks;
mod amplification;
mod forged;
mod handshake;
mod hoarding;
mod moving;
mod mtu;
mod requests;
mod silence;

use e2e::{choose, seed};
use link_sim::LinkSpec;
use paceline::TransportConfig;
use paceline::testing::{ConnectionPlan, EndId, Ends, LinkId, Load, World};
use std::time::Duration;
use units::Bytes;

/// One connection in a world of its own.
struct Scene {
    world: World,
    ends: Ends,
    there: LinkId,
    back: LinkId,
}

impl Scene {
    /// Two ends that are about to connect; `plan` needs no links.
    fn new(world: World, link: &str, return_link: &str, plan: &ConnectionPlan) -> Self {
        let mut world = world;
        let links = world.add_links(&spec(link), &spec(return_link));
        let (there, back) = links.expect("links with a delay");
        let ends = world.add_connection(&ConnectionPlan {
            there: vec![there],
            back: vec![back],
            ..plan.clone()
        });
        Self {
            world,
            ends,
            there,
            back,
        }
    }

    /// Two connected ends under the same controller.
    fn connected(link: &str, return_link: &str, cc: &str) -> Self {
        let what = format_args!("{cc} over `{link}` and `{return_link}`");
        let world = World::new(seed::choose(1, what));
        let plan = both(&transport(cc));
        Self::new(world, link, return_link, &plan).connect()
    }

    /// Two connected ends whose packets anybody may write.
    fn readable() -> Self {
        let mut config = transport("cubic");
        // Probes have PING frames of their own.
        config.mtu_discovery_config(None);
        Self::readable_with(&config)
    }

    /// Two connected ends with this transport whose packets anybody may write.
    fn readable_with(config: &TransportConfig) -> Self {
        Self::unconnected(config).connect()
    }

    /// Two ends that are about to connect, and whose packets anybody may write.
    fn unconnected(config: &TransportConfig) -> Self {
        let world = World::new(seed::choose(1, "unencrypted")).unencrypted();
        Self::new(world, LINK, LINK, &both(config))
    }

    fn connect(mut self) -> Self {
        let limit = Duration::from_secs(30);
        let connected = self.world.run_until_connected(self.ends, limit);
        connected.expect("a handshake");
        self
    }

    /// Makes both links others.
    fn relink(&mut self, link: &str, return_link: &str) {
        for (id, text) in [(self.there, link), (self.back, return_link)] {
            self.world.change_link(id, &spec(text), RTT);
        }
    }

    /// Whether `end` has got `bytes` before `limit` is over.
    fn receives(&mut self, end: EndId, bytes: u64, limit: Duration) -> bool {
        let bytes = Bytes::new(bytes);
        self.world.run_until_received(end, bytes, limit)
    }

    /// The connection still works: another stream in each direction arrives.
    #[track_caller]
    fn assert_alive(&mut self) {
        // A lost last packet waits for probes and their acknowledgements, which may be lost, too.
        let limit = Duration::from_secs(40);
        for (from, to) in [
            (self.ends.client, self.ends.server),
            (self.ends.server, self.ends.client),
        ] {
            let goal = self.world.received(to).get() + 10_000;
            self.world.send(from, Load::Bytes(10_000));
            assert!(self.receives(to, goal, limit), "{:?}", self.errors());
        }
    }

    fn errors(&self) -> [Option<String>; 2] {
        let error = |end| self.world.error(end).map(ToString::to_string);
        [error(self.ends.client), error(self.ends.server)]
    }

    /// The time in milliseconds since the world began.
    fn millis(&self) -> u64 {
        self.world.now().as_nanos() / 1_000_000
    }
}

fn spec(text: &str) -> LinkSpec {
    text.parse().expect("a link")
}

fn transport(cc: &str) -> TransportConfig {
    let mut config = TransportConfig::default();
    config.congestion(choose(cc));
    config
}

/// A plan in which both ends have this transport.
fn both(transport: &TransportConfig) -> ConnectionPlan {
    ConnectionPlan {
        client: transport.clone(),
        server: transport.clone(),
        ..ConnectionPlan::default()
    }
}

/// 50 Mbit/s; 40 ms there and back.
const LINK: &str = "delay 20ms rate 50mbit queue 1bdp";
const RTT: Duration = Duration::from_millis(40);
const DEAD: &str = "delay 20ms rate 50mbit loss 100%";
