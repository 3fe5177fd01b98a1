//! From a command line to what the client needs.

use super::part_file::PartFile;
use crate::args::RunArgs;
use crate::commands::remote::Family;
use crate::emulated::Links;
use bench_kit::cli::DEFAULT_CONTROLLER;
use bench_kit::failure::Failure;
use bench_kit::plan::{
    Controllers, Datagrams, Direction, Extras, Limit, Limits, Plan, PlanError, Requests, step_for,
    target_rate,
};
use bench_kit::transfer::LocalFile;
use cc_core::Registry;
use std::fs::File;
use std::time::Duration;
use units::Bandwidth;

/// What `args` ask for, with the file of `-F`.
pub(super) fn plan(args: &RunArgs, file: Option<&TransferFile>) -> Result<Plan, Failure> {
    let direction = match (args.transfer.reverse, args.bidir) {
        (true, _) => Direction::Reverse,
        (false, true) => Direction::Both,
        (false, false) => Direction::Forward,
    };
    let length = length(args);
    let limit = limit(args, length, file.and_then(|file| file.length));
    let is_sized = matches!(limit, Limit::Bytes(_));
    // What does not send needs no controller, unless it is asked for.
    let of_side = |sends: bool| {
        if sends {
            args.congestion.clone()
        } else {
            DEFAULT_CONTROLLER.to_owned()
        }
    };
    let of_server = || of_side(direction.server_sends());
    let interval = (!args.interval.is_zero()).then_some(args.interval);
    if args.perf && direction.server_sends() && args.transfer.bitrate.is_some() {
        return Err(Failure::usage(
            "-b: not possible with --perf when the server sends; leave out -b",
        ));
    }
    let mut plan = Plan {
        direction,
        limit,
        omit: args.omit,
        streams: args.transfer.streams(),
        length,
        rate: rate(args),
        client_congestion: of_side(direction.client_sends()),
        server_congestion: args.peer_cc.clone().unwrap_or_else(of_server),
        window: args.transfer.window.most.get(),
        step: step_for(limit, args.omit, interval),
        extras: Extras {
            window_follows: args.transfer.window.follows,
            zeros: args.zero_payload,
            digest: args.file.is_some() && is_sized,
            continued: 0,
            server_output: args.get_server_output.then_some(args.interval),
            datagrams: args.udp.then(|| Datagrams {
                size: args.transfer.datagram_size(length),
            }),
            media: args.transfer.media(),
            requests: args.ping.or(args.rpm).map(|interval| Requests {
                interval,
                under_load: args.has_load(),
            }),
            // Of a file that is sent.
            at_most: args.time.filter(|_| is_sized),
            turn: None,
            dscp: args.tos.or(args.dscp).unwrap_or_default().value(),
        },
    };
    if let Some(file) = file.filter(|_| args.continues) {
        continue_part(&mut plan, file)?;
    }
    Ok(plan)
}

/// Bytes of a write, or of a datagram if they fit into one. Datagrams that are to be counted all
/// have the same size: one that fits every path unless another is asked for.
fn length(args: &RunArgs) -> u64 {
    let length = args.transfer.length.get();
    let is_counted = args.udp && args.blockcount.is_some();
    if is_counted && length > u16::MAX.into() {
        COUNTED_DATAGRAM
    } else {
        length
    }
}

fn limit(args: &RunArgs, length: u64, file_length: Option<u64>) -> Limit {
    match (args.bytes, args.blockcount, file_length) {
        (Some(bytes), ..) => Limit::Bytes(bytes.get()),
        (None, Some(blocks), _) => Limit::Bytes(blocks.saturating_mul(length)),
        (None, None, Some(length)) => Limit::Bytes(length),
        (None, None, None) => Limit::Time(args.time.unwrap_or(DEFAULT_TIME)),
    }
}

fn rate(args: &RunArgs) -> Option<u64> {
    let is_noise = args.udp && args.transfer.source.is_none();
    let usual = is_noise.then_some(DATAGRAM_RATE);
    target_rate(args.transfer.bitrate.or(usual))
}

/// The file of `-F`, open for what it is needed for.
pub(super) struct TransferFile {
    pub(super) file: LocalFile,
    /// Its length if it is to be sent.
    pub(super) length: Option<u64>,
    /// What it is called until all of it has come, if it is received.
    pub(super) part: Option<PartFile>,
}

pub(super) fn file(args: &RunArgs) -> Result<Option<TransferFile>, Failure> {
    let Some(path) = &args.file else {
        return Ok(None);
    };
    let failure = |error| Failure::run(format!("-F {}: {error}", path.display()));
    if args.transfer.reverse {
        if args.bytes.is_none() && args.blockcount.is_none() && args.time.is_none() {
            let error = "-F with -R: unknown size; give it with -n, or a time with -t";
            return Err(Failure::usage(error));
        }
        let (file, part) = PartFile::open(path, args.continues)?;
        return Ok(Some(TransferFile {
            file,
            length: None,
            part,
        }));
    }
    let file = File::open(path).map_err(failure)?;
    let metadata = file.metadata().map_err(failure)?;
    if metadata.is_dir() {
        return Err(Failure::usage(format!(
            "-F {}: this is a directory; give a file",
            path.display()
        )));
    }
    let length = metadata.len();
    if length == 0 {
        return Err(Failure::usage(format!(
            "-F {}: the file is empty",
            path.display()
        )));
    }
    Ok(Some(TransferFile {
        file: LocalFile::new(path.clone(), file),
        length: Some(length),
        part: None,
    }))
}

/// Leaves out of `plan` what the part file has already, where it is to be continued.
///
/// # Errors
/// When the part file is of something else, or has nothing left to receive.
fn continue_part(plan: &mut Plan, file: &TransferFile) -> Result<(), Failure> {
    let (Some(part), Limit::Bytes(all)) = (&file.part, plan.limit) else {
        return Ok(());
    };
    let begin = part.check(plan.block(), all)?;
    plan.limit = Limit::Bytes(all - begin);
    plan.extras.continued = begin;
    Ok(())
}

/// Refuses what no server would take, before any server is asked.
pub(super) fn check(
    plan: &Plan,
    connections: u32,
    registry: &Registry,
) -> Result<Controllers, Failure> {
    if let Limit::Bytes(bytes) = plan.limit
        && bytes < connections.into()
    {
        return Err(Failure::usage(format!(
            "-n {bytes}: less than a byte for each of {connections} connections; raise -n"
        )));
    }
    plan.check(&Limits::NONE, registry)
        .map_err(|error| match error {
            PlanError::Controller { side, error } => {
                let is_peers = side == "server" && plan.direction != Direction::Reverse;
                let flag = if is_peers { "--peer-cc" } else { "-C" };
                Failure::usage(format!("{flag}: {error}"))
            }
            other => Failure::usage(other.to_string()),
        })
}

/// Whether the connections have room behind the first one's port.
pub(super) fn check_ports(args: &RunArgs) -> Result<(), Failure> {
    let Some(first) = args.cport else {
        return Ok(());
    };
    if u32::from(first) + args.connections - 1 > u32::from(u16::MAX) {
        return Err(Failure::usage(format!(
            "--cport {first}: no ports left for {} connections; use {} or less",
            args.connections,
            u32::from(u16::MAX) - args.connections + 1
        )));
    }
    Ok(())
}

pub(super) fn links(args: &RunArgs) -> Result<Option<Links>, Failure> {
    if args.link.is_none() && args.return_link.is_none() {
        return Ok(None);
    }
    let links = Links {
        link: args.link.clone().unwrap_or_default(),
        return_link: args.return_link.clone().unwrap_or_default(),
    };
    links.base_rtt()?;
    Ok(Some(links))
}

/// What `-4`, `-6` or `-B` asks for.
pub(super) fn family(args: &RunArgs) -> Option<Family> {
    let family = |is_ipv4, flag| Family { is_ipv4, flag };
    let bound = args.bind.map(|ip| family(ip.is_ipv4(), "-B"));
    let asked = [
        args.version4.then(|| family(true, "-4")),
        args.version6.then(|| family(false, "-6")),
    ];
    asked.into_iter().flatten().next().or(bound)
}

/// iperf3's rate of UDP, in bits per second.
const DATAGRAM_RATE: Bandwidth = Bandwidth::from_bits_per_sec(1_000_000);

/// Fits into the packets of 1,200 bytes that every path of QUIC takes (RFC 9000 §14), whose headers
/// and tag have 38 bytes.
const COUNTED_DATAGRAM: u64 = 1_150;

/// iperf3's `-t`.
const DEFAULT_TIME: Duration = Duration::from_secs(10);
