//! What more shards bring: handshakes and bulk downloads over loopback.
//!
//! | `cargo run --release -p paceline --example shards -- …` | |
//! |---|---|
//! | `[ROUNDS SECONDS]` | one shard and two, beside each other, on any machine |
//! | `scale [ROUNDS SECONDS]` | 1, 2, 4 and more, on CPUs of their own; it takes 8 CPUs |
//! | `model [SHARDS]` | what chance alone leaves of them, by simulation |
//!
//! A server process and client processes. Handshakes: 16 at once in each client, full TLS 1.3
//! (ECDSA P-256, X25519, no resumption). Bulk: four connections in each client, AES-128-GCM, UDP
//! payload 1,452, CUBIC, windows of 4 MiB. Rounds are interleaved; medians. Linux only.
//!
//! Without `scale` everything shares the machine: with fewer than four CPUs server and clients take
//! them from each other, and rates say little about the shards. CPU time per unit of work is the
//! steadier figure.

#[path = "../shared/argument.rs"]
mod argument;
mod load;
mod model;
#[path = "../shared/program.rs"]
mod program;

use argument::number;
use paceline::tls;
use std::error::Error;
use std::io::{self, BufRead, BufReader, Write};
use std::num::NonZero;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    program::run(USAGE, 5, read, |task| {
        match task {
            Task::Serve(shards) => load::serve(shards)?,
            Task::Put(load, port, time, first) => load::put(load, port, time, first)?,
            Task::Compare(rounds, seconds) => compare(rounds, seconds)?,
            Task::Scale(rounds, seconds) => scale(rounds, seconds)?,
            Task::Model(most) => model::print(most)?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// What the arguments ask for.
enum Task {
    /// The server's process, with so many shards.
    Serve(usize),
    /// A client's process: what it does, the server's port, for how long and on which CPU, if any.
    Put(&'static Load, u16, Duration, Option<usize>),
    Compare(usize, f64),
    Scale(usize, f64),
    /// Of at most so many shards.
    Model(usize),
}

fn read(args: &[String]) -> Result<Task> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    Ok(match words[..] {
        ["serve", shards] => Task::Serve(number("SHARDS", shards)?),
        ["load", name, port, seconds, first] => {
            let load = LOADS.iter().find(|known| known.name == name);
            let load =
                load.ok_or_else(|| format!("`{name}` is no load; give handshakes or download"))?;
            let time = Duration::try_from_secs_f64(number("SECONDS", seconds)?)?;
            Task::Put(load, number("PORT", port)?, time, first.parse().ok())
        }
        [] => Task::Compare(ROUNDS, SECONDS),
        ["scale"] => Task::Scale(ROUNDS, SECONDS),
        ["scale", rounds, seconds] => {
            Task::Scale(number("ROUNDS", rounds)?, number("SECONDS", seconds)?)
        }
        ["model"] => Task::Model(MOST_SHARDS),
        ["model", shards] => {
            let most = number("SHARDS", shards)?;
            if !(1..=256).contains(&most) {
                return Err(format!("SHARDS cannot be {most}; give a number from 1 to 256").into());
            }
            Task::Model(most)
        }
        [rounds, seconds] => Task::Compare(number("ROUNDS", rounds)?, number("SECONDS", seconds)?),
        _ => {
            let words = words.join(" ");
            return Err(format!(
                "`{words}` is not understood; give ROUNDS SECONDS, `scale` or `model`"
            )
            .into());
        }
    })
}

/// What clients do, and how it is counted.
struct Load {
    name: &'static str,
    /// As the units are written, and how many make one of these.
    rate: (&'static str, f64),
    per_cpu: (&'static str, f64),
    /// Tasks in each client.
    tasks: usize,
}

impl Load {
    /// Whether bytes are counted, on connections that stay, rather than handshakes.
    fn is_bulk(&self) -> bool {
        self.name == LOADS[1].name
    }
}

const LOADS: [Load; 2] = [
    Load {
        name: "handshakes",
        rate: ("per second", 1.0),
        per_cpu: ("ms each", 1e-3),
        tasks: 16,
    },
    Load {
        name: "download",
        rate: ("Gbit/s", 1e9 / 8.0),
        per_cpu: ("s/GB", 1e-9),
        tasks: 4,
    },
];

/// One shard and two with what the machine has.
fn compare(rounds: usize, seconds: f64) -> Result<()> {
    let variants = [1, 2].map(|shards| Variant {
        shards,
        placement: IN_TURN,
        clients: 2,
        cpus: None,
    });
    let cpus = std::thread::available_parallelism()?;
    writeln!(
        io::stdout(),
        "{rounds} rounds of {seconds} s, 2 clients, {cpus} CPUs, {}",
        loads()
    )?;
    for load in &LOADS {
        let runs = play(load, &variants, rounds, seconds)?;
        print_head(load, "")?;
        for (variant, runs) in variants.iter().zip(&runs) {
            print_row(variant, load, runs, "")?;
        }
    }
    writeln!(io::stdout(), "\n{}", loads())?;
    Ok(())
}

/// As many shards as there are CPUs for, those of the clients being others: with connections
/// placed in turn, which shows what a CPU more brings, and at random, as clients place them.
fn scale(rounds: usize, seconds: f64) -> Result<()> {
    let cpus = std::thread::available_parallelism().map(NonZero::get)?;
    if cpus < 8 {
        return Err(format!(
            "this machine has {cpus} CPUs, and 8 are needed for shards and clients to have their \
             own; run `shards` without `scale`, or `shards model`"
        )
        .into());
    }
    // A client takes a little more CPU time than its part of the server does.
    let most = cpus * 3 / 7;
    let clients = cpus - most;
    writeln!(
        io::stdout(),
        "{rounds} rounds of {seconds} s; CPUs 0 to {} for up to {most} shards, the others for \
         {clients} clients; {}",
        most - 1,
        loads()
    )?;
    for load in &LOADS {
        let variants: Vec<Variant> = model::powers(most)
            .into_iter()
            .flat_map(|shards| [IN_TURN, AT_RANDOM].map(|placement| (shards, placement)))
            .filter(|(shards, placement)| *shards > 1 || *placement == IN_TURN)
            .map(|(shards, placement)| Variant {
                shards,
                placement,
                clients,
                cpus: Some((most, cpus)),
            })
            .collect();
        let runs = play(load, &variants, rounds, seconds)?;
        print_head(load, "  of n×1  model")?;
        let one = median(&runs[0], Run::rate);
        for (variant, runs) in variants.iter().zip(&runs) {
            let share = median(runs, Run::rate) / (one * variant.shards as f64);
            let expected = variant.expected(load);
            print_row(
                variant,
                load,
                runs,
                &format!(" {share:>7.2} {expected:>6.2}"),
            )?;
        }
    }
    writeln!(
        io::stdout(),
        "\nof n×1: the rate, as a part of so many times the first row's; model: the part that\n\
         `shards model` expects. Where the server had fewer CPUs than shards, the rate is what\n\
         the clients could do.\n{}",
        loads()
    )?;
    Ok(())
}

/// A way to serve.
struct Variant {
    shards: usize,
    /// How connections get to a shard: [`IN_TURN`] or [`AT_RANDOM`].
    placement: &'static str,
    clients: usize,
    /// How many CPUs the server has, and how many there are; `None`: all share all.
    cpus: Option<(usize, usize)>,
}

impl Variant {
    /// The rate to be expected, as a part of what so many times one shard would have.
    fn expected(&self, load: &Load) -> f64 {
        if self.placement == IN_TURN {
            return 1.0;
        }
        let expected = model::Expected::of(self.shards, self.clients * load.tasks);
        match load.is_bulk() {
            true => expected.bulk,
            false => expected.handshakes,
        }
    }
}

/// The runs of each variant, which take turns.
fn play(load: &Load, variants: &[Variant], rounds: usize, seconds: f64) -> Result<Vec<Vec<Run>>> {
    let certificate = tls::SelfSigned::generate([NAME])?;
    let secrets = [
        load::hex(&certificate.cert),
        load::hex(certificate.key.secret_der()),
    ];
    let mut runs: Vec<Vec<Run>> = variants.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (variant, runs) in variants.iter().zip(&mut runs) {
            runs.push(run_once(load, variant, seconds, &secrets)?);
        }
    }
    Ok(runs)
}

fn print_head(load: &Load, more: &str) -> Result<()> {
    writeln!(
        io::stdout(),
        "\n{}, {}; CPU time of server and clients, {}; CPUs of the server and of other programs\n\
         {:>6} {:>7} {:>8} {:>13} {:>7} {:>7} {:>5} {:>6}{more}",
        load.name,
        load.rate.0,
        load.per_cpu.0,
        "shards",
        "placed",
        "rate",
        "min–max",
        "server",
        "clients",
        "CPUs",
        "others",
    )?;
    Ok(())
}

fn print_row(variant: &Variant, load: &Load, runs: &[Run], more: &str) -> Result<()> {
    let rates = || runs.iter().map(|run| run.rate() / load.rate.1);
    let (slowest, fastest) = (
        rates().fold(f64::MAX, f64::min),
        rates().fold(0.0, f64::max),
    );
    writeln!(
        io::stdout(),
        "{:>6} {:>7} {:>8.2} {:>13} {:>7.3} {:>7.3} {:>5.2} {:>6.2}{more}",
        variant.shards,
        variant.placement,
        median(runs, Run::rate) / load.rate.1,
        format!("{slowest:.2}–{fastest:.2}"),
        median(runs, |run| run.server_cpu / run.units) / load.per_cpu.1,
        median(runs, |run| run.client_cpu / run.units) / load.per_cpu.1,
        median(runs, |run| run.server_cpu / run.seconds),
        median(runs, |run| run.others),
    )?;
    Ok(())
}

fn median(runs: &[Run], value: fn(&Run) -> f64) -> f64 {
    let mut values: Vec<f64> = runs.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// One load on one server, as measured. CPU in seconds.
struct Run {
    seconds: f64,
    /// Handshakes or bytes.
    units: f64,
    server_cpu: f64,
    client_cpu: f64,
    /// CPUs that other programs kept busy.
    others: f64,
}

impl Run {
    /// Units per second.
    fn rate(&self) -> f64 {
        self.units / self.seconds
    }
}

fn run_once(load: &Load, variant: &Variant, seconds: f64, secrets: &[String; 2]) -> Result<Run> {
    let spawn = |cpus: Option<(usize, usize)>, args: &[&str]| -> Result<Child> {
        let program = std::env::current_exe()?;
        let mut command = match cpus {
            None => Command::new(program),
            Some((first, end)) => {
                let mut command = Command::new("taskset");
                let cpus = format!("{first}-{}", end - 1);
                command.args(["--cpu-list", &cpus]).arg(program);
                command
            }
        };
        command
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command.env("CERT", &secrets[0]).env("KEY", &secrets[1]);
        let name = command.get_program().to_owned();
        command
            .spawn()
            .map_err(|error| format!("{} cannot be started: {error}", name.display()).into())
    };
    let servers_cpus = variant.cpus.map(|_| (0, variant.shards));
    let mut server = spawn(servers_cpus, &["serve", &variant.shards.to_string()])?;
    let mut lines = BufReader::new(server.stdout.take().expect("piped")).lines();
    let port = lines.next().ok_or("the server has no port")??;
    let (busy_before, server_before) = (busy_seconds(), cpu_seconds(server.id())?);
    let time = seconds.to_string();
    let clients: Vec<_> = (0..variant.clients)
        .map(|client| {
            let first = match variant.placement {
                IN_TURN => (client * load.tasks).to_string(),
                _ => AT_RANDOM.to_owned(),
            };
            let arguments = ["load", load.name, &port, &time, &first];
            spawn(variant.cpus, &arguments)
        })
        .collect::<Result<_>>()?;
    let (mut units, mut client_cpu) = (0.0, 0.0);
    for client in clients {
        let output = String::from_utf8(client.wait_with_output()?.stdout)?;
        let (done, cpu) = output.trim().split_once(' ').ok_or("a client failed")?;
        units += done.parse::<f64>()?;
        client_cpu += cpu.parse::<f64>()?;
    }
    let server_cpu = cpu_seconds(server.id())? - server_before;
    let busy = busy_seconds() - busy_before;
    drop(server.stdin.take());
    server.wait()?;
    Ok(Run {
        seconds,
        units,
        server_cpu,
        client_cpu,
        others: (busy - server_cpu - client_cpu).max(0.0) / seconds,
    })
}

#[expect(clippy::disallowed_methods, reason = "a stopwatch")]
fn now() -> Instant {
    Instant::now()
}

/// User and system time of a process's threads, by Linux's scheduler. It is brought up to date at
/// least every 4 ms.
fn cpu_seconds(process: u32) -> Result<f64> {
    let mut nanos = 0;
    for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let stat = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        let first = stat.split_whitespace().next();
        nanos += first.ok_or("an empty schedstat")?.parse::<u64>()?;
    }
    Ok(nanos as f64 / 1e9)
}

/// CPU seconds that all programs have used since the machine started.
fn busy_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields = stat.lines().next().unwrap_or_default().split_whitespace();
    let ticks: Vec<u64> = fields.skip(1).flat_map(str::parse).collect();
    // user, nice, system; then idle and waiting; then interrupts.
    let busy: u64 = ticks
        .iter()
        .take(3)
        .chain(ticks.iter().skip(5).take(2))
        .sum();
    busy as f64 / 100.0
}

/// How busy the machine is, in its own words.
fn loads() -> String {
    let loads = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first: Vec<&str> = loads.split_whitespace().take(3).collect();
    format!("load {}", first.join(" "))
}

/// The first connection to the first shard, the second to the second, and so on.
const IN_TURN: &str = "in turn";
/// Each by an octet at random, as it is with clients at large.
const AT_RANDOM: &str = "random";
const NAME: &str = "localhost";

const ROUNDS: usize = 5;
const SECONDS: f64 = 3.0;
const MOST_SHARDS: usize = 64;

const USAGE: &str = "\
usage: shards [ROUNDS SECONDS | scale [ROUNDS SECONDS] | model [SHARDS]]

What more shards bring: one and two beside each other; `scale`, 1, 2, 4 and more
on CPUs of their own; `model`, what chance alone leaves of them. Linux only.
Without numbers: 5 rounds, 3 seconds, 64 shards";
