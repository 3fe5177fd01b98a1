use super::*;
use crate::crypto_provider::default_provider;
use crate::tls;
use proptest::prelude::*;
use rustls::pki_types::ServerName;
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, RootCertStore, ServerConfig, ServerConnection,
};
use std::sync::atomic::{AtomicU64, Ordering};

/// Epoch 1 from 1,000, epoch 2 from 2,000, taken for 100 s longer.
fn secrets(now: &Arc<AtomicU64>) -> Secrets {
    let now = Arc::clone(now);
    let clock = Arc::new(move || now.load(Ordering::Relaxed));
    Secrets::with_clock(text(1, 2).as_bytes(), clock).unwrap()
}

fn text(first: u8, second: u8) -> String {
    let secret = |byte: u8| format!("{byte:02x}").repeat(32);
    let epoch = |number| format!("epoch {number} from {number}000 {}\n", secret(number));
    let head = format!("overlap 100\nreset {}\n", secret(0));
    head + &epoch(first) + &epoch(second)
}

fn servers() -> (Arc<AtomicU64>, Secrets, Secrets) {
    let now = Arc::new(AtomicU64::new(1_500));
    let (a, b) = (secrets(&now), secrets(&now));
    (now, a, b)
}

#[test]
fn another_server_opens_until_the_overlap_is_over() {
    let (now, a, b) = servers();
    let sealed = a.ticketer().encrypt(b"session").unwrap();
    for (time, is_taken) in [(1_500, true), (2_000, true), (2_099, true), (2_100, false)] {
        now.store(time, Ordering::Relaxed);
        assert_eq!(b.ticketer().decrypt(&sealed).is_some(), is_taken, "{time}");
    }
    assert_eq!(b.epoch(), 2);
    let sealed = a.ticketer().encrypt(b"session").unwrap();
    assert_eq!(b.ticketer().decrypt(&sealed).unwrap(), b"session");
    assert_eq!(b.ticketer().lifetime(), 100);
    assert!(b.ticketer().enabled());
}

#[test]
fn secrets_change_while_keys_are_in_use() {
    let (now, a, b) = servers();
    let (ticketer, other) = (a.ticketer(), b.ticketer());
    now.store(2_500, Ordering::Relaxed);
    let sealed = other.encrypt(b"session").unwrap();
    a.reload(text(2, 3).as_bytes()).unwrap();
    assert!(ticketer.decrypt(&sealed).is_some(), "epoch 2 is in both");
    now.store(3_000, Ordering::Relaxed);
    let sealed = ticketer.encrypt(b"session").unwrap();
    assert!(
        other.decrypt(&sealed).is_none(),
        "epoch 3 is not known there"
    );
    b.reload(text(2, 3).as_bytes()).unwrap();
    assert!(other.decrypt(&sealed).is_some());
    let error = b.reload(b"overlap").unwrap_err().to_string();
    assert!(error.starts_with("line 1: expected"), "{error}");
    assert!(
        other.decrypt(&sealed).is_some(),
        "the secrets are as they were"
    );
}

#[test]
fn nothing_is_opened_for_another_purpose() {
    let (_, a, _) = servers();
    for sealed_for in Purpose::ALL {
        let sealed = Sealing::new(a.clone(), sealed_for).seal(b"x").unwrap();
        for opened_for in Purpose::ALL {
            let opened = Sealing::new(a.clone(), opened_for).open(&sealed);
            assert_eq!(opened.is_some(), sealed_for == opened_for);
        }
    }
}

#[test]
fn the_same_plaintext_is_never_sealed_alike() {
    let (_, a, _) = servers();
    let seal = || a.ticketer().encrypt(b"session").unwrap();
    assert_ne!(seal(), seal());
}

/// What quinn-proto does with a token key, in its order (its `token.rs`).
#[test]
fn tokens_say_of_which_epoch_they_are() {
    let (now, a, b) = servers();
    let mut token = b"address".to_vec();
    let seal = a.token_key().aead_from_hkdf(&[7; 16]);
    seal.seal(&mut token, &[]).unwrap();
    assert_eq!(token.last(), Some(&1));
    now.store(2_050, Ordering::Relaxed);
    let open = b.token_key().aead_from_hkdf(&[7; 16]);
    assert_eq!(open.open(&mut token.clone(), &[]).unwrap(), b"address");
    assert!(open.open(&mut token.clone(), b"other data").is_err());
    assert!(open.open(&mut [], &[]).is_err());
    now.store(2_100, Ordering::Relaxed);
    let open = b.token_key().aead_from_hkdf(&[7; 16]);
    assert!(open.open(&mut token, &[]).is_err());
}

/// TLS as rustls has it, without QUIC around it, which does not say whether a session was resumed.
#[test]
fn a_ticket_of_one_server_resumes_its_session_at_another() {
    let (_, a, b) = servers();
    let certificate = tls::SelfSigned::generate(["localhost"]).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.cert.clone()).unwrap();
    let provider = Arc::new(default_provider());
    let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = Arc::new(client);
    let server = |secrets: &Secrets| {
        let chain = vec![certificate.cert.clone()];
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, certificate.key.clone_key())
            .unwrap();
        config.ticketer = secrets.ticketer();
        Arc::new(config)
    };
    assert_eq!(handshake(&client, server(&a)), HandshakeKind::Full);
    assert_eq!(handshake(&client, server(&b)), HandshakeKind::Resumed);
    let stranger = Secrets::new(text(7, 8).as_bytes()).unwrap();
    assert_eq!(handshake(&client, server(&stranger)), HandshakeKind::Full);
}

fn handshake(client: &Arc<ClientConfig>, server: Arc<ServerConfig>) -> HandshakeKind {
    let name = ServerName::try_from("localhost").unwrap();
    let mut client = ClientConnection::new(Arc::clone(client), name).unwrap();
    let mut server = ServerConnection::new(server).unwrap();
    while client.wants_write() || server.wants_write() {
        let mut flight = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut flight).unwrap();
        }
        let mut unread = &flight[..];
        while !unread.is_empty() {
            server.read_tls(&mut unread).unwrap();
            server.process_new_packets().unwrap();
        }
        flight.clear();
        while server.wants_write() {
            server.write_tls(&mut flight).unwrap();
        }
        let mut unread = &flight[..];
        while !unread.is_empty() {
            client.read_tls(&mut unread).unwrap();
            client.process_new_packets().unwrap();
        }
    }
    server.handshake_kind().unwrap()
}

proptest! {
    #[test]
    fn what_was_changed_is_not_opened(
        plain in proptest::collection::vec(any::<u8>(), 0..100),
        at: usize,
        bit in 0..8,
    ) {
        let (_, a, b) = servers();
        let mut sealed = a.ticketer().encrypt(&plain).unwrap();
        prop_assert_eq!(b.ticketer().decrypt(&sealed), Some(plain));
        let at = at % sealed.len();
        sealed[at] ^= 1_u8 << bit;
        prop_assert_eq!(b.ticketer().decrypt(&sealed), None);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        let (_, a, _) = servers();
        prop_assert_eq!(a.ticketer().decrypt(&bytes), None);
    }
}
