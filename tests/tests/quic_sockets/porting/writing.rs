//! The sending direction of streams: finished, reset and stopped in every order.

use super::{accept, connect, done, q, wait_for};
use crate::porting::{Identity, Log, at_once};
use bytes::Bytes;
use q::VarInt;
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::task::{Context, Waker};
use tokio::io::AsyncWriteExt;

pub(crate) async fn client(identity: &Identity, server: SocketAddr) -> Log {
    let mut log = Log::new();
    let (endpoint, connection) = connect(identity, server).await;
    echo(&connection, &mut log).await;
    finished(&connection, &mut log).await;
    reset(&connection, &mut log).await;
    stopped(&connection, &mut log).await;
    dropped(&connection).await;
    limited(&connection, &mut log).await;
    lost(&connection, &mut log).await;
    endpoint.wait_idle().await;
    log
}

pub(crate) async fn server(identity: &Identity, socket: UdpSocket) -> Log {
    let mut log = Log::new();
    let (_endpoint, connection) = accept(identity, socket).await;
    let (mut send, mut recv) = connection.accept_bi().await.unwrap();
    note!(log, (send.id(), recv.id(), recv.is_0rtt()));
    note!(
        log,
        tokio::io::copy(&mut recv, &mut send)
            .await
            .map_err(|error| error.kind())
    );
    note!(log, send.shutdown().await.map_err(|error| error.kind()));
    note!(log, send.shutdown().await.map_err(|error| error.kind()));
    // Finished and read to its end; finished and reset; reset.
    let mut recv = connection.accept_uni().await.unwrap();
    note!(log, recv.read_to_end(9).await);
    for code in [2, 3_u32] {
        let mut recv = connection.accept_uni().await.unwrap();
        note!(log, (code, recv.received_reset().await));
    }
    let mut recv = connection.accept_uni().await.unwrap();
    note!(log, recv.stop(VarInt::from_u32(7)));
    // Dropped without a word.
    let mut recv = connection.accept_uni().await.unwrap();
    note!(log, recv.read_to_end(9).await);
    connection.set_max_concurrent_bi_streams(VarInt::from_u32(101));
    done(&connection).await;
    note!(log, connection.closed().await);
    log
}

async fn echo(connection: &q::Connection, log: &mut Log) {
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    note!(log, (send.id(), recv.id(), recv.is_0rtt()));
    note!(log, send.priority());
    note!(log, send.set_priority(-3));
    note!(log, send.priority());
    note!(log, send.write(b"").await);
    note!(log, send.write(b"one ").await);
    note!(log, send.write_all(b"two ").await);
    let mut chunks = [Bytes::from_static(b"thr"), Bytes::from_static(b"ee ")];
    note!(
        log,
        send.write_chunks(&mut chunks)
            .await
            .map(|written| (written.bytes, written.chunks))
    );
    note!(log, chunks);
    note!(log, send.write_chunk(Bytes::from_static(b"four ")).await);
    note!(
        log,
        send.write_all_chunks(&mut [Bytes::from_static(b"five ")])
            .await
    );
    let mut cx = Context::from_waker(Waker::noop());
    note!(
        log,
        q::SendStream::poll_write(Pin::new(&mut send), &mut cx, b"six")
    );
    note!(log, send.flush().await.map_err(|error| error.kind()));
    note!(log, send.finish());
    note!(log, recv.read_to_end(100).await);
}

async fn finished(connection: &q::Connection, log: &mut Log) {
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(b"whole").await.unwrap();
    note!(log, send.finish());
    note!(log, send.finish());
    note!(log, send.write(b"more").await);
    note!(log, send.shutdown().await.map_err(|error| error.kind()));
    note!(log, send.set_priority(1));
    note!(log, send.priority());
    note!(log, send.stopped().await);
    // All of it is acknowledged.
    note!(log, send.stopped().await);
    note!(log, send.priority());
    note!(log, send.set_priority(1));
    note!(log, send.finish());
    note!(log, send.reset(VarInt::from_u32(1)));
    note!(log, send.write(b"more").await);
}

async fn reset(connection: &q::Connection, log: &mut Log) {
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(b"whole").await.unwrap();
    note!(log, send.finish());
    note!(log, send.reset(VarInt::from_u32(2)));
    note!(log, send.reset(VarInt::from_u32(2)));
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(b"part").await.unwrap();
    note!(log, send.reset(VarInt::from_u32(3)));
    note!(log, send.finish());
    note!(log, send.write(b"more").await);
    note!(log, send.priority());
    note!(log, send.set_priority(1));
}

async fn stopped(connection: &q::Connection, log: &mut Log) {
    let mut send = connection.open_uni().await.unwrap();
    note!(log, at_once(send.stopped()));
    send.write_all(b"part").await.unwrap();
    note!(log, at_once(send.stopped()));
    note!(log, send.stopped().await);
    note!(log, send.stopped().await);
    note!(log, send.write(b"more").await);
    note!(log, send.write(b"").await);
    note!(log, send.finish());
    note!(log, send.finish());
    note!(log, send.reset(VarInt::from_u32(4)));
    note!(log, send.reset(VarInt::from_u32(4)));
    note!(log, send.finish());
    note!(log, send.write(b"more").await);
}

/// What is dropped is finished.
async fn dropped(connection: &q::Connection) {
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(b"dropped").await.unwrap();
}

/// The peer allows one more stream than there were, and cancelled attempts open none.
async fn limited(connection: &q::Connection, log: &mut Log) {
    wait_for(connection).await;
    let mut open = Vec::new();
    while let std::task::Poll::Ready(stream) = at_once(connection.open_bi()) {
        open.push(stream.unwrap());
    }
    note!(log, open.len());
    note!(log, at_once(connection.open_bi()).is_pending());
    note!(log, open.last().unwrap().0.id());
}

async fn lost(connection: &q::Connection, log: &mut Log) {
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(b"part").await.unwrap();
    let waiting = send.stopped();
    connection.close(VarInt::from_u32(5), b"enough");
    note!(log, waiting.await);
    note!(log, send.stopped().await);
    note!(log, send.write(b"more").await);
    note!(log, send.write_chunk(Bytes::from_static(b"more")).await);
    note!(
        log,
        send.write(b"more")
            .await
            .map_err(|error| std::io::Error::from(error).kind())
    );
    note!(log, send.priority());
    note!(log, send.set_priority(1));
    note!(log, send.finish());
    note!(log, send.finish());
    note!(log, send.reset(VarInt::from_u32(6)));
    note!(log, send.reset(VarInt::from_u32(6)));
}
