//! Futures that are dropped before they are done, and peers that do not read.

use crate::h3::{Pair, ServerStream, code_of, limited, noise, sha256};
use bytes::{Buf, Bytes};
use h3::error::{Code, StreamError};
use http::Response;
use paceline::{TransportConfig, VarInt};
use std::cell::Cell;
use std::pin::pin;
use tokio_test::{assert_pending, task};

/// A send window that one frame fills.
const WINDOW: u32 = 20_000;

fn narrow() -> TransportConfig {
    let mut config = TransportConfig::default();
    config.send_window(WINDOW.into());
    config.stream_receive_window(VarInt::from_u32(WINDOW));
    config
}

/// Begins to send a frame of ten windows, and gives up.
fn begin_to_send(stream: &mut ServerStream, body: &Bytes) {
    let mut sending = task::spawn(stream.send_data(body.clone()));
    assert_pending!(sending.poll());
}

#[tokio::test]
async fn a_frame_whose_sender_was_dropped_is_written_by_finish() {
    let mut pair = Pair::with(narrow()).await;
    let body = noise(10 * WINDOW as usize);
    // `h3` ends the first response with a frame of its own, and the second without.
    for _ in 0..2 {
        let (mut client, mut server) = pair.request().await;
        server.send_response(Response::new(())).await.unwrap();
        begin_to_send(&mut server, &body);
        let finish = async { server.finish().await.unwrap() };
        let read = async {
            client.recv_response().await.unwrap();
            let mut received = Vec::new();
            while let Some(mut chunk) = client.recv_data().await.unwrap() {
                received.extend_from_slice(&chunk.copy_to_bytes(chunk.remaining()));
            }
            received
        };
        let ((), received) = limited(async { tokio::join!(finish, read) }).await;
        assert_eq!(sha256(&received).as_ref(), sha256(&body).as_ref());
    }
}

#[tokio::test]
async fn another_frame_on_top_is_refused_and_the_connection_lives() {
    let mut pair = Pair::with(narrow()).await;
    let (_client, mut server) = pair.request().await;
    server.send_response(Response::new(())).await.unwrap();
    begin_to_send(&mut server, &noise(10 * WINDOW as usize));
    let again = server.send_data(noise(1)).await;
    assert!(matches!(again, Err(StreamError::Undefined(_))), "{again:?}");
    drop(server);
    pair.exchange().await;
}

#[tokio::test]
async fn a_stream_that_is_dropped_inside_of_a_frame_is_reset() {
    let mut pair = Pair::with(narrow()).await;
    let (mut client, mut server) = pair.request().await;
    server.send_response(Response::new(())).await.unwrap();
    client.recv_response().await.unwrap();
    begin_to_send(&mut server, &noise(10 * WINDOW as usize));
    drop(server);
    let read_on = async {
        loop {
            if client.recv_data().await?.is_none() {
                return Ok::<_, StreamError>(());
            }
        }
    };
    let code = code_of(limited(read_on).await);
    assert_eq!(code, Code::H3_REQUEST_CANCELLED.value());
    pair.exchange().await;
}

#[tokio::test]
async fn a_stream_that_is_dropped_between_frames_is_finished() {
    let mut pair = Pair::new().await;
    let (mut client, mut server) = pair.request().await;
    server.send_response(Response::new(())).await.unwrap();
    drop(server);
    limited(client.recv_response()).await.unwrap();
    assert!(limited(client.recv_data()).await.unwrap().is_none());
}

#[tokio::test]
async fn a_finish_that_waits_for_room_hears_of_a_reader_that_stops() {
    let mut pair = Pair::with(narrow()).await;
    // After it `finish` adds no frame of its own.
    pair.exchange().await;
    let (mut client, mut server) = pair.request().await;
    begin_to_send(&mut server, &noise(10 * WINDOW as usize));
    client.stop_sending(Code::H3_EXCESSIVE_LOAD);
    let code = code_of(limited(server.finish()).await);
    assert_eq!(code, Code::H3_EXCESSIVE_LOAD.value());
}

#[tokio::test]
async fn futures_that_wait_and_are_dropped_lose_neither_requests_nor_data() {
    let mut pair = Pair::new().await;
    {
        let mut accepting = task::spawn(pair.server.accept());
        assert!(accepting.poll().is_pending());
    }
    let (mut client, mut server) = pair.request().await;
    server.send_response(Response::new(())).await.unwrap();
    limited(client.recv_response()).await.unwrap();
    {
        let mut reading = task::spawn(client.recv_data());
        assert!(reading.poll().is_pending());
    }
    server
        .send_data(Bytes::from_static(b"hello"))
        .await
        .unwrap();
    let mut chunk = limited(client.recv_data()).await.unwrap().unwrap();
    assert_eq!(chunk.copy_to_bytes(chunk.remaining()), &b"hello"[..]);
}

#[tokio::test]
async fn a_reader_that_does_not_read_holds_the_writer_at_the_windows() {
    let mut pair = Pair::with(narrow()).await;
    let (client, mut server) = pair.request().await;
    let written = Cell::new(0);
    let write_on = async {
        loop {
            server.send_data(noise(1_000)).await.unwrap();
            written.set(written.get() + 1_000);
        }
    };
    let mut write_on = pin!(write_on);
    // All that can move has moved once an exchange on another stream is done; three are plenty.
    for _ in 0..3 {
        tokio::select! {
            biased;
            () = &mut write_on => unreachable!("it writes for ever"),
            () = pair.exchange() => {}
        }
    }
    // The client's stream window, and the server's for what is not acknowledged.
    let written = written.get();
    assert!((10_000..=2 * WINDOW).contains(&written), "{written} bytes");
    drop(client);
}
