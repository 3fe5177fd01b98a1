//! Datagrams that the kernel gave to the wrong shard, on their way to the right one.
//!
//! Steering reads the first packet of what the kernel delivers. An interface that merges
//! datagrams of one address and port (GRO) does so before, so that packets of several connections
//! which a client has on one socket can come as one message. Their endpoint takes the message
//! apart and hands on what is not its own.

mod owner;

use crate::connection::{Shared, WorkQueue};
use crate::lock::{Guard, Lock, Locked, Rank};
use bytes::BytesMut;
pub(crate) use owner::{CID_LEN_AT, LONG_HEADER, owner};
use quinn_udp::RecvMeta;
use std::mem;
use std::sync::Arc;

/// An endpoint's place in a group of shards.
#[derive(Debug, Clone)]
pub(crate) struct Membership {
    group: Arc<Group>,
    shard: usize,
}

#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) meta: RecvMeta,
    pub(crate) data: BytesMut,
}

#[derive(Debug)]
struct Group {
    /// Octets of the connection IDs that all shards issue.
    cid_len: usize,
    members: Vec<Member>,
}

#[derive(Debug, Default)]
struct Member {
    queue: Arc<WorkQueue<Shared>>,
    inbox: Lock<Inbox>,
}

#[derive(Debug, Default)]
struct Inbox {
    datagrams: Vec<Received>,
    bytes: usize,
}

impl Locked for Inbox {
    const RANK: Rank = Rank::Inbox;
}

impl Membership {
    /// The memberships of a group of `shards`, whose connection IDs have `cid_len` octets. A
    /// single shard owns everything, and is no member.
    pub(crate) fn group(shards: usize, cid_len: usize) -> impl Iterator<Item = Option<Self>> {
        let members = std::iter::repeat_with(Member::default).take(shards);
        let group = Arc::new(Group {
            cid_len,
            members: members.collect(),
        });
        (0..shards).map(move |shard| {
            let group = Arc::clone(&group);
            (shards > 1).then_some(Self { group, shard })
        })
    }

    pub(crate) fn queue(&self) -> &Arc<WorkQueue<Shared>> {
        &self.member(self.shard).queue
    }

    /// The shard that `datagram` belongs to, if that is another one.
    pub(crate) fn other_owner(&self, datagram: &[u8]) -> Option<usize> {
        let owner = owner(datagram, self.group.cid_len, self.group.members.len());
        (owner != self.shard).then_some(owner)
    }

    /// Hands a datagram to its owner; `false` if that has no room for it, and it is lost.
    pub(crate) fn forward(&self, owner: usize, meta: &RecvMeta, datagram: &[u8]) -> bool {
        let member = self.member(owner);
        let cost = datagram.len() + size_of::<Received>();
        let mut inbox = member.inbox();
        if inbox.bytes + cost > INBOX {
            return false;
        }
        inbox.bytes += cost;
        inbox.datagrams.push(Received {
            meta: *meta,
            // A copy, so that no other thread decides when this one's receive buffer comes back.
            data: BytesMut::from(datagram),
        });
        drop(inbox);
        member.queue.wake();
        true
    }

    pub(crate) fn take(&self) -> Vec<Received> {
        let mut inbox = self.member(self.shard).inbox();
        inbox.bytes = 0;
        mem::take(&mut inbox.datagrams)
    }

    fn member(&self, shard: usize) -> &Member {
        &self.group.members[shard]
    }
}

impl Member {
    fn inbox(&self) -> Guard<'_, Inbox> {
        self.inbox.lock()
    }
}

/// Most bytes that wait at a shard: four messages of the kernel's largest size.
const INBOX: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn of_shard(shard: u8, len: usize) -> Vec<u8> {
        let mut datagram = vec![0x40; len];
        datagram[8] = shard;
        datagram
    }

    #[test]
    fn a_datagram_reaches_its_owner_once() {
        let members: Vec<_> = Membership::group(3, 8).flatten().collect();
        let datagram = of_shard(5, 1_200);
        assert_eq!(members[2].other_owner(&datagram), None);
        assert_eq!(members[0].other_owner(&datagram), Some(2));
        assert!(members[0].forward(2, &RecvMeta::default(), &datagram));
        assert!(members[1].take().is_empty());
        let received = members[2].take();
        assert_eq!(received.len(), 1);
        assert_eq!(received[0].data, datagram);
        assert!(members[2].take().is_empty());
    }

    #[test]
    fn a_shard_that_does_not_read_holds_no_more_than_its_inbox() {
        let members: Vec<_> = Membership::group(2, 8).flatten().collect();
        let datagram = of_shard(1, 1_000);
        let forward = || members[0].forward(1, &RecvMeta::default(), &datagram);
        let taken = (0..1_000).filter(|_| forward()).count();
        assert_eq!(taken, INBOX / (1_000 + size_of::<Received>()));
        assert_eq!(members[1].take().len(), taken);
        assert!(forward());
    }
}
