//! Who is let in, and what both sides have to agree on.

use crate::support::{Endpoints, NAME, any, within_a_minute};
use paceline::crypto::rustls::HandshakeData;
use paceline::rustls::RootCertStore;
use paceline::tls::{self, Cipher, ClientTls, SelfSigned};
use paceline::{Connection, ConnectionError, Endpoint, TransportErrorCode};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Connects with `client` to a server with `cipher` and `alpn`.
async fn attempt(
    certificate: &SelfSigned,
    name: &str,
    client: ClientTls,
    cipher: Option<Cipher>,
    alpn: &[&[u8]],
) -> Result<Connection, ConnectionError> {
    let mut tls = certificate.server().alpn(alpn);
    if let Some(cipher) = cipher {
        tls = tls.cipher(cipher);
    }
    let server = Endpoint::server(tls.config().unwrap(), any()).unwrap();
    let endpoint = Endpoint::client(any()).unwrap();
    let config = client.config().unwrap();
    let address = server.local_addr().unwrap();
    let connecting = endpoint.connect_with(config, address, name).unwrap();
    let accepting = async { server.accept().await.unwrap().await };
    within_a_minute(async { tokio::join!(connecting, accepting).0 }).await
}

#[track_caller]
fn assert_crypto_error(result: Result<Connection, ConnectionError>, alert: u8) {
    let code = match result.unwrap_err() {
        ConnectionError::TransportError(error) => error.code,
        ConnectionError::ConnectionClosed(close) => close.error_code,
        error => panic!("expected TLS alert {alert}, got {error}"),
    };
    assert_eq!(code, TransportErrorCode::crypto(alert));
}

#[tokio::test]
async fn a_certificate_is_refused_after_its_time() {
    for (years, is_valid) in [(1, false), (500, true)] {
        let end = SystemTime::UNIX_EPOCH + Duration::from_secs(years * 365 * 86_400);
        let validity = SystemTime::UNIX_EPOCH..=end;
        let certificate = SelfSigned::generate_valid([NAME], validity).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.cert.clone()).unwrap();
        let client = tls::client_with_roots(Arc::new(roots));
        let result = attempt(&certificate, NAME, client, None, &[]).await;
        if is_valid {
            result.unwrap();
        } else {
            assert_crypto_error(result, CERTIFICATE_EXPIRED);
        }
    }
}

/// TLS alerts (RFC 8446 §6).
const HANDSHAKE_FAILURE: u8 = 40;
const CERTIFICATE_EXPIRED: u8 = 45;
const ACCESS_DENIED: u8 = 49;
const DECRYPT_ERROR: u8 = 51;
const NO_APPLICATION_PROTOCOL: u8 = 120;

#[tokio::test]
async fn a_pinned_certificate_is_taken_and_another_is_not() {
    let certificate = SelfSigned::generate([NAME]).unwrap();
    assert_eq!(
        tls::Fingerprint::of(&certificate.cert),
        certificate.fingerprint
    );
    let client = tls::client_with_fingerprint(certificate.fingerprint);
    attempt(&certificate, "any.name", client, None, &[])
        .await
        .unwrap();
    let other = SelfSigned::generate([NAME]).unwrap();
    let client = tls::client_with_fingerprint(other.fingerprint);
    assert_crypto_error(
        attempt(&certificate, NAME, client, None, &[]).await,
        ACCESS_DENIED,
    );
}

#[tokio::test]
async fn an_authority_vouches_for_its_own_and_for_the_name() {
    let pem = |certificate: &SelfSigned| {
        let body = base64(&certificate.cert);
        format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n").into_bytes()
    };
    let certificate = SelfSigned::generate([NAME]).unwrap();
    let client = || tls::client_with_ca(&pem(&certificate)).unwrap();
    attempt(&certificate, NAME, client(), None, &[])
        .await
        .unwrap();
    let wrong_name = attempt(&certificate, "example.org", client(), None, &[]).await;
    assert!(wrong_name.is_err());
    let stranger = SelfSigned::generate([NAME]).unwrap();
    assert_crypto_error(
        attempt(&stranger, NAME, client(), None, &[]).await,
        // Same name, but signed with another key.
        DECRYPT_ERROR,
    );
    let nothing = tls::client_with_ca(b"no certificate").unwrap_err();
    assert!(nothing.to_string().contains("expected certificates in PEM"));
}

#[tokio::test]
async fn without_verification_anyone_is_taken() {
    let certificate = SelfSigned::generate(["somebody.else"]).unwrap();
    let client = tls::client_without_verification();
    attempt(&certificate, NAME, client, None, &[])
        .await
        .unwrap();
}

#[tokio::test]
async fn protocols_have_to_match() {
    let certificate = SelfSigned::generate([NAME]).unwrap();
    let client = tls::client_without_verification().alpn(&[b"new", b"old"]);
    let connection = attempt(&certificate, NAME, client.clone(), None, &[b"old"]).await;
    let data = connection.unwrap().handshake_data().unwrap();
    let data = data.downcast::<HandshakeData>().unwrap();
    assert_eq!(data.protocol.as_deref(), Some(&b"old"[..]));
    assert_crypto_error(
        attempt(&certificate, NAME, client, None, &[b"other"]).await,
        NO_APPLICATION_PROTOCOL,
    );
}

#[tokio::test]
async fn each_cipher_works_and_both_sides_have_to_have_it() {
    let certificate = SelfSigned::generate([NAME]).unwrap();
    let client = tls::client_without_verification;
    for cipher in [Cipher::Aes128, Cipher::Aes256, Cipher::ChaCha20] {
        let client = client().cipher(cipher);
        attempt(&certificate, NAME, client, Some(cipher), &[])
            .await
            .unwrap();
        assert_eq!(cipher.to_string().parse(), Ok(cipher));
    }
    let mismatch = attempt(
        &certificate,
        NAME,
        client().cipher(Cipher::Aes128),
        Some(Cipher::ChaCha20),
        &[],
    );
    assert_crypto_error(mismatch.await, HANDSHAKE_FAILURE);
    let error = "rot13".parse::<Cipher>().unwrap_err().to_string();
    assert!(error.contains("rot13") && error.contains("chacha20"));
}

#[tokio::test]
async fn what_the_handshake_agreed_on_is_known_before_it_ends() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let connecting = endpoints.client.connect(endpoints.address(), NAME).unwrap();
        let accepting = async {
            let mut accepting = endpoints.server.accept().await.unwrap().accept().unwrap();
            let data = accepting.handshake_data().await.unwrap();
            let data = data.downcast::<HandshakeData>().unwrap();
            assert_eq!(data.server_name.as_deref(), Some(NAME));
            accepting.await.unwrap()
        };
        let (client, _server) = tokio::join!(connecting, accepting);
        assert!(client.unwrap().peer_identity().is_some());
        endpoints.close().await;
    })
    .await;
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut bits = [0; 4];
        bits[1..=group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes(bits);
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) & 63;
            let is_padding = digit > group.len();
            text.push(if is_padding {
                '='
            } else {
                DIGITS[value as usize].into()
            });
        }
    }
    text
}
