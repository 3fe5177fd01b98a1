//! From a command line to what the client needs.

use crate::args::{DEFAULT_CONTROLLER, RunArgs};
use crate::client::Trust;
use crate::emulated::Links;
use crate::failure::Failure;
use crate::plan::{Controllers, Direction, Limit, Limits, Plan, PlanError, step_for};
use cc_core::Registry;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

pub(super) fn plan(args: &RunArgs) -> Plan {
    let direction = match (args.transfer.reverse, args.bidir) {
        (true, _) => Direction::Reverse,
        (false, true) => Direction::Both,
        (false, false) => Direction::Forward,
    };
    let length = args.transfer.length.get();
    let limit = match (args.bytes, args.blockcount) {
        (Some(bytes), _) => Limit::Bytes(bytes.get()),
        (None, Some(blocks)) => Limit::Bytes(blocks.saturating_mul(length)),
        (None, None) => Limit::Time(args.time.unwrap_or(DEFAULT_TIME)),
    };
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
    Plan {
        direction,
        limit,
        omit: args.omit,
        streams: args.transfer.parallel,
        length,
        rate: args.transfer.bitrate.map(units::Bandwidth::bits_per_sec),
        client_congestion: of_side(direction.client_sends()),
        server_congestion: args.peer_cc.clone().unwrap_or_else(of_server),
        window: args.transfer.window.get(),
        step: step_for(limit, args.omit, interval),
    }
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
            "-n {bytes}: there are {connections} connections to share it"
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

pub(super) fn trust(args: &RunArgs) -> Result<Trust, Failure> {
    match (&args.ca, args.fingerprint) {
        (Some(path), _) => std::fs::read(path)
            .map(Trust::Authorities)
            .map_err(|error| Failure::run(format!("--ca {}: {error}", path.display()))),
        (None, Some(fingerprint)) => Ok(Trust::Fingerprint(fingerprint)),
        (None, None) => Ok(Trust::Anyone),
    }
}

/// The first address of the host, of the family that `-4`, `-6` or `-B` asks for.
pub(super) fn resolve(args: &RunArgs, port: u16) -> Result<SocketAddr, Failure> {
    let host = args.server.host.as_str();
    let addresses = (host, port)
        .to_socket_addrs()
        .map_err(|error| Failure::run(format!("cannot find the host `{host}`: {error}")))?;
    let bound = args
        .bind
        .map(|ip| (if ip.is_ipv4() { "-4" } else { "-6" }, "-B"));
    let asked = [("-4", args.version4), ("-6", args.version6)];
    let asked = asked.into_iter().find(|(_, is_asked)| *is_asked);
    let family = asked.map(|(family, _)| (family, family)).or(bound);
    let fits = |address: &SocketAddr| {
        family.is_none_or(|(family, _)| address.is_ipv4() == (family == "-4"))
    };
    let address = addresses.into_iter().find(fits);
    address.ok_or_else(|| {
        let flag = family.map_or("", |(_, flag)| flag);
        Failure::run(format!(
            "the host `{host}` has no address of the family of {flag}"
        ))
    })
}

/// iperf3's `-t`.
const DEFAULT_TIME: Duration = Duration::from_secs(10);
