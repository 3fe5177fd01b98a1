//! The processes that a measurement consists of: a server, and clients that put a load on it.

use crate::{Load, NAME, Result, cpu_seconds, now};
use bytes::Bytes;
use paceline::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use paceline::{
    ClientConfig, Connection, ConnectionId, Endpoint, Incoming, ServerConfig, ShardedServer,
    Steering, TransportConfig, VarInt,
};
use rustls::RootCertStore;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::LocalSet;

/// Serves until standard input ends.
pub(crate) fn serve(shards: usize) -> Result<()> {
    let crypto = QuicServerConfig::try_from(server_tls()?)?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(Arc::new(transport_config()));
    let builder = ShardedServer::builder(config, (Ipv4Addr::LOCALHOST, 0).into());
    let server = builder.shards(shards).serve(respond)?;
    if server.steering() == Steering::Unavailable {
        return Err("this kernel does not steer".into());
    }
    writeln!(io::stdout(), "{}", server.local_addr().port())?;
    io::stdout().flush()?;
    io::stdin().read_to_end(&mut Vec::new())?;
    let strays: u64 = server
        .stats()
        .iter()
        .map(|shard| shard.endpoint.misrouted)
        .sum();
    assert_eq!(strays, 0, "loopback merges nothing");
    Ok(())
}

/// Sends without end on every stream.
async fn respond(attempt: Incoming) {
    let Ok(connection) = attempt.await else {
        return;
    };
    let chunk = Bytes::from(vec![7; CHUNK]);
    while let Ok((mut send, _)) = connection.accept_bi().await {
        while send.write_chunk(chunk.clone()).await.is_ok() {}
    }
}

/// Has `load`'s tasks work for `time`, on shards in turn from the `first` or at random, and prints
/// what they have done and the CPU time it took.
pub(crate) fn put(
    load: &'static Load,
    port: u16,
    time: Duration,
    first: Option<usize>,
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let units = Rc::new(AtomicU64::new(0));
    let work = async {
        let mut endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into())?;
        endpoint.set_default_client_config(client_config(first)?);
        let deadline = tokio::time::Instant::from_std(now() + time);
        for _ in 0..load.tasks {
            let (endpoint, units) = (endpoint.clone(), Rc::clone(&units));
            tokio::task::spawn_local(async move {
                let working = work(load, &endpoint, address, &units);
                let ended = tokio::time::timeout_at(deadline, working).await;
                assert!(
                    !matches!(ended, Ok(Err(_))),
                    "the server answers: {ended:?}"
                );
            });
        }
        tokio::time::sleep_until(deadline).await;
        Ok::<_, Box<dyn Error>>(())
    };
    LocalSet::new().block_on(&runtime, work)?;
    writeln!(
        io::stdout(),
        "{} {}",
        units.load(Ordering::Relaxed),
        cpu_seconds(std::process::id())?
    )?;
    Ok(())
}

/// One task's work, without end.
async fn work(load: &Load, endpoint: &Endpoint, to: SocketAddr, units: &AtomicU64) -> Result<()> {
    loop {
        let connection: Connection = endpoint.connect(to, NAME)?.await?;
        if !load.is_bulk() {
            units.fetch_add(1, Ordering::Relaxed);
            connection.close(VarInt::from_u32(0), b"");
            continue;
        }
        let (mut send, mut recv) = connection.open_bi().await?;
        send.write_all(b"go").await?;
        while let Some(chunk) = recv.read_chunk(usize::MAX, true).await? {
            units.fetch_add(chunk.bytes.len() as u64, Ordering::Relaxed);
        }
    }
}

fn client_config(first: Option<usize>) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate()?)?;
    let mut tls = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.resumption = Resumption::disabled();
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport_config()));
    // The last octet decides the shard.
    let next = first.map(AtomicUsize::new);
    config.initial_dst_cid_provider(Arc::new(move || {
        let mut id = [0; 16];
        let random = aws_lc_rs::default_provider().secure_random;
        random.fill(&mut id).expect("aws-lc has randomness");
        if let Some(next) = &next {
            id[15] = next.fetch_add(1, Ordering::Relaxed).to_le_bytes()[0];
        }
        ConnectionId::new(&id)
    }));
    Ok(config)
}

fn transport_config() -> TransportConfig {
    let mut config = TransportConfig::default();
    config
        .initial_mtu(1_452)
        .mtu_discovery_config(None)
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(WINDOW.into());
    config
}

fn server_tls() -> Result<rustls::ServerConfig> {
    let chain = vec![certificate()?];
    let key = PrivateKeyDer::try_from(unhex(&std::env::var("KEY")?)?)?;
    Ok(rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?)
}

fn certificate() -> Result<CertificateDer<'static>> {
    Ok(unhex(&std::env::var("CERT")?)?.into())
}

fn provider() -> Arc<CryptoProvider> {
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites = vec![aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256];
    provider.kx_groups = vec![aws_lc_rs::kx_group::X25519];
    Arc::new(provider)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Result<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    let bytes = digits.map(|pair| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?));
    bytes.collect()
}

const WINDOW: u32 = 4 << 20;
const CHUNK: usize = 64 << 10;
