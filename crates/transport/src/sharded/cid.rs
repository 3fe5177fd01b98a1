//! Connection IDs that say which shard issued them.

use crate::random;
use quinn_proto::{ConnectionId, ConnectionIdGenerator};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

#[derive(Clone)]
pub(super) struct ConnectionIds(Arc<MakeGenerator>);

type MakeGenerator = dyn Fn(u8) -> Box<dyn ConnectionIdGenerator> + Send + Sync;

impl ConnectionIds {
    pub(super) fn new(
        make: impl Fn(u8) -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(make))
    }

    /// Random IDs for `shards` shards, 1 to 256.
    pub(super) fn random(shards: u16) -> Self {
        Self::new(move |shard| Box::new(ShardConnectionIds::new(shard, shards)))
    }

    pub(super) fn make(&self, shard: u8) -> Box<dyn ConnectionIdGenerator> {
        (self.0)(shard)
    }

    /// The length of the IDs in octets, if some of each shard keep the rule.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if not.
    pub(super) fn check(&self, shards: u16) -> io::Result<usize> {
        let cid_len = self.make(0).cid_len();
        for shard in (0..=u8::MAX).take(shards.into()) {
            let mut generator = self.make(shard);
            for _ in 0..SAMPLES {
                let id = generator.generate_cid();
                let marked = id.last().map(|octet| u16::from(*octet) % shards);
                if id.len() != cid_len || marked != Some(shard.into()) {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidInput,
                        format!(
                            "connection ID {id} of shard {shard}: expected {cid_len} octets, the \
                             last of which modulo {shards} is the shard"
                        ),
                    ));
                }
            }
        }
        Ok(cid_len)
    }
}

impl fmt::Debug for ConnectionIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionIds").finish_non_exhaustive()
    }
}

/// Eight random octets, of which the last, modulo the number of shards, is the shard.
///
/// An observer who knows the number of shards learns log₂ of it in bits about whether two IDs
/// belong to one connection.
#[derive(Debug)]
struct ShardConnectionIds {
    shard: u8,
    /// How many values the last octet can take.
    choices: u16,
    shards: u16,
}

impl ShardConnectionIds {
    /// For shard `shard` of `shards`, of which there are at most 256.
    fn new(shard: u8, shards: u16) -> Self {
        assert!(u16::from(shard) < shards && shards <= 256, "counted");
        Self {
            shard,
            choices: (255 - u16::from(shard)) / shards + 1,
            shards,
        }
    }

    /// The random octet `any` as one that this shard may issue.
    fn mark(&self, any: u8) -> u8 {
        // Below `choices`, as even as 256 values over them can be.
        let choice = (u32::from(any) * u32::from(self.choices)) >> 8;
        let octet = u32::from(self.shard) + choice * u32::from(self.shards);
        u8::try_from(octet).expect("the last choice is below 256")
    }
}

impl ConnectionIdGenerator for ShardConnectionIds {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut octets = random::u64().to_ne_bytes();
        octets[CID_LEN - 1] = self.mark(octets[CID_LEN - 1]);
        ConnectionId::new(&octets)
    }

    fn cid_len(&self) -> usize {
        CID_LEN
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// Octets, as many as quinn's IDs have.
const CID_LEN: usize = 8;

/// IDs of each shard that are checked: a generator without the rule passes for two shards once
/// in 2¹⁶.
const SAMPLES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_last_octet_tells_the_shard_and_takes_every_value_that_does() {
        for shards in [1, 2, 3, 7, 64, 255, 256] {
            for shard in 0..shards {
                let ids = ShardConnectionIds::new(u8::try_from(shard).unwrap(), shards);
                let octets: BTreeSet<u8> = (0..=255).map(|any| ids.mark(any)).collect();
                let expected = (0..=255).filter(|octet| u16::from(*octet) % shards == shard);
                assert!(octets.into_iter().eq(expected), "{shard} of {shards}");
            }
        }
    }

    #[test]
    fn generators_that_break_the_rule_are_named() {
        assert_eq!(ConnectionIds::random(256).check(256).unwrap(), 8);
        let fixed = |id: &'static [u8]| {
            ConnectionIds::new(move |_| Box::new(Fixed(ConnectionId::new(id)))).check(2)
        };
        for id in [&[7, 7, 2][..], &[]] {
            let error = fixed(id).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert!(error.to_string().contains("of shard"), "{error}");
        }
    }

    struct Fixed(ConnectionId);

    impl ConnectionIdGenerator for Fixed {
        fn generate_cid(&mut self) -> ConnectionId {
            self.0
        }

        fn cid_len(&self) -> usize {
            self.0.len()
        }

        fn cid_lifetime(&self) -> Option<Duration> {
            None
        }
    }

    #[test]
    fn ids_differ_and_keep_the_rule() {
        let mut ids = ShardConnectionIds::new(2, 5);
        let issued: Vec<_> = (0..1_000).map(|_| ids.generate_cid()).collect();
        assert!(issued.iter().all(|id| id.len() == 8 && id[7] % 5 == 2));
        let distinct: BTreeSet<&[u8]> = issued.iter().map(|id| &id[..]).collect();
        assert_eq!(distinct.len(), 1_000);
    }
}
