//! Names, signatures, fields and traits of quinn's that the scenarios leave out. It is enough that
//! they compile.

use super::q;
use bytes::Bytes;
use q::crypto;
use std::error::Error;
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::io;
use std::net::{SocketAddrV4, SocketAddrV6};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};

const _: fn() = || {
    handle::<q::Endpoint>();
    handle::<q::Connection>();
    handle::<q::ClientConfig>();
    handle::<q::ServerConfig>();
    handle::<q::EndpointConfig>();
    part::<q::TransportConfig>();
    part::<q::Incoming>();
    part::<q::Connecting>();
    part::<q::SendStream>();
    part::<q::RecvStream>();
    streams::<q::SendStream, q::RecvStream>();
    unwind_safe::<q::Connection>();
    unwind_safe::<q::SendStream>();
    unwind_safe::<q::RecvStream>();
    value::<q::ConnectionStats>();
    value::<q::EndpointStats>();
    value::<q::PathStats>();
    value::<q::UdpStats>();
    value::<q::FrameStats>();
    error::<q::ReadError>();
    error::<q::ReadExactError>();
    error::<q::ReadToEndError>();
    error::<q::ResetError>();
    error::<q::StoppedError>();
    error::<q::WriteError>();
    error::<q::SendDatagramError>();
    error::<q::ConnectionError>();
    error::<q::ConnectError>();
    error::<q::ConfigError>();
    error::<q::ClosedStream>();
    error::<q::VarIntBoundsExceeded>();
    part::<q::RetryError>();
    number::<q::VarInt>();
    number::<q::StreamId>();
    is_future::<q::ZeroRttAccepted>();
    is_future::<q::IncomingFuture>();
};

fn handle<T: Clone + Debug + Send + Sync + Unpin + 'static>() {}
fn part<T: Debug + Send + Sync + Unpin + 'static>() {}
fn value<T: Copy + Debug + Default + Send + Sync + 'static>() {}
fn error<T: Error + Clone + PartialEq + Eq + Send + Sync + 'static>() {}
fn number<T: Copy + Display + Ord + Hash>() {}
fn is_future<T: Future + Send + Sync + Unpin>() {}
fn streams<S: AsyncWrite, R: AsyncRead>() {}
fn unwind_safe<T: UnwindSafe + RefUnwindSafe>() {}
fn sent<T: Send>(value: T) -> T {
    value
}

#[expect(dead_code, reason = "it has to compile")]
async fn futures(
    endpoint: &q::Endpoint,
    connection: &q::Connection,
    send: &mut q::SendStream,
    recv: &mut q::RecvStream,
) -> Result<(), Box<dyn Error>> {
    let _: Option<q::Incoming> = sent(endpoint.accept()).await;
    sent(endpoint.wait_idle()).await;
    let _: q::ConnectionError = sent(connection.closed()).await;
    let _: Bytes = sent(connection.read_datagram()).await?;
    sent(connection.send_datagram_wait(Bytes::new())).await?;
    let _: (q::SendStream, q::RecvStream) = sent(connection.open_bi()).await?;
    let _: q::SendStream = sent(connection.open_uni()).await?;
    let _: (q::SendStream, q::RecvStream) = sent(connection.accept_bi()).await?;
    let _: q::RecvStream = sent(connection.accept_uni()).await?;
    let _: q::Written = sent(send.write_chunks(&mut [])).await?;
    let _: Option<q::VarInt> = tokio::spawn(send.stopped()).await??;
    let _: Option<q::Chunk> = sent(recv.read_chunk(1, true)).await?;
    sent(recv.read_exact(&mut [])).await?;
    let _: Vec<u8> = sent(recv.read_to_end(1)).await?;
    let _: Option<q::VarInt> = sent(recv.received_reset()).await?;
    Ok(())
}

#[expect(dead_code, reason = "it has to compile")]
fn transport(config: &mut q::TransportConfig) -> Result<(), Box<dyn Error>> {
    let mut discovery = q::MtuDiscoveryConfig::default();
    discovery
        .interval(Duration::ZERO)
        .upper_bound(1_452)
        .minimum_change(20);
    discovery.black_hole_cooldown(Duration::ZERO);
    let mut acks = q::AckFrequencyConfig::default();
    acks.ack_eliciting_threshold(q::VarInt::from_u32(1))
        .max_ack_delay(None);
    acks.reordering_threshold(q::VarInt::from_u32(2));
    let timeout: q::IdleTimeout = Duration::from_secs(1).try_into()?;
    config
        .max_concurrent_bidi_streams(1_u32.into())
        .max_concurrent_uni_streams(1_u8.into())
        .max_idle_timeout(Some(timeout))
        .stream_receive_window(q::VarInt::MAX)
        .receive_window(q::VarInt::try_from(1_u64 << 40)?)
        .send_window(1)
        .send_fairness(true)
        .packet_threshold(3)
        .time_threshold(1.125)
        .initial_rtt(Duration::ZERO)
        .initial_mtu(1_200)
        .min_mtu(1_200)
        .mtu_discovery_config(Some(discovery))
        .pad_to_mtu(false)
        .ack_frequency_config(Some(acks))
        .persistent_congestion_threshold(3)
        .keep_alive_interval(None)
        .crypto_buffer_size(1)
        .allow_spin(true)
        .datagram_receive_buffer_size(None)
        .datagram_send_buffer_size(0)
        .enable_segmentation_offload(true);
    Ok(())
}

#[expect(dead_code, reason = "it has to compile")]
#[expect(clippy::too_many_arguments, reason = "one of each kind")]
fn others(
    endpoint: &mut q::EndpointConfig,
    server: &mut q::ServerConfig,
    client: &mut q::ClientConfig,
    reset_key: Arc<dyn crypto::HmacKey>,
    token_key: Arc<dyn crypto::HandshakeTokenKey>,
    crypto: Arc<dyn crypto::ClientConfig>,
    server_crypto: Arc<dyn crypto::ServerConfig>,
    connection_id: q::ConnectionId,
) -> Result<(), Box<dyn Error>> {
    let _: fn(Arc<dyn crypto::HmacKey>) -> q::EndpointConfig = q::EndpointConfig::new;
    endpoint.reset_key(reset_key).max_udp_payload_size(1_472)?;
    endpoint
        .supported_versions(vec![1])
        .grease_quic_bit(true)
        .rng_seed(None);
    endpoint.min_reset_interval(Duration::ZERO);
    let _: u64 = endpoint.get_max_udp_payload_size();
    let mut tokens = q::ValidationTokenConfig::default();
    tokens
        .lifetime(Duration::ZERO)
        .sent(2)
        .log(Arc::new(q::NoneTokenLog));
    let _ = q::ServerConfig::new(Arc::clone(&server_crypto), Arc::clone(&token_key));
    let _ = q::ServerConfig::with_crypto(server_crypto);
    server
        .token_key(token_key)
        .retry_token_lifetime(Duration::ZERO)
        .migration(true);
    server.preferred_address_v4(None::<SocketAddrV4>);
    server.preferred_address_v6(None::<SocketAddrV6>);
    server
        .max_incoming(1)
        .incoming_buffer_size(1)
        .incoming_buffer_size_total(1);
    server
        .time_source(Arc::new(q::StdSystemTime))
        .validation_token_config(tokens);
    let _: &Arc<q::TransportConfig> = &server.transport;
    let _ = q::ClientConfig::new(crypto);
    client
        .token_store(Arc::new(q::TokenMemoryCache::default()))
        .version(1);
    client.token_store(Arc::new(q::NoneTokenStore));
    client.initial_dst_cid_provider(Arc::new(move || connection_id));
    Ok(())
}

/// Who matches errors finds the same variants.
#[expect(dead_code, reason = "it has to compile")]
fn matched(
    read: &q::ReadExactError,
    all: &q::ReadToEndError,
    write: &q::WriteError,
    datagram: &q::SendDatagramError,
    connect: &q::ConnectError,
) -> Option<q::VarInt> {
    match all {
        q::ReadToEndError::Read(_) | q::ReadToEndError::TooLong => {}
    }
    match datagram {
        q::SendDatagramError::UnsupportedByPeer
        | q::SendDatagramError::Disabled
        | q::SendDatagramError::TooLarge
        | q::SendDatagramError::ConnectionLost(_) => {}
    }
    match connect {
        q::ConnectError::EndpointStopping
        | q::ConnectError::CidsExhausted
        | q::ConnectError::InvalidServerName(_)
        | q::ConnectError::InvalidRemoteAddress(_)
        | q::ConnectError::NoDefaultClientConfig
        | q::ConnectError::UnsupportedVersion => {}
    }
    match (read, write) {
        (q::ReadExactError::FinishedEarly(_), q::WriteError::Stopped(code)) => Some(*code),
        (q::ReadExactError::ReadError(error), _) => match error {
            q::ReadError::Reset(code) => Some(*code),
            q::ReadError::ConnectionLost(q::ConnectionError::ApplicationClosed(
                q::ApplicationClose { error_code, reason },
            )) => (!reason.is_empty()).then_some(*error_code),
            q::ReadError::ConnectionLost(q::ConnectionError::ConnectionClosed(
                q::ConnectionClose {
                    error_code,
                    frame_type,
                    reason: _,
                },
            )) => closed(*error_code, *frame_type),
            q::ReadError::ConnectionLost(_)
            | q::ReadError::ClosedStream
            | q::ReadError::IllegalOrderedRead
            | q::ReadError::ZeroRttRejected => None,
        },
        (_, q::WriteError::ConnectionLost(_))
        | (_, q::WriteError::ClosedStream)
        | (_, q::WriteError::ZeroRttRejected) => None,
    }
}

fn closed(code: q::TransportErrorCode, _frame: Option<q::FrameType>) -> Option<q::VarInt> {
    q::VarInt::from_u64(code.into()).ok()
}

/// One error becomes another by `?`.
#[expect(dead_code, reason = "it has to compile")]
fn converted(
    closed: q::ClosedStream,
    stopped: q::StoppedError,
    reset: q::ResetError,
    lost: q::ConnectionError,
) -> [io::Error; 6] {
    let write: q::WriteError = closed.into();
    let again: q::WriteError = stopped.clone().into();
    let read: q::ReadError = reset.clone().into();
    let _ = q::ReadExactError::from(read.clone());
    let _ = q::ReadToEndError::from(read.clone());
    let _ = q::SendDatagramError::from(lost.clone());
    let lost: io::Error = lost.into();
    [
        write.into(),
        again.into(),
        read.into(),
        stopped.into(),
        reset.into(),
        lost,
    ]
}

/// Traits that applications implement.
#[expect(dead_code, reason = "it has to compile")]
fn implemented(
    _: &dyn q::ConnectionIdGenerator,
    _: &dyn q::TokenLog,
    _: &dyn q::TokenStore,
    _: &dyn q::TimeSource,
    reused: q::TokenReuseError,
) -> (q::TokenReuseError, q::Dir, q::Side) {
    (reused, q::Dir::Bi, q::Side::Client)
}
