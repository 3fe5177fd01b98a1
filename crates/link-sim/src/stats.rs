use crate::histogram::Histogram;
use core::ops::{AddAssign, Sub};
use units::Bytes;

/// A number of packets and the bytes they hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Their sizes, added up.
    pub bytes: Bytes,
}

impl AddAssign<Bytes> for Count {
    /// One packet of this size more.
    fn add_assign(&mut self, size: Bytes) {
        self.packets += 1;
        self.bytes += size;
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, more: Self) {
        *self = *self + more;
    }
}

impl core::ops::SubAssign<Bytes> for Count {
    /// One packet of this size less.
    fn sub_assign(&mut self, size: Bytes) {
        self.packets -= 1;
        self.bytes -= size;
    }
}

impl core::ops::Add for Count {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self {
            packets: self.packets + rhs.packets,
            bytes: self.bytes + rhs.bytes,
        }
    }
}

impl Sub for Count {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self {
            packets: self.packets - rhs.packets,
            bytes: self.bytes - rhs.bytes,
        }
    }
}

/// What a link threw away, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drops {
    /// By the loss model.
    pub loss: Count,
    /// Because the link held `limit` packets.
    pub limit: Count,
    /// Because they exceeded the policer's rate.
    pub policer: Count,
    /// Because the queue before the bottleneck was full, or because they are larger than the
    /// bucket of `tbf`.
    pub queue: Count,
    /// By the queue's discipline although there was room.
    pub aqm: Count,
}

impl Drops {
    /// All reasons together.
    pub fn total(&self) -> Count {
        self.loss + self.limit + self.policer + self.queue + self.aqm
    }
}

/// What a link did since it was built.
///
/// Always `arrived + duplicated = delivered + dropped.total() + held`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkStats {
    /// Packets given to the link.
    pub arrived: Count,
    /// Copies that the link made.
    pub duplicated: Count,
    /// Packets that have reached the other end, collected there or not.
    pub delivered: Count,
    /// Packets marked Congestion Experienced, by the queue or by `loss … ecn`.
    pub marked: Count,
    /// Delivered packets that are damaged, by this link or by one before it.
    pub corrupted: Count,
    /// Packets thrown away.
    pub dropped: Drops,
    /// Packets inside: waiting, in transmission, or on their way.
    pub held: Count,
    /// How long packets waited for the transmitter: from arrival at the queue to the begin of
    /// their own transmission. Empty for a link without `rate`.
    pub queue_delay: Histogram,
    /// The most packets, and the most bytes, that ever waited (not necessarily at one time).
    pub max_queue: Count,
}

impl LinkStats {
    /// What happened since `earlier`, an older copy of these figures. `held` and `max_queue` are
    /// those of now.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            arrived: self.arrived - earlier.arrived,
            duplicated: self.duplicated - earlier.duplicated,
            delivered: self.delivered - earlier.delivered,
            marked: self.marked - earlier.marked,
            corrupted: self.corrupted - earlier.corrupted,
            dropped: Drops {
                loss: self.dropped.loss - earlier.dropped.loss,
                limit: self.dropped.limit - earlier.dropped.limit,
                policer: self.dropped.policer - earlier.dropped.policer,
                queue: self.dropped.queue - earlier.dropped.queue,
                aqm: self.dropped.aqm - earlier.dropped.aqm,
            },
            held: self.held,
            queue_delay: self.queue_delay.since(&earlier.queue_delay),
            max_queue: self.max_queue,
        }
    }
}
