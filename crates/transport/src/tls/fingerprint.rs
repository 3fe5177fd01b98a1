//! What a client recognizes a certificate by.

use crate::crypto_provider::digest::{SHA256, digest};
use core::fmt;
use core::str::FromStr;
use rustls::pki_types::CertificateDer;
use units::ParseError;

/// SHA-256 of a certificate's DER: what a client recognizes the certificate by whose server no
/// authority vouches for.
///
/// As text it is 64 hexadecimal digits. It is written in lower case, as `sha256sum` does; it is
/// read in either case, also with the colons that `openssl x509 -fingerprint -sha256` puts between
/// the bytes.
///
/// ```
/// use paceline::tls::{Fingerprint, SelfSigned};
///
/// let certificate = SelfSigned::generate(["localhost"])?;
/// assert_eq!(certificate.fingerprint, Fingerprint::of(&certificate.cert));
/// let text = certificate.fingerprint.to_string();
/// assert_eq!(text.parse(), Ok(certificate.fingerprint));
/// # Ok::<(), paceline::tls::TlsError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Of this certificate.
    pub fn of(cert: &CertificateDer<'_>) -> Self {
        let hash = digest(&SHA256, cert);
        Self(hash.as_ref().try_into().expect("SHA-256 has 32 bytes"))
    }

    /// The hash itself, such as a browser wants it in `serverCertificateHashes`.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Fingerprint {
    fn from(hash: [u8; 32]) -> Self {
        Self(hash)
    }
}

impl From<Fingerprint> for [u8; 32] {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl FromStr for Fingerprint {
    type Err = ParseError;

    /// # Errors
    /// When `text` without its colons is not 64 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError::new(text, "a SHA-256 fingerprint of 64 hexadecimal digits");
        let mut digits = text.chars().filter(|c| *c != ':').map(|c| c.to_digit(16));
        let mut digit = || {
            digits
                .next()
                .flatten()
                .and_then(|digit| u8::try_from(digit).ok())
        };
        let mut hash = [0; 32];
        for byte in &mut hash {
            let (high, low) = digit().zip(digit()).ok_or_else(error)?;
            *byte = high << 4 | low;
        }
        match digits.next() {
            None => Ok(Self(hash)),
            Some(_) => Err(error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_the_sha_256_of_the_certificate() {
        // The example "abc" of FIPS 180-4.
        let found = Fingerprint::of(&CertificateDer::from(b"abc".as_slice()));
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(found.to_string(), known);
        assert_eq!(format!("{found:?}"), format!("Fingerprint({known})"));
        assert_eq!(found.as_bytes()[..2], [0xba, 0x78]);
    }

    #[test]
    fn text_is_read_in_either_case_and_with_colons() {
        let hash: [u8; 32] = std::array::from_fn(|index| 0xf0 ^ index as u8);
        let fingerprint = Fingerprint::from(hash);
        let plain = fingerprint.to_string();
        let openssl = hash.map(|byte| format!("{byte:02X}")).join(":");
        for text in [&plain, &plain.to_uppercase(), &openssl] {
            assert_eq!(text.parse(), Ok(fingerprint), "{text}");
        }
        assert_eq!(<[u8; 32]>::from(fingerprint), hash);
    }

    #[test]
    fn what_is_no_fingerprint_is_refused_with_what_was_given() {
        let plain = Fingerprint::from([0xab; 32]).to_string();
        for wrong in [
            "",
            "beef",
            &plain[1..],
            &format!("{plain}0"),
            &format!("{plain}00"),
            &format!("{plain}\n"),
            &plain.replacen('b', "g", 1),
            &plain.replacen("ab", "é", 1),
        ] {
            let error = wrong.parse::<Fingerprint>().unwrap_err();
            let expected = "is not a SHA-256 fingerprint of 64 hexadecimal digits";
            assert_eq!(error.to_string(), format!("`{wrong}` {expected}"));
        }
    }
}
