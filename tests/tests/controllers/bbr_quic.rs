//! `bbr3` and others in real QUIC endpoints in virtual time: packets of a batch share a stamp,
//! losses come as sums, and nobody tells of packets that arrive late.
//!
//! The rows of `quiche.rs` that are marked Q there are run here by the same names and limits.

use cc_core::Registry;
use core::time::Duration;
use e2e::limit::{Limit, millis};
use e2e::quiche::{
    DECIMATED_LOST, DECIMATED_SRTT, ESTIMATE, LOST, MIN_RTT_OFF, RTT, SHALLOW_LOST, SHARED, SRTT,
    TRANSFER, WIDE_STARTUP, hundredths, off_percent,
};
use e2e::{choose, seed};
use link_sim::sim::LinkId;
use paceline::testing::{ConnectionPlan, Ends, Load, Pair, PairConfig, Side, World};
use paceline::{AckFrequencyConfig, ConnectionStats};
use units::{Bandwidth, Bytes, Timestamp};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const BOTH: [&str; 2] = ["bbr3", "bbr2"];
const ALL: [&str; 3] = ["bbr3", "bbr2", "bbr1"];

/// A connected pair whose client sends under `controller`.
fn pair(controller: &str, link: &str, return_link: &str) -> Pair {
    let mut config = PairConfig {
        link: link.parse().expect("a link"),
        return_link: return_link.parse().expect("a link"),
        is_unencrypted: true,
        seed: seed::choose(1, format_args!("{controller} over `{link}`")),
        ..PairConfig::default()
    };
    let choice = Registry::standard().choose(controller);
    config.client.congestion(choice.expect("a controller"));
    let mut pair = Pair::new(&config).expect("the links have a delay");
    pair.connect(SECOND * 5).expect("the link is up");
    pair
}

/// Megabits per second that an endless stream gets in `time`, handshake left out.
fn goodput(controller: &str, link: &str, return_link: &str, time: Duration) -> u64 {
    let mut pair = pair(controller, link, return_link);
    pair.send(Side::Client, Load::Endless);
    pair.run_for(time);
    let received = pair.received(Side::Server);
    Bandwidth::from_transfer(received, time).bits_per_sec() / 1_000_000
}

#[test]
fn an_ideal_link_is_filled() {
    // A datagram of 1,452 bytes carries 1,418 of a stream: 95 Mbit/s at most.
    for controller in BOTH {
        for (one_way, seconds, least) in [("10ms", 12, 91), ("50ms", 20, 88)] {
            let link = format!("rate 100mbit delay {one_way} queue 4bdp");
            let back = format!("delay {one_way}");
            let rate = goodput(controller, &link, &back, SECOND * seconds);
            assert!(rate >= least, "{controller} {one_way}: {rate}");
        }
    }
}

#[test]
fn one_percent_of_random_loss_leaves_ten_times_what_cubic_gets() {
    let link = "rate 100mbit delay 20ms queue 1bdp loss 1%";
    let bbr = goodput("bbr3", link, "delay 20ms", SECOND * 20);
    let cubic = goodput("cubic", link, "delay 20ms", SECOND * 20);
    assert!(bbr >= 70 && bbr >= cubic * 10, "{bbr} against {cubic}");
}

/// quiche's topology: a link of its own for each sender, and a shared one for all.
struct Shared {
    world: World,
    link: LinkId,
    back: LinkId,
}

impl Shared {
    /// A queue of so many BDPs before the shared link.
    fn new(what: &str, queue: &str) -> Self {
        let mut world = World::new(seed::choose(1, what)).unencrypted();
        let link = format!("rate 4mbit delay 30ms queue {queue}").parse();
        let back = "delay 32ms".parse().expect("a link");
        Self {
            link: world.add_link(&link.expect("a link"), RTT),
            back: world.add_link(&back, RTT),
            world,
        }
    }

    /// A connection whose client sends so many bytes under `controller` from `start` on.
    fn sender(&mut self, controller: &str, start: Duration, bytes: u64, acks: &Acks) -> Ends {
        let own = "rate 10mbit delay 2ms queue 1000p".parse();
        let own = self.world.add_link(&own.expect("a link"), RTT);
        let mut plan = ConnectionPlan {
            there: vec![own, self.link],
            back: vec![self.back],
            start,
            client_load: Some(Load::Bytes(bytes)),
            ..ConnectionPlan::default()
        };
        for end in [&mut plan.client, &mut plan.server] {
            end.initial_mtu(1_350).mtu_discovery_config(None);
        }
        plan.client.congestion(choose(controller));
        plan.client.ack_frequency_config(acks.clone());
        self.world.add_connection(&plan)
    }

    /// When the server of `ends` has so many bytes, since the begin of the run.
    fn completed(&mut self, ends: Ends, bytes: u64) -> Duration {
        let bytes = Bytes::new(bytes);
        let is_done = self
            .world
            .run_until_received(ends.server, bytes, SECOND * 500);
        assert!(is_done, "{}", self.world.received(ends.server));
        self.world.now().since(Timestamp::ZERO)
    }
}

/// How the sender asks its peer to acknowledge.
type Acks = Option<AckFrequencyConfig>;

/// What came of 12 MB.
struct Transfer {
    took: Duration,
    longest_srtt: Duration,
    end: ConnectionStats,
    bandwidth: Bandwidth,
    min_rtt: Duration,
}

impl Transfer {
    fn over(controller: &str, queue: &str, acks: &Acks) -> Self {
        let mut shared = Shared::new(controller, queue);
        let ends = shared.sender(controller, Duration::ZERO, 12_000_000, acks);
        let Shared { world, .. } = &mut shared;
        world
            .run_until_connected(ends, SECOND)
            .expect("the link is up");
        let mut longest_srtt = Duration::ZERO;
        while world.received(ends.server) < Bytes::new(12_000_000) {
            assert!(world.now() < Timestamp::ZERO + SECOND * 60, "{controller}");
            world.run_until_received(ends.server, Bytes::new(12_000_000), MS * 100);
            longest_srtt = longest_srtt.max(world.stats(ends.client).srtt.unwrap_or_default());
        }
        let model = world.congestion(ends.client);
        Self {
            took: world.now().since(Timestamp::ZERO),
            longest_srtt,
            end: world.stats(ends.client),
            bandwidth: model.bandwidth.expect("a sample came"),
            min_rtt: model.min_rtt.expect("a sample came"),
        }
    }

    fn lost_permille(&self) -> u64 {
        (self.end.path.lost_packets * 1_000).div_ceil(self.end.path.sent_packets)
    }
}

#[test]
fn simple_transfer() {
    let lost = [("bbr1", 16, WIDE_STARTUP)];
    let srtt = [("bbr1", 195, WIDE_STARTUP)];
    for controller in ALL {
        let transfer = Transfer::over(controller, "2bdp", &None);
        TRANSFER.check(controller, millis(transfer.took), &[]);
        LOST.check(controller, transfer.end.path.lost_packets, &lost);
        SRTT.check(controller, millis(transfer.longest_srtt), &srtt);
        MIN_RTT_OFF.check(controller, off_percent(transfer.min_rtt), &[]);
    }
}

#[test]
fn queue_of_half_a_bdp() {
    const ESTIMATE_OFF: Limit = Limit::at_most("error of the estimate per 1,000", 20);
    for controller in ALL {
        let transfer = Transfer::over(controller, "0.5bdp", &None);
        TRANSFER.check(controller, millis(transfer.took), &[]);
        SHALLOW_LOST.check(controller, transfer.lost_permille(), &[]);
        let off = transfer.bandwidth.bits_per_sec().abs_diff(ESTIMATE);
        ESTIMATE_OFF.check(controller, (off * 1_000).div_ceil(ESTIMATE), &[]);
    }
}

/// An ACK for ten packets, as the sender asks for (draft-ietf-quic-ack-frequency).
#[test]
fn ack_decimation() {
    let mut acks = AckFrequencyConfig::default();
    acks.ack_eliciting_threshold(9u8.into());
    let acks = Some(acks);
    let lost = [("bbr1", 3, WIDE_STARTUP)];
    for controller in ALL {
        let transfer = Transfer::over(controller, "2bdp", &acks);
        TRANSFER.check(controller, millis(transfer.took), &[]);
        DECIMATED_LOST.check(controller, transfer.lost_permille(), &lost);
        DECIMATED_SRTT.check(controller, millis(transfer.longest_srtt), &[]);
    }
}

/// What so many bytes take alone at the best.
fn alone(bytes: u64) -> Duration {
    Bytes::new(bytes) / Bandwidth::from_bits_per_sec(ESTIMATE)
}

#[test]
fn two_bbr_flows() {
    const BYTES: u64 = 10_000_000;
    let late = alone(BYTES) / 10;
    for controller in ALL {
        let mut shared = Shared::new(controller, "2bdp");
        let ends =
            [Duration::ZERO, late].map(|start| shared.sender(controller, start, BYTES, &None));
        let [first, second] = ends.map(|ends| shared.completed(ends, BYTES));
        SHARED.check(controller, hundredths(first, alone(BYTES)), &[]);
        SHARED.check(controller, hundredths(second - late, alone(BYTES)), &[]);
    }
}

#[test]
fn against_reno_and_cubic() {
    for controller in ALL {
        for (other, bytes) in [("new_reno", 10_000_000), ("cubic", 50_000_000)] {
            let mut shared = Shared::new(controller, "2bdp");
            let [ends, _] = [controller, other]
                .map(|controller| shared.sender(controller, Duration::ZERO, bytes, &None));
            let took = shared.completed(ends, bytes);
            SHARED.check(controller, hundredths(took, alone(bytes)), &[]);
        }
    }
}

#[test]
fn a_running_connection_changes_to_bbr_and_back() {
    let mut pair = pair("cubic", "rate 20mbit delay 20ms queue 2bdp", "delay 20ms");
    pair.send(Side::Client, Load::Endless);
    pair.run_for(SECOND * 3);
    let registry = Registry::standard();
    for name in ["bbr3", "cubic", "bbr2", "bbr3"] {
        let choice = registry.choose(name).unwrap();
        pair.set_congestion(Side::Client, &choice);
        let before = pair.received(Side::Server);
        pair.run_for(SECOND * 5);
        let rate = Bandwidth::from_transfer(pair.received(Side::Server) - before, SECOND * 5);
        assert_eq!(pair.congestion(Side::Client).algorithm, name);
        assert!(
            rate >= Bandwidth::from_bits_per_sec(17_500_000),
            "{name}: {rate}"
        );
    }
}
