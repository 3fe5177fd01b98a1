//! What all stacks are told alike.

use crate::Result;
use rustls::RootCertStore;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};
use socket2::SockRef;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

/// Congestion control, by the name of ours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Congestion {
    /// CUBIC of each stack.
    #[default]
    Cubic,
    /// `bbr3`, and BBR of the others.
    Bbr3,
    /// `paceline`, and BBR of the others.
    Paceline,
}

/// Sizes in bytes.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// UDP payload of every full packet, from the first one on; none is probed.
    pub(crate) mtu: u16,
    /// Flow control of a stream and of a connection, and most that a sender keeps until it is
    /// acknowledged. Fixed.
    pub(crate) window: u32,
    /// SO_RCVBUF and SO_SNDBUF, which the kernel doubles for its own bookkeeping.
    pub(crate) socket_buffer: usize,
    #[serde(default)]
    pub(crate) congestion: Congestion,
}

impl Settings {
    /// A socket on loopback, of the stack that asks.
    pub(crate) fn socket(&self) -> Result<UdpSocket> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        SockRef::from(&socket).set_recv_buffer_size(self.socket_buffer)?;
        SockRef::from(&socket).set_send_buffer_size(self.socket_buffer)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    }

    /// The initial congestion window in bytes (RFC 9002 §7.2), for stacks that do not derive it
    /// from the size of their packets.
    pub(crate) fn initial_window(&self) -> u64 {
        let packet = u64::from(self.mtu);
        (10 * packet).min(14_720.max(2 * packet))
    }
}

/// TLS of a server, with rustls' defaults for tickets.
pub(crate) fn server_tls(certificate: &[u8], key: &[u8]) -> Result<rustls::ServerConfig> {
    let chain = vec![CertificateDer::from(certificate.to_vec())];
    let key = PrivateKeyDer::try_from(key.to_vec())?;
    let mut config = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(config)
}

/// TLS of a client that verifies the certificate and resumes no session.
pub(crate) fn client_tls(certificate: &[u8]) -> Result<rustls::ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(certificate.to_vec()))?;
    let mut config = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn provider() -> Arc<CryptoProvider> {
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites = vec![aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256];
    provider.kx_groups = vec![aws_lc_rs::kx_group::X25519];
    Arc::new(provider)
}

/// The server's name in its certificate.
pub(crate) const NAME: &str = "localhost";
/// Longer than any round, so that connections which nobody uses stay.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// The most that fits into a UDP datagram over IPv4, in bytes: also all packets of one system call.
pub(crate) const LARGEST_PAYLOAD: usize = 65_507;
pub(crate) const ALPN: &[u8] = b"peers";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_initial_window_is_ten_packets_unless_they_are_large() {
        let window = |mtu| {
            let settings = Settings {
                mtu,
                window: 0,
                socket_buffer: 0,
                congestion: Congestion::Cubic,
            };
            settings.initial_window()
        };
        assert_eq!(window(1_200), 12_000);
        assert_eq!(window(1_472), 14_720);
        assert_eq!(window(8_952), 17_904);
        assert_eq!(window(65_000), 130_000);
    }
}
