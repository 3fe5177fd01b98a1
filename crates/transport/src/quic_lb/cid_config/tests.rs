use super::*;
use proptest::prelude::*;

fn octets(text: &str) -> Vec<u8> {
    let mut octets = vec![0; text.len() / 2];
    crate::quic_lb::hex::decode(text, &mut octets).unwrap();
    octets
}

/// Encodes and decodes one line of appendix B, where all servers encode the length.
#[track_caller]
fn check(codepoint: u8, server_id: &str, nonce: &str, key: Option<[u8; 16]>, expected: &str) {
    let (server_id, nonce) = (ServerId::new(&octets(server_id)).unwrap(), octets(nonce));
    let config = match key {
        Some(key) => CidConfig::encrypted(codepoint, server_id.len(), nonce.len(), key),
        None => CidConfig::plaintext(codepoint, server_id.len(), nonce.len()),
    };
    let config = config.unwrap();
    let mut cid = vec![0; config.len()];
    config.encode(&server_id, &nonce, || 0xff, &mut cid);
    assert_eq!(cid, octets(expected));
    assert_eq!(config.server_of(&cid), Some(server_id));
}

/// Appendix B.1 has two lines. The second one cannot be checked: its nonce has nine digits, and
/// its connection ID holds neither that nonce nor that server ID at an octet's bound.
#[test]
fn the_drafts_unencrypted_vector() {
    check(0, "c4605e", "4504cc4f", None, "07c4605e4504cc4f");
}

/// Appendix B.2.
#[test]
fn the_drafts_encrypted_vectors() {
    let key = 0x8f95_f092_4576_5f80_2569_34e5_0c66_207f_u128;
    let key = Some(key.to_be_bytes());
    check(0, "ed793a", "ee080dbf", key, "0720b1d07b359d3c");
    check(
        1,
        "ed793a51d49b8f5fab65",
        "ee080dbf48",
        key,
        "2fcc381bc74cb4fbad2823a3d1f8fed2",
    );
    check(
        2,
        "ed793a51d49b8f5f",
        "ee080dbf48c0d1e5",
        key,
        "504dd2d05a7b0de9b2b9907afb5ecf8cc3",
    );
    // Configuration 3 by its line, but its connection ID begins with codepoint 0.
    check(
        0,
        "ed793a51d49b8f5fab",
        "ee080dbf48c0d1e55d",
        key,
        "125779c9cc86beb3a3a4a3ca96fce4bfe0cdbc",
    );
}

/// mvfst's `DefaultConnectionIdAlgo.h`, which katran reads: bits 0 and 1 are the version, octets 1
/// to 3 of version 2 the host.
#[test]
fn codepoint_4_without_a_key_is_version_2_of_mvfsts_scheme() {
    let config = CidConfig::plaintext(4, 3, 8).unwrap();
    let mut cid = [0; 12];
    config.encode(&"01e240".parse().unwrap(), &[9; 8], || 0, &mut cid);
    assert_eq!(cid[0] >> 6, 2);
    let host = u32::from_be_bytes([0, cid[1], cid[2], cid[3]]);
    assert_eq!(host, 123_456);
}

#[test]
fn numbers_out_of_range_are_named() {
    let error = |codepoint, server_id, nonce| {
        let config = CidConfig::encrypted(codepoint, server_id, nonce, [0; 16]);
        config.unwrap_err().to_string()
    };
    assert_eq!(error(7, 4, 4), "codepoint 7: expected 0 to 6");
    assert_eq!(error(0, 0, 4), "server ID of 0 octets: expected 1 to 15");
    assert_eq!(error(0, 16, 4), "server ID of 16 octets: expected 1 to 15");
    assert_eq!(error(0, 4, 3), "nonce of 3 octets: expected 4 to 18");
    assert_eq!(
        error(0, 4, 16),
        "server ID and nonce of 20 octets together: expected at most 19"
    );
    let config = CidConfig::plaintext(6, 15, 4).unwrap();
    assert_eq!((config.codepoint(), config.len()), (6, 20));
}

#[test]
fn server_ids_are_read_and_written_in_hexadecimal() {
    let server_id: ServerId = "0aF0".parse().unwrap();
    assert_eq!(*server_id, [0x0a, 0xf0]);
    assert_eq!(server_id.to_string(), "0af0");
    for text in ["", "0", "0a1", "0x", "éé", &"00".repeat(16)] {
        let error = text.parse::<ServerId>().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("server ID `{text}`:")),
            "{error}"
        );
    }
}

#[test]
fn a_key_is_not_shown() {
    let config = CidConfig::encrypted(0, 4, 12, [0xab; 16]).unwrap();
    let text = format!("{config:?}");
    assert!(!text.contains("171") && !text.contains("ab"), "{text}");
}

#[test]
fn without_the_length_the_first_octet_is_random() {
    let config = CidConfig::plaintext(5, 1, 4).unwrap().without_length();
    let mut cid = [0; 6];
    config.encode(&ServerId::new(&[1]).unwrap(), &[0; 4], || 0xf9, &mut cid);
    assert_eq!(cid[0], 0b101_11001);
    assert!(config.fits(&cid));
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(
        codepoint in 0..UNROUTABLE,
        server_id in proptest::collection::vec(any::<u8>(), 1..=MAX_SERVER_ID),
        nonce in proptest::collection::vec(any::<u8>(), MIN_NONCE..=MAX_NONCE),
        key: Option<[u8; 16]>,
        trailing in 0_usize..3,
    ) {
        let config = match key {
            Some(key) => CidConfig::encrypted(codepoint, server_id.len(), nonce.len(), key),
            None => CidConfig::plaintext(codepoint, server_id.len(), nonce.len()),
        };
        let config = match config {
            Ok(config) => config,
            Err(error) => {
                prop_assert_eq!(error, CidConfigError::FieldsLength(server_id.len() + nonce.len()));
                return Ok(());
            }
        };
        let server_id = ServerId::new(&server_id).unwrap();
        let mut cid = vec![0; config.len() + trailing];
        config.encode(&server_id, &nonce, || 0, &mut cid);
        prop_assert_eq!(cid[0] >> CODEPOINT_SHIFT, codepoint);
        prop_assert!(config.fits(&cid));
        prop_assert_eq!(config.server_of(&cid), Some(server_id));
        prop_assert_eq!(config.server_of(&cid[..config.len() - 1]), None);
        cid[0] ^= 1 << CODEPOINT_SHIFT;
        prop_assert_eq!(config.server_of(&cid), None);
    }
}
