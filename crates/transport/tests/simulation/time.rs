//! How time passes.

use crate::support::{address, configs, connect, receive_for, send_endlessly, simulation};
use paceline::testing::Simulation;
use paceline::{ConnectionError, Endpoint, ValidationTokenConfig, VarInt};
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn timers_expire_in_their_order_and_at_their_millisecond() {
    let begun_and_woken = Simulation::new(1).run(async {
        let begun = Instant::now();
        let sleepers = [7, 3, 60_000, 3, 0].map(|after| {
            tokio::spawn(async move {
                sleep(millis(after)).await;
                begun.elapsed()
            })
        });
        let mut woken = Vec::new();
        for sleeper in sleepers {
            woken.push(sleeper.await.unwrap());
        }
        woken
    });
    assert_eq!(begun_and_woken, [7, 3, 60_000, 3, 0].map(millis));
}

#[test]
fn timers_of_the_application_and_packets_do_not_disturb_each_other() {
    let link = "delay 10ms rate 20mbit queue 1bdp";
    let receive = |with_timers: bool| {
        simulation(1, link).run(async move {
            let ticks = tokio::spawn(async move {
                let mut interval = interval(millis(1));
                interval.set_missed_tick_behavior(MissedTickBehavior::Burst);
                let begun = Instant::now();
                let mut ticks = 0;
                while with_timers && begun.elapsed() < millis(3_000) {
                    // Each at its time, whatever is on its way meanwhile.
                    assert_eq!(interval.tick().await, begun + millis(ticks));
                    assert_eq!(begun.elapsed(), millis(ticks));
                    ticks += 1;
                }
            });
            let (server, client) = configs("cubic");
            let server = Endpoint::server(server, address("10.0.0.1:443")).unwrap();
            tokio::spawn(send_endlessly(server));
            let connection = connect(client, "0.0.0.0:0", address("10.0.0.1:443")).await;
            let received = receive_for(&connection, millis(2_000)).await;
            ticks.await.unwrap();
            received
        })
    };
    let received = receive(true);
    assert_eq!(received, receive(false));
    // 20 Mbit/s for two seconds, less Startup and headers.
    assert!((4_400_000..5_000_000).contains(&received), "{received}");
}

#[test]
fn packets_take_as_long_as_the_link_says() {
    let rtt = simulation(1, "delay 12345us").run(async {
        let (server, client) = configs("cubic");
        let server = Endpoint::server(server, address("10.0.0.1:443")).unwrap();
        tokio::spawn(send_endlessly(server));
        let connection = connect(client, "0.0.0.0:0", address("10.0.0.1:443")).await;
        receive_for(&connection, millis(200)).await;
        connection.rtt()
    });
    // Smoothed over acknowledgements that a receiver delays now and then.
    assert!(
        rtt >= Duration::from_micros(24_690) && rtt < millis(26),
        "{rtt:?}"
    );
}

#[test]
fn an_hour_of_silence_costs_nothing() {
    let simulation = simulation(1, "delay 50ms").time_limit(Duration::from_secs(7_200));
    simulation.run(async {
        let (server, client) = configs("cubic");
        let server = Endpoint::server(server, address("10.0.0.1:443")).unwrap();
        tokio::spawn(send_endlessly(server));
        // Where nobody answers a handshake ends with an error of its own.
        let begun = Instant::now();
        let endpoint = Endpoint::client(address("0.0.0.0:0")).unwrap();
        let nobody = endpoint.connect_with(client, address("10.0.0.9:443"), "server.test");
        assert_eq!(
            nobody.unwrap().await.unwrap_err(),
            ConnectionError::TimedOut
        );
        assert_eq!(begun.elapsed(), Duration::from_secs(10));
        sleep(Duration::from_secs(3_600)).await;
        assert_eq!(begun.elapsed(), Duration::from_secs(3_610));
    });
}

#[test]
#[should_panic(expected = "has not ended after 60s of virtual time; nothing is on its way to it")]
fn what_waits_for_nothing_is_told() {
    let simulation = Simulation::new(1).time_limit(Duration::from_secs(60));
    simulation.run(std::future::pending::<()>());
}

#[test]
#[should_panic(expected = "raise `Simulation::time_limit`")]
fn what_takes_too_long_is_told() {
    let simulation = simulation(1, "delay 10ms rate 1mbit queue 1bdp").time_limit(millis(5_000));
    simulation.run(async {
        let (server, client) = configs("cubic");
        let server = Endpoint::server(server, address("10.0.0.1:443")).unwrap();
        tokio::spawn(send_endlessly(server));
        let connection = connect(client, "0.0.0.0:0", address("10.0.0.1:443")).await;
        receive_for(&connection, Duration::from_secs(60)).await;
    });
}

#[test]
#[should_panic(expected = "inside of a tokio runtime or another simulation; call it from")]
fn one_simulation_has_no_other_inside() {
    Simulation::new(1).run(async { Simulation::new(1).run(async {}) });
}

/// Connects, and leaves tasks, sockets and a connection to the end of the run.
async fn connected() -> (Endpoint, paceline::Connection) {
    let (server, client) = configs("cubic");
    let server = Endpoint::server(server, address("10.0.0.1:443")).unwrap();
    tokio::spawn(send_endlessly(server.clone()));
    (
        server,
        connect(client, "0.0.0.0:0", address("10.0.0.1:443")).await,
    )
}

/// Looks at the simulation when it is dropped.
struct Witness(std::sync::mpsc::Sender<u64>);

impl Drop for Witness {
    fn drop(&mut self) {
        let none = Simulation::packets(address("10.0.0.1:443"), address("10.0.0.2:443"));
        let made = Endpoint::client(address("0.0.0.0:0"));
        let _ = self.0.send(none.sent + u64::from(made.is_err()));
    }
}

#[test]
fn a_run_that_panics_ends_in_its_own_world_and_leaves_the_thread_as_it_was() {
    let (tell, told) = std::sync::mpsc::channel();
    let run = || {
        simulation(1, "delay 10ms").run(async {
            let (_server, connection) = connected().await;
            let witness = Witness(tell.clone());
            tokio::spawn(async move {
                let _held = (connection, witness);
                std::future::pending::<()>().await;
            });
            tokio::task::yield_now().await;
            panic!("what the application found");
        })
    };
    for _ in 0..2 {
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"what the application found"));
        assert_eq!(told.recv(), Ok(0));
    }
}

#[test]
fn an_endpoint_of_an_earlier_run_has_no_part_in_a_later_one() {
    let former = simulation(1, "delay 10ms").run(connected());
    simulation(1, "delay 10ms").run(async move {
        let (_server, connection) = connected().await;
        former.1.close(VarInt::from_u32(0), b"late");
        drop(former);
        assert!(receive_for(&connection, millis(500)).await > 100_000);
    });
}

#[test]
fn a_run_without_a_limit_is_possible() {
    let unlimited = Simulation::new(1).time_limit(Duration::MAX);
    let begun = unlimited.run(async {
        let begun = Instant::now();
        sleep(Duration::from_secs(86_400)).await;
        begun.elapsed()
    });
    assert_eq!(begun, Duration::from_secs(86_400));
}

/// The system's clock is not asked, or the end of one of its seconds would change a run.
#[test]
fn tokens_age_with_virtual_time() {
    const HOUR: Duration = Duration::from_secs(3_600);
    let validated = simulation(1, "delay 10ms").time_limit(HOUR * 4).run(async {
        let (mut server, client) = configs("cubic");
        let mut tokens = ValidationTokenConfig::default();
        tokens.lifetime(HOUR);
        server.validation_token_config(tokens);
        let at = address("10.0.0.1:443");
        let listening = Endpoint::server(server, at).unwrap();
        let endpoint = Endpoint::client(address("0.0.0.0:0")).unwrap();
        let mut validated = Vec::new();
        for pause in [Duration::ZERO, HOUR / 2, HOUR * 2] {
            sleep(pause).await;
            let connecting = endpoint.connect_with(client.clone(), at, "server.test");
            let accepting = async {
                let attempt = listening.accept().await.unwrap();
                (attempt.remote_address_validated(), attempt.await)
            };
            let (connection, (is_validated, accepted)) =
                tokio::join!(connecting.unwrap(), accepting);
            validated.push(is_validated);
            // Tokens come after the handshake.
            sleep(millis(1_000)).await;
            connection.unwrap().close(VarInt::from_u32(0), b"done");
            accepted.unwrap().closed().await;
        }
        validated
    });
    assert_eq!(validated, [false, true, false]);
}
