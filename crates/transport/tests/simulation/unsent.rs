//! What of a stream has not left yet, and streams that have a deadline.

use crate::support::{configs, connected, simulation};
use paceline::testing::Simulation;
use paceline::{ClosedStream, Connection, ReadError, ReadToEndError, VarInt, WriteError};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval, sleep, timeout};

const MILLI: Duration = Duration::from_millis(1);
const TOO_LATE: VarInt = VarInt::from_u32(7);

fn slow(seed: u64, loss: &str) -> Simulation {
    simulation(seed, &format!("delay 30ms {loss} rate 8mbit queue 100p"))
}

#[test]
fn what_has_not_left_is_exact_whatever_is_lost() {
    for (seed, loss) in [(1, ""), (2, "loss 10%")] {
        slow(seed, loss).run(async {
            let (client, server) = connected(configs("paceline")).await;
            let mut stream = client.open_uni().await.unwrap();
            assert_eq!(stream.unsent().unwrap(), 0);
            stream.sent().await.unwrap();
            stream.write_all(&[7; 200_000]).await.unwrap();
            assert_eq!(stream.unsent().unwrap(), 200_000);
            let reading = tokio::spawn(async move {
                let mut stream = server.accept_uni().await.unwrap();
                stream.read_to_end(1 << 20).await.unwrap().len()
            });
            let mut seen = vec![200_000];
            while *seen.last().unwrap() > 0 {
                sleep(MILLI * 5).await;
                seen.push(stream.unsent().unwrap());
            }
            assert!(seen.is_sorted_by(|a, b| a >= b), "{seen:?}");
            assert!(seen.len() > 20, "{}", seen.len());
            // Another half of it, which counts from where the first one ended.
            stream.write_all(&[7; 100_000]).await.unwrap();
            assert_eq!(stream.unsent().unwrap(), 100_000);
            stream.finish().unwrap();
            stream.sent().await.unwrap();
            assert_eq!(stream.unsent().unwrap(), 0);
            let left = Instant::now();
            assert_eq!(stream.stopped().await.unwrap(), None);
            // It is told when the last byte leaves, not when it has arrived.
            assert!(left.elapsed() >= MILLI * 60, "{:?}", left.elapsed());
            assert_eq!(stream.unsent().unwrap(), 0);
            assert_eq!(reading.await.unwrap(), 300_000);
        });
    }
}

/// 90 frames of 4 Mbit/s in three seconds, over 8 Mbit/s of which 2 are left for the second one.
/// Those that have not left after 100 ms are given up, and with `skips` none is made while the one
/// before has not left. How late those were that arrived, and how many were given up.
fn frames(loss: &str, skips: bool) -> (Vec<Duration>, usize) {
    slow(3, loss).run(async {
        let (client, server) = connected(configs("paceline")).await;
        let receiving = tokio::spawn(receive_frames(server));
        let mut made = Vec::new();
        let mut pace = interval(Duration::from_secs(1) / 30);
        for number in 0..90 {
            pace.tick().await;
            match number {
                30 => client.set_max_rate(Some("2mbit".parse().unwrap())),
                60 => client.set_max_rate(None),
                _ => {}
            }
            if skips
                && made
                    .last()
                    .is_some_and(|frame: &JoinHandle<_>| !frame.is_finished())
            {
                continue;
            }
            let mut frame = client.open_uni().await.unwrap();
            let made_at = Instant::now();
            made.push(tokio::spawn(async move {
                frame.write_all(&[7; 16_667]).await.unwrap();
                frame.finish().unwrap();
                if timeout(MILLI * 100, frame.sent()).await.is_ok() {
                    return Some(made_at);
                }
                assert!(frame.unsent().unwrap() > 0);
                frame.reset(TOO_LATE).unwrap();
                assert_eq!(frame.unsent(), Err(ClosedStream::default()));
                assert_eq!(frame.sent().await, Err(WriteError::ClosedStream));
                None
            }));
        }
        let mut kept = Vec::new();
        let count = made.len();
        for frame in made {
            kept.extend(frame.await.unwrap());
        }
        sleep(Duration::from_secs(1)).await;
        client.close(VarInt::from_u32(0), b"done");
        let (arrived, late) = receiving.await.unwrap();
        // Whatever has left in time arrives, however often its packets are lost.
        assert_eq!((arrived.len(), late), (kept.len(), count - kept.len()));
        let latency = |(at, made): (&Instant, &Instant)| *at - *made;
        (arrived.iter().zip(&kept).map(latency).collect(), late)
    })
}

/// When whole frames have arrived, and how many were given up.
async fn receive_frames(server: Connection) -> (Vec<Instant>, usize) {
    let mut frames = Vec::new();
    while let Ok(mut stream) = server.accept_uni().await {
        frames.push(tokio::spawn(async move {
            let frame = stream.read_to_end(1 << 20).await;
            (frame.map(|frame| frame.len()), Instant::now())
        }));
    }
    let (mut arrived, mut late) = (Vec::new(), 0);
    for frame in frames {
        match frame.await.unwrap() {
            (Ok(16_667), at) => arrived.push(at),
            (Err(ReadToEndError::Read(ReadError::Reset(TOO_LATE))), _) => late += 1,
            other => panic!("{other:?}"),
        }
    }
    (arrived, late)
}

#[test]
fn a_deadline_gives_up_what_is_late_and_spares_what_has_left() {
    let (latencies, late) = frames("", true);
    assert!(late <= 3, "{late} late");
    assert!((70..80).contains(&latencies.len()), "{}", latencies.len());
    let most = latencies.iter().max().unwrap();
    // The deadline, the delay, and a frame's time on the link.
    assert!(*most < MILLI * 160, "{most:?}");
    // With more frames than the path carries each has waited for the one before: all are late, 28
    // to 60 over twelve seeds.
    let (latencies, late) = frames("loss 3%", false);
    assert!(late >= 25, "{late} late");
    // Some of those before the cap and after it, where Ups first find the rate again.
    assert!(latencies.len() >= 30, "{}", latencies.len());
}

#[test]
fn waiting_for_what_never_leaves_ends() {
    slow(4, "").run(async {
        let (client, server) = connected(configs("cubic")).await;
        client.set_send_window(1 << 20);
        let mut stopped = client.open_uni().await.unwrap();
        let mut lost = client.open_uni().await.unwrap();
        stopped.write_all(&[7; 500_000]).await.unwrap();
        lost.write_all(&[7; 500_000]).await.unwrap();
        let ending = async {
            let mut stream = server.accept_uni().await.unwrap();
            stream.stop(TOO_LATE).unwrap();
            sleep(MILLI * 100).await;
            server.close(VarInt::from_u32(1), b"enough");
        };
        let (stopped, lost, ()) = tokio::join!(stopped.sent(), lost.sent(), ending);
        assert_eq!(stopped, Err(WriteError::Stopped(TOO_LATE)));
        assert!(
            matches!(lost, Err(WriteError::ConnectionLost(_))),
            "{lost:?}"
        );
    });
}
