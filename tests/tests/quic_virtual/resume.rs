//! Careful Resume (RFC 9959) on real endpoints: downloads over a geostationary satellite.

use crate::percent;
use cc_core::{Event, Observer, ResumePhase, ResumePhaseChange, ResumeTrigger, SavedPath};
use e2e::{choose, seed};
use paceline::testing::{ConnectionPlan, Load, Pair, PairConfig, Side, World};
use paceline::{PathMemory, PathStore, TransportConfig};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use units::{Bandwidth, Bytes, Timestamp};

const RTT: Duration = Duration::from_millis(600);
const RATE: Bandwidth = Bandwidth::from_bits_per_sec(250_000_000);
const BDP: Bytes = Bytes::new(18_750_000);
const LINK: &str = "rate 250mbit delay 300ms queue 1bdp";
const CONTROLLERS: [&str; 3] = ["cubic", "bbr3", "paceline"];

/// What both ends know of the path.
#[derive(Debug, Clone, Copy, Default)]
struct Memories {
    client: Option<PathMemory>,
    server: Option<PathMemory>,
}

impl Memories {
    const NONE: Self = Self {
        client: None,
        server: None,
    };

    /// What a download of 20 seconds leaves behind.
    fn of(controller: &str) -> Self {
        let mut download = Download::new(controller, &Self::NONE, LINK);
        download.run_until(Duration::from_secs(20));
        download.memories()
    }

    /// What somebody says, with a window that is never in the way.
    fn told(capacity: Bytes, min_rtt: Duration) -> Self {
        let peer = IpAddr::from([192, 0, 2, 1]);
        let memory = PathMemory::new(SavedPath { capacity, min_rtt }, peer);
        let mut bytes = memory.to_bytes();
        bytes[1] = 3;
        bytes[33..41].copy_from_slice(&(128_u64 << 20).to_be_bytes());
        Self {
            client: Some(PathMemory::from_bytes(&bytes).expect("one with a window")),
            server: Some(memory),
        }
    }

    fn path(&self) -> SavedPath {
        let memory = self.server.expect("it has sent a lot");
        memory.saved_path().expect("it has sent a lot")
    }
}

/// A client that downloads without end.
struct Download {
    pair: Pair,
    began_at: Timestamp,
    changes: Receiver<ResumePhaseChange>,
}

struct Phases(Sender<ResumePhaseChange>);

impl Observer for Phases {
    fn on_event(&mut self, event: &Event) {
        if let Event::ResumePhaseChanged(change) = event {
            let _ = self.0.send(*change);
        }
    }
}

impl Download {
    fn new(controller: &str, memories: &Memories, link: &str) -> Self {
        Self::under(controller, memories, link, |_| {})
    }

    fn under(
        controller: &str,
        memories: &Memories,
        link: &str,
        configure: impl FnOnce(&mut TransportConfig),
    ) -> Self {
        Self::both(
            controller,
            memories,
            link,
            "delay 300ms limit 100000",
            configure,
        )
    }

    /// `back` is the client's link to the server.
    fn both(
        controller: &str,
        memories: &Memories,
        link: &str,
        back: &str,
        configure: impl FnOnce(&mut TransportConfig),
    ) -> Self {
        Self::seeded(1, controller, memories, link, back, configure)
    }

    fn seeded(
        seed: u64,
        controller: &str,
        memories: &Memories,
        link: &str,
        back: &str,
        configure: impl FnOnce(&mut TransportConfig),
    ) -> Self {
        let mut config = PairConfig {
            link: back.parse().expect("a link"),
            return_link: link.parse().expect("a link"),
            is_unencrypted: true,
            seed: seed::choose(seed, format_args!("{controller} over `{link}`")),
            ..PairConfig::default()
        };
        config.client.path_memory(memories.client);
        config.server.congestion(choose(controller));
        config.server.path_memory(memories.server);
        configure(&mut config.server);
        let mut pair = crate::connect(&config);
        let (sender, changes) = channel();
        pair.set_observer(Side::Server, Box::new(Phases(sender)));
        pair.send(Side::Server, Load::Endless);
        Self {
            began_at: pair.now(),
            pair,
            changes,
        }
    }

    /// When the phase begins, which it does before `limit`.
    fn enters(&mut self, phase: ResumePhase, limit: Duration) -> ResumePhaseChange {
        loop {
            let found = self.changes.try_iter().find(|change| change.to == phase);
            if let Some(change) = found {
                return change;
            }
            let elapsed = self.pair.now().since(self.began_at);
            assert!(elapsed < limit, "no {phase} in {elapsed:?}");
            self.pair.run_for(Duration::from_millis(1));
        }
    }

    /// The rate at which the client gets what leaves in the round trip from `start` on.
    fn rate_from(&mut self, start: Duration) -> Bandwidth {
        self.run_until(start + RTT / 2);
        let before = self.received();
        self.run_until(start + RTT * 3 / 2);
        Bandwidth::from_transfer(self.received() - before, RTT)
    }

    /// When the client has got `bytes`.
    fn time_for(&mut self, bytes: Bytes) -> Duration {
        let limit = Duration::from_secs(60);
        assert!(self.pair.run_until_received(Side::Client, bytes, limit));
        self.pair.now().since(self.began_at)
    }

    fn run_until(&mut self, time: Duration) {
        let rest = (self.began_at + time).since(self.pair.now());
        self.pair.run_for(rest);
    }

    fn received(&self) -> Bytes {
        self.pair.received(Side::Client)
    }

    fn memories(&self) -> Memories {
        Memories {
            client: self.pair.path_memory(Side::Client),
            server: self.pair.path_memory(Side::Server),
        }
    }

    fn phases(&self) -> Vec<(ResumePhase, ResumeTrigger)> {
        let changes = self.changes.try_iter();
        changes.map(|change| (change.to, change.trigger)).collect()
    }

    fn cwnd(&self) -> Bytes {
        self.pair.stats(Side::Server).cwnd
    }
}

#[test]
fn a_satellite_is_half_full_in_the_second_round_trip() {
    for controller in CONTROLLERS {
        let memories = Memories::of(controller);
        let saved = memories.path();
        let is_near = saved.capacity >= BDP * 9 / 10 && saved.capacity <= BDP * 11 / 10;
        assert!(is_near, "{controller}: {saved:?}");
        assert!(saved.min_rtt >= RTT && saved.min_rtt < RTT * 101 / 100);

        // The first round trip is over when the initial window is acknowledged, of which some is
        // paced.
        let mut seeded = Download::new(controller, &memories, LINK);
        let jump = seeded.enters(ResumePhase::Unvalidated, RTT * 3 / 2);
        let rate = seeded.rate_from(jump.at.since(seeded.began_at));
        // Half of what was saved, less headers, and so half of the rate that there was.
        let half = Bandwidth::from_transfer(saved.capacity / 2, RTT);
        assert!(rate >= percent(half, 97), "{controller}: {rate} of {half}");
        assert!(rate >= percent(RATE, 44), "{controller}: {rate}");
        seeded.run_until(RTT * 4);
        let phases: Vec<_> = seeded.phases().iter().map(|(phase, _)| *phase).collect();
        let expected = [ResumePhase::Validating, ResumePhase::Normal];
        assert_eq!(phases, expected, "{controller}");
        assert_eq!(seeded.pair.stats(Side::Server).path.lost_packets, 0);

        let mut unseeded = Download::new(controller, &Memories::NONE, LINK);
        // Half of it leaves in the eleventh round trip.
        for round in 0..10 {
            let rate = unseeded.rate_from(RTT * round);
            assert!(
                rate < percent(RATE, 44),
                "{controller} in round trip {round}"
            );
        }
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "docs/resume.md has the figures")]
fn a_memory_that_exaggerates_ten_times_costs_the_jump_and_no_more() {
    for controller in CONTROLLERS {
        let capacity = BDP * 10;
        let memories = Memories::told(capacity, RTT);
        let mut lied_to = Download::new(controller, &memories, LINK);
        let retreat = lied_to.enters(ResumePhase::SafeRetreat, RTT * 5);
        let window = retreat.cwnd.expect("that of the retreat");
        assert!(window <= retreat.pipe_size / 2, "{controller}: {window}");
        let normal = lied_to.enters(ResumePhase::Normal, RTT * 7);
        assert_eq!(normal.trigger, ResumeTrigger::ExitRecovery);
        // What is lost is of the jump: no more than half of what was saved.
        let lost = Bytes::new(lied_to.pair.stats(Side::Server).path.lost_bytes);
        assert!(lost > BDP && lost <= capacity / 2, "{controller}: {lost}");
        // Two round trips after the retreat.
        lied_to.run_until(normal.at.since(lied_to.began_at) + RTT * 2 + RTT / 2);
        let before = lied_to.received();
        lied_to.pair.run_for(RTT * 2);
        let rate = Bandwidth::from_transfer(lied_to.received() - before, RTT * 2);
        println!("{controller}: {rate} in the third and fourth round trip after it");
        let recovered = RECOVERED.iter().find(|(name, _)| *name == controller);
        let (_, share) = recovered.expect("each has its share");
        assert!(rate >= percent(RATE, *share), "{controller}: {rate}");
        // A download takes no longer than without memory.
        for bytes in [Bytes::new(20_000_000), Bytes::new(100_000_000)] {
            let time = |memories| Download::new(controller, memories, LINK).time_for(bytes);
            let (with, without) = (time(&memories), time(&Memories::NONE));
            println!("{controller}: {lost} lost, {bytes} in {with:?}, in {without:?} without");
            assert!(with < without, "{controller}: {with:?}, {without:?}");
        }
    }
}

/// Percent of the link's rate that arrive, at least, from two round trips after a Safe Retreat on.
const RECOVERED: [(&str, u64); 3] = [("cubic", 60), ("bbr3", 80), ("paceline", 80)];

/// Large, medium and small public access by satellite (draft-kuhn-quic-4-sat-06, picoquic's
/// `satellite_test.c`), each with a return link that its ACKs have to fit into: downloads of a BDP.
#[test]
fn a_memory_shortens_each_of_the_authors_downloads() {
    let cases = [(250, 3), (50, 10), (10, 2)];
    for ((rate, back), controller) in cases
        .into_iter()
        .flat_map(|case| CONTROLLERS.map(|controller| (case, controller)))
    {
        let link = format!("rate {rate}mbit delay 300ms queue 1bdp");
        let back = format!("rate {back}mbit delay 300ms");
        let bdp = Bandwidth::from_bits_per_sec(rate * 1_000_000).bytes_in(RTT);
        let time = |memories| {
            let mut download = Download::both(controller, &memories, &link, &back, |_| {});
            download.time_for(bdp)
        };
        let (seeded, unseeded) = (time(Memories::told(bdp, RTT)), time(Memories::NONE));
        assert!(
            seeded + RTT * 3 / 2 < unseeded,
            "{controller}, {rate} Mbit/s: {seeded:?}, {unseeded:?} without"
        );
        // Half of it in the second round trip, the rest in the third, and its way.
        assert!(seeded < RTT * 5, "{controller}, {rate} Mbit/s: {seeded:?}");
    }
}

/// Of the thousands of packets of a jump some are lost at once. One that is lost of the initial
/// window, as in one run of ten, ends it before.
#[test]
fn a_memory_shortens_downloads_where_packets_are_lost_at_random() {
    let link = "rate 250mbit delay 300ms loss 1% queue 1bdp";
    for controller in ["bbr1", "bbr3", "paceline"] {
        let mut jumps = 0;
        for seed in 1..=3 {
            let run = |memories| {
                let back = "rate 3mbit delay 300ms";
                let mut download =
                    Download::seeded(seed, controller, &memories, link, back, |_| {});
                let time = download.time_for(Bytes::new(50_000_000));
                (time, download.phases())
            };
            let (seeded, phases) = run(Memories::told(BDP, RTT));
            let (unseeded, _) = run(Memories::NONE);
            let has_jumped = phases.len() > 1;
            jumps += u32::from(has_jumped);
            let most = if has_jumped {
                unseeded - RTT * 3
            } else {
                // They differ by which packets are lost: by a tenth of ten seconds.
                unseeded + RTT * 2
            };
            assert!(
                seeded < most,
                "{controller}: {seeded:?}, {unseeded:?} without; {phases:?}"
            );
        }
        assert!(jumps > 0, "{controller}");
    }
}

#[test]
fn another_round_trip_time_and_an_old_memory_are_not_used() {
    let after = |min_rtt: Duration, lifetime: u64| {
        let memories = Memories::told(BDP, min_rtt);
        let mut download = Download::under("cubic", &memories, LINK, |server| {
            server.path_memory_lifetime(Duration::from_secs(lifetime));
        });
        download.run_until(RTT * 3 / 2);
        (download.phases(), download.cwnd())
    };
    let (phases, cwnd) = after(RTT, 3_600);
    let limited = ResumeTrigger::CongestionWindowLimited;
    assert_eq!(phases, [(ResumePhase::Unvalidated, limited)]);
    assert_eq!(cwnd, BDP / 2);
    for other in [RTT * 21 / 10, RTT / 11] {
        let (phases, cwnd) = after(other, 3_600);
        let not_validated = (ResumePhase::Normal, ResumeTrigger::RttNotValidated);
        assert_eq!(phases, [not_validated], "{other:?}");
        assert!(cwnd < Bytes::new(100_000), "{cwnd}");
    }
    let (phases, cwnd) = after(RTT, 0);
    assert_eq!(phases, []);
    assert!(cwnd < Bytes::new(100_000), "{cwnd}");
}

#[test]
fn one_connection_alone_uses_a_memory() {
    let mut config = PairConfig {
        link: "delay 300ms limit 100000".parse().expect("a link"),
        return_link: LINK.parse().expect("a link"),
        is_unencrypted: true,
        ..PairConfig::default()
    };
    config.server.path_memory(Memories::told(BDP, RTT).server);
    let windows = [(); 2].map(|()| {
        let mut pair = crate::connect(&config);
        pair.send(Side::Server, Load::Endless);
        pair.run_for(RTT * 3 / 2);
        pair.stats(Side::Server).cwnd
    });
    assert_eq!(windows[0], BDP / 2);
    assert!(windows[1] < Bytes::new(100_000), "{windows:?}");
}

#[test]
fn a_server_remembers_the_path_to_a_client() {
    let store = Arc::new(PathStore::default());
    let mut world = World::new(1).unencrypted();
    let (there, back) = ("delay 300ms limit 100000".parse(), LINK.parse());
    let (there, back) = (there.expect("a link"), back.expect("a link"));
    let (there, back) = world.add_links(&there, &back).expect("with a delay");
    let plan = ConnectionPlan {
        there: vec![there],
        back: vec![back],
        server_load: Some(Load::Endless),
        server_store: Some(Arc::clone(&store)),
        ..ConnectionPlan::default()
    };
    let mut cwnd = |time: Duration| {
        let ends = world.add_connection(&plan);
        world
            .run_until_connected(ends, RTT * 5)
            .expect("a handshake");
        world.run_for(time);
        let cwnd = world.stats(ends.server).cwnd;
        world.close(ends.server);
        world.run_for(RTT * 5);
        cwnd
    };
    let first = cwnd(RTT * 3 / 2);
    assert!(store.is_empty() && first < Bytes::new(100_000), "{first}");
    cwnd(Duration::from_secs(20));
    assert_eq!(store.len(), 1);
    let jump = cwnd(RTT * 3 / 2);
    assert!(jump > BDP * 3 / 10, "{jump}");
    assert_eq!(
        store.len(),
        1,
        "what was not used up is there for the next one"
    );
}

#[test]
fn no_more_than_the_largest_jump_leaves() {
    let memories = Memories::told(BDP, RTT);
    let mut download = Download::under("cubic", &memories, LINK, |server| {
        server.max_jump(1_000_000);
    });
    download.run_until(RTT * 3 / 2);
    assert_eq!(download.cwnd(), Bytes::new(1_000_000));
}
