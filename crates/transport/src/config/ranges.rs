//! Which values of a configuration a connection can work with.

use crate::driver::RaisedLimit;
use quinn_proto::{IdleTimeout, VarInt};
use std::time::Duration;

/// # Errors
/// What is wrong with the value, and what to do.
pub(super) fn time_threshold(value: f32) -> Result<f32, String> {
    round_trips("time_threshold", value, MOST_ROUND_TRIPS)
}

/// # Errors
/// As [`time_threshold`].
pub(super) fn max_time_threshold(value: f32) -> Result<f32, String> {
    round_trips("max_time_threshold", value, MOST_ADAPTED)
}

/// Round trips after which a packet counts as lost; more than `most` are as many.
fn round_trips(name: &str, value: f32, most: f32) -> Result<f32, String> {
    if value.is_nan() || value < 0.0 {
        return Err(format!(
            "{name} is {value}, which is no number of round trips; set 1.125 or another number \
             from 0 on"
        ));
    }
    Ok(value.min(most))
}

/// # Errors
/// As [`time_threshold`].
pub(super) fn initial_rtt(value: Duration) -> Result<Duration, String> {
    if value > LONGEST_RTT {
        return Err(format!(
            "initial_rtt is {} s, and no round trip takes longer than a day; set 333 ms or \
             another time up to 86,400 s",
            value.as_secs()
        ));
    }
    Ok(value)
}

/// UDP payload of a first packet, the setting `name`.
///
/// # Errors
/// As [`time_threshold`].
pub(super) fn first_payload(name: &str, value: u16) -> Result<u16, String> {
    if value > LARGEST_FIRST_PAYLOAD {
        return Err(format!(
            "{name} is {value} bytes, and the packets of a handshake can have \
             {LARGEST_FIRST_PAYLOAD}; set no more, and have mtu_discovery_config find larger ones"
        ));
    }
    Ok(value)
}

/// How many streams the peer may have open to begin with, and what becomes of that.
pub(super) fn streams(initial: Option<VarInt>, most: VarInt) -> (VarInt, Option<RaisedLimit>) {
    let initial = initial.map_or(most, |initial| initial.max(VarInt::from_u32(1)).min(most));
    let initial = initial.min(RaisedLimit::first(0, most));
    (initial, RaisedLimit::new(initial, most))
}

/// Whether it is a limit, which 0 is not (RFC 9000 §18.2).
pub(super) fn is_idle_timeout(value: &IdleTimeout) -> bool {
    *value != IdleTimeout::from(VarInt::from_u32(0))
}

/// Between [`SHORTEST_KEEP_ALIVE`] and [`FOREVER`].
pub(super) fn keep_alive(value: Duration) -> Duration {
    value.clamp(SHORTEST_KEEP_ALIVE, FOREVER)
}

/// What can be added to a time of today.
pub(super) fn lifetime(value: Duration) -> Duration {
    value.min(FOREVER)
}

/// Bytes of CRYPTO frames out of order that each end has to take (RFC 9000 §7.5).
pub(super) const LEAST_CRYPTO_BUFFER: usize = 4_096;

/// Nothing that was overtaken is still on its way after so many round trips. `f32::INFINITY` and
/// `f32::MAX` are used for "never", and a round trip times those is no [`Duration`].
const MOST_ROUND_TRIPS: f32 = 1_000.0;

/// The driver has quinn-proto declare packets lost by moving its timers on to when they are that
/// old. They left a round trip ago or more, so that is by three round trips at most, in which no
/// idle timeout can end: it is three probe timeouts at least (RFC 9000 §10.1). RFC 8985 §6.2 stops
/// at two round trips.
const MOST_ADAPTED: f32 = 4.0;

/// Probe timeouts are three times as long and doubled sixteen times, which has to be a time.
const LONGEST_RTT: Duration = Duration::from_secs(86_400);

/// quinn-proto 0.11 writes the length of packets with long headers in 14 bits, and panics when they
/// are longer: those of the handshake, and of 0-RTT.
const LARGEST_FIRST_PAYLOAD: u16 = (1 << 14) - 1;

/// An idle timeout is three probe timeouts at least (RFC 9000 §10.1), hence 78 ms where the peer
/// may wait 25 ms with an ACK, as is usual.
const SHORTEST_KEEP_ALIVE: Duration = Duration::from_millis(10);

/// A hundred years. Clocks overflow with [`Duration::MAX`].
const FOREVER: Duration = Duration::from_secs(100 * 366 * 86_400);
