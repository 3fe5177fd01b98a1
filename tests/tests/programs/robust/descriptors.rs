//! Too few file descriptors (EMFILE).

use e2e::programs::{Running, port_at_end, program};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

#[test]
fn a_relay_out_of_descriptors_serves_those_that_it_can_and_names_the_limit() {
    let server = socket();
    let to = server.local_addr().unwrap().to_string();
    let mut relay = limited(
        16,
        "link-relay",
        &["--listen", "127.0.0.1:0", "--to", &to, "-i", "0.1"],
    );
    let heading = relay.line_with("link-relay 127.0.0.1:");
    let port = port_at_end(heading.split(" to ").next().unwrap());
    let first = socket();
    cross(&first, &server, port);
    // Nine are its own.
    let others = [(); 16].map(|()| socket());
    for other in &others {
        other.send_to(b"?", (Ipv4Addr::LOCALHOST, port)).unwrap();
    }
    let told = relay.note_with("no socket for another client");
    assert!(
        told.ends_with("Too many open files; raise ulimit -n"),
        "{told}"
    );
    relay.line_with("no socket for their client; raise ulimit -n");
    cross(&first, &server, port);
    relay.interrupt();
    let ended = relay.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(
        ended.stderr.matches("no socket for another").count(),
        1,
        "{ended:?}"
    );
    assert!(!ended.stdout.contains("raise --max-clients"), "{ended:?}");
}

#[test]
fn a_program_that_gets_no_descriptor_at_all_names_the_limit() {
    let relay = ["--listen", "127.0.0.1:0", "--to", "127.0.0.1:9"];
    for limit in 4..9 {
        let ended = limited(limit, "link-relay", &relay).wait();
        assert_eq!(ended.code, Some(1), "{limit}: {ended:?}");
        let told = "error: Too many open files; raise ulimit -n\n";
        assert!(ended.stderr.ends_with(told), "{limit}: {ended:?}");
    }
}

/// A program that may have so many file descriptors, the three standard ones included.
fn limited(descriptors: u32, name: &str, arguments: &[&str]) -> Running {
    let script = "ulimit -n \"$1\"; shift; exec \"$@\"";
    let (limit, program) = (descriptors.to_string(), program(name));
    let command = ["-c", script, "sh", &limit, program.to_str().unwrap()];
    Running::start_system("sh", [&command[..], arguments].concat())
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    socket
}

/// A datagram through the relay, past those of others.
fn cross(client: &UdpSocket, server: &UdpSocket, port: u16) {
    client.send_to(b"!", (Ipv4Addr::LOCALHOST, port)).unwrap();
    let mut buffer = [0; 8];
    let from = loop {
        let (length, from) = server.recv_from(&mut buffer).unwrap();
        if &buffer[..length] == b"!" {
            break from;
        }
    };
    server.send_to(b"!", from).unwrap();
    assert_eq!(client.recv(&mut buffer).unwrap(), 1);
}
