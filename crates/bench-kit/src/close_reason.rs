//! Why a connection was closed, as text for users.

use crate::wire::{DONE, UNAUTHORIZED};
use bench_report::text::printable;
use paceline::{Connection, ConnectionError, TransportErrorCode, VarInt};
use std::time::Duration;

/// Whether the peer has closed the connection, and nothing was wrong.
pub fn is_done(connection: &Connection) -> bool {
    let done = VarInt::from_u32(DONE);
    matches!(
        connection.close_reason(),
        Some(ConnectionError::ApplicationClosed(close)) if close.error_code == done
    )
}

/// Why the connection to `peer`, which may be silent for `idle_timeout`, is over.
pub fn lost(error: &ConnectionError, peer: &str, idle_timeout: Duration) -> String {
    let silence = idle_timeout.as_secs_f64();
    match error {
        ConnectionError::TimedOut => {
            format!("no packets from {peer} for {silence} s: {peer} died or path down")
        }
        ConnectionError::ApplicationClosed(close)
            if close.error_code == VarInt::from_u32(UNAUTHORIZED) =>
        {
            format!("missing or wrong token for {peer}; use --token")
        }
        ConnectionError::ApplicationClosed(close) if close.reason.is_empty() => {
            format!("{peer} closed the connection")
        }
        ConnectionError::ApplicationClosed(close) => {
            format!(
                "{peer}: {}",
                printable(&String::from_utf8_lossy(&close.reason))
            )
        }
        ConnectionError::Reset => format!(
            "connection unknown to {peer}, which was restarted; run \
             again"
        ),
        ConnectionError::LocallyClosed => "connection closed locally".to_owned(),
        other => format!("connection to {peer} lost: {other}"),
    }
}

/// Why no connection to `server` came about.
pub fn not_connected(error: &ConnectionError, server: &str) -> String {
    match error {
        ConnectionError::TimedOut => no_answer(server),
        error if is_alpn_error(error) => {
            format!(
                "{server} is not a bench-server of this version; use the same version on both \
                 sides"
            )
        }
        ConnectionError::ConnectionClosed(close)
            if close.error_code == TransportErrorCode::CONNECTION_REFUSED =>
        {
            format!(
                "{server} refused the connection: too many clients, in total, from this address, \
                 or per second; try again later"
            )
        }
        ConnectionError::TransportError(error) => {
            format!("handshake with {server} failed: {error}")
        }
        other => format!("cannot connect to {server}: {other}"),
    }
}

/// Whether the server does not speak the protocol that the client asked for.
pub fn is_alpn_error(error: &ConnectionError) -> bool {
    matches!(error, ConnectionError::ConnectionClosed(close)
        if close.error_code == TransportErrorCode::crypto(NO_APPLICATION_PROTOCOL))
}

/// Whether this side's TLS ended it, over the certificate for example (RFC 9001 §4.8).
pub fn is_tls_error(error: &ConnectionError) -> bool {
    let ConnectionError::TransportError(error) = error else {
        return false;
    };
    u64::from(error.code) >> 8 == 1
}

/// Why a run ends at once where the host of `server` refuses its datagrams.
pub fn port_closed(server: &str) -> String {
    format!("nothing listens on UDP {server} (ICMP port unreachable); start bench-server there")
}

pub fn no_answer(server: &str) -> String {
    format!("no answer from {server}; check that bench-server is running and UDP not blocked")
}

/// TLS's alert no_application_protocol (RFC 7301 §3.2).
const NO_APPLICATION_PROTOCOL: u8 = 120;
