//! A link between client and server, in a thread of this process.

use bench_kit::failure::Failure;
use bench_kit::plan::Direction;
use bench_report::distribution::Distribution;
use bench_report::report::Path;
use bench_report::result::{Finite, QueueDelayMs, QueueDelaySource, Round, RunResult};
use link_sim::relay::{Relay, RelayConfig, RelayHandle, RelayStats};
use link_sim::{LinkSpec, LinkStats};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use units::Gain;

/// The two links of a path, named after the data.
#[derive(Debug, Clone, Default)]
pub(crate) struct Links {
    /// In the data's direction; with both sides sending, from client to server.
    pub(crate) link: LinkSpec,
    /// In the other direction.
    pub(crate) return_link: LinkSpec,
}

#[derive(Debug)]
pub(crate) struct EmulatedPath {
    relay: RelayHandle,
    is_reverse: bool,
    /// The figures when the measured part began.
    base: RelayStats,
}

impl Links {
    /// The round-trip time of the empty path, where there is a delay.
    ///
    /// # Errors
    /// When a queue in `bdp` has no delay to be measured by.
    pub(crate) fn base_rtt(&self) -> Result<Option<Duration>, Failure> {
        let base = self.link.base_rtt(&self.return_link);
        let base = base.map_err(|error| Failure::usage(format!("--link: {error}")))?;
        Ok((!base.is_zero()).then_some(base))
    }
}

/// What a report says of the path of a run: nothing where a link is not understood, as one of a
/// later version is not.
pub(crate) fn path(result: &RunResult) -> Path {
    let parse = |link: &str| match link {
        "" => Some(LinkSpec::default()),
        link => link.parse().ok(),
    };
    let links = parse(&result.link).zip(parse(&result.return_link));
    let Some((link, return_link)) = links else {
        return Path::default();
    };
    let links = Links { link, return_link };
    Path {
        rate: links.link.rate(),
        base_rtt: links.base_rtt().ok().flatten(),
    }
}

/// A link that takes this long and does nothing else.
pub(crate) fn delay(delay: Duration) -> LinkSpec {
    // netem's limit of a thousand packets is less than fast paths hold.
    format!("delay {} limit 1048576", units::duration::display(delay))
        .parse()
        .expect("it is a link")
}

/// A link that takes no time and hands on `copies` of each packet, one or two.
pub(crate) fn duplicator(copies: u32) -> LinkSpec {
    let text = if copies > 1 { "duplicate 100%" } else { "" };
    text.parse().expect("it is a link")
}

/// The part of a path that belongs to one client alone, in the data's direction.
pub(crate) fn own(extra_delay: Duration, copies: u32) -> LinkSpec {
    let text = match (extra_delay.is_zero(), copies > 1) {
        (true, _) => return duplicator(copies),
        (false, false) => return delay(extra_delay),
        (false, true) => format!("{} {}", delay(extra_delay), duplicator(copies)),
    };
    text.parse().expect("it is a link")
}

/// Writes into `round` how long the packets of the measured part waited in the queue of the data's
/// link, which did `measured` meanwhile, if that link has a rate and hence a queue.
pub(crate) fn set_queue_delay(round: &mut Round, measured: &LinkStats) {
    let delays = &measured.queue_delay;
    if delays.count() == 0 {
        return;
    }
    let quantile = |percent| Some(Finite::millis(delays.quantile(Gain::percent(percent))));
    round.queue_delay_source = Some(QueueDelaySource::Link);
    round.queue_delay_ms = QueueDelayMs {
        p50: quantile(50),
        p95: quantile(95),
        p99: quantile(99),
    };
    round.queue_delay_distribution = Distribution::new(delays.buckets(), delays.count()).shares();
}

impl EmulatedPath {
    /// Starts a relay in front of `server`.
    ///
    /// # Errors
    /// When the system has no socket or thread for it.
    pub(crate) fn start(
        links: &Links,
        direction: Direction,
        server: SocketAddr,
        seed: u64,
    ) -> Result<Self, Failure> {
        let is_reverse = direction == Direction::Reverse;
        let (link, return_link) = if is_reverse {
            (links.return_link.clone(), links.link.clone())
        } else {
            (links.link.clone(), links.return_link.clone())
        };
        let relay = Relay::spawn(RelayConfig {
            link,
            return_link,
            seed,
            ..RelayConfig::new((Ipv4Addr::LOCALHOST, 0).into(), server)
        })
        .map_err(|error| Failure::run(format!("cannot start the emulated link: {error}")))?;
        Ok(Self {
            relay,
            is_reverse,
            base: RelayStats::default(),
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.relay.local_addr()
    }

    pub(crate) fn begin(&mut self) {
        self.base = self.relay.stats();
    }

    /// What the data's link has done since the measured part began.
    pub(crate) fn measured(&self) -> LinkStats {
        let measured = self.relay.stats().since(&self.base);
        match self.is_reverse {
            true => measured.return_link,
            false => measured.link,
        }
    }

    /// The share of the packets since then that left over 1 ms late, where that is considerable.
    pub(crate) fn late(&self) -> Option<Finite> {
        let lateness = self.relay.stats().lateness.since(&self.base.lateness);
        let share = || Finite::ratio(lateness.late(), lateness.all().count());
        lateness.is_considerable().then(share).flatten()
    }

    /// What was wrong with the emulation, if anything was.
    pub(crate) fn warning(&self) -> Option<String> {
        let stats = self.relay.stats();
        if !self.relay.is_running() {
            return Some("the emulated link failed".to_owned());
        }
        stats.fell_behind().then(|| {
            format!(
                "emulated link over 1 ms late for {:.1} % of the packets; stop other work on this \
                 machine",
                stats.lateness.late() as f64 * 100.0 / stats.lateness.all().count().max(1) as f64,
            )
        })
    }
}
