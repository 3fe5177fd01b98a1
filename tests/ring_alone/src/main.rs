//! Paceline with ring alone, in every place that calls a library of cryptography: TLS, the
//! certificate, its fingerprint, and what a fleet of servers shares.

use paceline::quic_lb::{CidConfig, CidDecoder, ConnectionIds, Secrets};
use paceline::tls::{self, SelfSigned};
use paceline::{Endpoint, EndpointConfig, VarInt};
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::process::Command;
use std::time::Duration;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    no_aws_lc_is_among_the_dependencies()?;
    connection_ids_are_those_of_the_draft()?;
    tickets_are_opened_by_who_has_the_secrets()?;
    tokio::time::timeout(Duration::from_secs(30), transfer()).await?
}

fn no_aws_lc_is_among_the_dependencies() -> Result<()> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--prefix=none"])
        .args(["--edges=normal,build", "--manifest-path", manifest])
        .output()?;
    let errors = String::from_utf8_lossy(&tree.stderr);
    assert!(tree.status.success(), "cargo tree: {errors}");
    let tree = String::from_utf8(tree.stdout)?;
    let has = |name: &str| tree.lines().any(|line| line.starts_with(name));
    assert!(has("ring v"), "{tree}");
    assert!(!has("aws-lc"), "{tree}");
    Ok(())
}

/// Appendix B.2 of draft-ietf-quic-load-balancers-21: AES in four passes, and in one.
fn connection_ids_are_those_of_the_draft() -> Result<()> {
    let key = 0x8f95_f092_4576_5f80_2569_34e5_0c66_207f_u128.to_be_bytes();
    let mut decoder = CidDecoder::default();
    decoder.learn(CidConfig::encrypted(0, 3, 4, key)?);
    decoder.learn(CidConfig::encrypted(2, 8, 8, key)?);
    let four_passes = 0x0720_b1d0_7b35_9d3c_u64.to_be_bytes();
    let server = decoder.server_of(&four_passes);
    assert_eq!(server, Some("ed793a".parse()?));
    let mut one_pass = [0x50; 17];
    one_pass[1..].copy_from_slice(&0x4dd2_d05a_7b0d_e9b2_b990_7afb_5ecf_8cc3_u128.to_be_bytes());
    let server = decoder.server_of(&one_pass);
    assert_eq!(server, Some("ed793a51d49b8f5f".parse()?));
    Ok(())
}

fn tickets_are_opened_by_who_has_the_secrets() -> Result<()> {
    let (issuer, other) = (secrets("07")?.ticketer(), secrets("08")?.ticketer());
    let ticket = issuer.encrypt(b"session").ok_or("no ticket")?;
    let opened = secrets("07")?.ticketer().decrypt(&ticket);
    assert_eq!(opened.as_deref(), Some(&b"session"[..]));
    assert_eq!(other.decrypt(&ticket), None);
    Ok(())
}

/// A client connects to a server behind a load balancer after a Retry, sends a megabyte and gets
/// it back.
async fn transfer() -> Result<()> {
    let certificate = SelfSigned::generate(["localhost"])?;
    let server = server(&certificate)?;
    let address = server.local_addr()?;
    let serving = tokio::spawn(async move {
        server.accept().await?.retry().ok()?;
        let connection = server.accept().await?.await.ok()?;
        let (mut send, mut recv) = connection.accept_bi().await.ok()?;
        let question = recv.read_to_end(MEGABYTE).await.ok()?;
        send.write_all(&question).await.ok()?;
        send.finish().ok()?;
        Some(connection.closed().await)
    });
    let config = tls::client_with_fingerprint(certificate.fingerprint).config()?;
    let client = Endpoint::client(ANY)?;
    let connection = client.connect_with(config, address, "localhost")?.await?;
    let (mut send, mut recv) = connection.open_bi().await?;
    let question: Vec<u8> = (0..=u8::MAX).cycle().take(MEGABYTE).collect();
    send.write_all(&question).await?;
    send.finish()?;
    let answer = recv.read_to_end(MEGABYTE).await?;
    assert!(answer == question, "other bytes came back");
    connection.close(VarInt::from_u32(0), b"done");
    client.wait_idle().await;
    assert!(serving.await?.is_some(), "the server had an error");
    Ok(())
}

fn server(certificate: &SelfSigned) -> Result<Endpoint> {
    let secrets = secrets("07")?;
    let ids = CidConfig::encrypted(0, 4, 12, *b"sixteen octets!!")?;
    let ids = ConnectionIds::new(ids, "0000002a".parse()?)?;
    let mut config = EndpointConfig::default();
    ids.install(&mut config);
    config.reset_key(secrets.reset_key(&ids));
    let tls = certificate.server().tickets(secrets.ticketer());
    let mut server = tls.config()?;
    server.token_key(secrets.token_key());
    Ok(Endpoint::new(config, Some(server), UdpSocket::bind(ANY)?)?)
}

fn secrets(octet: &str) -> Result<Secrets> {
    let secret = octet.repeat(32);
    let schedule = format!("overlap 86400\nreset {secret}\nepoch 1 from 0 {secret}");
    Ok(Secrets::new(schedule.as_bytes())?)
}

const MEGABYTE: usize = 1 << 20;

/// Some port of loopback.
const ANY: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));
