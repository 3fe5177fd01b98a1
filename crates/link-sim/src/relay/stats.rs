use super::capture::CaptureStats;
use crate::realtime::Lateness;
use crate::stats::LinkStats;
use core::time::Duration;

/// What a relay did since it was started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RelayStats {
    /// From the clients to the server.
    pub link: LinkStats,
    /// From the server to the clients.
    pub return_link: LinkStats,
    /// How much later than its link said each datagram was sent, both directions together.
    pub lateness: Lateness,
    /// Clients that have a socket towards the server now.
    pub clients: usize,
    /// Datagrams that met no link, because there were
    /// [`max_clients`](super::RelayConfig::max_clients) already.
    pub refused: u64,
    /// Datagrams that met no link, because the kernel had no socket for another client.
    pub unserved: u64,
    /// Why the first of these was, and what to do about it.
    pub socket_error: Option<String>,
    /// Datagrams that the kernel would not send.
    pub unsent: u64,
    /// Datagrams that the kernel dropped because this process did not read its sockets in time;
    /// `None` where it does not tell. Sockets of clients that are forgotten no longer count.
    pub kernel_dropped: Option<u64>,
    /// Processor time of the relay's thread, which does everything but write a capture.
    pub cpu: Duration,
    /// How far the capture has come, where there is one.
    pub capture: Option<CaptureStats>,
}

impl RelayStats {
    /// Whether more than one datagram in a thousand was late or the kernel dropped any: the links
    /// were not quite those that were asked for.
    pub fn fell_behind(&self) -> bool {
        self.lateness.is_considerable() || self.kernel_dropped.is_some_and(|n| n > 0)
    }

    /// What happened since `earlier`, an older copy of these figures. Clients, the capture
    /// and the error of the sockets are as they are now.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let dropped_before = earlier.kernel_dropped.unwrap_or(0);
        Self {
            link: self.link.since(&earlier.link),
            return_link: self.return_link.since(&earlier.return_link),
            lateness: self.lateness.since(&earlier.lateness),
            clients: self.clients,
            refused: self.refused - earlier.refused,
            unserved: self.unserved - earlier.unserved,
            socket_error: self.socket_error.clone(),
            unsent: self.unsent - earlier.unsent,
            kernel_dropped: self
                .kernel_dropped
                .map(|dropped| dropped.saturating_sub(dropped_before)),
            cpu: self.cpu.saturating_sub(earlier.cpu),
            capture: self.capture.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(late: u64, on_time: u64, kernel_dropped: Option<u64>) -> RelayStats {
        let mut stats = RelayStats {
            kernel_dropped,
            ..RelayStats::default()
        };
        stats.lateness.record(Duration::from_millis(2), late);
        stats.lateness.record(Duration::ZERO, on_time);
        stats
    }

    #[test]
    fn more_than_one_late_in_a_thousand_or_a_drop_is_falling_behind() {
        assert!(!stats(1, 999, Some(0)).fell_behind());
        assert!(stats(1, 998, None).fell_behind());
        assert!(stats(0, 10, Some(1)).fell_behind());
        assert!(!stats(0, 0, None).fell_behind());
    }

    #[test]
    fn an_interval_is_judged_by_itself() {
        let earlier = stats(10, 0, Some(5));
        assert!(earlier.fell_behind());
        let later = stats(10, 1_000, Some(5));
        assert!(!later.since(&earlier).fell_behind());
        // A client with drops is gone.
        assert_eq!(
            stats(10, 0, Some(3)).since(&earlier).kernel_dropped,
            Some(0)
        );
    }
}
