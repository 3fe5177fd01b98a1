//! Real QUIC endpoints in virtual time: what congestion control decides is what leaves, whatever
//! the network and the peer do.
//!
//! Nothing here reads a clock, so these tests may share their processors with anything.

mod ack_frequency;
mod adversity;
mod any_payload;
mod any_peer;
mod anything;
mod blackout;
mod chaos;
mod conformance;
mod examples;
mod facts;
mod giving_up;
mod habits;
mod kernel_pacing;
mod key_update;
mod l4s;
mod limits;
mod live;
mod local_network;
mod migration;
mod qlog;
mod recovery;
mod remembered_limits;
mod reordering;
mod resume;
mod rtt;
mod seam;
mod simulator;
mod stats;
mod switching;
mod turns;
mod undo;
mod window;
mod windows;

use e2e::memory::Counting;
use e2e::{choose, seed};
use paceline::testing::{ConnectionPlan, Pair, PairConfig, Side, World};
use std::time::Duration;
use units::Bandwidth;

/// For `adversity` and `any_peer`, which bound what a thread may hold.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A connected pair whose two ends use controller `cc`.
fn connected(link: &str, return_link: &str, cc: &str) -> Pair {
    connect(&config(link, return_link, cc))
}

fn config(link: &str, return_link: &str, cc: &str) -> PairConfig {
    let mut config = PairConfig {
        link: link.parse().expect("a link"),
        return_link: return_link.parse().expect("a link"),
        seed: seed::choose(1, format_args!("{cc} over `{link}` and `{return_link}`")),
        ..PairConfig::default()
    };
    config.client.congestion(choose(cc));
    config.server.congestion(choose(cc));
    config
}

fn connect(config: &PairConfig) -> Pair {
    let mut pair = Pair::new(config).expect("links with a delay");
    pair.connect(Duration::from_secs(30)).expect("a handshake");
    pair
}

/// A connection over such a link in each direction.
fn plan_over(world: &mut World, link: &str) -> ConnectionPlan {
    let link = link.parse().expect("a link");
    let (there, back) = world.add_links(&link, &link).expect("links with a delay");
    ConnectionPlan {
        there: vec![there],
        back: vec![back],
        ..ConnectionPlan::default()
    }
}

/// The rate at which UDP payload left `side` while `pair` runs for `time`.
fn send_rate(pair: &mut Pair, side: Side, time: Duration) -> Bandwidth {
    let before = pair.stats(side).udp_tx.bytes;
    pair.run_for(time);
    let sent = pair.stats(side).udp_tx.bytes - before;
    Bandwidth::from_transfer(units::Bytes::new(sent), time)
}

/// `share` percent of `rate`.
fn percent(rate: Bandwidth, share: u64) -> Bandwidth {
    Bandwidth::from_bytes_per_sec(rate.bytes_per_sec() * share / 100)
}
