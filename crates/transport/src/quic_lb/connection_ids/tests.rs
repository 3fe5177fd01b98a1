use super::*;
use crate::quic_lb::CidDecoder;
use proptest::prelude::*;
use std::collections::HashSet;

fn encrypted(codepoint: u8) -> CidConfig {
    CidConfig::encrypted(codepoint, 4, 8, [codepoint; 16]).unwrap()
}

fn server(number: u8) -> ServerId {
    ServerId::new(&[0, 0, 0, number]).unwrap()
}

fn ids() -> ConnectionIds {
    ConnectionIds::new(encrypted(0), server(1)).unwrap()
}

fn decoder() -> CidDecoder {
    let mut decoder = CidDecoder::default();
    (0..3).for_each(|codepoint| decoder.learn(encrypted(codepoint)));
    decoder
}

#[test]
fn each_names_the_server_and_none_comes_twice() {
    let mut generators = [ids(), ids().with_lifetime(Duration::from_secs(1))];
    let clone = generators[0].clone();
    assert_eq!(generators[1].cid_lifetime(), Some(Duration::from_secs(1)));
    let mut seen = HashSet::new();
    for generator in generators.iter_mut().chain([&mut clone.clone()]) {
        for _ in 0..1_000 {
            let cid = generator.generate_cid();
            assert_eq!(cid.len(), generator.cid_len());
            assert_eq!(decoder().server_of(&cid), Some(server(1)));
            assert!(generator.validate(&cid).is_ok());
            assert!(seen.insert(cid));
        }
    }
}

#[test]
fn the_last_octet_is_the_shard() {
    let ids = ids();
    let mut seen = HashSet::new();
    for shard in [0, 1, 255] {
        let mut generator = ids.with_shard(shard).unwrap().generator();
        assert_eq!(generator.cid_len(), 14);
        for _ in 0..100 {
            let cid = generator.generate_cid();
            assert_eq!(cid.len(), 14);
            assert_eq!(cid[0], 13, "the length of what follows");
            assert_eq!(cid.last(), Some(&shard));
            assert_eq!(decoder().server_of(&cid), Some(server(1)));
            assert!(generator.validate(&cid).is_ok());
            assert!(seen.insert(cid[1..13].to_vec()), "one nonce, two shards");
        }
    }
    let full = CidConfig::plaintext(0, 4, 15).unwrap();
    let error = ConnectionIds::new(full, server(1)).unwrap().with_shard(0);
    assert_eq!(error.unwrap_err(), CidConfigError::Shard(20));
}

#[test]
fn a_new_configuration_is_issued_at_once_and_the_old_one_still_known() {
    let ids = ids();
    let mut generator = ids.generator();
    let old = generator.generate_cid();
    let before = ids.remaining();
    ids.issue(encrypted(1), server(1)).unwrap();
    let new = generator.generate_cid();
    assert_eq!((old[0] >> 5, new[0] >> 5), (0, 1));
    assert!(generator.validate(&old).is_ok() && generator.validate(&new).is_ok());
    ids.issue(encrypted(0), server(1)).unwrap();
    assert_eq!(ids.remaining(), before, "the nonces go on where they were");
    assert_eq!(generator.generate_cid()[0] >> 5, 0);
}

#[test]
fn what_endpoints_cannot_change_to_is_refused() {
    let ids = ids();
    let other_key = CidConfig::encrypted(0, 4, 8, [9; 16]).unwrap();
    let error = ids.issue(other_key.clone(), server(1)).unwrap_err();
    assert_eq!(error, CidConfigError::InUse(0));
    assert_eq!(ids.know(other_key, server(1)).unwrap_err(), error);
    let longer = CidConfig::plaintext(1, 4, 9).unwrap();
    let error = ids.issue(longer, server(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "connection IDs of 14 octets: expected 13, as this endpoint has them"
    );
    let error = ids.issue(encrypted(1), "ab".parse().unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "server ID ab: expected 4 octets, as the configuration says"
    );
}

#[test]
fn only_this_servers_own_and_adopted_ones_are_valid() {
    let mut own = ids().generator();
    let stranger = ConnectionIds::new(encrypted(0), server(2)).unwrap();
    let cid = stranger.generator().generate_cid();
    let ids = ids();
    assert!(ids.validate(&cid).is_err());
    assert!(ids.validate(&own.generate_cid()).is_ok());
    ids.adopt(server(2));
    assert!(ids.validate(&cid).is_ok());
    (3..=255).for_each(|number| ids.adopt(server(number)));
    assert!(ids.validate(&cid).is_ok());
    (3..=255).for_each(|number| ids.adopt(server(number)));
    assert!(ids.validate(&cid).is_err(), "the oldest is forgotten");
}

#[test]
fn a_server_that_was_started_again_knows_what_it_issued_before() {
    let cid = ConnectionIds::new(encrypted(2), server(1)).unwrap();
    let cid = cid.generator().generate_cid();
    let ids = ids();
    assert!(ids.validate(&cid).is_err());
    ids.know(encrypted(2), server(1)).unwrap();
    assert!(ids.validate(&cid).is_ok());
    assert_eq!(ids.clone().generate_cid()[0] >> 5, 0);
}

#[test]
fn after_the_last_nonce_they_are_unroutable_and_resets_stay_away() {
    let ids = ids().with_shard(3).unwrap();
    let mut generator = ids.generator();
    assert!(generator.generate_cid()[0] >> 5 == 0);
    assert_eq!(ids.remaining(), u64::MAX);
    ids.state().issuing().nonces.exhaust();
    assert_eq!(ids.remaining(), 0);
    let cids: HashSet<_> = (0..1_000).map(|_| generator.generate_cid()).collect();
    assert_eq!(cids.len(), 1_000);
    for cid in cids {
        assert_eq!((cid[0], cid.len(), cid[13]), (0b111_01101, 14, 3));
        assert_eq!(decoder().server_of(&cid), None);
        assert!(generator.validate(&cid).is_err());
    }
    ids.issue(encrypted(1), server(1)).unwrap();
    assert_eq!(generator.generate_cid()[0] >> 5, 1);
}

#[test]
fn nothing_secret_is_shown() {
    let config = CidConfig::encrypted(0, 4, 8, [0xcd; 16]).unwrap();
    let ids = ConnectionIds::new(config, server(0xaa)).unwrap();
    let text = format!("{ids:?}");
    assert!(text.contains("ServerId(000000aa)"), "{text}");
    assert!(!text.contains("cd") && !text.contains("205"), "{text}");
}

proptest! {
    #[test]
    fn no_connection_id_makes_it_panic(cid in proptest::collection::vec(any::<u8>(), 0..=20)) {
        let ids = ids();
        let is_valid = ids.validate(&ConnectionId::new(&cid)).is_ok();
        // A server ID of 4 octets is guessed once in 2³² times.
        prop_assert!(!is_valid);
        ids.key_of(&cid);
    }
}
