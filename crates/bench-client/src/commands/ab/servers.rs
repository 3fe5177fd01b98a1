//! `ab --perf`: servers of any stack as the variants of a test.

use super::plan::plan;
use crate::ab::{AbVariant, MAX_VARIANTS};
use crate::args::{AbArgs, NamedServer};
use crate::client::{Remote, Trust};
use crate::commands::remote;
use bench_kit::cli::DEFAULT_CONTROLLER;
use bench_kit::failure::Failure;
use bench_kit::plan::Direction;
use bench_kit::{perf, terminal};
use bench_report::result::{ComparedServer, Metric};
use std::time::Duration;

/// Refuses what a test of servers cannot do; nothing where controllers are compared.
pub(super) fn check(args: &AbArgs) -> Result<(), Failure> {
    if args.perf.is_empty() {
        return Ok(());
    }
    let servers = args.perf.len();
    if !(2..=MAX_VARIANTS).contains(&servers) {
        return Err(Failure::usage(format!(
            "--perf: {servers} server{}, 2 to {MAX_VARIANTS} needed; repeat --perf for each",
            if servers == 1 { "" } else { "s" }
        )));
    }
    let unknown = |metric: &Metric| UNKNOWN.contains(metric);
    match args.fail_if.iter().find(|rule| unknown(&rule.metric())) {
        Some(rule) => Err(Failure::usage(format!(
            "--fail-if `{rule}`: only the sending server knows this; with --perf use goodput, \
             queue_p50, queue_p95, queue_p99 or cpu_receiver"
        ))),
        None => Ok(()),
    }
}

/// The servers of `--perf`, in their order.
///
/// # Errors
/// When a name cannot be found, or the file of `--ca` not be read.
pub(super) fn find(args: &AbArgs) -> Result<Vec<Remote>, Failure> {
    let trust = remote::trust(args.remote.ca.as_deref(), args.remote.fingerprint)?;
    let remote = |server: &NamedServer| {
        let address = remote::resolve(&server.host, server.port, None)?;
        Ok(Remote {
            target: address,
            server: Some(address),
            host: server.host.clone(),
            port: server.port,
            trust: trust.clone(),
            token: None,
            bind: None,
            first_port: None,
            turn: None,
        })
    };
    args.perf.iter().map(remote).collect()
}

/// A variant for each server. All send, with controllers that only they know.
pub(super) fn variants(servers: &[NamedServer], args: &AbArgs) -> Vec<AbVariant> {
    let variants = servers.iter().map(|server| AbVariant {
        cc: perf::UNKNOWN.to_owned(),
        server: Some(ComparedServer {
            name: server.name.clone(),
            address: server.address.clone(),
        }),
        plan: plan(args, Direction::Reverse, DEFAULT_CONTROLLER, None),
        flows: args.flows,
        start: Duration::ZERO,
        extra_delay: Duration::ZERO,
        duplicate: 1,
        bulk_after: None,
        resumes: false,
    });
    variants.collect()
}

pub(super) fn announce(servers: &[Remote]) {
    let addresses: Vec<String> = servers.iter().map(Remote::to_string).collect();
    terminal::note(format_args!(
        "servers: {}; they send, by ALPN perf",
        addresses.join(", ")
    ));
    if servers
        .iter()
        .any(|server| matches!(server.trust, Trust::Anyone))
    {
        terminal::note(format_args!("{}", remote::NOT_VERIFIED));
    }
}

/// What no receiver can measure, or nobody sends by this protocol.
const UNKNOWN: [Metric; 11] = [
    Metric::RttMsP50,
    Metric::RttMsP95,
    Metric::RttMsP99,
    Metric::LossRate,
    Metric::BytesRetransmitted,
    Metric::CpuSecondsPerGigabyteSender,
    Metric::FramesMissed,
    Metric::FrameLatencyMsP50,
    Metric::FrameLatencyMsP95,
    Metric::FrameLatencyMsP99,
    Metric::LongestFreezeMs,
];
