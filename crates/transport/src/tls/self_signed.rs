//! Certificates that vouch for themselves.

use super::error::TlsError;
use super::fingerprint::Fingerprint;
#[cfg(feature = "testing")]
use crate::virtual_time;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::ops::RangeInclusive;
use std::time::SystemTime;
use time::OffsetDateTime;

/// A certificate that vouches for itself, made on the spot.
#[derive(Debug)]
pub struct SelfSigned {
    /// The certificate.
    pub cert: CertificateDer<'static>,
    /// The key to it: ECDSA on P-256; Ed25519, whose signatures have one length, in the `testing`
    /// module's `Simulation`.
    pub key: PrivateKeyDer<'static>,
    /// What [`client_with_fingerprint`](super::client_with_fingerprint) recognizes it by.
    pub fingerprint: Fingerprint,
}

impl SelfSigned {
    /// A certificate for these DNS names and IP addresses, valid from 1975 to 4096.
    ///
    /// # Errors
    /// When a name is neither a DNS name nor an IP address.
    pub fn generate(names: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, TlsError> {
        Self::sign(params(names)?)
    }

    /// The same, valid from the first of these times to the last, in whole seconds, rounded down.
    ///
    /// A browser takes a certificate by its fingerprint (WebTransport's `serverCertificateHashes`)
    /// only if it is valid at the time and for no more than two weeks in all: let it begin an hour
    /// ago, for clocks that are slow, and last 14 days from then.
    ///
    /// # Errors
    /// As in [`generate`](Self::generate), or when the last time is before the first, or either is
    /// not within the years 1970 to 9999.
    pub fn generate_valid(
        names: impl IntoIterator<Item = impl Into<String>>,
        validity: RangeInclusive<SystemTime>,
    ) -> Result<Self, TlsError> {
        let mut params = params(names)?;
        params.not_before = date(*validity.start())?;
        params.not_after = date(*validity.end())?;
        if params.not_after < params.not_before {
            return Err(TlsError::Validity(format!(
                "it ends at {} and begins at {}; expected an end after the beginning",
                params.not_after, params.not_before
            )));
        }
        Self::sign(params)
    }

    fn sign(params: CertificateParams) -> Result<Self, TlsError> {
        let (params, key) = keyed(params).map_err(TlsError::SelfSigned)?;
        let signed = params.self_signed(&key).map_err(TlsError::SelfSigned)?;
        let cert = signed.der().clone();
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("rcgen writes PKCS #8");
        Ok(Self {
            fingerprint: Fingerprint::of(&cert),
            cert,
            key,
        })
    }
}

/// In virtual time of one length each time.
#[cfg_attr(
    not(feature = "testing"),
    expect(unused_mut, reason = "it is changed in virtual time alone")
)]
fn keyed(mut params: CertificateParams) -> Result<(CertificateParams, KeyPair), rcgen::Error> {
    #[cfg(feature = "testing")]
    if virtual_time::with(|_| ()).is_some() {
        params.serial_number = Some(1.into());
        return Ok((params, KeyPair::generate_for(&rcgen::PKCS_ED25519)?));
    }
    Ok((params, KeyPair::generate()?))
}

fn params(
    names: impl IntoIterator<Item = impl Into<String>>,
) -> Result<CertificateParams, TlsError> {
    let names: Vec<String> = names.into_iter().map(Into::into).collect();
    CertificateParams::new(names).map_err(TlsError::SelfSigned)
}

/// A time as certificates have it.
fn date(at: SystemTime) -> Result<OffsetDateTime, TlsError> {
    let since_1970 = at.duration_since(SystemTime::UNIX_EPOCH).ok();
    let seconds = since_1970.and_then(|since| i64::try_from(since.as_secs()).ok());
    let date = seconds.and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    date.ok_or_else(|| {
        TlsError::Validity(format!(
            "{at:?} is out of range; expected a time in the years 1970 to 9999"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_certificate_is_valid_for_the_time_given() {
        let fortnight = at(981_173_106)..=at(981_173_106 + 14 * 86_400);
        let signed = SelfSigned::generate_valid(["localhost"], fortnight).unwrap();
        let has = |date: &[u8]| signed.cert.windows(date.len()).any(|part| part == date);
        // UTCTime (RFC 5280 section 4.1.2.5.1).
        assert!(has(b"010203040506Z") && has(b"010217040506Z"));
    }

    #[test]
    fn a_time_that_a_certificate_cannot_have_is_refused() {
        let refused = |validity| {
            let error = SelfSigned::generate_valid(["localhost"], validity);
            error.expect_err("it cannot be").to_string()
        };
        let error = refused(at(2_000)..=at(1_000));
        assert!(
            error.contains("expected an end after the beginning"),
            "{error}"
        );
        let before_1970 = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        for validity in [before_1970..=at(1), at(1)..=at(300_000_000_000)] {
            let error = refused(validity);
            assert!(error.contains("in the years 1970 to 9999"), "{error}");
        }
    }
}
