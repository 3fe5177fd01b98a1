//! How many streams the peer may have open at once, where it begins with fewer than it may have.

use super::raised_limit::RaisedLimit;
use super::state::ConnectionDriver;
use quinn_proto::{Dir, VarInt};

impl ConnectionDriver {
    /// Changes how many streams the peer may have open at once, whatever it has open now.
    pub(crate) fn set_max_concurrent_streams(&mut self, dir: Dir, count: VarInt) {
        let open = self.conn.streams().remote_open_streams(dir);
        self.grant(dir, RaisedLimit::first(open, count), count);
    }

    /// Raises the limits of which the peer uses half.
    #[inline]
    pub(super) fn raise_stream_limits(&mut self) {
        if self.raised_limits != [None; 2] {
            self.raise_stream_limit(Dir::Bi);
            self.raise_stream_limit(Dir::Uni);
        }
    }

    fn raise_stream_limit(&mut self, dir: Dir) {
        let open = self.conn.streams().remote_open_streams(dir);
        let limit = self.raised_limits[dir as usize];
        if let Some(limit) = limit.filter(|limit| open >= limit.at()) {
            self.grant(dir, limit.next(), limit.most());
        }
    }

    fn grant(&mut self, dir: Dir, count: VarInt, most: VarInt) {
        self.raised_limits[dir as usize] = RaisedLimit::new(count, most);
        self.conn.set_max_concurrent_streams(dir, count);
    }
}
