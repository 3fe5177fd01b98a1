//! A span of time in which packets leave that are judged together.

use units::Timestamp;

/// From when until when. Nothing left in it before it is opened.
#[derive(Debug, Default)]
pub(super) struct Window {
    from: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl Window {
    /// Packets that leave from now on are in it, those before are not.
    pub(super) fn open(&mut self, now: Timestamp) {
        *self = Self {
            from: Some(now),
            until: None,
        };
    }

    /// Packets that leave from now on are not in it. Closed again it stays as it is.
    pub(super) fn close(&mut self, now: Timestamp) {
        self.until.get_or_insert(now);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.until.is_some()
    }

    pub(super) fn covers(&self, sent_at: Timestamp) -> bool {
        self.from.is_some_and(|from| sent_at >= from)
            && self.until.is_none_or(|until| sent_at < until)
    }
}
