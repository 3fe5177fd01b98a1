//! What a flood of connection attempts leaves of an honest transfer.
//!
//! `cargo run --release -p paceline --example initial_flood [-- --rate 50000 --seconds 5]`
//!
//! Over loopback, in one process: a server on one thread, which answers each new client with a
//! Retry and accepts those that come back; a client with a transfer of `--mbit` Mbit/s, which also
//! sends a datagram every 5 ms and takes the time until its echo; a newcomer that makes a
//! connection every 200 ms, without a token of an earlier one; and a thread that sends valid
//! Initial packets at a fixed rate from 255 addresses, each with another connection ID. First
//! without the flood, then with it.
//!
//! All of them share the machine. With fewer than four free CPUs they take them from each other:
//! the first part of each round shows what the machine itself does.

#[path = "../shared/causes.rs"]
mod causes;
mod flood;
mod honest;
mod server;
#[path = "../shared/unread.rs"]
mod unread;

use causes::failure;
use clap::{Parser, ValueEnum};
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;
use unread::unless_unread;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// What a flood of connection attempts leaves of an honest transfer
#[derive(Debug, Clone, Parser)]
struct Args {
    /// Initial packets per second
    #[arg(long, default_value_t = 50_000)]
    rate: u32,
    /// How long each of the two parts lasts
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Rate of the honest transfer in Mbit/s
    #[arg(long, default_value_t = 50)]
    mbit: u32,
    /// Where the honest data goes
    #[arg(long, value_enum, default_value_t = Direction::Upload)]
    direction: Direction,
    /// How often both parts are measured
    #[arg(long, default_value_t = 3)]
    rounds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Direction {
    /// To the server
    Upload,
    /// To the client
    Download,
}

fn main() -> ExitCode {
    let ended = unless_unread(run().map_err(|error| error as Box<dyn Error>));
    ended.map_or_else(|error| failure("error", &*error), |()| ExitCode::SUCCESS)
}

fn run() -> Result<()> {
    let args = Args::parse();
    writeln!(
        io::stdout(),
        "{:>7} {:>9} {:>8} {:>8} {:>8} {:>9} {:>9} {:>9} {:>9}",
        "sent/s",
        "goodput",
        "RTT p50",
        "p95",
        "p99",
        "Initials",
        "Retries",
        "shed",
        "newcomers"
    )?;
    let initials = flood::Initials::make(8_192)?;
    for _ in 0..args.rounds {
        let server = server::Server::start(args.direction, args.mbit)?;
        for rate in [0, args.rate] {
            measure(&args, &server, &initials, rate)?;
        }
        server.stop()?;
    }
    writeln!(
        io::stdout(),
        "goodput in Mbit/s, RTT in ms; newcomers: connections made of those tried, median ms"
    )?;
    Ok(())
}

/// One part: the honest client beside a flood of `rate` packets per second.
fn measure(
    args: &Args,
    server: &server::Server,
    initials: &flood::Initials,
    rate: u32,
) -> Result<()> {
    let time = Duration::from_secs(args.seconds);
    let before = server.stats();
    let (sent, figures) = thread::scope(|scope| {
        let flood = scope.spawn(|| initials.send(server.address, rate, time + WARM_UP));
        let honest = honest::run(server, args.direction, args.mbit, WARM_UP, time);
        let sent = flood
            .join()
            .map_err(|_| "the flood's thread has panicked")??;
        honest.map(|figures| (sent, figures))
    })?;
    let after = server.stats();
    let rtt = |percent| honest::percentile(&figures.rtts, percent).as_secs_f64() * 1e3;
    writeln!(
        io::stdout(),
        "{:>7.0} {:>9.2} {:>8.2} {:>8.2} {:>8.2} {:>9} {:>9} {:>9} {:>9}",
        sent as f64 / (time + WARM_UP).as_secs_f64(),
        figures.bytes as f64 * 8.0 / 1e6 / time.as_secs_f64(),
        rtt(50),
        rtt(95),
        rtt(99),
        after.initials_received - before.initials_received,
        after.retries_sent - before.retries_sent,
        after.initials_shed - before.initials_shed,
        format!(
            "{}/{} {:.0}",
            figures.newcomers.len(),
            figures.tried,
            honest::percentile(&figures.newcomers, 50).as_secs_f64() * 1e3
        ),
    )?;
    Ok(())
}

/// The flood runs for so long before anything is counted.
const WARM_UP: Duration = Duration::from_millis(500);
