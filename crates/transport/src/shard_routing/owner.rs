//! Which shard a datagram belongs to: the rule that kernel, endpoints and connection IDs share.

/// The shard of the connection that `datagram` belongs to: the last octet of its destination
/// connection ID, modulo the number of shards.
///
/// `cid_len` is the length of the connection IDs that the shards issue, in octets. Packets with a
/// short header carry nothing else; a long header says how long its connection ID is
/// (RFC 8999 §5), whoever chose it. What is too short to have one belongs to shard 0.
///
/// The kernel's copy of this rule is [`program`](super::program::program); it gives 0 for whatever
/// lies beyond the datagram's end, too.
pub(crate) fn owner(datagram: &[u8], cid_len: usize, shards: usize) -> usize {
    let is_long = datagram
        .first()
        .is_some_and(|first| first & LONG_HEADER != 0);
    let last = if is_long {
        let len = datagram.get(CID_LEN_AT).copied().unwrap_or(0);
        datagram.get(CID_LEN_AT + usize::from(len))
    } else {
        datagram.get(cid_len)
    };
    last.map_or(0, |octet| usize::from(*octet) % shards)
}

/// Set in the first octet of a long header (RFC 8999 §5.1).
pub(crate) const LONG_HEADER: u8 = 0x80;

/// Where a long header has the length of its destination connection ID: behind the first octet
/// and four octets of version (RFC 8999 §5.1). The ID itself follows, so that its last octet lies
/// its length further on. For an ID of no length that is the length, 0: the first shard.
pub(crate) const CID_LEN_AT: usize = 5;
