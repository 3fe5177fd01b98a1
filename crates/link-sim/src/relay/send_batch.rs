//! Which of the datagrams that are due are sent with one system call.

use super::batch_socket::MAX_MESSAGES;
use super::config::Direction;
use super::datagram::Datagram;
use crate::packet::Delivery;

/// The next system call: how many datagrams, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendCall {
    /// As segments of one buffer (GSO), to or from one client.
    Segments(usize),
    /// Each as a message of its own (sendmmsg).
    Each(usize),
}

impl SendCall {
    pub(super) fn datagrams(self) -> usize {
        match self {
            Self::Segments(count) | Self::Each(count) => count,
        }
    }
}

/// How the first of `due` are sent. The time of each has passed, so that batching sends none early.
/// Their order stays.
pub(super) fn next_call(
    due: &[Delivery<Datagram>],
    direction: Direction,
    max_segments: usize,
) -> SendCall {
    let segments = gso_run(due, max_segments);
    if segments > 1 {
        return SendCall::Segments(segments);
    }
    let share_a_socket = |one: &Delivery<Datagram>, other: &Delivery<Datagram>| {
        let same_socket = match direction {
            Direction::ToServer => one.packet.payload.client == other.packet.payload.client,
            Direction::ToClient => true,
        };
        same_socket && one.packet.ecn == other.packet.ecn
    };
    let alone = |index: &usize| gso_run(&due[*index..], max_segments) == 1;
    let together = (0..due.len())
        .take(MAX_MESSAGES)
        .take_while(|index| share_a_socket(&due[0], &due[*index]))
        .take_while(alone);
    SendCall::Each(together.count())
}

/// How many of the first can be segments of one buffer: of one client, with one codepoint and one
/// length, but for the last, which may be shorter.
fn gso_run(due: &[Delivery<Datagram>], max_segments: usize) -> usize {
    let Some(head) = due.first() else {
        return 0;
    };
    let segment = head.packet.payload.data.len();
    let fits = |delivery: &&Delivery<Datagram>| {
        let packet = &delivery.packet;
        packet.payload.client == head.packet.payload.client
            && packet.ecn == head.packet.ecn
            && (1..=segment).contains(&packet.payload.data.len())
    };
    let max = max_segments.min(MAX_GSO_BYTES / segment.max(1)).max(1);
    let followers = due[1..].iter().take(max - 1).take_while(fits);
    let mut count = 1;
    for follower in followers {
        count += 1;
        if follower.packet.payload.data.len() < segment {
            break;
        }
    }
    count
}

/// Bytes. Below the largest UDP payload over IPv4, 65,507.
const MAX_GSO_BYTES: usize = 65_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ecn, Packet};
    use units::{Bytes, Timestamp};

    fn datagram(client: u64, length: usize) -> Delivery<Datagram> {
        let data = vec![0; length];
        Delivery {
            due: Timestamp::ZERO,
            packet: Packet::new(Bytes::new(length as u64), Datagram { client, data }),
        }
    }

    fn datagrams(all: &[(u64, usize)]) -> Vec<Delivery<Datagram>> {
        all.iter()
            .map(|(client, length)| datagram(*client, *length))
            .collect()
    }

    fn calls(all: &[(u64, usize)], direction: Direction, max_segments: usize) -> Vec<SendCall> {
        calls_of(&datagrams(all), direction, max_segments)
    }

    fn calls_of(
        mut due: &[Delivery<Datagram>],
        direction: Direction,
        max_segments: usize,
    ) -> Vec<SendCall> {
        let mut calls = Vec::new();
        while !due.is_empty() {
            let call = next_call(due, direction, max_segments);
            due = &due[call.datagrams()..];
            calls.push(call);
        }
        calls
    }

    #[test]
    fn equal_datagrams_of_one_client_leave_as_segments_of_which_the_last_is_shorter() {
        let due = [(1, 100), (1, 100), (1, 7), (1, 7), (1, 8)];
        assert_eq!(
            calls(&due, Direction::ToServer, 64),
            [SendCall::Segments(3), SendCall::Each(2)]
        );
    }

    #[test]
    fn segments_have_their_limits() {
        assert_eq!(
            calls(&[(1, 100); 10], Direction::ToServer, 4),
            [
                SendCall::Segments(4),
                SendCall::Segments(4),
                SendCall::Segments(2)
            ]
        );
        assert_eq!(
            calls(&[(1, 30_000); 3], Direction::ToServer, 64),
            [SendCall::Segments(2), SendCall::Each(1)]
        );
        assert_eq!(
            calls(&[(1, 40_000); 2], Direction::ToServer, 64),
            [SendCall::Each(2)]
        );
        assert_eq!(
            calls(&[(1, 100); 20], Direction::ToServer, 1),
            [SendCall::Each(16), SendCall::Each(4)]
        );
    }

    #[test]
    fn empty_datagrams_are_nobody_s_segments() {
        assert_eq!(
            calls(&[(1, 100), (1, 0), (1, 0)], Direction::ToServer, 64),
            [SendCall::Each(3)]
        );
    }

    #[test]
    fn clients_share_the_way_to_themselves_and_not_that_to_the_server() {
        let due = [(1, 100), (2, 100), (2, 300), (3, 500), (3, 500)];
        assert_eq!(
            calls(&due, Direction::ToClient, 64),
            [SendCall::Each(3), SendCall::Segments(2)]
        );
        assert_eq!(
            calls(&due, Direction::ToServer, 64),
            [SendCall::Each(1), SendCall::Each(2), SendCall::Segments(2)]
        );
    }

    #[test]
    fn codepoints_are_not_mixed() {
        let mut due = datagrams(&[(1, 100); 3]);
        due[1].packet.ecn = Ecn::Ce;
        assert_eq!(
            calls_of(&due, Direction::ToClient, 64),
            [SendCall::Each(1); 3]
        );
    }
}
