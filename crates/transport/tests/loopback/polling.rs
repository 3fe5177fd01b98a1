//! Futures one poll at a time: dropped while they wait they take nothing along, and they are woken
//! when there is something for them, and only then.

use crate::support::{Endpoints, NAME, noise, receive_all, send_all, within_a_minute};
use paceline::{Connection, TransportConfig, VarInt, WriteError};
use std::future::Future;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;
use tokio_test::task::{Spawn, spawn};
use tokio_test::{assert_pending, assert_ready};

type Idle<'a> = Spawn<Pin<Box<dyn Future<Output = ()> + 'a>>>;

/// A task that only waits.
fn idle<'a>(future: impl Future + 'a) -> Idle<'a> {
    spawn(Box::pin(async {
        future.await;
    }))
}

/// Lets the endpoints work until `task` has been woken.
async fn until_woken<T>(task: &Spawn<T>) {
    while !task.is_woken() {
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
}

/// One stream each way at a time, and little room to write.
fn narrow() -> TransportConfig {
    let mut config = TransportConfig::default();
    let (one, window) = (VarInt::from_u32(1), VarInt::from_u32(10_000));
    config
        .max_concurrent_uni_streams(one)
        .max_concurrent_bidi_streams(one)
        .stream_receive_window(window)
        .datagram_send_buffer_size(3_000);
    config
}

/// A round trip through both endpoints' tasks.
async fn round_trip(client: &Connection, server: &Connection) {
    let asking = async {
        let (send, recv) = client.open_bi().await.unwrap();
        tokio::join!(send_all(send, b"?"), receive_all(recv)).1
    };
    let answering = async {
        let (send, recv) = server.accept_bi().await.unwrap();
        tokio::join!(send_all(send, b"!"), receive_all(recv)).1
    };
    let (answer, question) = tokio::join!(asking, answering);
    assert_eq!((&answer[..], &question[..]), (&b"!"[..], &b"?"[..]));
}

#[tokio::test]
async fn what_waits_for_an_attempt_can_be_given_up() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        for _ in 0..3 {
            let mut accept = spawn(endpoints.server.accept());
            assert_pending!(accept.poll());
        }
        let mut kept = spawn(endpoints.server.accept());
        assert_pending!(kept.poll());
        let connecting = endpoints.client.connect(endpoints.address(), NAME).unwrap();
        until_woken(&kept).await;
        // Woken, but not polled: the attempt is still there for another.
        drop(kept);
        let attempt = endpoints.server.accept().await.unwrap();
        let mut accepting = attempt.accept().unwrap();
        {
            let mut data = spawn(accepting.handshake_data());
            let _ = data.poll();
        }
        let (client, server) = tokio::join!(connecting, accepting);
        round_trip(&client.unwrap(), &server.unwrap()).await;
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn streams_that_were_waited_for_in_vain_are_there_for_the_next() {
    within_a_minute(async {
        let endpoints = Endpoints::with(&narrow(), &narrow());
        let (client, server) = endpoints.connect().await;
        let first = client.open_uni().await.unwrap();
        let mut opening = spawn(client.open_uni());
        assert_pending!(opening.poll());
        let mut given_up = spawn(server.accept_uni());
        assert_pending!(given_up.poll());

        send_all(first, b"1").await;
        until_woken(&given_up).await;
        drop(given_up);
        assert_eq!(receive_all(server.accept_uni().await.unwrap()).await, b"1");

        until_woken(&opening).await;
        drop(opening);
        let second = client.open_uni().await.unwrap();
        assert_eq!(second.id().index(), 1, "no stream was lost");
        send_all(second, b"2").await;
        assert_eq!(receive_all(server.accept_uni().await.unwrap()).await, b"2");
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn bytes_are_neither_lost_nor_written_twice_by_those_who_gave_up() {
    within_a_minute(async {
        let endpoints = Endpoints::with(&narrow(), &narrow());
        let (client, server) = endpoints.connect().await;
        let mut send = client.open_uni().await.unwrap();
        let data = noise(1, 100_000);
        // Each waits until it is woken, and gives up all the same, as `select!` may.
        let write = async {
            let mut written = 0;
            while written < data.len() {
                let mut write = spawn(send.write(&data[written..]));
                match write.poll() {
                    Poll::Ready(len) => written += len.unwrap(),
                    Poll::Pending => until_woken(&write).await,
                }
            }
        };
        let read = async {
            let mut recv = server.accept_uni().await.unwrap();
            let mut received = Vec::new();
            while received.len() < data.len() {
                let mut read = spawn(recv.read_chunk(5_000, true));
                match read.poll() {
                    Poll::Ready(chunk) => received.extend(chunk.unwrap().unwrap().bytes),
                    Poll::Pending => until_woken(&read).await,
                }
            }
            received
        };
        let ((), received) = tokio::join!(write, read);
        assert_eq!(received, data);
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn datagrams_that_were_waited_for_in_vain_are_there_for_the_next() {
    within_a_minute(async {
        let endpoints = Endpoints::with(&narrow(), &narrow());
        let (client, server) = endpoints.connect().await;
        let mut read = spawn(server.read_datagram());
        assert_pending!(read.poll());
        // Three find room; the fourth waits, and is given up.
        let datagram = |byte| vec![byte; 900].into();
        for byte in 0..3 {
            let mut send = spawn(client.send_datagram_wait(datagram(byte)));
            assert_ready!(send.poll()).unwrap();
        }
        let mut waiting = spawn(client.send_datagram_wait(datagram(3)));
        assert_pending!(waiting.poll());
        until_woken(&waiting).await;
        drop(waiting);
        client.send_datagram_wait(datagram(4)).await.unwrap();

        until_woken(&read).await;
        drop(read);
        for byte in [0, 1, 2, 4] {
            assert_eq!(server.read_datagram().await.unwrap()[0], byte);
        }
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_busy_connection_wakes_nobody_who_has_nothing_to_hear() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let (mut send, mut recv) = client.open_bi().await.unwrap();
        send.write_all(b"x").await.unwrap();
        let quiet = server.accept_bi().await.unwrap();
        let stopped = send.stopped();
        let mut waiting = [
            idle(recv.read_chunk(1, true)),
            idle(stopped),
            idle(client.accept_uni()),
            idle(client.accept_bi()),
            idle(client.read_datagram()),
            idle(client.closed()),
            idle(endpoints.client.wait_idle()),
            idle(endpoints.client.accept()),
        ];
        for task in &mut waiting {
            assert_pending!(task.poll());
        }
        let data = noise(1, 4_000_000);
        let transfer = async {
            let sending = send_all(client.open_uni().await.unwrap(), &data);
            let receiving = async { receive_all(server.accept_uni().await.unwrap()).await };
            tokio::join!(sending, receiving).1
        };
        assert_eq!(transfer.await, data);
        assert!(waiting.iter().all(|task| !task.is_woken()));

        // And everyone who waits for the connection is when it ends.
        drop(quiet);
        server.close(1_u32.into(), b"");
        until_woken(&waiting[5]).await;
        assert!(waiting[..6].iter().all(Spawn::is_woken));
        drop(waiting);
        drop((send, recv, client));
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn of_many_who_wait_each_gets_one() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let readers: Vec<_> = (0..50)
            .map(|_| {
                let server = server.clone();
                tokio::spawn(async move {
                    let datagram = server.read_datagram().await.unwrap();
                    let stream = receive_all(server.accept_uni().await.unwrap()).await;
                    (datagram[0], stream[0])
                })
            })
            .collect();
        // Half of them wait already.
        tokio::task::yield_now().await;
        for number in 0..50_u8 {
            client
                .send_datagram_wait(vec![number].into())
                .await
                .unwrap();
            send_all(client.open_uni().await.unwrap(), &[number]).await;
        }
        let mut got = (Vec::new(), Vec::new());
        for reader in readers {
            let (datagram, stream) = reader.await.unwrap();
            got.0.push(datagram);
            got.1.push(stream);
        }
        got.0.sort_unstable();
        got.1.sort_unstable();
        let all: Vec<u8> = (0..50).collect();
        assert_eq!(got, (all.clone(), all));
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn the_task_that_polled_last_is_the_one_that_is_woken() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let mut send = client.open_uni().await.unwrap();
        send.write_all(b"a").await.unwrap();
        let mut recv = server.accept_uni().await.unwrap();
        recv.read_exact(&mut [0]).await.unwrap();
        {
            let mut elsewhere = spawn(recv.read_chunk(1, true));
            assert_pending!(elsewhere.poll());
        }
        let mut here = spawn(recv.read_chunk(1, true));
        assert_pending!(here.poll());
        send.write_all(b"b").await.unwrap();
        until_woken(&here).await;
        let chunk = assert_ready!(here.poll()).unwrap().unwrap();
        assert_eq!(&chunk.bytes[..], b"b");
        drop(here);
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_writer_that_waits_for_the_connections_room_hears_of_a_stop() {
    within_a_minute(async {
        let mut config = TransportConfig::default();
        config.receive_window(VarInt::from_u32(10_000));
        let endpoints = Endpoints::with(&config, &TransportConfig::default());
        let (client, server) = endpoints.connect().await;
        let mut stopped = client.open_uni().await.unwrap();
        stopped.write_all(b"a").await.unwrap();
        let mut recv = server.accept_uni().await.unwrap();
        let mut unread = client.open_uni().await.unwrap();
        unread.write_all(&noise(1, 9_999)).await.unwrap();
        // Nobody reads, so the connection has no room for as long as it lives.
        let mut writing = spawn(stopped.write(b"b"));
        assert_pending!(writing.poll());
        let code = VarInt::from_u32(7);
        recv.stop(code).unwrap();
        until_woken(&writing).await;
        assert_eq!(
            assert_ready!(writing.poll()),
            Err(WriteError::Stopped(code))
        );
        drop(writing);
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn whoever_waits_for_a_streams_end_hears_of_its_reset() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, _server) = endpoints.connect().await;
        let mut send = client.open_uni().await.unwrap();
        send.write_all(b"a").await.unwrap();
        let mut before = spawn(send.stopped());
        assert_pending!(before.poll());
        send.reset(VarInt::from_u32(1)).unwrap();
        assert!(before.is_woken());
        assert_eq!(assert_ready!(before.poll()), Ok(None));
        assert_eq!(send.stopped().await, Ok(None));
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn streams_may_go_in_any_state() {
    within_a_minute(async {
        let endpoints = Endpoints::with(&narrow(), &TransportConfig::default());
        let (client, server) = endpoints.connect().await;
        let data = noise(1, 50_000);
        for state in 0..6 {
            let (mut send, recv) = client.open_bi().await.unwrap();
            match state {
                0 => {}
                1 => send.write_all(b"x").await.unwrap(),
                // Full, with a write that waits.
                2 => while spawn(send.write(&data)).poll().is_ready() {},
                3 => send.finish().unwrap(),
                4 => {
                    send.write_all(b"x").await.unwrap();
                    send.reset(VarInt::from_u32(state)).unwrap();
                }
                _ => drop(spawn(send.stopped()).poll()),
            }
            drop((send, recv));
            // The one stream that is allowed becomes free again only if both halves have ended.
            if state != 4 {
                let (send, mut recv) = server.accept_bi().await.unwrap();
                while matches!(recv.read_chunk(4_000, true).await, Ok(Some(_))) {}
                drop((send, recv));
            } else {
                drop(server.accept_bi().await.unwrap());
            }
        }
        round_trip(&client, &server).await;
        endpoints.close().await;
    })
    .await;
}
