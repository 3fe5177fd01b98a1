//! The server that a command line names.

use crate::args::{HostPort, RemoteArgs};
use crate::client::{Remote, Trust};
use bench_kit::clock;
use bench_kit::failure::Failure;
use bench_kit::plan::Turn;
use bench_kit::token::Token;
use paceline::tls;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

/// The server of a test, and how to reach it.
///
/// # Errors
/// When its name cannot be found, or a file cannot be read.
pub(super) fn find(server: &HostPort, args: &RemoteArgs) -> Result<Remote, Failure> {
    let RemoteArgs {
        port,
        relay,
        bind,
        ca,
        fingerprint,
        token,
        wait,
    } = args;
    let port = server.port.unwrap_or(*port);
    let family = bind.map(|ip| Family {
        is_ipv4: ip.is_ipv4(),
        flag: "-B",
    });
    // With a relay the server's name need not be known here.
    let target = match relay {
        Some(relay) => resolve(&relay.host, relay.port.unwrap_or(port), family)?,
        None => resolve(&server.host, port, family)?,
    };
    Ok(Remote {
        target,
        server: relay.is_none().then_some(target),
        host: server.host.clone(),
        port,
        trust: trust(ca.as_deref(), *fingerprint)?,
        token: Token::find(token.as_deref())?,
        bind: *bind,
        first_port: None,
        turn: turn(*wait),
    })
}

/// What `--wait` asks for: one turn for all connections of this process.
pub(super) fn turn(wait: Option<Duration>) -> Option<Turn> {
    wait.map(|patience| Turn {
        run: clock::process_id(),
        patience,
    })
}

/// Whom `--ca` or `--fingerprint` has the client trust.
///
/// # Errors
/// When the file of `--ca` cannot be read, or has no certificate.
pub(super) fn trust(ca: Option<&Path>, fingerprint: Option<[u8; 32]>) -> Result<Trust, Failure> {
    match (ca, fingerprint) {
        (Some(path), _) => {
            let name = path.display();
            let pem = std::fs::read(path)
                .map_err(|error| Failure::run(format!("--ca {name}: {error}")))?;
            match tls::client_with_ca(&pem) {
                Ok(_) => Ok(Trust::Authorities(pem)),
                Err(error) => Err(Failure::usage(format!("--ca {name}: {error}"))),
            }
        }
        (None, Some(fingerprint)) => Ok(Trust::Fingerprint(fingerprint)),
        (None, None) => Ok(Trust::Anyone),
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Family {
    pub(super) is_ipv4: bool,
    pub(super) flag: &'static str,
}

/// The first address of the host, of this family if one is asked for.
///
/// # Errors
/// When there is none.
pub(super) fn resolve(
    host: &str,
    port: u16,
    family: Option<Family>,
) -> Result<SocketAddr, Failure> {
    let addresses = (host, port)
        .to_socket_addrs()
        .map_err(|error| Failure::run(format!("cannot resolve host `{host}`: {error}")))?;
    let fits =
        |address: &SocketAddr| family.is_none_or(|family| address.is_ipv4() == family.is_ipv4);
    let address = addresses.into_iter().find(fits);
    address.ok_or_else(|| {
        Failure::run(match family {
            Some(Family { is_ipv4, flag }) => {
                let version = if is_ipv4 { "IPv4" } else { "IPv6" };
                format!("host `{host}` has no {version} address, which {flag} asks for")
            }
            None => format!("host `{host}` has no address"),
        })
    })
}

/// A warning for a user who verifies no certificate, shown once.
pub(super) const NOT_VERIFIED: &str =
    "warning: server certificate not verified; use --fingerprint or --ca";
