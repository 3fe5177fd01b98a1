//! Networks that peers are in.

use super::error::{PathMemoryError, wrong};
use std::fmt;
use std::net::IpAddr;

/// A peer's network: what identifies the Remote Endpoint (RFC 9959 §2.2). Addresses of one site
/// change within it, and the bottleneck is mostly that of the site.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Network {
    /// The /24.
    V4([u8; 3]),
    /// The /48.
    V6([u8; 6]),
}

impl Network {
    pub(crate) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => {
                let [a, b, c, _] = v4.octets();
                Self::V4([a, b, c])
            }
            IpAddr::V6(v6) => {
                let [a, b, c, d, e, f, ..] = v6.octets();
                Self::V6([a, b, c, d, e, f])
            }
        }
    }

    pub(super) fn read(family: u8, bytes: &[u8]) -> Result<Self, PathMemoryError> {
        match (family, bytes) {
            (4, [a, b, c, 0, 0, 0]) => Ok(Self::V4([*a, *b, *c])),
            (6, [a, b, c, d, e, f]) => Ok(Self::V6([*a, *b, *c, *d, *e, *f])),
            (4, _) => Err(wrong("network", "three bytes and three zeros for family 4")),
            _ => Err(wrong("address family", "4 or 6")),
        }
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4([a, b, c]) => write!(f, "{a}.{b}.{c}.0/24"),
            Self::V6([a, b, c, d, e, g]) => {
                write!(f, "{a:02x}{b:02x}:{c:02x}{d:02x}:{e:02x}{g:02x}::/48")
            }
        }
    }
}
