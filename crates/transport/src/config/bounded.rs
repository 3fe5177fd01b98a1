//! quinn-proto's configurations with times that it adds to a clock, which overflows with
//! [`Duration::MAX`]. Their fields are private, so that what was set cannot be checked later: these
//! types check it at the setter.

use super::ranges;
use quinn_proto::TokenLog;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How larger packets are tried (RFC 8899), as quinn's type of this name.
///
/// A search tries sizes between that in use and the smaller one of [`upper_bound`] and what the
/// peer takes (`max_udp_payload_size`). Each packet that arrives raises the lower end; three that
/// are lost lower the upper one.
///
/// [`upper_bound`]: Self::upper_bound
#[derive(Clone, Default)]
pub struct MtuDiscoveryConfig {
    proto: quinn_proto::MtuDiscoveryConfig,
}

impl MtuDiscoveryConfig {
    /// Time from the end of a search to the next one; more than a hundred years are as many.
    /// Default 600 s (RFC 8899 §5.1.1).
    pub fn interval(&mut self, value: Duration) -> &mut Self {
        self.proto.interval(ranges::lifetime(value));
        self
    }

    /// Largest UDP payload in bytes that is tried, at most 65,527. Default 1,452, which fits into
    /// Ethernet's 1,500 bytes with the headers of IPv6.
    pub fn upper_bound(&mut self, value: u16) -> &mut Self {
        self.proto.upper_bound(value);
        self
    }

    /// Time from a path that no longer carries what it did to the next search; more than a hundred
    /// years are as many. Default one minute.
    pub fn black_hole_cooldown(&mut self, value: Duration) -> &mut Self {
        self.proto.black_hole_cooldown(ranges::lifetime(value));
        self
    }

    /// Bytes between both ends of a search that end it. Default 20.
    pub fn minimum_change(&mut self, value: u16) -> &mut Self {
        self.proto.minimum_change(value);
        self
    }

    pub(super) fn proto(&self) -> quinn_proto::MtuDiscoveryConfig {
        self.proto.clone()
    }
}

impl fmt::Debug for MtuDiscoveryConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.proto.fmt(f)
    }
}

/// Tokens with which a server knows the addresses of clients that were there before (RFC 9000
/// §8.1.3), as quinn's type of this name. Those of Retry packets are others.
#[derive(Clone, Default)]
pub struct ValidationTokenConfig {
    proto: quinn_proto::ValidationTokenConfig,
}

impl ValidationTokenConfig {
    /// How long a token is valid; more than a hundred years are as many. Default two weeks.
    pub fn lifetime(&mut self, value: Duration) -> &mut Self {
        self.proto.lifetime(ranges::lifetime(value));
        self
    }

    /// What remembers the tokens that came back, so that each is accepted once. Default: a
    /// [`BloomTokenLog`](crate::BloomTokenLog).
    pub fn log(&mut self, log: Arc<dyn TokenLog>) -> &mut Self {
        self.proto.log(log);
        self
    }

    /// How many tokens a client gets each time that its address is validated. Default 2.
    pub fn sent(&mut self, value: u32) -> &mut Self {
        self.proto.sent(value);
        self
    }

    pub(super) fn proto(self) -> quinn_proto::ValidationTokenConfig {
        self.proto
    }
}

impl fmt::Debug for ValidationTokenConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.proto.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_longer_than_a_hundred_years() {
        let mut discovery = MtuDiscoveryConfig::default();
        discovery
            .interval(Duration::MAX)
            .black_hole_cooldown(Duration::MAX);
        let mut tokens = ValidationTokenConfig::default();
        tokens.lifetime(Duration::MAX);
        let text = format!("{discovery:?} {tokens:?}");
        assert_eq!(text.matches(": 3162240000s").count(), 3, "{text}");
    }

    #[test]
    fn other_times_are_as_they_were_set() {
        for time in [Duration::ZERO, Duration::from_secs(7_777_777)] {
            let mut discovery = MtuDiscoveryConfig::default();
            discovery.interval(time).black_hole_cooldown(time);
            let mut tokens = ValidationTokenConfig::default();
            tokens.lifetime(time);
            let text = format!("{discovery:?} {tokens:?}");
            let written = format!(": {time:?}");
            assert_eq!(text.matches(&written).count(), 3, "{text}");
        }
    }
}
