//! Whom a server lets in, decided from a client's first packet, before anything is kept for it.
//!
//! A first packet proves nothing: whoever sends it can write any address into it. While there is
//! room that is no harm. As soon as places become scarce a client has to come back with a token
//! that was sent to its address (RFC 9000 §8.1.2), which costs the server no memory, so that forged
//! packets neither fill its places nor use up what another address may have.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// How many clients a server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Served at once.
    pub most: u32,
    /// Of these, from one address or IPv6 /64; `None` is as many as there are places.
    pub most_per_origin: Option<u32>,
    /// New ones in a second, at least 1.
    pub most_a_second: u32,
}

impl Rules {
    /// For a server that has all of its clients in its own process: so roomy that none of them has
    /// to prove its address, which would be a round trip that the others do not have.
    pub const OWN_CLIENTS: Self = Self {
        most: 65_536,
        most_per_origin: None,
        most_a_second: 65_536,
    };
}

/// Where a client comes from, as far as limits tell clients apart: an IPv4 address, or the /64 of
/// an IPv6 address, for a single host has a whole one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Origin(IpAddr);

impl Origin {
    pub(crate) fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        })
    }
}

impl fmt::Display for Origin {
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
    /// It gets a place.
    Admit,
    /// It has to prove its address first.
    Retry,
    /// It gets none.
    Refuse(Full),
}

/// What there is no more of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    Places(u32),
    PlacesOfOrigin(u32),
    Second(u32),
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Places(most) => write!(f, "already {most} clients (--max-connections)"),
            Self::PlacesOfOrigin(most) => write!(
                f,
                "already {most} clients from this address \
                                                     (--max-per-address)"
            ),
            Self::Second(most) => write!(
                f,
                "already {most} new clients within a second \
                                             (--max-per-second)"
            ),
        }
    }
}

/// The places of a server, and who has them.
#[derive(Debug)]
pub(crate) struct Admission {
    rules: Rules,
    /// Clients being served; none is zero.
    of_origin: BTreeMap<Origin, u32>,
    total: u32,
    /// How many of them have not finished their handshake.
    greeting: u32,
    /// When the second's places for new clients are all free again.
    free_at: Option<Instant>,
}

impl Admission {
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            rules,
            of_origin: BTreeMap::new(),
            total: 0,
            greeting: 0,
            free_at: None,
        }
    }

    /// What becomes of a client from `origin`. Whoever is admitted has a place until
    /// [`leave`](Self::leave).
    pub(crate) fn judge(&mut self, now: Instant, origin: Origin, has_proved: bool) -> Verdict {
        let verdict = self.verdict(now, origin, has_proved);
        if verdict == Verdict::Admit {
            self.total += 1;
            self.greeting += 1;
            *self.of_origin.entry(origin).or_default() += 1;
            self.free_at = Some(self.free_at.map_or(now, |at| at.max(now)) + self.spacing());
        }
        verdict
    }

    /// A client has finished its handshake.
    pub(crate) fn greeted(&mut self) {
        self.greeting -= 1;
    }

    /// A client from `origin` gives its place back; `has_greeted` when its handshake was finished.
    pub(crate) fn leave(&mut self, origin: Origin, has_greeted: bool) {
        if !has_greeted {
            self.greeting -= 1;
        }
        self.total -= 1;
        let places = self.of_origin.get_mut(&origin);
        let places = places.expect("whoever leaves was admitted");
        *places -= 1;
        if *places == 0 {
            self.of_origin.remove(&origin);
        }
    }

    fn verdict(&self, now: Instant, origin: Origin, has_proved: bool) -> Verdict {
        if self.total >= self.rules.most {
            return Verdict::Refuse(Full::Places(self.rules.most));
        }
        let of_origin = self.of_origin.get(&origin).copied().unwrap_or(0);
        if !has_proved && (self.is_busy(now) || self.counts_origins() && of_origin > 0) {
            return Verdict::Retry;
        }
        match self.rules.most_per_origin {
            Some(most) if of_origin >= most => Verdict::Refuse(Full::PlacesOfOrigin(most)),
            _ if self.of_this_second(now) + self.spacing() > SECOND => {
                Verdict::Refuse(Full::Second(self.rules.most_a_second))
            }
            _ => Verdict::Admit,
        }
    }

    fn counts_origins(&self) -> bool {
        self.rules.most_per_origin.is_some()
    }

    /// Whether half of the places are taken, an eighth by those who have not yet shown that they
    /// exist, or half of a second's newcomers have come.
    fn is_busy(&self, now: Instant) -> bool {
        self.total >= self.rules.most.div_ceil(2)
            || self.greeting >= self.rules.most.div_ceil(8)
            || self.of_this_second(now) > SECOND / 2
    }

    /// How much of a second's places for newcomers is taken, as a part of the second.
    fn of_this_second(&self, now: Instant) -> Duration {
        let free_at = self.free_at.unwrap_or(now);
        free_at.saturating_duration_since(now)
    }

    /// The part of a second that one newcomer takes, rounded down.
    fn spacing(&self) -> Duration {
        SECOND / self.rules.most_a_second
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use bench_kit::clock;

    const ROOMY: Rules = Rules {
        most: 64,
        most_per_origin: None,
        most_a_second: 1_000,
    };

    fn origin(text: &str) -> Origin {
        Origin::of(text.parse().unwrap())
    }

    /// The `n`-th of many addresses.
    fn nth(n: u32) -> Origin {
        Origin::of(IpAddr::V4(n.into()))
    }

    #[test]
    fn a_host_has_one_ipv4_address_and_a_whole_64_of_ipv6() {
        assert_eq!(origin("2001:db8::1"), origin("2001:db8:0:0:ffff::2"));
        assert_ne!(origin("2001:db8::1"), origin("2001:db8:0:1::1"));
        assert_ne!(origin("192.0.2.1"), origin("192.0.2.2"));
        assert_eq!(origin("::ffff:192.0.2.1"), origin("192.0.2.1"));
        assert_eq!(origin("2001:db8::1").to_string(), "2001:db8::/64");
    }

    #[test]
    fn places_are_given_once_and_again_after_they_were_left() {
        let mut admission = Admission::new(Rules { most: 2, ..ROOMY });
        let now = clock::now();
        for n in 0..2 {
            assert_eq!(admission.judge(now, nth(n), true), Verdict::Admit);
            admission.greeted();
        }
        let refused = Verdict::Refuse(Full::Places(2));
        assert_eq!(admission.judge(now, nth(2), true), refused);
        admission.leave(nth(0), true);
        assert_eq!(admission.judge(now, nth(2), true), Verdict::Admit);
        assert_eq!(admission.judge(now, nth(0), true), refused);
    }

    #[test]
    fn one_origin_cannot_take_the_places_of_others() {
        let rules = Rules {
            most_per_origin: Some(2),
            ..ROOMY
        };
        let mut admission = Admission::new(rules);
        let now = clock::now();
        let (near, far) = (origin("2001:db8::1"), origin("2001:db8:1::1"));
        assert_eq!(admission.judge(now, near, false), Verdict::Admit);
        // Whoever writes another's address into its packets does not use up the other's places.
        assert_eq!(admission.judge(now, near, false), Verdict::Retry);
        assert_eq!(admission.judge(now, near, true), Verdict::Admit);
        let refused = Verdict::Refuse(Full::PlacesOfOrigin(2));
        assert_eq!(admission.judge(now, near, true), refused);
        assert_eq!(admission.judge(now, far, true), Verdict::Admit);
        admission.leave(near, false);
        assert_eq!(admission.judge(now, near, true), Verdict::Admit);
        assert_eq!(admission.of_origin.len(), 2);
        admission.leave(far, false);
        assert_eq!(
            admission.of_origin.len(),
            1,
            "nothing is kept of those that left"
        );
    }

    #[test]
    fn newcomers_are_so_many_a_second_and_no_more() {
        let rules = Rules {
            most: 100_000,
            most_a_second: 10,
            ..ROOMY
        };
        let mut admission = Admission::new(rules);
        let begin = clock::now();
        let mut admitted = 0;
        // Fifty a second for ten seconds.
        for n in 0..500 {
            let now = begin + Duration::from_millis(20) * n;
            match admission.judge(now, nth(n), true) {
                Verdict::Admit => admitted += 1,
                verdict => assert_eq!(verdict, Verdict::Refuse(Full::Second(10))),
            }
        }
        // A second's worth at once, and then ten a second.
        assert!((108..=110).contains(&admitted), "{admitted}");
        // What was not used in a quiet minute is not saved up.
        let now = begin + Duration::from_secs(70);
        let later = (0..100).map(|n| admission.judge(now, nth(n), true));
        let admitted = later.filter(|verdict| *verdict == Verdict::Admit).count();
        assert_eq!(admitted, 10);
    }

    #[test]
    fn forged_addresses_leave_places_to_clients_that_prove_theirs() {
        let mut admission = Admission::new(ROOMY);
        let now = clock::now();
        let forged = (0..10_000).map(|n| admission.judge(now, nth(n), false));
        let admitted = forged.filter(|verdict| *verdict == Verdict::Admit).count();
        assert_eq!(admitted, 8);
        for n in 0..56 {
            let verdict = admission.judge(now, nth(20_000 + n), true);
            assert_eq!(verdict, Verdict::Admit);
        }
        let full = Verdict::Refuse(Full::Places(64));
        assert_eq!(admission.judge(now, nth(30_000), true), full);
    }

    #[test]
    fn whoever_leaves_during_its_handshake_is_no_reason_for_suspicion() {
        let mut admission = Admission::new(ROOMY);
        let now = clock::now();
        for n in 0..100 {
            assert_eq!(admission.judge(now, nth(n), false), Verdict::Admit);
            admission.leave(nth(n), false);
        }
    }

    #[test]
    fn the_second_half_of_the_places_is_for_clients_that_prove_their_address() {
        let mut admission = Admission::new(ROOMY);
        let now = clock::now();
        for n in 0..32 {
            assert_eq!(admission.judge(now, nth(n), false), Verdict::Admit);
            admission.greeted();
        }
        assert_eq!(admission.judge(now, nth(32), false), Verdict::Retry);
        assert_eq!(admission.judge(now, nth(32), true), Verdict::Admit);
    }
}
