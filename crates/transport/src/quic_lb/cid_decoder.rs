//! The balancer's half: which server a packet is for.

use super::cid_config::{CODEPOINT_SHIFT, CidConfig, ServerId, UNROUTABLE};

/// Reads server IDs from connection IDs and packets, under all configurations that are in use.
///
/// For balancers in Rust, and to test others. It reads nothing that may change from one
/// version of QUIC to the next (RFC 8999).
///
/// ```
/// # use paceline::quic_lb::{CidConfig, CidDecoder, ServerId};
/// let mut decoder = CidDecoder::default();
/// decoder.learn(CidConfig::plaintext(0, 3, 4)?);
/// let cid = [0x07, 0xc4, 0x60, 0x5e, 0x45, 0x04, 0xcc, 0x4f];
/// assert_eq!(decoder.server_of(&cid), Some("c4605e".parse()?));
/// # Ok::<_, paceline::quic_lb::CidConfigError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct CidDecoder {
    configs: [Option<CidConfig>; UNROUTABLE as usize],
}

impl CidDecoder {
    /// Adds `config`, in place of what had its codepoint. Do so before any server issues such
    /// connection IDs (§3.1).
    pub fn learn(&mut self, config: CidConfig) {
        let codepoint = usize::from(config.codepoint());
        self.configs[codepoint] = Some(config);
    }

    /// Forgets the configuration with this codepoint. Its connection IDs are unroutable then.
    pub fn forget(&mut self, codepoint: u8) {
        if let Some(config) = self.configs.get_mut(usize::from(codepoint)) {
            *config = None;
        }
    }

    /// The server that this connection ID names; `None` if it is unroutable (§4.1), but for the
    /// third of the reasons there: whether the server exists is for the caller to know.
    pub fn server_of(&self, cid: &[u8]) -> Option<ServerId> {
        let codepoint = cid.first()? >> CODEPOINT_SHIFT;
        let config = self.configs.get(usize::from(codepoint))?.as_ref();
        config?.server_of(cid)
    }

    /// The server that a UDP payload is for, by the connection ID in its first QUIC packet. `None`
    /// is for the fallback, which the draft bases on the addresses (§4.3).
    pub fn route(&self, datagram: &[u8]) -> Option<ServerId> {
        self.server_of(destination(datagram)?)
    }
}

/// The destination connection ID, with what follows it behind a short header, which does not say
/// how long it is (RFC 8999 §5).
fn destination(datagram: &[u8]) -> Option<&[u8]> {
    if datagram.first()? & LONG_HEADER == 0 {
        return datagram.get(1..);
    }
    let len = usize::from(*datagram.get(LENGTH_AT)?);
    datagram.get(LENGTH_AT + 1..LENGTH_AT + 1 + len)
}

const LONG_HEADER: u8 = 0x80;

/// Behind the first octet and the version.
const LENGTH_AT: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoder() -> CidDecoder {
        let mut decoder = CidDecoder::default();
        decoder.learn(CidConfig::plaintext(0, 3, 4).unwrap());
        decoder.learn(CidConfig::encrypted(2, 8, 8, [7; 16]).unwrap());
        decoder
    }

    const CID: [u8; 8] = [0x07, 0xc4, 0x60, 0x5e, 0x45, 0x04, 0xcc, 0x4f];

    fn named() -> Option<ServerId> {
        Some(ServerId::new(&[0xc4, 0x60, 0x5e]).unwrap())
    }

    #[test]
    fn short_and_long_headers_have_it_in_different_places() {
        let short = [&[0x40][..], &CID, &[0; 30]].concat();
        assert_eq!(decoder().route(&short), named());
        let long = [&[0xc0, 0, 0, 0, 1, 8][..], &CID, &[0; 30]].concat();
        assert_eq!(decoder().route(&long), named());
        assert_eq!(decoder().route(&long[..13]), None, "cut within");
    }

    #[test]
    fn what_follows_a_long_headers_connection_id_is_none_of_it() {
        let mut long = [&[0xc0, 0, 0, 0, 1, 7][..], &CID].concat();
        assert_eq!(decoder().route(&long), None, "an octet too short");
        long[LENGTH_AT] = 8;
        assert_eq!(decoder().route(&long), named());
    }

    #[test]
    fn unknown_codepoints_and_the_reserved_one_are_unroutable() {
        for codepoint in [1, 3, 4, 5, 6, 7_u8] {
            let mut cid = CID;
            cid[0] |= codepoint << CODEPOINT_SHIFT;
            assert_eq!(decoder().server_of(&cid), None);
        }
        let mut decoder = decoder();
        decoder.forget(0);
        decoder.forget(7);
        assert_eq!(decoder.server_of(&CID), None);
        assert_eq!(decoder.server_of(&[]), None);
    }

    proptest! {
        #[test]
        fn no_datagram_makes_it_panic(datagram in proptest::collection::vec(any::<u8>(), 0..80)) {
            let server = decoder().route(&datagram);
            prop_assert!(server.is_none_or(|server| server.len() == 3 || server.len() == 8));
        }
    }
}
