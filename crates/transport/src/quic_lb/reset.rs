//! Stateless resets that outlive the server that promised them (RFC 9000 §10.3.2).

use super::connection_ids::ConnectionIds;
use super::secrets::Secrets;
use crate::crypto_provider::hmac;
use quinn_proto::crypto::{CryptoError, HmacKey};
use std::sync::Arc;

impl Secrets {
    /// For [`EndpointConfig::reset_key`](crate::EndpointConfig::reset_key): a server that
    /// was started again ends the connections that it has forgotten, and so does one that has
    /// [`adopt`](ConnectionIds::adopt)ed another.
    ///
    /// A reset's token follows from this secret, the connection ID and the key that encrypts
    /// connection IDs of its codepoint, so that it changes when a codepoint is used anew
    /// (draft-ietf-quic-load-balancers-21 §9.5). Nothing in a connection ID tells the epoch,
    /// and connections last: a new secret leaves those before it to their idle timeouts
    /// if their server loses them.
    pub fn reset_key(&self, ids: &ConnectionIds) -> Arc<dyn HmacKey> {
        Arc::new(ResetKey::new(self.clone(), ids.clone()))
    }
}

/// HMAC-SHA-256 over the key of the connection ID's configuration and the connection ID.
pub(super) struct ResetKey {
    secrets: Secrets,
    ids: ConnectionIds,
}

impl ResetKey {
    pub(super) fn new(secrets: Secrets, ids: ConnectionIds) -> Self {
        Self { secrets, ids }
    }

    fn message(&self, cid: &[u8]) -> Vec<u8> {
        [&self.ids.key_of(cid)[..], cid].concat()
    }
}

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        let schedule = self.secrets.schedule();
        let tag = hmac::sign(schedule.reset(), &self.message(data));
        signature_out.copy_from_slice(tag.as_ref());
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let schedule = self.secrets.schedule();
        hmac::verify(schedule.reset(), &self.message(data), signature).map_err(|_| CryptoError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quic_lb::CidConfig;
    use quinn_proto::ConnectionIdGenerator;

    fn secrets(byte: u8) -> Secrets {
        let text = format!(
            "overlap 1\nreset {}\nepoch 0 from 0 {}",
            format!("{byte:02x}").repeat(32),
            "00".repeat(32)
        );
        Secrets::new(text.as_bytes()).unwrap()
    }

    fn ids(key: u8) -> ConnectionIds {
        let config = CidConfig::encrypted(3, 1, 8, [key; 16]).unwrap();
        ConnectionIds::new(config, "01".parse().unwrap()).unwrap()
    }

    fn sign(key: &dyn HmacKey, cid: &[u8]) -> Vec<u8> {
        let mut tag = vec![0; key.signature_len()];
        key.sign(cid, &mut tag);
        assert!(key.verify(cid, &tag).is_ok());
        tag[0] ^= 1;
        assert!(key.verify(cid, &tag).is_err());
        tag
    }

    #[test]
    fn servers_with_the_same_secret_and_configuration_promise_the_same() {
        let cid = ids(5).generate_cid();
        let expected = sign(&*secrets(1).reset_key(&ids(5)), &cid);
        assert_eq!(sign(&*secrets(1).reset_key(&ids(5)), &cid), expected);
        assert_ne!(sign(&*secrets(2).reset_key(&ids(5)), &cid), expected);
        let other = ids(5).generate_cid();
        assert_ne!(sign(&*secrets(1).reset_key(&ids(5)), &other), expected);
    }

    #[test]
    fn a_codepoint_that_is_used_anew_has_other_tokens() {
        let cid = ids(5).generate_cid();
        let first = sign(&*secrets(1).reset_key(&ids(5)), &cid);
        assert_ne!(sign(&*secrets(1).reset_key(&ids(6)), &cid), first);
    }

    #[test]
    fn other_connection_ids_are_signed_as_well() {
        let key = secrets(1).reset_key(&ids(5));
        assert_ne!(sign(&*key, &[0xff; 8]), sign(&*key, &[]));
    }
}
