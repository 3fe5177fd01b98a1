//! How the transport is set for a run.

use crate::plan::Plan;
use cc_core::ControllerChoice;
use paceline::{Connection, IdleTimeout, MtuDiscoveryConfig, TransportConfig, VarInt};
use std::time::Duration;

/// What a side whose controller is `congestion` needs to carry out `plan`.
pub fn of_plan(
    plan: &Plan,
    congestion: &ControllerChoice,
    idle_timeout: Duration,
) -> TransportConfig {
    let (first, most) = receive_windows(plan);
    let mut config = TransportConfig::default();
    config
        .congestion(congestion.clone())
        .max_idle_timeout(IdleTimeout::try_from(idle_timeout).ok())
        // Thrice within the timeout, so that two may be lost.
        .keep_alive_interval(Some(idle_timeout / 3))
        .stream_receive_window(most)
        .receive_window(first)
        .max_receive_window(most)
        .send_window(SEND_BUFFER.min(plan.window))
        .max_send_window(plan.window)
        .dscp(plan.extras.dscp())
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .max_concurrent_uni_streams(VarInt::from_u32(plan.streams))
        .datagram_receive_buffer_size(Some(DATAGRAMS_RECEIVED))
        .datagram_send_buffer_size(DATAGRAM_BUFFER);
    config
}

/// Sets the windows of a `connection` that was there before `plan`, as [`of_plan`] does.
pub fn set_windows(connection: &Connection, plan: &Plan) {
    let (first, most) = receive_windows(plan);
    connection.set_receive_window(first);
    connection.set_max_receive_window(most);
    set_send_buffer(connection, plan.window);
}

/// What the receive window begins with, and may grow to.
fn receive_windows(plan: &Plan) -> (VarInt, VarInt) {
    let most = VarInt::try_from(plan.window).unwrap_or(VarInt::MAX);
    if plan.extras.window_follows {
        (most.min(FIRST_WINDOW), most)
    } else {
        (most, most)
    }
}

/// What the window of a connection begins with where nobody sets it.
const FIRST_WINDOW: VarInt = VarInt::from_u32(1 << 20);

/// Bounds what `connection` holds of what is sent to `most` bytes, as [`of_plan`] does. What is
/// written stays close to what has left, and the controller is not limited by it.
pub fn set_send_buffer(connection: &Connection, most: u64) {
    connection.set_send_window(SEND_BUFFER.min(most));
    connection.set_max_send_window(most);
}

/// The least send buffer: a block of the usual length, a tenth of a second at 10 Mbit/s.
const SEND_BUFFER: u64 = 128 << 10;

/// Most bytes of datagrams that wait to be sent: what 1 Gbit/s takes in 2 ms. More would make delay
/// of what is loss.
pub const DATAGRAM_BUFFER: usize = 256 << 10;

/// Most bytes of datagrams that wait to be read, which is what any client can make the server hold:
/// what an endpoint receives in two turns of its task, 768 KiB each, and a rest. It may have two
/// before the reader has one: with 1 MiB a sender without limit lost 4 to 9 % on loopback.
pub const DATAGRAMS_RECEIVED: usize = 2 << 20;

/// Has all packets be as large as this, or, above what a first packet may be, grow to it.
pub fn fix_mtu(config: &mut TransportConfig, mtu: u16) {
    let first = mtu.min(LARGEST_FIRST_PAYLOAD);
    let discovery = (mtu > first).then(|| discovery_up_to(mtu));
    config
        .initial_mtu(first)
        .min_mtu(first)
        .mtu_discovery_config(discovery);
}

/// Finds the largest packets that the path takes, to the byte, up to `most` and to what the peer
/// takes.
pub fn discovery_up_to(most: u16) -> MtuDiscoveryConfig {
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(most).minimum_change(1);
    discovery
}

/// The largest UDP payload over IPv4: 65,535 bytes less 28 of headers.
pub const LARGEST_PAYLOAD: u16 = 65_507;

/// The UDP payload that senders discover unless they are told: what most paths of the Internet
/// take.
pub const USUAL_PAYLOAD: u16 = 1_452;

/// quinn-proto pads its first packets to the whole size, and writes their length in 14 bits.
const LARGEST_FIRST_PAYLOAD: u16 = (1 << 14) - 1;
