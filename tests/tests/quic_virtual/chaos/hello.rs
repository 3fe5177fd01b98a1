//! A client's first packet with transport parameters, and frames, that may be wrong.

use super::frames::{
    ACK, CRYPTO, HANDSHAKE_DONE, MAX_DATA, MAX_STREAMS, PADDING, PING, PROTOCOL_VIOLATION, STREAM,
    TRANSPORT_PARAMETER_ERROR, put_integer,
};
use super::hostile::Judge;
use paceline::DatagramBatch;
use paceline::testing::Simulation;
use rustls::crypto::aws_lc_rs::{cipher_suite, default_provider, kx_group};
use rustls::pki_types::ServerName;
use rustls::quic::{ClientConnection, Keys, Version};
use rustls::{ClientConfig, RootCertStore, Side, version};
use std::net::SocketAddr;
use std::sync::Arc;
use units::Rng;

/// A way to write a ClientHello's transport parameters (RFC 9000 §18), given the connection ID of
/// who writes them.
pub(super) struct Parameters {
    pub(super) name: &'static str,
    pub(super) write: Write,
    pub(super) is_right: bool,
}

/// Numbers and values of parameters, the latter as bytes.
type Write = fn(&[u8; 8]) -> Vec<(u64, Vec<u8>)>;

/// All that servers have to tell apart (§7.3, §7.4, §18.2).
pub(super) const PARAMETERS: [Parameters; 17] = [
    right("none but the connection ID", |_| vec![]),
    right("unknown ones", |_| vec![(27 + 31 * 5, vec![1; 100])]),
    wrong("the connection ID twice", |id| vec![(0x0f, id.to_vec())]),
    wrong("a window twice", |_| vec![(4, integer(9)), (4, integer(9))]),
    wrong("packets of 1,199 bytes", |_| vec![(3, integer(1_199))]),
    wrong("an exponent of 21", |_| vec![(0x0a, integer(21))]),
    wrong("ACKs after 16,384 ms", |_| vec![(0x0b, integer(1 << 14))]),
    wrong("one connection ID", |_| vec![(0x0e, integer(1))]),
    wrong("too many streams", |_| vec![(8, integer(MAX_STREAMS + 1))]),
    wrong("too many one-way streams", |_| {
        vec![(9, integer(MAX_STREAMS + 1))]
    }),
    wrong("a server's first connection ID", |id| {
        vec![(0, id.to_vec())]
    }),
    wrong("a server's reset token", |_| vec![(2, vec![7; 16])]),
    wrong("a server's address", |id| {
        vec![(0x0d, preferred_address(id))]
    }),
    wrong("a Retry's connection ID", |id| vec![(0x10, id.to_vec())]),
    wrong("an integer with a byte too many", |_| {
        vec![(4, [integer(9), vec![0]].concat())]
    }),
    // Nothing forbids it, but quinn-proto (docs/upstream.md).
    wrong("an integer in a long form", |_| vec![(4, long_integer(9))]),
    wrong("a flag with a value", |_| vec![(0x0c, vec![1])]),
];

const fn right(name: &'static str, write: Write) -> Parameters {
    Parameters {
        name,
        write,
        is_right: true,
    }
}

const fn wrong(name: &'static str, write: Write) -> Parameters {
    Parameters {
        name,
        write,
        is_right: false,
    }
}

/// Sends one from an address of its own, and is not heard of again.
pub(super) fn send(server: SocketAddr, judge: &Judge, rng: &mut Rng) {
    let socket = Simulation::bind("0.0.0.0:0".parse().unwrap()).unwrap();
    let own = socket.local_addr().unwrap();
    let parameters = &PARAMETERS[rng.below(PARAMETERS.len() as u64) as usize];
    let mut frames = Vec::new();
    let mut errors = vec![];
    if !parameters.is_right {
        errors.push(TRANSPORT_PARAMETER_ERROR);
    }
    // Beside the ClientHello: what belongs there, or not (§12.4).
    match rng.below(6) {
        0 => frames.extend([PING; 20]),
        1 => {
            errors.push(PROTOCOL_VIOLATION);
            let kinds = [STREAM, HANDSHAKE_DONE, MAX_DATA, ACK];
            frames.push(kinds[rng.below(4) as usize]);
            frames.extend([0; 4]);
        }
        _ => {}
    }
    judge.permit(own, &errors);
    let packet = initial(parameters, &frames, rng);
    let _ = socket.try_send(&DatagramBatch::new(server, &packet, packet.len()));
}

/// An Initial packet (§17.2.2) that has a ClientHello and these frames.
pub(super) fn initial(parameters: &Parameters, frames: &[u8], rng: &mut Rng) -> Vec<u8> {
    let [destination, source] = [0; 2].map(|_| rng.next_u64().to_be_bytes());
    let mut encoded = Vec::new();
    let own = (0x0f, source.to_vec());
    for (number, value) in [own].into_iter().chain((parameters.write)(&source)) {
        put_integer(&mut encoded, number);
        put_integer(&mut encoded, value.len() as u64);
        encoded.extend(value);
    }
    let hello = client_hello(encoded);
    let mut payload = vec![CRYPTO];
    put_integer(&mut payload, 0);
    put_integer(&mut payload, hello.len() as u64);
    payload.extend(hello);
    payload.extend(frames);
    payload.resize(PAYLOAD, PADDING);

    let suite = cipher_suite::TLS13_AES_128_GCM_SHA256.tls13().unwrap();
    let (quic, side) = (suite.quic.unwrap(), Side::Client);
    let keys = Keys::initial(Version::V1, suite, quic, &destination, side).local;
    // Long header, Initial, a packet number of four bytes; version 1; no token.
    let mut header = vec![0xc3, 0, 0, 0, 1, 8];
    header.extend(destination);
    header.push(8);
    header.extend(source);
    header.push(0);
    let length = (4 + PAYLOAD + 16) as u16 | 0x4000;
    header.extend(length.to_be_bytes());
    header.extend([0; 4]);
    let sealed = keys.packet.encrypt_in_place(0, &header, &mut payload);
    payload.extend(sealed.unwrap().as_ref());
    let (first, rest) = header.split_first_mut().unwrap();
    let number = rest.last_chunk_mut::<4>().unwrap();
    let masked = keys.header.encrypt_in_place(&payload[..16], first, number);
    masked.unwrap();
    [header, payload].concat()
}

/// Small enough for one packet: without post-quantum key exchange.
fn client_hello(parameters: Vec<u8>) -> Vec<u8> {
    let mut provider = default_provider();
    provider.kx_groups = vec![kx_group::X25519];
    let config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&version::TLS13])
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from("server.test").unwrap();
    let client = ClientConnection::new(Arc::new(config), Version::V1, name, parameters);
    let mut hello = Vec::new();
    let keys = client.unwrap().write_hs(&mut hello);
    assert!(keys.is_none(), "there are none before the server's answer");
    hello
}

/// As short as it can be: quinn-proto takes no other.
fn integer(value: u64) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let (length, prefix) = match value {
        0..0x40 => (1, 0),
        0x40..0x4000 => (2, 0x40),
        0x4000..0x4000_0000 => (4, 0x80),
        _ => (8, 0xc0),
    };
    let mut bytes = bytes[8 - length..].to_vec();
    bytes[0] |= prefix;
    bytes
}

fn long_integer(value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_integer(&mut bytes, value);
    bytes
}

/// IPv4 and IPv6 addresses with ports, a connection ID and a reset token.
fn preferred_address(id: &[u8; 8]) -> Vec<u8> {
    [&[1; 24][..], &[8], id, &[7; 16]].concat()
}

/// With header and tag, 1,200 bytes.
const PAYLOAD: usize = 1_200 - 30 - 16;
