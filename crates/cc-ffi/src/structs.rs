//! What goes in and comes out as a struct.

/// What is known when a handle is made. Set all fields; zeros are valid where the field says so.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacelineCcSetup {
    /// The current time in nanoseconds of any monotonic clock.
    pub now_ns: u64,
    /// The largest packet in bytes of UDP payload, 64 to 65527.
    pub mss: u64,
    /// The window to begin with in bytes; 0 for that of RFC 9002, section 7.2. At least two packets
    /// of `mss`, at most 2^32.
    pub initial_cwnd: u64,
    /// The seed of all randomness. The same seed and the same calls give the same decisions.
    pub seed: u64,
    /// 1 if packets will carry ECT(1) where the controller wants it (RFC 9331), otherwise 0.
    pub sends_ect1: u64,
}

/// What an ACK or an expiry of the loss timer says besides its packets.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacelineCcFeedback {
    /// When it came, in nanoseconds.
    pub now_ns: u64,
    /// The round-trip time of the newest acknowledged packet less the peer's reported delay, in
    /// nanoseconds, at most a day; 0 if there is no sample (RFC 9002, section 5.1).
    pub rtt_ns: u64,
    /// Packets newly reported as marked Congestion Experienced, at most 2^32.
    pub ce_marked: u64,
    /// 1 if the losses establish persistent congestion (RFC 9002, section 7.6), otherwise 0.
    pub is_persistent_congestion: u64,
}

/// What a sender may do until the next call.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PacelineCcControl {
    /// The most bytes that may be in flight.
    pub cwnd: u64,
    /// The rate at which bytes may leave, in bytes per second; UINT64_MAX if the window alone
    /// limits.
    pub pacing_rate: u64,
    /// The most bytes that may leave in one burst: the depth of the pacer's token bucket.
    /// UINT64_MAX if nothing limits it.
    pub send_quantum: u64,
    /// 1 if packets are to carry ECT(1) instead of ECT(0), otherwise 0.
    pub wants_ect1: u64,
}

/// The connection as the handle sees it, for logs and to check a caller by. Amounts are sums since
/// the handle was made or the path last changed.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PacelineCcPath {
    /// Bytes sent and neither acknowledged, lost nor discarded.
    pub in_flight: u64,
    /// Bytes acknowledged.
    pub delivered: u64,
    /// Bytes declared lost, less those that arrived after all.
    pub lost: u64,
    /// The smoothed round-trip time in nanoseconds; 0 before the first sample.
    pub srtt_ns: u64,
    /// The minimum round-trip time in nanoseconds; 0 before the first sample.
    pub min_rtt_ns: u64,
}
