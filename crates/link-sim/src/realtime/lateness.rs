use crate::histogram::Histogram;
use core::time::Duration;

/// How much later than their link said packets left: a link on a machine that cannot keep up is
/// another link.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lateness {
    all: Histogram,
    late: u64,
}

impl Lateness {
    /// Counts `packets` that left this late together.
    pub(crate) fn record(&mut self, lateness: Duration, packets: u64) {
        for _ in 0..packets {
            self.all.record(lateness);
        }
        if lateness > LATE {
            self.late += packets;
        }
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn merge(&mut self, other: &Self) {
        self.all.merge(&other.all);
        self.late += other.late;
    }

    /// What was counted since `earlier`, an older copy of this one.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            all: self.all.since(&earlier.all),
            late: self.late - earlier.late,
        }
    }

    /// That of every packet, in time or not.
    pub fn all(&self) -> &Histogram {
        &self.all
    }

    /// Packets that left more than 1 ms late.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Whether these were more than one in a thousand.
    pub fn is_considerable(&self) -> bool {
        self.late * 1_000 > self.all.count()
    }
}

const LATE: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_one_late_packet_in_a_thousand_is_considerable() {
        let mut lateness = Lateness::default();
        lateness.record(LATE, 999);
        lateness.record(2 * LATE, 1);
        assert_eq!((lateness.all().count(), lateness.late()), (1_000, 1));
        assert!(!lateness.is_considerable());
        lateness.record(2 * LATE, 1);
        assert!(lateness.is_considerable());
    }
}
