//! noq's own endpoints over an emulated link, under our controllers and noq's.
//!
//! Time is real here, so only what cannot fail from slowness is asserted.

#[path = "../examples/compare/transfer.rs"]
mod transfer;

use noq::congestion::{Bbr3Config, Controller};
use paceline_noq::PathController;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use transfer::{Choice, Connected, Failure, byte_at};

/// Sends this many bytes, and returns the sender's controller at the end.
async fn send(bytes: u64, link: &str, controller: Choice) -> Result<Box<dyn Controller>, Failure> {
    let connected = Connected::over(link.parse()?, "delay 10ms".parse()?, 1, controller).await?;
    let data: Vec<u8> = (0..bytes).map(byte_at).collect();
    let mut stream = connected.connection.open_uni().await?;
    stream.write_all(&data).await?;
    stream.finish()?;
    assert_eq!(stream.stopped().await?, None);
    while connected.received.load(Relaxed) < bytes {
        tokio::task::yield_now().await;
    }
    assert_eq!(connected.received.load(Relaxed), bytes);
    let controller = connected.controller().ok_or("the connection has no path")?;
    connected.shutdown()?;
    Ok(controller)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_arrives_under_our_controllers() {
    for name in ["bbr3", "paceline", "cubic", "new_reno", "copa"] {
        let ours = paceline_noq::controller(name).unwrap();
        let controller = send(1_500_000, LOSSY, ours).await.unwrap();
        let metrics = controller.metrics();
        assert_eq!(metrics.congestion_window, controller.window());
        let ours = controller.into_any().downcast::<PathController>().unwrap();
        let snapshot = ours.snapshot();
        assert_eq!(snapshot.algorithm, name);
        let rate = snapshot.control.pacing_rate.bytes_per_sec();
        assert_eq!(metrics.pacing_rate, Some(rate), "{name}");
        if let Some(min_rtt) = snapshot.min_rtt {
            assert!(min_rtt.as_millis() >= 20, "{name}: {min_rtt:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_arrives_under_the_controller_of_noq() {
    let theirs = Arc::new(Bbr3Config::default());
    let controller = send(1_500_000, LOSSY, theirs).await.unwrap();
    assert!(controller.into_any().downcast::<PathController>().is_err());
}

/// A window of a gigabyte would let everything leave at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn noq_sends_no_faster_than_our_pacing_rate() {
    let ours = paceline_noq::controller("fixed:rate=8mbit").unwrap();
    let started = tokio::time::Instant::now();
    send(1_000_000, "delay 10ms", ours).await.unwrap();
    let took = started.elapsed();
    assert!(took.as_millis() >= 900, "1 MB at 1 MB/s took {took:?}");
}

const LOSSY: &str = "delay 10ms loss 0.5% rate 40mbit queue 2bdp";
