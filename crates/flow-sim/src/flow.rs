use super::app::Phase;
use super::default_links::{LINK, RETURN};
use super::pauses::Pauses;
use core::time::Duration;
use link_sim::LinkSpec;
use units::{Bandwidth, Bytes};

/// One connection of a scenario: its controller, what its application writes and how its receiver
/// acknowledges.
///
/// By default the application always has something to send. Phases follow each
/// other in the order in which they are named.
#[derive(Debug, Clone)]
pub struct Flow {
    pub(crate) controller: String,
    pub(crate) phases: Vec<Phase>,
    pub(crate) start: Duration,
    pub(crate) mss: Bytes,
    pub(crate) mtu_changes: Vec<(Duration, Bytes)>,
    pub(crate) controller_changes: Vec<(Duration, String)>,
    pub(crate) acks: Acks,
    pub(crate) receive_window: Bytes,
    pub(crate) via: Vec<String>,
    pub(crate) back: Vec<String>,
    pub(crate) access: Option<LinkSpec>,
    pub(crate) is_ecn: bool,
    /// Whether ECT(1) can be sent at first, and the changes.
    pub(crate) sends_ect1: bool,
    pub(crate) ect1_changes: Vec<(Duration, bool)>,
    pub(crate) pauses: Option<Pauses>,
}

impl Flow {
    /// A flow under the controller that the registry string names.
    pub fn of(controller: &str) -> Self {
        Self {
            controller: controller.to_owned(),
            phases: Vec::new(),
            start: Duration::ZERO,
            mss: ETHERNET_PAYLOAD,
            mtu_changes: Vec::new(),
            controller_changes: Vec::new(),
            acks: Acks::every(2),
            receive_window: Bytes::MAX,
            via: vec![LINK.to_owned()],
            back: vec![RETURN.to_owned()],
            access: None,
            is_ecn: false,
            sends_ect1: true,
            ect1_changes: Vec::new(),
            pauses: None,
        }
    }

    /// The application writes `bytes` at once; the phase ends when all is acknowledged.
    #[must_use]
    pub fn bytes(self, bytes: u64) -> Self {
        self.phase(Phase::Bytes(bytes))
    }

    /// The application always has something to send, for `time`.
    #[must_use]
    pub fn backlogged_for(self, time: Duration) -> Self {
        self.phase(Phase::Backlogged(time))
    }

    /// The application writes `size` bytes `count` times, `interval` apart, the first at once.
    #[must_use]
    pub fn bursts(self, count: u64, size: u64, interval: Duration) -> Self {
        self.phase(Phase::Bursts {
            count,
            size,
            interval,
        })
    }

    /// The application writes at `rate` for `time`, a millisecond's worth at a time.
    #[must_use]
    pub fn rate(self, rate: Bandwidth, time: Duration) -> Self {
        let interval = Duration::from_millis(1);
        let count = time.as_millis() as u64;
        self.bursts(count, rate.bytes_in(interval).get(), interval)
    }

    /// The application writes nothing for `time`.
    #[must_use]
    pub fn pause(self, time: Duration) -> Self {
        self.phase(Phase::Pause(time))
    }

    /// The flow begins `after` the scenario does.
    #[must_use]
    pub fn start(mut self, after: Duration) -> Self {
        self.start = after;
        self
    }

    /// Largest UDP payload; 1,472 unless said.
    #[must_use]
    pub fn mss(mut self, mss: u64) -> Self {
        self.mss = Bytes::new(mss);
        self
    }

    /// From `at` on, packets may be as large as `mss`.
    #[must_use]
    pub fn mtu_change(mut self, at: Duration, mss: u64) -> Self {
        self.mtu_changes.push((at, Bytes::new(mss)));
        self
    }

    /// From `at` on, the flow is under another controller.
    #[must_use]
    pub fn controller_change(mut self, at: Duration, controller: &str) -> Self {
        self.controller_changes.push((at, controller.to_owned()));
        self
    }

    /// How the receiver acknowledges: every second packet unless said.
    #[must_use]
    pub fn acks(mut self, acks: Acks) -> Self {
        self.acks = acks;
        self
    }

    /// The receiver allows `bytes` beyond what it has received without a gap; unlimited unless
    /// said.
    #[must_use]
    pub fn receive_window(mut self, bytes: u64) -> Self {
        self.receive_window = Bytes::new(bytes);
        self
    }

    /// The links that the data takes, by name and in order; unless said,
    /// [`Scenario::LINK`](crate::Scenario::LINK) alone.
    #[must_use]
    pub fn via(mut self, links: &[&str]) -> Self {
        self.via = names(links);
        self
    }

    /// The links that the ACKs take, by name and in order; unless said,
    /// [`Scenario::RETURN`](crate::Scenario::RETURN) alone.
    #[must_use]
    pub fn back(mut self, links: &[&str]) -> Self {
        self.back = names(links);
        self
    }

    /// Data takes the way that the ACKs would, and the other way round: it meets the other flows'
    /// ACKs there.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        core::mem::swap(&mut self.via, &mut self.back);
        self
    }

    /// A link of the flow's own, before all others.
    ///
    /// # Panics
    /// When the description is wrong.
    #[must_use]
    pub fn access(mut self, link: &str) -> Self {
        self.access = Some(link.parse().unwrap_or_else(|error| panic!("{error}")));
        self
    }

    /// Data packets are ECN-capable, ECT(1) where the controller wants it and else ECT(0), and the
    /// receiver reports marks. Unless said, only controllers that want ECT(1) have them so.
    #[must_use]
    pub fn ecn(mut self) -> Self {
        self.is_ecn = true;
        self
    }

    /// The transport cannot send ECT(1), even if the controller wants it.
    #[must_use]
    pub fn without_ect1(mut self) -> Self {
        self.sends_ect1 = false;
        self
    }

    /// From `at` on the transport sends ECT(1) if the controller wants it, or does not.
    #[must_use]
    pub fn ect1_change(mut self, at: Duration, sends_ect1: bool) -> Self {
        self.ect1_changes.push((at, sends_ect1));
        self
    }

    /// The sender's process has no CPU for `pause` in each `period`: it sends nothing, reads no
    /// ACK, and no timer of it expires. Of the ACKs that come meanwhile it knows when they came, as
    /// from the kernel's timestamps.
    ///
    /// # Panics
    /// When `pause` is not shorter than `period`.
    #[must_use]
    pub fn host_pauses(mut self, period: Duration, pause: Duration) -> Self {
        assert!(
            pause < period,
            "a host that pauses {pause:?} in {period:?} never runs; give a shorter pause"
        );
        self.pauses = Some(Pauses { period, pause });
        self
    }

    fn phase(mut self, phase: Phase) -> Self {
        self.phases.push(phase);
        self
    }
}

impl core::fmt::Display for Flow {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self {
            controller,
            via,
            back,
            ..
        } = self;
        f.write_str(controller)?;
        if let Some(access) = &self.access {
            write!(f, " behind `{access}`")?;
        }
        if (via.join(" "), back.join(" ")) != (LINK.into(), RETURN.into()) {
            write!(f, " via {} and back {}", via.join(", "), back.join(", "))?;
        }
        Ok(())
    }
}

fn names(links: &[&str]) -> Vec<String> {
    links.iter().copied().map(str::to_owned).collect()
}

/// When a receiver acknowledges, and what the way back does to its ACKs.
///
/// A packet out of order, and one marked Congestion Experienced, is acknowledged at once
/// (RFC 9000 §13.2.1).
#[derive(Debug, Clone, Copy)]
pub struct Acks {
    /// An ACK goes out when this many packets came.
    pub(crate) packets: u64,
    /// And at the latest this long after the first of them.
    pub(crate) max_delay: Duration,
    pub(crate) is_immediate: bool,
    /// The way back holds ACKs until so many bytes of them are together, or until the first has
    /// waited so long; then it lets all go at once.
    pub(crate) held: Option<(Bytes, Duration)>,
}

impl Acks {
    /// After every `packets` packets, or 25 ms (RFC 9000 §18.2) after the first of them.
    pub const fn every(packets: u64) -> Self {
        Self {
            packets,
            max_delay: Duration::from_millis(25),
            is_immediate: true,
            held: None,
        }
    }

    /// At the latest `delay` after the first packet that is not acknowledged yet.
    #[must_use]
    pub const fn within(mut self, delay: Duration) -> Self {
        self.max_delay = delay;
        self
    }

    /// Packets out of order wait like any others.
    #[must_use]
    pub const fn never_at_once(mut self) -> Self {
        self.is_immediate = false;
        self
    }

    /// The way back bunches ACKs: `bytes` of them together, or what came within `time`.
    #[must_use]
    pub const fn held(mut self, bytes: u64, time: Duration) -> Self {
        self.held = Some((Bytes::new(bytes), time));
        self
    }
}

/// What IPv4 and UDP headers leave of Ethernet's 1,500 bytes.
const ETHERNET_PAYLOAD: Bytes = Bytes::new(1_472);
