use units::Bytes;

/// What a sender counted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) sent: u64,
    pub(crate) sent_bytes: Bytes,
    pub(crate) acked: u64,
    pub(crate) lost: u64,
    pub(crate) lost_bytes: Bytes,
    pub(crate) spurious: u64,
    pub(crate) spurious_bytes: Bytes,
    pub(crate) retransmitted_bytes: Bytes,
    pub(crate) probe_timeouts: u64,
    pub(crate) persistent_congestions: u64,
}
