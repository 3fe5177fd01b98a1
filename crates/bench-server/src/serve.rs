//! `bench-server`.

use crate::admission::AdmissionLimits;
use crate::args::{MAX_THREADS, ServerArgs};
use crate::background::Background;
use crate::setup::{Log, ServerSetup};
use crate::threads::ThreadedServer;
use bench_kit::failure::Failure;
use bench_kit::plan::Limits;
use bench_kit::qlog::Qlog;
use bench_kit::token::Token;
use bench_kit::{cli, hex, runtime, terminal};
use cc_core::Registry;
use paceline::rustls::pki_types::pem::PemObject;
use paceline::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use paceline::tls::{self, ServerTls};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use units::Bandwidth;

pub(crate) fn run(args: &ServerArgs, registry: &Registry) -> Result<ExitCode, Failure> {
    if let Some(core) = args.affinity {
        runtime::keep_to_core(core)?;
    }
    let interrupts = cli::interrupts()?;
    if rustix::process::geteuid().is_root() {
        terminal::note(format_args!(
            "warning: running as root; only needed for ports below 1024"
        ));
    }
    let qlog = args.qlog.as_deref();
    let qlog = qlog.map(|path| Qlog::open(path, "run", false));
    let qlog = qlog.transpose()?;
    let mut background = Background::open(args)?;
    runtime::current_thread()?.block_on(async {
        let server = listen(args, registry, qlog.as_ref())?;
        announce(server.local_addr(), server.fingerprint());
        let is_repeated = background.has_log();
        background.begin(args)?;
        if is_repeated {
            announce(server.local_addr(), server.fingerprint());
        }
        let _answer = interrupts.expect_answer();
        server.wait(interrupts.wait(1)).await;
        Ok::<_, Failure>(())
    })?;
    if let Some(warning) = qlog.and_then(|qlog| qlog.close()) {
        terminal::note(format_args!("warning: {warning}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// On the address that was asked for, else on all of them: IPv6's, which has IPv4's clients too,
/// or IPv4's on a machine without IPv6.
fn listen(
    args: &ServerArgs,
    registry: &Registry,
    qlog: Option<&Qlog>,
) -> Result<ThreadedServer, Failure> {
    let any: [IpAddr; 2] = [Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()];
    let threads = args.threads.map_or_else(cores, usize::from);
    let bind = |ip| {
        let mut setup = setup(args, registry, ip)?;
        setup.qlog = qlog.cloned();
        ThreadedServer::bind(setup, log(), threads)
    };
    match args.bind {
        Some(ip) => bind(ip),
        None if has_ipv6() => bind(any[0]),
        None => bind(any[1]),
    }
}

/// As many as can run at once, as far as `--threads` goes.
fn cores() -> usize {
    let cores = std::thread::available_parallelism();
    cores.map_or(1, |cores| cores.get().min(usize::from(MAX_THREADS)))
}

fn has_ipv6() -> bool {
    std::net::UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).is_ok()
}

fn setup(args: &ServerArgs, registry: &Registry, ip: IpAddr) -> Result<ServerSetup, Failure> {
    let identity = match (&args.cert, &args.key) {
        (Some(cert), Some(key)) => Some(identity(cert, key)?),
        _ => None,
    };
    let perf_congestion = registry
        .choose(&args.congestion)
        .map_err(|error| Failure::usage(format!("-C: {error}")))?;
    let token = Token::find(args.token.as_deref())?;
    let limits = Limits {
        duration: args.max_duration.unwrap_or(LONGEST_RUN),
        bytes: args.max_bytes.unwrap_or(Limits::NONE.bytes),
        rate: args.max_rate.unwrap_or(Limits::NONE.rate),
        window: args.max_window,
    };
    // Whoever finds the port of a server that was left running takes little of its line.
    let stranger_limits = token.is_none().then(|| Limits {
        duration: args.max_duration.unwrap_or(LONGEST_RUN_OF_STRANGERS),
        rate: args.max_rate.unwrap_or(FASTEST_RUN_OF_STRANGERS),
        ..limits
    });
    Ok(ServerSetup {
        bind: SocketAddr::new(ip, args.port),
        identity,
        idle_timeout: args.idle_timeout,
        limits,
        stranger_limits,
        admission: AdmissionLimits {
            max_clients: args.max_connections,
            max_per_prefix: args.max_per_address,
            max_per_second: args.max_per_second,
        },
        max_runs: args.max_runs,
        token,
        perf_congestion: Some(perf_congestion),
        is_one_off: args.one_off,
        kernel_pacing: args.kernel_pacing,
        qlog: None,
        resume: None,
        registry: registry.clone(),
        seed: None,
    })
}

fn identity(cert: &Path, key: &Path) -> Result<ServerTls, Failure> {
    let read = |flag, path| {
        std::fs::read(path)
            .map_err(|error| Failure::run(format!("{flag} {}: {error}", Path::display(path))))
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read("--cert", cert)?).collect();
    let chain = chain.map_err(|error| unreadable("--cert", cert, &error))?;
    if chain.is_empty() {
        return Err(unreadable("--cert", cert, &"no certificate found"));
    }
    let own = PrivateKeyDer::from_pem_slice(&read("--key", key)?);
    let own = own.map_err(|error| unreadable("--key", key, &error))?;
    Ok(tls::server(chain, own))
}

fn unreadable(flag: &str, path: &Path, why: &dyn fmt::Display) -> Failure {
    Failure::run(format!("{flag} {}: expected PEM: {why}", path.display()))
}

fn announce(address: SocketAddr, fingerprint: Option<[u8; 32]>) {
    let rule = "-".repeat(59);
    terminal::result(format_args!("{rule}\nServer listening on UDP {address}"));
    if let Some(fingerprint) = fingerprint {
        let hex = hex::encode(&fingerprint);
        terminal::result(format_args!("Certificate SHA-256:\n  {hex}"));
    }
    terminal::result(format_args!("{rule}"));
}

fn log() -> Log {
    Arc::new(|line: fmt::Arguments<'_>| terminal::result(line))
}

const LONGEST_RUN: Duration = Duration::from_secs(3_600);
const LONGEST_RUN_OF_STRANGERS: Duration = Duration::from_secs(60);
const FASTEST_RUN_OF_STRANGERS: Bandwidth = Bandwidth::from_bits_per_sec(100_000_000);

#[cfg(test)]
mod tests;
