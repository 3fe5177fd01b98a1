//! Our controllers in noq beside noq's own, over one emulated link: goodput, and round-trip time as
//! noq measures it. Rounds are interleaved; the table has medians, least and most.
//!
//! `cargo run --release --example compare -- --link "delay 20ms rate 20mbit queue 1bdp"`

mod transfer;

use clap::Parser;
use link_sim::LinkSpec;
use noq::PathId;
use noq::congestion::{Bbr3Config, CubicConfig, NewRenoConfig};
use paceline_noq::PathController;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use transfer::{Choice, Connected, Failure, byte_at};

/// Compare congestion controllers in noq.
#[derive(Debug, Parser)]
struct Args {
    /// The link from the sender to the receiver, in netem's words
    #[arg(long, default_value = "delay 20ms rate 20mbit queue 1bdp")]
    link: LinkSpec,
    /// The link for what comes back
    #[arg(long, default_value = "delay 20ms")]
    return_link: LinkSpec,
    /// Controllers in turn: names of ours, and `noq-bbr3`, `noq-cubic`, `noq-new_reno`
    #[arg(
        long,
        value_delimiter = ' ',
        value_parser = known,
        default_value = "noq-bbr3 bbr3 paceline noq-cubic cubic"
    )]
    controllers: Vec<String>,
    /// Rounds of each controller
    #[arg(long, default_value_t = 5)]
    rounds: u64,
    /// Seconds that count, of each round
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    /// Seconds before them
    #[arg(long, default_value_t = 2)]
    warm_up: u64,
    /// Seed of the links; each round has another
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What a round measured.
#[derive(Debug, Clone, Copy)]
struct Round {
    mbit: f64,
    rtt_ms: f64,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let args = Args::parse();
    let mut rounds = vec![Vec::new(); args.controllers.len()];
    for round in 0..args.rounds {
        for (name, rounds) in args.controllers.iter().zip(&mut rounds) {
            rounds.push(run(&args, name, args.seed + round).await?);
        }
    }
    match write!(io::stdout(), "{}", table(&args, rounds)) {
        // Whoever read it has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// What the rounds of each controller come to.
fn table(args: &Args, rounds: Vec<Vec<Round>>) -> String {
    let mut table = "| controller | goodput, Mbit/s | least to most | RTT, ms | least to most |\n\
                     |---|---|---|---|---|\n"
        .to_owned();
    for (name, rounds) in args.controllers.iter().zip(rounds) {
        let [least, median, most] = range(rounds.iter().map(|round| round.mbit));
        let [rtt_least, rtt_median, rtt_most] = range(rounds.iter().map(|round| round.rtt_ms));
        table += &format!(
            "| `{name}` | {median:.1} | {least:.1} to {most:.1} \
             | {rtt_median:.1} | {rtt_least:.1} to {rtt_most:.1} |\n"
        );
    }
    table
}

async fn run(args: &Args, name: &str, seed: u64) -> Result<Round, Failure> {
    let (link, back) = (args.link.clone(), args.return_link.clone());
    let connected = Connected::over(link, back, seed, controller(name)?).await?;
    let is_ours = connected
        .controller()
        .is_some_and(|controller| controller.into_any().is::<PathController>());
    if is_ours == name.starts_with("noq-") {
        return Err(format!("the connection does not run under {name}").into());
    }
    let mut stream = connected.connection.open_uni().await?;
    let sender = tokio::spawn(async move {
        let data: Vec<u8> = (0..251 * 256).map(byte_at).collect();
        while stream.write_all(&data).await.is_ok() {}
    });
    sleep(Duration::from_secs(args.warm_up)).await;
    let before = connected.received.load(Relaxed);
    let (mut rtts, time) = (Vec::new(), Duration::from_secs(args.seconds));
    let sample = async {
        loop {
            rtts.extend(connected.connection.rtt(PathId::ZERO));
            sleep(Duration::from_millis(20)).await;
        }
    };
    let started = tokio::time::Instant::now();
    let _ = timeout(time, sample).await;
    let (bytes, took) = (connected.received.load(Relaxed) - before, started.elapsed());
    connected.shutdown()?;
    sender.await?;
    let [_, rtt, _] = range(rtts.iter().map(Duration::as_secs_f64));
    Ok(Round {
        mbit: bytes as f64 * 8.0 / took.as_secs_f64() / 1e6,
        rtt_ms: rtt * 1e3,
    })
}

/// A controller's name, if there is one of that name.
fn known(name: &str) -> Result<String, Failure> {
    controller(name)?;
    Ok(name.to_owned())
}

fn controller(name: &str) -> Result<Choice, Failure> {
    Ok(match name {
        "noq-bbr3" => Arc::new(Bbr3Config::default()),
        "noq-cubic" => Arc::new(CubicConfig::default()),
        "noq-new_reno" => Arc::new(NewRenoConfig::default()),
        ours => paceline_noq::controller(ours)?,
    })
}

/// Least, median and most; NaN where there is nothing.
fn range(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
    let last = values.len().saturating_sub(1);
    [at(0), (at(last / 2) + at(last.div_ceil(2))) / 2.0, at(last)]
}
