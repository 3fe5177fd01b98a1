//! How late the host sends.

use super::numbers::{SECOND, to_f64};
use crate::control::Control;
use crate::controller::PathState;
use units::{Bytes, Timestamp};

/// For how long packets could have left and did not, because the host was busy with something
/// else.
///
/// A pacer makes good what is late by no more than its bucket holds. What is later than that is
/// never sent, so that the flow sends less than its rate, and less is delivered.
#[derive(Debug)]
pub(super) struct Lateness {
    /// When the next packet is due by the pacing rate.
    due: Timestamp,
    /// Since when the window has room for it; none while it has not.
    room_since: Option<Timestamp>,
    /// ns, since the last [`take`](Self::take).
    late: u64,
}

impl Lateness {
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            due: now,
            room_since: Some(now),
            late: 0,
        }
    }

    /// `bytes` are about to leave; `path` is as it was before.
    pub(super) fn on_sent(&mut self, path: &PathState, bytes: Bytes, control: &Control) {
        let byte = SECOND / control.pacing_rate.bytes_per_sec().max(1) as f64;
        let bucket = (to_f64(control.send_quantum) * byte) as u64;
        if let Some(room_since) = self.room_since {
            let late = path.now.nanos_since(self.due.max(room_since));
            // Where the rate has just fallen a pacer that is on time is later than its bucket, too.
            if late > bucket * ON_TIME {
                self.late += late - bucket;
            }
        }
        let due = self.due.as_nanos();
        let earliest = path.now.as_nanos().saturating_sub(bucket);
        self.due = Timestamp::from_nanos(due.max(earliest) + (to_f64(bytes) * byte) as u64);
        self.on_window(path, path.inflight + bytes, control.cwnd);
    }

    /// So much is in flight of what the window allows.
    pub(super) fn on_window(&mut self, path: &PathState, inflight: Bytes, cwnd: Bytes) {
        if inflight + path.mss > cwnd {
            self.room_since = None;
        } else if self.room_since.is_none() {
            self.room_since = Some(path.now);
        }
    }

    /// s, since the last call.
    pub(super) fn take(&mut self) -> f64 {
        core::mem::take(&mut self.late) as f64 / SECOND
    }
}

/// Buckets. In virtual time, where no host is late, none of eight flows was later than 2.6.
const ON_TIME: u64 = 3;
