//! New connections to the server while the load is on: the draft's foreign probes
//! (draft-ietf-ippm-responsiveness §4.3).

use super::connect::{self, ClientSetup};
use super::requests::Probes;
use super::session::Session;
use bench_kit::clock;
use bench_kit::interrupt::Interrupts;
use bench_kit::plan::{Extras, Limit, Plan, Requests};
use bench_kit::wire::DONE;
use paceline::VarInt;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

/// Makes one new connection after the other, for ever; what has come of them is in `probes`.
pub(super) async fn run(setup: &ClientSetup, interrupts: &Interrupts, probes: &mut Probes) {
    sleep(setup.plan.omit).await;
    loop {
        match probe(setup, interrupts).await {
            Ok((handshake, request)) if probes.requests.len() < MAX_PROBES => {
                probes.handshakes.push(handshake);
                probes.requests.push(request);
            }
            Ok(_) => {}
            Err(why) => {
                probes.failed = probes.failed.saturating_add(1);
                probes.failure.get_or_insert(why);
            }
        }
        sleep(BETWEEN).await;
    }
}

/// The time of a handshake, and that of the first request after it. The agreement on a plan lies
/// between them and does not count.
async fn probe(
    setup: &ClientSetup,
    interrupts: &Interrupts,
) -> Result<(Duration, Duration), String> {
    let begin = Instant::from_std(clock::now());
    let connected = connect::connect(setup, setup.connections).await?;
    let handshake = begin.elapsed();
    let plan = Plan {
        limit: Limit::Time(longest(setup.plan.limit, setup.connect_timeout)),
        omit: Duration::ZERO,
        extras: Extras {
            requests: Some(Requests {
                interval: bench_kit::plan::MIN_BETWEEN_REQUESTS,
                under_load: false,
            }),
            // It is part of the run that goes on.
            turn: setup.remote.turn,
            ..Extras::default()
        },
        ..setup.plan.clone()
    };
    let session = Session {
        setup,
        plan: &plan,
        flow: 0,
        interrupts,
        connection: &connected.connection,
        socket: connected.bound,
        failed: &watch::Sender::new(None),
    };
    let agreed = session.agree(|_| {}).await?;
    let request = timeout(setup.connect_timeout, request(&connected)).await;
    drop(agreed);
    connected.connection.close(VarInt::from_u32(DONE), b"");
    let _ = timeout(CLOSE_TIMEOUT, connected.endpoint.wait_idle()).await;
    let request = request.map_err(|error| error.to_string())?;
    Ok((handshake, request.map_err(|error| error.to_string())?))
}

/// How long a probe may take: no longer than the run, which the server allows.
fn longest(limit: Limit, max_wait: Duration) -> Duration {
    match limit {
        Limit::Time(time) => time.min(max_wait),
        Limit::Bytes(_) => max_wait,
    }
}

async fn request(
    connected: &connect::Connected,
) -> Result<Duration, Box<dyn std::error::Error + Send + Sync>> {
    let (mut send, mut receive) = connected.connection.open_bi().await?;
    let begin = Instant::from_std(clock::now());
    send.write_all(&[0; 16]).await?;
    receive.read_exact(&mut [0; 16]).await?;
    Ok(begin.elapsed())
}

/// A few connections a second are no load of their own.
const BETWEEN: Duration = Duration::from_millis(300);

const CLOSE_TIMEOUT: Duration = Duration::from_millis(100);

const MAX_PROBES: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_takes_no_longer_than_the_run_and_than_patience_lasts() {
        let [one, five] = [1, 5].map(Duration::from_secs);
        assert_eq!(longest(Limit::Time(one), five), one);
        assert_eq!(longest(Limit::Time(five), one), one);
        assert_eq!(longest(Limit::Bytes(1), five), five);
    }
}
