//! The QUIC performance protocol (draft-banks-quic-performance-01), which programs of many stacks
//! speak.
//!
//! A client opens a stream, writes how long an answer it wants, then whatever it likes, and
//! finishes it; the server reads all of that and answers with so many bytes, on the same stream or,
//! if that is unidirectional, on one of its own. That is all: there is no plan, no time, and no
//! report of what the other side has counted.
//!
//! Of the draft, datagrams (§2.4) are missing.

use crate::plan::Plan;
use bench_report::result::RunResult;

/// The protocol's name in the TLS handshake (§2.1).
pub const ALPN: &[u8] = b"perf";

/// The length of an answer that goes on until the client has had enough (§2.3.1).
pub const UNLIMITED: u64 = u64::MAX;

/// The code of a stream that its receiver ends without an error (§2.5).
pub const SUCCESS: u32 = 0;

/// How many streams of either kind a client may have open at once.
pub const STREAMS: u32 = 128;

/// Bytes of one write.
pub const BLOCK: u64 = 128 << 10;

/// Takes out of a result what a server of this protocol does not report: the controller that it
/// sends with.
pub fn forget_unknown(result: &mut RunResult, plan: &Plan) {
    let end = &mut result.end;
    if !plan.direction.client_sends() {
        end.sender_tcp_congestion = None;
        UNKNOWN.clone_into(&mut result.result.congestion);
    } else {
        end.receiver_tcp_congestion = None;
    }
}

/// What a result calls the controller of a server that does not name it.
pub const UNKNOWN: &str = "unknown";
