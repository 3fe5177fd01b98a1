//! Why a connection was closed, as text for users.

use crate::wire::UNAUTHORIZED;
use bench_report::text::printable;
use std::time::Duration;
use transport::{ConnectionError, TransportErrorCode, VarInt};

/// Why the connection to `peer`, which may be silent for `idle_timeout`, is over.
pub fn lost(error: &ConnectionError, peer: &str, idle_timeout: Duration) -> String {
    let silence = units::duration::display(idle_timeout);
    match error {
        ConnectionError::TimedOut => format!(
            "{peer} has not been heard of for {silence}: it ended without a word, or the path broke"
        ),
        ConnectionError::ApplicationClosed(close)
            if close.error_code == VarInt::from_u32(UNAUTHORIZED) =>
        {
            format!("{peer} serves those who know its token alone, see --token")
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
        ConnectionError::Reset => format!("{peer} does not know the connection: it was restarted"),
        ConnectionError::LocallyClosed => "the connection was closed here".to_owned(),
        other => format!("the connection to {peer} broke: {other}"),
    }
}

/// Why no connection to `server` came about.
pub fn not_connected(error: &ConnectionError, server: &str) -> String {
    match error {
        ConnectionError::TimedOut => no_answer(server),
        error if is_alpn_error(error) => {
            format!("{server} speaks QUIC, but it is no bench-server of this version")
        }
        ConnectionError::ConnectionClosed(close)
            if close.error_code == TransportErrorCode::CONNECTION_REFUSED =>
        {
            format!(
                "{server} refused the connection: it has as many clients as it takes, in all, from \
                 your address, or within a second"
            )
        }
        ConnectionError::TransportError(error) => {
            format!("the handshake with {server} failed: {error}")
        }
        other => format!("{server} did not connect: {other}"),
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

pub fn no_answer(server: &str) -> String {
    format!("no answer from {server}: is bench-server running there, and does UDP reach it?")
}

/// TLS's alert no_application_protocol (RFC 7301 §3.2).
const NO_APPLICATION_PROTOCOL: u8 = 120;
