//! The kernel's packets on a link of this crate.

use crate::trace::{Received, Sent};
use core::time::Duration;
use link_sim::{Link, LinkSpec, Packet};
use units::Timestamp;

/// What arrives when these packets are sent, in order of arrival.
pub(crate) fn arrivals(link: &LinkSpec, sent: &[Sent], seed: u64) -> Vec<Received> {
    // Only a `queue` in bdp, which netem lacks, depends on the RTT.
    let mut link: Link<usize> = link.build(Duration::ZERO, seed);
    let mut received = Vec::with_capacity(sent.len());
    for (sequence, sent) in sent.iter().enumerate() {
        collect(&mut link, sent.at, &mut received);
        link.handle_packet(sent.at, Packet::new(sent.size, sequence));
    }
    while let Some(due) = link.poll_timeout() {
        collect(&mut link, due, &mut received);
    }
    received
}

fn collect(link: &mut Link<usize>, now: Timestamp, received: &mut Vec<Received>) {
    while let Some(delivery) = link.poll_output(now) {
        // The kernel's receiver finds the wrong checksum of a damaged datagram and drops it.
        if !delivery.packet.corrupted {
            received.push(Received {
                at: delivery.due,
                sequence: delivery.packet.payload,
            });
        }
    }
}
