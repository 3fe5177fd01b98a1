//! What endpoints identify themselves with.

use quinn_proto::crypto::{CryptoError, HmacKey};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate of the same length on every run, so that the packets are: Ed25519's keys and
/// signatures have one length, and so has the serial number.
#[derive(Debug)]
pub(super) struct Certificate {
    pub(super) der: CertificateDer<'static>,
    pub(super) key: PrivateKeyDer<'static>,
}

impl Certificate {
    pub(super) fn generate() -> Self {
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).expect("Ed25519 is built in");
        let mut params =
            rcgen::CertificateParams::new(vec![NAME.to_owned()]).expect("the name is a DNS name");
        params.serial_number = Some(1.into());
        let certificate = params.self_signed(&key).expect("the key can sign");
        Self {
            der: certificate.der().clone(),
            key: PrivateKeyDer::try_from(key.serialize_der()).expect("rcgen writes PKCS #8"),
        }
    }
}

/// Makes stateless-reset tokens that are the same on every run. Nobody attacks a simulation.
pub(super) struct FixedKey;

impl HmacKey for FixedKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        for (index, byte) in signature_out.iter_mut().enumerate() {
            *byte = data[index % data.len().max(1)] ^ 0x5a;
        }
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut expected = vec![0; signature.len()];
        self.sign(data, &mut expected);
        (expected == signature).then_some(()).ok_or(CryptoError)
    }
}

pub(super) const NAME: &str = "server.test";
