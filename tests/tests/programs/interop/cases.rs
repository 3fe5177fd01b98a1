//! The cases, as the interop runner has them and some more.

use crate::interop::seen::Seen;

/// What two programs are asked to do, and how it is known that they did.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    /// Its row in the table.
    pub(crate) title: &'static str,
    /// `TESTCASE` of the client; `None` is the same as the server's.
    pub(crate) client: Option<&'static str>,
    pub(crate) server: &'static str,
    pub(crate) files: usize,
    /// Of each file.
    pub(crate) bytes: usize,
    /// Their names are longer by so much.
    pub(crate) padding: usize,
    /// Resuming is seen by the absence of a certificate.
    pub(crate) has_long_certificate: bool,
    /// Flow-control window of the client.
    pub(crate) window: Option<u32>,
    /// Of both directions.
    pub(crate) link: Option<&'static str>,
    /// The client gets another port after so many datagrams.
    pub(crate) rebinds_at: Option<usize>,
    pub(crate) is_ipv6: bool,
    /// Past the path that watches, which would clear the marks.
    pub(crate) is_direct: bool,
    /// What is wrong with what was seen.
    pub(crate) fault: fn(&Seen) -> Option<String>,
}

const PLAIN: Case = Case {
    title: "",
    client: None,
    server: "transfer",
    files: 1,
    bytes: 1_000,
    padding: 0,
    has_long_certificate: false,
    window: None,
    link: None,
    rebinds_at: None,
    is_ipv6: false,
    is_direct: false,
    fault: |_| None,
};

pub(crate) const HANDSHAKE: Case = Case {
    title: "handshake, without Retry",
    server: "handshake",
    fault: |seen| (seen.retries > 0).then(|| "a Retry".to_owned()),
    ..PLAIN
};

pub(crate) const CASES: [Case; 20] = [
    HANDSHAKE,
    Case {
        title: "100 MB",
        bytes: 100_000_000,
        ..PLAIN
    },
    Case {
        title: "1,000 requests",
        files: 1_000,
        bytes: 32,
        ..PLAIN
    },
    Case {
        title: "HTTP/3",
        server: "http3",
        files: 3,
        bytes: 300_000,
        ..PLAIN
    },
    // A hello in two packets comes in two pieces, the first of which does not have the protocol.
    Case {
        title: "HTTP/3 over 2 Mbit/s",
        server: "http3",
        bytes: 50_000,
        link: Some("delay 5ms rate 2mbit"),
        ..PLAIN
    },
    Case {
        title: "Retry",
        server: "retry",
        fault: |seen| (seen.retries == 0).then(|| "no Retry".to_owned()),
        ..PLAIN
    },
    Case {
        title: "resumption",
        server: "resumption",
        files: 2,
        has_long_certificate: true,
        fault: |seen| match seen.handshakes()[..] {
            [first, second] if second < first / 2 => None,
            ref bytes => Some(format!("the servers' handshakes have {bytes:?} bytes")),
        },
        ..PLAIN
    },
    Case {
        title: "0-RTT",
        server: "zerortt",
        files: 21,
        bytes: 32,
        padding: 200,
        // As the interop runner's: a server next door answers before all requests are written.
        link: Some("delay 15ms"),
        fault: |seen| {
            let [early, late] = [seen.zero_rtt_bytes, seen.bytes_after_zero_rtt];
            (early < 2_000 || late > early).then(|| format!("{early} bytes early, {late} later"))
        },
        ..PLAIN
    },
    Case {
        title: "ChaCha20",
        server: "chacha20",
        ..PLAIN
    },
    Case {
        title: "new keys",
        client: Some("keyupdate"),
        bytes: 3_000_000,
        ..PLAIN
    },
    Case {
        title: "version negotiation",
        client: Some("versionnegotiation"),
        files: 1,
        bytes: 0,
        fault: |seen| (seen.version_negotiations == 0).then(|| "none".to_owned()),
        ..PLAIN
    },
    Case {
        title: "QUIC version 2",
        server: "v2",
        ..PLAIN
    },
    Case {
        title: "the client moves, and takes another connection ID",
        client: Some("connectionmigration"),
        bytes: 10_000_000,
        fault: |seen| {
            let [addresses, ids] = [seen.client_addresses, seen.ids_used];
            let moved = addresses > 1 && ids > 1 && seen.answers_to_newest > 100;
            (!moved).then(|| format!("{addresses} addresses, {ids} connection IDs"))
        },
        ..PLAIN
    },
    Case {
        title: "a NAT forgets the client",
        bytes: 10_000_000,
        rebinds_at: Some(500),
        fault: |seen| {
            let went_on = seen.client_addresses > 1 && seen.answers_to_newest > 100;
            (!went_on).then(|| format!("{} answers", seen.answers_to_newest))
        },
        ..PLAIN
    },
    Case {
        title: "ECN, both sides mark",
        server: "ecn",
        bytes: 1_000_000,
        is_direct: true,
        ..PLAIN
    },
    Case {
        title: "windows of 16 KiB",
        bytes: 1_000_000,
        window: Some(16_384),
        ..PLAIN
    },
    Case {
        title: "datagrams",
        server: "datagrams",
        files: 20,
        ..PLAIN
    },
    Case {
        title: "2 % loss, packets out of order",
        bytes: 2_000_000,
        link: Some("delay 7ms 2ms loss 2%"),
        ..PLAIN
    },
    Case {
        title: "10 handshakes at 30 % loss",
        server: "multiconnect",
        files: 10,
        link: Some("delay 7ms loss 30%"),
        ..PLAIN
    },
    Case {
        title: "`::1`",
        bytes: 1_000_000,
        is_ipv6: true,
        ..PLAIN
    },
];
