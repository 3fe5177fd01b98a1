//! The runner's cases.

/// What the two sides are asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// All files over one connection.
    Transfer,
    /// The same, where the server has the client prove its address.
    Retry,
    /// The same with no other cipher than ChaCha20-Poly1305.
    ChaCha20,
    /// The same, and the client uses new keys after the first bytes.
    KeyUpdate,
    /// The same, and the client goes on from another port after the first bytes.
    Migration,
    /// A connection for each file.
    MultiConnect,
    /// The first file over a connection, the others over one that resumes its session.
    Resumption,
    /// The same, with the requests in 0-RTT packets.
    ZeroRtt,
    /// All files over HTTP/3.
    Http3,
    /// A datagram (RFC 9221) for each request and each file, which is small. The runner has no such
    /// case.
    Datagrams,
}

impl Case {
    /// The case that the runner calls `name`. Not among them are `v2`, as quinn-proto has no QUIC
    /// version 2, for servers `connectionmigration`, which wants two addresses on one endpoint, and
    /// for clients `versionnegotiation`: without keys for a version, none is ever asked for.
    pub(crate) fn of(name: &str, role: &str) -> Option<Self> {
        let is_client = match role {
            "client" => true,
            "server" => false,
            _ => return None,
        };
        Some(match name {
            "handshake" | "transfer" | "longrtt" | "multiplexing" | "ipv6" | "ecn"
            | "blackhole" | "amplificationlimit" | "transferloss" | "transfercorruption"
            | "rebind-port" | "rebind-addr" | "goodput" | "crosstraffic" => Self::Transfer,
            "retry" => Self::Retry,
            "chacha20" => Self::ChaCha20,
            "keyupdate" => Self::KeyUpdate,
            "multiconnect" | "handshakeloss" | "handshakecorruption" => Self::MultiConnect,
            "resumption" => Self::Resumption,
            "zerortt" => Self::ZeroRtt,
            "http3" => Self::Http3,
            "datagrams" => Self::Datagrams,
            "versionnegotiation" if !is_client => Self::Transfer,
            "connectionmigration" if is_client => Self::Migration,
            _ => return None,
        })
    }
}
