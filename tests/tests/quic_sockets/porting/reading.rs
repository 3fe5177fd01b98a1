//! The receiving direction of streams: ends, resets and stops met in every order.

use super::{accept, connect, done, q, wait_for};
use crate::porting::{Identity, Log, at_once};
use bytes::Bytes;
use q::VarInt;
use std::net::{SocketAddr, UdpSocket};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncReadExt, ReadBuf};

pub(crate) async fn client(identity: &Identity, server: SocketAddr) -> Log {
    let (endpoint, connection) = connect(identity, server).await;
    // What is written before one write is read in one piece or more; each case has its stream.
    for text in [
        "one piece",
        "exact",
        "long",
        "chunks",
        "unordered",
        "",
        "stopped",
    ] {
        let mut send = connection.open_uni().await.unwrap();
        send.write_all(text.as_bytes()).await.unwrap();
        if text != "stopped" {
            send.finish().unwrap();
            send.stopped().await.unwrap();
        } else {
            wait_for(&connection).await;
        }
    }
    for code in [8, 9, 10] {
        let mut send = connection.open_uni().await.unwrap();
        send.write_all(b"reset").await.unwrap();
        wait_for(&connection).await;
        send.reset(VarInt::from_u32(code)).unwrap();
    }
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(b"left").await.unwrap();
    send.finish().unwrap();
    send.stopped().await.unwrap();
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(b"not finished").await.unwrap();
    wait_for(&connection).await;
    connection.close(VarInt::from_u32(11), b"no more");
    endpoint.wait_idle().await;
    Log::new()
}

pub(crate) async fn server(identity: &Identity, socket: UdpSocket) -> Log {
    let mut log = Log::new();
    let (_endpoint, connection) = accept(identity, socket).await;
    to_the_end(&connection, &mut log).await;
    in_chunks(&connection, &mut log).await;
    stopped(&connection, &mut log).await;
    reset(&connection, &mut log).await;
    lost(&connection, &mut log).await;
    log
}

async fn to_the_end(connection: &q::Connection, log: &mut Log) {
    let mut recv = connection.accept_uni().await.unwrap();
    let mut buffer = [0; 64];
    note!(log, recv.read(&mut []).await);
    note!(log, recv.read(&mut buffer).await);
    note!(log, recv.read(&mut buffer).await);
    note!(log, recv.read(&mut buffer).await);
    note!(log, recv.read(&mut []).await);
    note!(log, recv.read_exact(&mut buffer[..1]).await);
    note!(log, recv.read_exact(&mut []).await);
    note!(log, recv.read_to_end(0).await);
    note!(log, recv.read_chunk(1, true).await);
    note!(log, recv.received_reset().await);
    note!(log, recv.stop(VarInt::from_u32(1)));
    let mut cx = Context::from_waker(Waker::noop());
    note!(log, recv.poll_read(&mut cx, &mut buffer));

    let mut recv = connection.accept_uni().await.unwrap();
    note!(log, recv.read_exact(&mut buffer[..3]).await);
    note!(log, recv.read_exact(&mut buffer[..3]).await);
    note!(log, recv.read_u8().await.map_err(|error| error.kind()));

    let mut recv = connection.accept_uni().await.unwrap();
    note!(log, recv.read_to_end(3).await);
    note!(log, recv.read_to_end(3).await);
}

async fn in_chunks(connection: &q::Connection, log: &mut Log) {
    let mut recv = connection.accept_uni().await.unwrap();
    note!(
        log,
        recv.read_chunk(2, true)
            .await
            .map(|chunk| chunk.map(|it| (it.offset, it.bytes)))
    );
    note!(log, recv.read_chunks(&mut []).await);
    let mut chunks = [const { Bytes::new() }; 4];
    note!(log, recv.read_chunks(&mut chunks).await);
    note!(log, chunks);
    note!(log, recv.read_chunks(&mut chunks).await);

    let mut recv = connection.accept_uni().await.unwrap();
    note!(
        log,
        recv.read_chunk(2, false)
            .await
            .map(|chunk| chunk.map(|it| (it.offset, it.bytes)))
    );
    note!(log, recv.read(&mut [0; 4]).await);

    let mut recv = connection.accept_uni().await.unwrap();
    note!(log, recv.read_to_end(0).await);
}

async fn stopped(connection: &q::Connection, log: &mut Log) {
    let mut recv = connection.accept_uni().await.unwrap();
    note!(log, at_once(recv.received_reset()));
    note!(log, recv.stop(VarInt::from_u32(1)));
    note!(log, recv.stop(VarInt::from_u32(1)));
    note!(log, recv.read(&mut [0; 4]).await);
    note!(
        log,
        recv.read_chunk(4, true)
            .await
            .map(|chunk| chunk.map(|it| it.bytes))
    );
    note!(log, recv.received_reset().await);
    done(connection).await;
}

async fn reset(connection: &q::Connection, log: &mut Log) {
    // Read before it comes.
    let mut recv = connection.accept_uni().await.unwrap();
    note!(log, recv.read(&mut [0; 9]).await);
    note!(log, at_once(recv.read(&mut [0; 9])));
    done(connection).await;
    note!(log, recv.read(&mut [0; 9]).await);
    note!(log, recv.read(&mut [0; 9]).await);
    note!(log, recv.received_reset().await);
    note!(log, recv.stop(VarInt::from_u32(1)));
    // Met by one that waits for the end.
    let mut recv = connection.accept_uni().await.unwrap();
    done(connection).await;
    note!(log, recv.read_to_end(9).await);
    // Waited for.
    let mut recv = connection.accept_uni().await.unwrap();
    done(connection).await;
    note!(log, recv.received_reset().await);
    note!(log, recv.stop(VarInt::from_u32(1)));
}

/// What has arrived is there after the peer has closed the connection.
async fn lost(connection: &q::Connection, log: &mut Log) {
    let mut left = connection.accept_uni().await.unwrap();
    let mut part = connection.accept_uni().await.unwrap();
    note!(log, part.read(&mut [0; 3]).await);
    done(connection).await;
    note!(log, connection.closed().await);
    let mut buffer = [0; 64];
    let mut buffer = ReadBuf::new(&mut buffer);
    let mut cx = Context::from_waker(Waker::noop());
    note!(log, left.poll_read_buf(&mut cx, &mut buffer));
    note!(log, buffer.filled());
    note!(log, left.read(&mut [0; 9]).await);
    note!(log, part.read(&mut [0; 99]).await);
    note!(log, part.read(&mut [0; 9]).await);
    note!(
        log,
        part.read(&mut [0; 9])
            .await
            .map_err(|error| std::io::Error::from(error).kind())
    );
    note!(log, part.read_exact(&mut [0; 9]).await);
    note!(log, part.read_to_end(9).await);
    note!(log, part.stop(VarInt::from_u32(1)));
    note!(
        log,
        matches!(at_once(part.received_reset()), Poll::Ready(_))
    );
}
