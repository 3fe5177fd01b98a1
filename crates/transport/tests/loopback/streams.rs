//! Streams carry bytes, ends, resets and stops.

use crate::support::{Endpoints, hash, noise, receive_all, send_all, within_a_minute};
use bytes::Bytes;
use paceline::{
    ReadError, ReadExactError, ReadToEndError, ResetError, TransportConfig, VarInt, WriteError,
};
#[cfg(target_os = "linux")]
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_test::{assert_pending, assert_ready};

#[tokio::test]
async fn what_is_sent_comes_back() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let echo = async {
            let (mut send, mut recv) = server.accept_bi().await.unwrap();
            tokio::io::copy(&mut recv, &mut send).await.unwrap();
            send.shutdown().await.unwrap();
        };
        let ask = async {
            let (mut send, mut recv) = client.open_bi().await.unwrap();
            AsyncWriteExt::write_all(&mut send, b"hello").await.unwrap();
            send.shutdown().await.unwrap();
            let mut answer = String::new();
            recv.read_to_string(&mut answer).await.unwrap();
            answer
        };
        let ((), answer) = tokio::join!(echo, ask);
        assert_eq!(answer, "hello");
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_large_transfer_in_both_directions_is_intact() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let (up, down) = (noise(1, 64 << 20), noise(2, 64 << 20));
        let (send, recv) = client.open_bi().await.unwrap();
        let serve = async {
            let (send, recv) = server.accept_bi().await.unwrap();
            tokio::join!(send_all(send, &down), receive_all(recv)).1
        };
        let ((), received_down, received_up) =
            tokio::join!(send_all(send, &up), receive_all(recv), serve);
        assert_eq!(hash(&received_up), hash(&up));
        assert_eq!(hash(&received_down), hash(&down));
        endpoints.close().await;
    })
    .await;
}

/// Messages of many packets are what Linux makes of them.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_lagging_reader_finds_is_where_it_was_received() {
    within_a_minute(async {
        let mut config = TransportConfig::default();
        config
            .receive_window(VarInt::from_u32(16 << 20))
            .mtu_discovery_config(None);
        let endpoints = Endpoints::with(&config, &config);
        let (client, server) = endpoints.connect().await;
        let data = noise(4, 6 << 20);
        let mut chunks = vec![Bytes::new(); 10_000];
        let receive = async {
            let mut recv = server.accept_uni().await.unwrap();
            while server.stats().udp_rx.bytes < data.len() as u64 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let mut count = 0;
            while let Some(more) = recv.read_chunks(&mut chunks[count..]).await.unwrap() {
                count += more;
            }
            chunks.truncate(count);
        };
        let send = client.open_uni().await.unwrap();
        tokio::join!(send_all(send, &data), receive);
        assert!(chunks.concat() == data, "all bytes in order");
        // Packets of a message are 1,200 bytes apart. Copies, which lack the headers, are not.
        let start = |chunk: &Bytes| chunk.as_ptr().addr();
        let neighbours = chunks
            .windows(2)
            .filter(|pair| start(&pair[1]) == start(&pair[0]) + 1_200);
        assert!(chunks.len() > 4_000, "{} packets", chunks.len());
        assert!(neighbours.count() > chunks.len() / 2, "copied");
        endpoints.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transfer_between_threads_is_intact() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let data = noise(3, 16 << 20);
        let expected = hash(&data);
        let sending = tokio::spawn(async move {
            let send = client.open_uni().await.unwrap();
            send_all(send, &data).await;
            client.closed().await
        });
        let received = receive_all(server.accept_uni().await.unwrap()).await;
        assert_eq!(hash(&received), expected);
        server.close(VarInt::from_u32(0), b"");
        sending.await.unwrap();
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_hundred_streams_at_once_keep_apart() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let echo = tokio::spawn(async move {
            while let Ok((send, recv)) = server.accept_bi().await {
                tokio::spawn(async move {
                    let data = receive_all(recv).await;
                    send_all(send, &data).await;
                });
            }
        });
        let streams = (0..100).map(|seed| {
            let client = client.clone();
            tokio::spawn(async move {
                let data = noise(seed, 50_000 + seed as usize);
                let (send, recv) = client.open_bi().await.unwrap();
                send_all(send, &data).await;
                assert_eq!(hash(&receive_all(recv).await), hash(&data));
            })
        });
        for stream in streams.collect::<Vec<_>>() {
            stream.await.unwrap();
        }
        endpoints.close().await;
        echo.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_end_has_been_received_when_stopped_says_so() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let mut send = client.open_uni().await.unwrap();
        send.write_chunk(Bytes::from_static(b"all of it"))
            .await
            .unwrap();
        send.finish().unwrap();
        assert_eq!(send.stopped().await, Ok(None));
        let mut recv = server.accept_uni().await.unwrap();
        assert_eq!(recv.read_to_end(9).await.unwrap(), b"all of it");
        assert!(send.finish().is_err());
        assert_eq!(send.write(b"more").await, Err(WriteError::ClosedStream));
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_reset_reaches_the_reader_with_its_code() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let code = VarInt::from_u32(99);
        let mut send = client.open_uni().await.unwrap();
        send.write_all(b"abc").await.unwrap();
        let mut recv = server.accept_uni().await.unwrap();
        let mut three = [0; 3];
        recv.read_exact(&mut three).await.unwrap();
        send.reset(code).unwrap();
        assert_eq!(recv.received_reset().await, Ok::<_, ResetError>(Some(code)));
        assert_eq!(recv.read(&mut three).await, Err(ReadError::Reset(code)));
        assert_eq!(recv.read(&mut three).await, Ok(None));
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_stop_reaches_the_writer_with_its_code() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let code = VarInt::from_u32(7);
        let mut send = client.open_uni().await.unwrap();
        send.write_all(b"abc").await.unwrap();
        let mut recv = server.accept_uni().await.unwrap();
        recv.stop(code).unwrap();
        assert_eq!(send.stopped().await, Ok(Some(code)));
        assert_eq!(send.write(b"d").await, Err(WriteError::Stopped(code)));
        assert!(recv.stop(code).is_err());
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_dropped_reader_stops_the_writer_and_a_dropped_writer_finishes() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let (mut send, mut recv) = client.open_bi().await.unwrap();
        send.write_all(b"abc").await.unwrap();
        let (other_send, other_recv) = server.accept_bi().await.unwrap();
        drop(other_recv);
        assert_eq!(send.stopped().await, Ok(Some(VarInt::from_u32(0))));
        drop(other_send);
        assert_eq!(recv.read_to_end(0).await.unwrap(), b"");
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_stream_longer_or_shorter_than_wanted_is_an_error() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        send_all(client.open_uni().await.unwrap(), &[1; 10_000]).await;
        let mut recv = server.accept_uni().await.unwrap();
        let result = recv.read_to_end(9_999).await;
        assert_eq!(result.unwrap_err(), ReadToEndError::TooLong);
        send_all(client.open_uni().await.unwrap(), &[1; 10]).await;
        let mut recv = server.accept_uni().await.unwrap();
        let result = recv.read_exact(&mut [0; 11]).await;
        assert_eq!(result, Err(ReadExactError::FinishedEarly(10)));
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn chunks_out_of_order_are_complete_and_forbid_ordered_reads() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let data = noise(5, 300_000);
        let read = async {
            let mut recv = server.accept_uni().await.unwrap();
            let mut received = vec![0; data.len()];
            while let Some(chunk) = recv.read_chunk(usize::MAX, false).await.unwrap() {
                let at = chunk.offset as usize;
                received[at..at + chunk.bytes.len()].copy_from_slice(&chunk.bytes);
            }
            received
        };
        let send = client.open_uni().await.unwrap();
        let ((), received) = tokio::join!(send_all(send, &data), read);
        assert_eq!(hash(&received), hash(&data));

        let mut send = client.open_uni().await.unwrap();
        send.write_all(b"abc").await.unwrap();
        let mut recv = server.accept_uni().await.unwrap();
        recv.read_chunk(1, false).await.unwrap();
        let ordered = recv.read_chunk(1, true).await;
        assert_eq!(ordered, Err(ReadError::IllegalOrderedRead));
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn several_chunks_are_written_and_read_in_one_call() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let mut send = client.open_uni().await.unwrap();
        let mut chunks = [Bytes::from_static(b"one "), Bytes::from_static(b"two")];
        send.write_all_chunks(&mut chunks).await.unwrap();
        send.finish().unwrap();
        let mut recv = server.accept_uni().await.unwrap();
        let mut buffers = [const { Bytes::new() }; 4];
        let mut text = Vec::new();
        while let Some(count) = recv.read_chunks(&mut buffers).await.unwrap() {
            text.extend(buffers[..count].concat());
        }
        assert_eq!(text, b"one two");
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn opening_waits_until_the_peer_allows_another_stream() {
    within_a_minute(async {
        let mut config = TransportConfig::default();
        config.max_concurrent_uni_streams(VarInt::from_u32(1));
        let endpoints = Endpoints::with(&config, &TransportConfig::default());
        let (client, server) = endpoints.connect().await;
        let first = client.open_uni().await.unwrap();
        let mut second = tokio_test::task::spawn(client.open_uni());
        assert_pending!(second.poll());
        send_all(first, b"x").await;
        receive_all(server.accept_uni().await.unwrap()).await;
        second.await.unwrap();
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_peer_that_has_half_of_its_first_streams_open_may_open_all() {
    within_a_minute(async {
        let mut config = TransportConfig::default();
        config.initial_bidi_streams(Some(VarInt::from_u32(4)));
        config.max_concurrent_bidi_streams(VarInt::from_u32(20));
        let endpoints = Endpoints::with(&config, &TransportConfig::default());
        let (client, server) = endpoints.connect().await;
        let mut opened = Vec::new();
        for _ in 0..4 {
            opened.push(client.open_bi().await.unwrap());
        }
        let mut another = tokio_test::task::spawn(client.open_bi());
        assert_pending!(another.poll());

        opened[0].0.write_all(b"?").await.unwrap();
        let (mut send, mut recv) = server.accept_bi().await.unwrap();
        recv.read_exact(&mut [0]).await.unwrap();
        send.write_all(b"!").await.unwrap();
        opened[0].1.read_exact(&mut [0]).await.unwrap();
        assert_pending!(another.poll(), "a quarter is in use");

        opened[1].0.write_all(b"?").await.unwrap();
        opened.push(another.await.unwrap());
        while opened.len() < 20 {
            opened.push(client.open_bi().await.unwrap());
        }
        assert_pending!(tokio_test::task::spawn(client.open_bi()).poll());
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_limit_of_streams_that_is_set_is_not_raised() {
    within_a_minute(async {
        let mut config = TransportConfig::default();
        config.initial_uni_streams(Some(VarInt::from_u32(2)));
        let endpoints = Endpoints::with(&config, &TransportConfig::default());
        let (client, server) = endpoints.connect().await;
        server.set_max_concurrent_uni_streams(VarInt::from_u32(3));
        let mut opened = Vec::new();
        for _ in 0..3 {
            let mut send = client.open_uni().await.unwrap();
            send.write_all(b"x").await.unwrap();
            opened.push(send);
            let mut recv = server.accept_uni().await.unwrap();
            recv.read_exact(&mut [0]).await.unwrap();
        }
        // An answer that comes after what the server would have said of its limit.
        send_all(server.open_uni().await.unwrap(), b"x").await;
        receive_all(client.accept_uni().await.unwrap()).await;
        assert_pending!(tokio_test::task::spawn(client.open_uni()).poll());
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_limit_of_streams_without_bound_is_granted_as_the_peer_uses_it() {
    within_a_minute(async {
        let mut config = TransportConfig::default();
        config.max_concurrent_uni_streams(VarInt::MAX);
        let endpoints = Endpoints::with(&config, &TransportConfig::default());
        let (client, server) = endpoints.connect().await;
        server.set_max_concurrent_bi_streams(VarInt::MAX);
        // More than a peer begins with.
        let mut opened = Vec::new();
        for _ in 0..20_000 {
            let mut send = client.open_uni().await.unwrap();
            send.write_all(b"x").await.unwrap();
            opened.push(send);
        }
        let (mut send, _recv) = client.open_bi().await.unwrap();
        send.write_all(b"x").await.unwrap();
        server.accept_bi().await.unwrap();
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn flow_control_holds_a_writer_whose_reader_does_not_read() {
    within_a_minute(async {
        let mut config = TransportConfig::default();
        config.stream_receive_window(VarInt::from_u32(100_000));
        config.send_window(100_000);
        let endpoints = Endpoints::with(&config, &config);
        let (client, server) = endpoints.connect().await;
        let mut send = client.open_uni().await.unwrap();
        let chunk = vec![3; 200_000];
        let first = send.write(&chunk).await.unwrap();
        assert!(first <= 100_000);
        let mut rest = first;
        let mut recv = server.accept_uni().await.unwrap();
        let mut received = vec![0; 300_000];
        let write = async {
            while rest < 300_000 {
                rest += send
                    .write(&chunk[..chunk.len().min(300_000 - rest)])
                    .await
                    .unwrap();
            }
        };
        let (_, result) = tokio::join!(write, recv.read_exact(&mut received));
        result.unwrap();
        assert!(received.iter().all(|byte| *byte == 3));
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn abandoned_waits_lose_nothing() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        {
            let mut accept = tokio_test::task::spawn(server.accept_uni());
            assert_pending!(accept.poll());
        }
        let mut send = client.open_uni().await.unwrap();
        send.write_all(b"a").await.unwrap();
        let mut recv = server.accept_uni().await.unwrap();
        let mut byte = [0];
        assert_eq!(recv.read(&mut byte).await, Ok(Some(1)));
        {
            let mut read = tokio_test::task::spawn(recv.read(&mut byte));
            assert_pending!(read.poll());
        }
        send.write_all(b"b").await.unwrap();
        assert_eq!(recv.read(&mut byte).await, Ok(Some(1)));
        assert_eq!(&byte, b"b");
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_reader_is_woken_by_its_stream_and_by_no_other() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let mut sends = [
            client.open_uni().await.unwrap(),
            client.open_uni().await.unwrap(),
        ];
        for send in &mut sends {
            send.write_all(b"a").await.unwrap();
        }
        let mut recvs = [
            server.accept_uni().await.unwrap(),
            server.accept_uni().await.unwrap(),
        ];
        for recv in &mut recvs {
            recv.read_exact(&mut [0]).await.unwrap();
        }
        let [mut quiet, mut busy] = recvs;
        let mut byte = [0];
        let mut waiting = tokio_test::task::spawn(quiet.read(&mut byte));
        assert_pending!(waiting.poll());
        sends[1].write_all(b"b").await.unwrap();
        busy.read_exact(&mut [0]).await.unwrap();
        assert!(!waiting.is_woken());
        sends[0].write_all(b"c").await.unwrap();
        while !waiting.is_woken() {
            tokio::task::yield_now().await;
        }
        assert_eq!(assert_ready!(waiting.poll()), Ok(Some(1)));
        drop(waiting);
        assert_eq!(&byte, b"c");
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn priorities_are_kept() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, _server) = endpoints.connect().await;
        let send = client.open_uni().await.unwrap();
        assert_eq!(send.priority().unwrap(), 0);
        send.set_priority(-3).unwrap();
        assert_eq!(send.priority().unwrap(), -3);
        endpoints.close().await;
    })
    .await;
}
