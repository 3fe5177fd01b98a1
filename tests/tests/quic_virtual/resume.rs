//! Careful Resume (RFC 9959) on real endpoints: downloads over a geostationary satellite.

use crate::percent;
use cc_core::{Event, Observer, ResumePhase, ResumePhaseChange, ResumeTrigger, SavedPath};
use e2e::{choose, seed};
use paceline::testing::{Load, Pair, PairConfig, Side};
use paceline::{PathMemory, TransportConfig};
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

    /// What a download of ten seconds leaves behind.
    fn of(controller: &str) -> Self {
        let mut download = Download::new(controller, &Self::NONE, LINK);
        download.run_until(Duration::from_secs(10));
        download.memories()
    }

    /// The same, but for what the server knows of the path.
    fn with_path(self, saved: SavedPath) -> Self {
        let former = self.server.expect("it has sent a lot").to_bytes();
        let mut bytes = former;
        bytes[17..25].copy_from_slice(&saved.capacity.get().to_be_bytes());
        let nanos = u64::try_from(saved.min_rtt.as_nanos()).unwrap();
        bytes[25..33].copy_from_slice(&nanos.to_be_bytes());
        Self {
            server: Some(PathMemory::from_bytes(&bytes).expect("one with other numbers")),
            ..self
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
        let mut config = PairConfig {
            link: "delay 300ms".parse().expect("a link"),
            return_link: link.parse().expect("a link"),
            is_unencrypted: true,
            seed: seed::choose(1, format_args!("{controller} over `{link}`")),
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

    /// The rate at which the client gets what leaves in the server's round trip `number`, counted
    /// from 1.
    fn rate_in_round(&mut self, number: u32) -> Bandwidth {
        let start = RTT / 2 + RTT * (number - 1);
        self.run_until(start);
        let before = self.received();
        self.run_until(start + RTT);
        Bandwidth::from_transfer(self.received() - before, RTT)
    }

    /// The first round trip of `most` in which half the link's rate arrives.
    fn first_half(&mut self, most: u32) -> Option<u32> {
        let half = percent(RATE, 40);
        (1..=most).find(|number| self.rate_in_round(*number) >= half)
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
}

#[test]
fn a_satellite_is_half_full_in_the_second_round_trip() {
    for controller in CONTROLLERS {
        let memories = Memories::of(controller);
        let mut unseeded = Download::new(controller, &Memories::NONE, LINK);
        let mut seeded = Download::new(controller, &memories, LINK);
        let (late, early) = (unseeded.first_half(20), seeded.first_half(20));
        assert!(late >= Some(9), "{controller} without: {late:?}");
        // Half the capacity is the whole of it less headers and what a round trip does not use.
        assert_eq!(early, Some(2), "{controller} with {memories:?}");
        seeded.run_until(RTT * 4);
        let phases: Vec<_> = seeded.phases().iter().map(|(phase, _)| *phase).collect();
        let expected = [
            ResumePhase::Unvalidated,
            ResumePhase::Validating,
            ResumePhase::Normal,
        ];
        assert_eq!(phases, expected, "{controller}");
        assert_eq!(seeded.pair.stats(Side::Server).path.lost_packets, 0);
    }
}

#[test]
fn what_is_saved_is_what_the_path_carries() {
    for controller in CONTROLLERS {
        let SavedPath { capacity, min_rtt } = Memories::of(controller).path();
        let is_near = capacity >= BDP * 8 / 10 && capacity <= BDP * 11 / 10;
        assert!(is_near, "{controller}: {capacity}");
        assert!(min_rtt >= RTT && min_rtt < RTT * 101 / 100);
    }
}

#[test]
fn a_memory_that_exaggerates_ten_times_costs_the_jump_and_no_more() {
    for controller in CONTROLLERS {
        let memories = Memories::of(controller);
        let lie = SavedPath {
            capacity: BDP * 10,
            min_rtt: RTT,
        };
        let client = memories.client.map(|memory| {
            let mut bytes = memory.to_bytes();
            bytes[33..41].copy_from_slice(&(128_u64 << 20).to_be_bytes());
            PathMemory::from_bytes(&bytes).expect("one with another window")
        });
        let memories = Memories {
            client,
            ..memories.with_path(lie)
        };
        let mut lied_to = Download::new(controller, &memories, LINK);
        let normal = loop {
            lied_to.pair.run_for(Duration::from_millis(10));
            let mut changes = lied_to.changes.try_iter();
            if let Some(last) = changes.find(|change| change.to == ResumePhase::Normal) {
                break last;
            }
            assert!(lied_to.pair.now() < lied_to.began_at + RTT * 10);
        };
        assert_eq!(normal.trigger, ResumeTrigger::ExitRecovery);
        let window = normal.cwnd.expect("that of the retreat");
        assert!(window <= normal.pipe_size / 2, "{controller}: {window}");
        // What is lost is of the jump: no more than half of what was saved.
        let lost = Bytes::new(lied_to.pair.stats(Side::Server).path.lost_bytes);
        assert!(lost <= lie.capacity / 2, "{controller}: {lost}");
        // Two round trips after the retreat.
        lied_to.run_until(normal.at.since(lied_to.began_at) + RTT * 2 + RTT / 2);
        let before = lied_to.received();
        lied_to.pair.run_for(RTT * 2);
        let rate = Bandwidth::from_transfer(lied_to.received() - before, RTT * 2);
        assert!(rate >= percent(RATE, 40), "{controller}: {rate}");
        // A download takes no longer than without memory.
        for bytes in [Bytes::new(20_000_000), Bytes::new(100_000_000)] {
            let time = |memories| Download::new(controller, memories, LINK).time_for(bytes);
            let (with, without) = (time(&memories), time(&Memories::NONE));
            assert!(
                with <= without * 11 / 10,
                "{controller}: {with:?}, {without:?}"
            );
        }
    }
}

#[test]
fn another_round_trip_time_and_an_old_memory_are_not_used() {
    let memories = Memories::of("cubic");
    let own = memories.path();
    let windows = |memories: &Memories, lifetime: u64, link: &str| {
        let lifetime = Duration::from_secs(lifetime);
        let mut download = Download::under("cubic", memories, link, |server| {
            server.path_memory_lifetime(lifetime);
        });
        download.run_until(RTT * 3 / 2);
        (download.phases(), download.pair.stats(Side::Server).cwnd)
    };
    let (phases, cwnd) = windows(&memories, 3_600, LINK);
    assert_eq!(phases.len(), 2, "{phases:?}");
    assert!(cwnd > BDP * 3 / 10);
    let longer = SavedPath {
        min_rtt: RTT * 21 / 10,
        ..own
    };
    let shorter = SavedPath {
        min_rtt: RTT / 11,
        ..own
    };
    for other in [longer, shorter] {
        let (phases, cwnd) = windows(&memories.with_path(other), 3_600, LINK);
        let not_validated = (ResumePhase::Normal, ResumeTrigger::RttNotValidated);
        assert_eq!(phases, [not_validated], "{other:?}");
        assert!(cwnd < Bytes::new(100_000), "{cwnd}");
    }
    let (phases, cwnd) = windows(&memories, 0, LINK);
    assert_eq!(phases, []);
    assert!(cwnd < Bytes::new(100_000), "{cwnd}");
}

#[test]
fn one_connection_alone_uses_a_memory() {
    let memories = Memories::of("cubic");
    let mut config = PairConfig {
        link: "delay 300ms".parse().expect("a link"),
        return_link: LINK.parse().expect("a link"),
        is_unencrypted: true,
        ..PairConfig::default()
    };
    config.server.path_memory(memories.server);
    let windows = [(); 2].map(|()| {
        let mut pair = crate::connect(&config);
        pair.send(Side::Server, Load::Endless);
        pair.run_for(RTT * 3 / 2);
        pair.stats(Side::Server).cwnd
    });
    assert!(windows[0] > BDP * 3 / 10, "{windows:?}");
    assert!(windows[1] < Bytes::new(100_000), "{windows:?}");
}

#[test]
fn no_more_than_the_largest_jump_leaves() {
    let memories = Memories::of("cubic");
    let mut download = Download::under("cubic", &memories, LINK, |server| {
        server.max_jump(1_000_000);
    });
    download.run_until(RTT * 9 / 10);
    assert_eq!(
        download.pair.stats(Side::Server).cwnd,
        Bytes::new(1_000_000)
    );
}
