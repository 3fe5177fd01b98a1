//! What the kernel refuses, and what to do about it.

use crate::program::message;
use rustix::io::Errno;
use std::io;
use std::net::SocketAddr;

/// `error`, and what to do about it where a limit of file descriptors is the reason.
pub fn explain_refusal(error: io::Error) -> io::Error {
    let advice = match Errno::from_io_error(&error) {
        Some(Errno::MFILE) => "raise ulimit -n",
        Some(Errno::NFILE) => "raise fs.file-max of the system",
        _ => return error,
    };
    let what = message(&error.to_string());
    io::Error::new(error.kind(), format!("{what}; {advice}"))
}

/// Why a UDP socket cannot have `address`, and what to do: with `port_option` the user gives
/// another port, with `address_option` another address. One line without numbers of the kernel's.
pub fn explain_bind(
    address: SocketAddr,
    error: io::Error,
    port_option: &str,
    address_option: &str,
) -> String {
    let (ip, port) = (address.ip(), address.port());
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("another program uses this port; end it, or use another {port_option}")
        }
        io::ErrorKind::AddrNotAvailable => format!(
            "{ip} is not an address of this machine; give one of its own with {address_option}"
        ),
        io::ErrorKind::PermissionDenied if (1..1_024).contains(&port) => {
            format!("only root may use ports below 1024; use another {port_option}")
        }
        _ => message(&explain_refusal(error).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_cannot_be_had_is_explained_without_the_kernels_numbers() {
        let why = |errno: Errno, address: &str| {
            explain_bind(address.parse().unwrap(), errno.into(), "--port", "--bind")
        };
        assert_eq!(
            why(Errno::ADDRINUSE, "127.0.0.1:4433"),
            "another program uses this port; end it, or use another --port"
        );
        assert_eq!(
            why(Errno::ADDRNOTAVAIL, "192.0.2.1:4433"),
            "192.0.2.1 is not an address of this machine; give one of its own with --bind"
        );
        assert_eq!(
            why(Errno::ACCESS, "0.0.0.0:443"),
            "only root may use ports below 1024; use another --port"
        );
        assert_eq!(why(Errno::ACCESS, "0.0.0.0:4433"), "Permission denied");
    }

    #[test]
    fn a_limit_is_named_and_other_errors_stay_as_they_are() {
        let explained = |errno: Errno| explain_refusal(errno.into()).to_string();
        assert_eq!(
            explained(Errno::MFILE),
            "Too many open files; raise ulimit -n"
        );
        assert!(explained(Errno::NFILE).ends_with("; raise fs.file-max of the system"));
        assert_eq!(
            explained(Errno::ACCESS),
            io::Error::from(Errno::ACCESS).to_string()
        );
    }
}
