//! What the kernel dropped at a UDP socket, from the table it shows in /proc/net.

use std::collections::BTreeSet;
use std::net::SocketAddr;

/// Datagrams that Linux has dropped at the UDP sockets bound to these addresses since they were
/// opened, for the most part because nobody read them in time; `None` on systems without such a
/// table. Sockets are told apart by family and port alone.
pub fn kernel_drops(addresses: &[SocketAddr]) -> Option<u64> {
    let ports = |v6| {
        let of_family = addresses
            .iter()
            .filter(move |address| address.is_ipv6() == v6);
        of_family
            .map(|address| address.port())
            .collect::<BTreeSet<_>>()
    };
    let mut total = 0;
    for (table, ports) in [
        ("/proc/net/udp", ports(false)),
        ("/proc/net/udp6", ports(true)),
    ] {
        if !ports.is_empty() {
            total += drops_in(&std::fs::read_to_string(table).ok()?, &ports);
        }
    }
    Some(total)
}

/// Each line is `sl local:port remote:port … drops`, the addresses in hexadecimal.
fn drops_in(table: &str, ports: &BTreeSet<u16>) -> u64 {
    let drops_of = |line: &str| {
        let (_, port) = line.split_whitespace().nth(1)?.rsplit_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        let drops = line.split_whitespace().last()?.parse::<u64>().ok()?;
        ports.contains(&port).then_some(drops)
    };
    table.lines().skip(1).filter_map(drops_of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drops_of_the_given_ports_are_added_up() {
        let table = "  sl  local_address rem_address st queues timer retransmits uid drops\n\
            21: 0100007F:1151 00000000:0000 07 00000000:00000000 00:00000000 0 0 17\n\
            22: 0100007F:1152 00000000:0000 07 00000000:00000000 00:00000000 0 0 5\n";
        let drops = |ports: &[u16]| drops_in(table, &ports.iter().copied().collect());
        assert_eq!(drops(&[0x1151]), 17);
        assert_eq!(drops(&[0x1151, 0x1152]), 22);
        assert_eq!(drops(&[1]), 0);
    }
}
