//! Whom a server lets in, decided from a client's first packet, before anything is kept for it.
//!
//! A first packet proves nothing: whoever sends it can write any address into it. While there is
//! room that is no harm. As soon as permits become scarce a client has to come back with a token
//! that was sent to its address (RFC 9000 §8.1.2), which costs the server no memory, so that forged
//! packets neither take its permits nor use up what another address may have.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// How many clients a server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmissionLimits {
    /// Served at once.
    pub max_clients: u32,
    /// Of these, from one address or IPv6 /64; `None` is as many as there are permits.
    pub max_per_prefix: Option<u32>,
    /// New ones in a second, at least 1.
    pub max_per_second: u32,
}

impl AdmissionLimits {
    /// For a server that has all of its clients in its own process: so roomy that none of them has
    /// to prove its address, which would be a round trip that the others do not have.
    pub const OWN_CLIENTS: Self = Self {
        max_clients: 65_536,
        max_per_prefix: None,
        max_per_second: 65_536,
    };
}

/// What limits count clients by: an IPv4 address, or the /64 of
/// an IPv6 address, for a single host has a whole one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClientPrefix(IpAddr);

impl ClientPrefix {
    pub(crate) fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        })
    }
}

impl fmt::Display for ClientPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(address) => address.fmt(f),
            IpAddr::V6(address) => write!(f, "{address}/64"),
        }
    }
}

/// What becomes of a client that has sent its first packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Admit,
    /// It has to prove its address first.
    Retry,
    Refuse(LimitReached),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitReached {
    Clients(u32),
    ClientsOfPrefix(u32),
    NewPerSecond(u32),
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clients(max) => write!(f, "already {max} clients (--max-connections)"),
            Self::ClientsOfPrefix(max) => write!(
                f,
                "already {max} clients from this address \
                 (--max-per-address)"
            ),
            Self::NewPerSecond(max) => write!(
                f,
                "already {max} new clients within a second \
                 (--max-per-second)"
            ),
        }
    }
}

/// The permits of a server, and who has them.
#[derive(Debug)]
pub(crate) struct Admission {
    limits: AdmissionLimits,
    /// Clients being served; none is zero.
    by_prefix: BTreeMap<ClientPrefix, u32>,
    total: u32,
    /// How many of them have not finished their handshake.
    connecting: u32,
    /// When the second's permits for new clients are all free again.
    free_at: Option<Instant>,
}

impl Admission {
    pub(crate) fn new(limits: AdmissionLimits) -> Self {
        Self {
            limits,
            by_prefix: BTreeMap::new(),
            total: 0,
            connecting: 0,
            free_at: None,
        }
    }

    /// What becomes of a client from `prefix`. Whoever is admitted has a permit until
    /// [`leave`](Self::leave).
    pub(crate) fn decide(
        &mut self,
        now: Instant,
        prefix: ClientPrefix,
        is_validated: bool,
    ) -> Verdict {
        let verdict = self.verdict(now, prefix, is_validated);
        if verdict == Verdict::Admit {
            self.total += 1;
            self.connecting += 1;
            *self.by_prefix.entry(prefix).or_default() += 1;
            self.free_at = Some(self.free_at.map_or(now, |at| at.max(now)) + self.spacing());
        }
        verdict
    }

    /// A client has finished its handshake.
    pub(crate) fn connected(&mut self) {
        self.connecting -= 1;
    }

    /// A client from `prefix` gives its permit back; `is_connected` when its handshake was
    /// finished.
    pub(crate) fn leave(&mut self, prefix: ClientPrefix, is_connected: bool) {
        if !is_connected {
            self.connecting -= 1;
        }
        self.total -= 1;
        let permits = self.by_prefix.get_mut(&prefix);
        let permits = permits.expect("whoever leaves was admitted");
        *permits -= 1;
        if *permits == 0 {
            self.by_prefix.remove(&prefix);
        }
    }

    fn verdict(&self, now: Instant, prefix: ClientPrefix, is_validated: bool) -> Verdict {
        if self.total >= self.limits.max_clients {
            return Verdict::Refuse(LimitReached::Clients(self.limits.max_clients));
        }
        let from_prefix = self.by_prefix.get(&prefix).copied().unwrap_or(0);
        if !is_validated && (self.is_busy(now) || self.limits_prefixes() && from_prefix > 0) {
            return Verdict::Retry;
        }
        match self.limits.max_per_prefix {
            Some(max) if from_prefix >= max => Verdict::Refuse(LimitReached::ClientsOfPrefix(max)),
            _ if self.second_taken(now) + self.spacing() > SECOND => {
                Verdict::Refuse(LimitReached::NewPerSecond(self.limits.max_per_second))
            }
            _ => Verdict::Admit,
        }
    }

    fn limits_prefixes(&self) -> bool {
        self.limits.max_per_prefix.is_some()
    }

    /// Whether half of the permits are taken, an eighth by those who have not yet shown that they
    /// exist, or half of a second's new clients have come.
    fn is_busy(&self, now: Instant) -> bool {
        self.total >= self.limits.max_clients.div_ceil(2)
            || self.connecting >= self.limits.max_clients.div_ceil(8)
            || self.second_taken(now) > SECOND / 2
    }

    /// How much of a second's permits for new clients is taken, as a part of the second.
    fn second_taken(&self, now: Instant) -> Duration {
        let free_at = self.free_at.unwrap_or(now);
        free_at.saturating_duration_since(now)
    }

    /// The part of a second that one new client takes, rounded down.
    fn spacing(&self) -> Duration {
        SECOND / self.limits.max_per_second
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use bench_kit::clock;

    const ROOMY: AdmissionLimits = AdmissionLimits {
        max_clients: 64,
        max_per_prefix: None,
        max_per_second: 1_000,
    };

    fn prefix(text: &str) -> ClientPrefix {
        ClientPrefix::of(text.parse().unwrap())
    }

    /// The `n`-th of many addresses.
    fn nth(n: u32) -> ClientPrefix {
        ClientPrefix::of(IpAddr::V4(n.into()))
    }

    #[test]
    fn a_host_has_one_ipv4_address_and_a_whole_64_of_ipv6() {
        assert_eq!(prefix("2001:db8::1"), prefix("2001:db8:0:0:ffff::2"));
        assert_ne!(prefix("2001:db8::1"), prefix("2001:db8:0:1::1"));
        assert_ne!(prefix("192.0.2.1"), prefix("192.0.2.2"));
        assert_eq!(prefix("::ffff:192.0.2.1"), prefix("192.0.2.1"));
        assert_eq!(prefix("2001:db8::1").to_string(), "2001:db8::/64");
    }

    #[test]
    fn permits_are_given_once_and_again_after_they_were_returned() {
        let mut admission = Admission::new(AdmissionLimits {
            max_clients: 2,
            ..ROOMY
        });
        let now = clock::now();
        for n in 0..2 {
            assert_eq!(admission.decide(now, nth(n), true), Verdict::Admit);
            admission.connected();
        }
        let refused = Verdict::Refuse(LimitReached::Clients(2));
        assert_eq!(admission.decide(now, nth(2), true), refused);
        admission.leave(nth(0), true);
        assert_eq!(admission.decide(now, nth(2), true), Verdict::Admit);
        assert_eq!(admission.decide(now, nth(0), true), refused);
    }

    #[test]
    fn one_prefix_cannot_take_the_permits_of_others() {
        let limits = AdmissionLimits {
            max_per_prefix: Some(2),
            ..ROOMY
        };
        let mut admission = Admission::new(limits);
        let now = clock::now();
        let (near, far) = (prefix("2001:db8::1"), prefix("2001:db8:1::1"));
        assert_eq!(admission.decide(now, near, false), Verdict::Admit);
        // Whoever writes another's address into its packets does not use up the other's permits.
        assert_eq!(admission.decide(now, near, false), Verdict::Retry);
        assert_eq!(admission.decide(now, near, true), Verdict::Admit);
        let refused = Verdict::Refuse(LimitReached::ClientsOfPrefix(2));
        assert_eq!(admission.decide(now, near, true), refused);
        assert_eq!(admission.decide(now, far, true), Verdict::Admit);
        admission.leave(near, false);
        assert_eq!(admission.decide(now, near, true), Verdict::Admit);
        assert_eq!(admission.by_prefix.len(), 2);
        admission.leave(far, false);
        assert_eq!(
            admission.by_prefix.len(),
            1,
            "nothing is kept of those that left"
        );
    }

    #[test]
    fn new_clients_are_so_many_a_second_and_no_more() {
        let limits = AdmissionLimits {
            max_clients: 100_000,
            max_per_second: 10,
            ..ROOMY
        };
        let mut admission = Admission::new(limits);
        let begin = clock::now();
        let mut admitted = 0;
        // Fifty a second for ten seconds.
        for n in 0..500 {
            let now = begin + Duration::from_millis(20) * n;
            match admission.decide(now, nth(n), true) {
                Verdict::Admit => admitted += 1,
                verdict => assert_eq!(verdict, Verdict::Refuse(LimitReached::NewPerSecond(10))),
            }
        }
        // A second's worth at once, and then ten a second.
        assert!((108..=110).contains(&admitted), "{admitted}");
        // What was not used in a quiet minute is not saved up.
        let now = begin + Duration::from_secs(70);
        let later = (0..100).map(|n| admission.decide(now, nth(n), true));
        let admitted = later.filter(|verdict| *verdict == Verdict::Admit).count();
        assert_eq!(admitted, 10);
    }

    #[test]
    fn forged_addresses_leave_permits_to_clients_that_prove_theirs() {
        let mut admission = Admission::new(ROOMY);
        let now = clock::now();
        let forged = (0..10_000).map(|n| admission.decide(now, nth(n), false));
        let admitted = forged.filter(|verdict| *verdict == Verdict::Admit).count();
        assert_eq!(admitted, 8);
        for n in 0..56 {
            let verdict = admission.decide(now, nth(20_000 + n), true);
            assert_eq!(verdict, Verdict::Admit);
        }
        let limit = Verdict::Refuse(LimitReached::Clients(64));
        assert_eq!(admission.decide(now, nth(30_000), true), limit);
    }

    #[test]
    fn whoever_leaves_during_its_handshake_is_no_reason_for_suspicion() {
        let mut admission = Admission::new(ROOMY);
        let now = clock::now();
        for n in 0..100 {
            assert_eq!(admission.decide(now, nth(n), false), Verdict::Admit);
            admission.leave(nth(n), false);
        }
    }

    #[test]
    fn the_second_half_of_the_permits_is_for_clients_that_prove_their_address() {
        let mut admission = Admission::new(ROOMY);
        let now = clock::now();
        for n in 0..32 {
            assert_eq!(admission.decide(now, nth(n), false), Verdict::Admit);
            admission.connected();
        }
        assert_eq!(admission.decide(now, nth(32), false), Verdict::Retry);
        assert_eq!(admission.decide(now, nth(32), true), Verdict::Admit);
    }
}
