use super::block::BLOCK_RECORDS;
use super::*;
use crate::packet::Ecn;
use crate::relay::config::RelayConfig;
use crate::relay::{Relay, RelayHandle};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};

/// A file of a capture, read as its format says.
struct Pcap {
    snap_length: u32,
    packets: Vec<Packet>,
}

struct Packet {
    at: Duration,
    /// Its length outside of the file.
    length: u32,
    bytes: Vec<u8>,
}

impl Pcap {
    fn read(path: &Path) -> Self {
        let file = std::fs::read(path).unwrap();
        let (header, mut rest) = file.split_at(24);
        let header = words(header);
        assert_eq!(header[..4], [0xa1b2_3c4d, 0x0004_0002, 0, 0]);
        assert_eq!(header[5], 101);
        let mut packets = Vec::new();
        while !rest.is_empty() {
            let (record, behind) = rest.split_at(16);
            let record = words(record);
            let (bytes, behind) = behind.split_at(record[2] as usize);
            packets.push(Packet {
                at: Duration::new(record[0].into(), record[1]),
                length: record[3],
                bytes: bytes.to_vec(),
            });
            rest = behind;
        }
        let snap_length = header[4];
        Self {
            snap_length,
            packets,
        }
    }
}

impl Packet {
    fn is_ipv6(&self) -> bool {
        self.bytes[0] >> 4 == 6
    }

    fn ports(&self) -> (u16, u16) {
        let udp = if self.is_ipv6() { 40 } else { 20 };
        let port = |at: usize| u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]]);
        (port(udp), port(udp + 2))
    }

    fn payload(&self) -> &[u8] {
        let headers = if self.is_ipv6() { 48 } else { 28 };
        &self.bytes[headers..]
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let (words, []) = bytes.as_chunks::<4>() else {
        panic!("{} bytes are no words", bytes.len());
    };
    words.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// A folder of its own, gone with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("link-sim-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn capture(&self) -> CaptureConfig {
        CaptureConfig::with_prefix(&self.0.join("run"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn socket(address: impl std::net::ToSocketAddrs) -> UdpSocket {
    let socket = UdpSocket::bind(address).unwrap();
    let patience = Some(Duration::from_secs(10));
    socket.set_read_timeout(patience).unwrap();
    socket
}

fn relay(server: &UdpSocket, link: &str, capture: CaptureConfig) -> RelayHandle {
    let to = server.local_addr().unwrap();
    Relay::spawn(RelayConfig {
        link: link.parse().unwrap(),
        capture: Some(capture),
        ..RelayConfig::new(SocketAddr::new(to.ip(), 0), to)
    })
    .unwrap()
}

/// One datagram there and one back, through a capture; both files.
fn there_and_back(address: impl std::net::ToSocketAddrs + Copy, folder: &Folder) -> [Pcap; 2] {
    let (server, client) = (socket(address), socket(address));
    let capture = folder.capture();
    let relay = relay(&server, "delay 3ms", capture.clone());
    client.send_to(b"there", relay.local_addr()).unwrap();
    let mut buffer = [0; 10];
    let (length, from) = server.recv_from(&mut buffer).unwrap();
    assert_eq!(&buffer[..length], b"there");
    server.send_to(b"back", from).unwrap();
    assert_eq!(client.recv(&mut buffer).unwrap(), 4);
    let stats = relay.shutdown().unwrap().capture.unwrap();
    let expected = CaptureStats {
        client_side: 2,
        server_side: 2,
        dropped: 0,
        error: None,
    };
    assert_eq!(stats, expected);
    let files = [&capture.client_side, &capture.server_side].map(|path| Pcap::read(path));
    let names = ["client", "server"];
    for (side, ours) in files.iter().zip([client, server]) {
        let ours = ours.local_addr().unwrap().port();
        assert_eq!(side.packets[0].payload(), b"there", "{names:?}");
        assert_eq!(side.packets[1].payload(), b"back");
        let there = side.packets[0].ports();
        assert_eq!(side.packets[1].ports(), (there.1, there.0));
        assert!([there.0, there.1].contains(&ours));
    }
    files
}

#[test]
fn both_sides_show_what_enters_and_leaves_with_its_time() {
    let folder = Folder::new("both-sides");
    let [client, server] = there_and_back((Ipv4Addr::LOCALHOST, 0), &folder);
    let crossing = server.packets[0].at - client.packets[0].at;
    assert!(crossing >= Duration::from_millis(3), "{crossing:?}");
    assert!(client.packets[1].at >= server.packets[1].at);
    assert_eq!(client.packets[0].length, 33);
    assert_eq!(client.snap_length, CaptureConfig::WHOLE);
}

#[test]
fn ipv6_has_its_own_headers() {
    let address = (Ipv6Addr::LOCALHOST, 0);
    // A machine without IPv6 has nothing to test.
    if UdpSocket::bind(address).is_ok() {
        let folder = Folder::new("ipv6");
        let files = there_and_back(address, &folder);
        let all = files.iter().flat_map(|file| &file.packets);
        all.for_each(|packet| assert!(packet.is_ipv6()));
        assert_eq!(files[0].packets[0].length, 53);
    }
}

#[test]
fn a_lost_packet_is_on_one_side_only_and_long_ones_are_cut() {
    let folder = Folder::new("loss");
    let server = socket((Ipv4Addr::LOCALHOST, 0));
    let capture = CaptureConfig {
        snap_length: 48,
        ..folder.capture()
    };
    let relay = relay(&server, "loss 100%", capture.clone());
    let client = socket((Ipv4Addr::LOCALHOST, 0));
    for n in 0..50 {
        client.send_to(&[n; 1_000], relay.local_addr()).unwrap();
    }
    let mut stats = relay.stats();
    while stats.link.arrived.packets < 50 {
        stats = relay.stats();
    }
    let stats = relay.shutdown().unwrap().capture.unwrap();
    assert_eq!((stats.client_side, stats.server_side), (50, 0));
    let file = Pcap::read(&capture.client_side);
    for (n, packet) in file.packets.iter().enumerate() {
        assert_eq!(
            (packet.length, packet.payload()),
            (1_028, &[n as u8; 20][..])
        );
    }
    assert!(file.packets.is_sorted_by_key(|packet| packet.at));
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_from_the_begin_is_an_error_that_names_the_file() {
    let folder = Folder::new("full");
    let capture = folder.capture();
    std::os::unix::fs::symlink("/dev/full", &capture.server_side).unwrap();
    let to = (Ipv4Addr::LOCALHOST, 9).into();
    let error = Relay::spawn(RelayConfig {
        capture: Some(capture),
        ..RelayConfig::new((Ipv4Addr::LOCALHOST, 0).into(), to)
    });
    let error = error.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert!(error.to_string().contains("run-server.pcap"), "{error}");
}

#[test]
fn a_disk_that_fails_later_ends_the_capture_and_not_the_relay() {
    let folder = Folder::new("fails");
    let capture = folder.capture();
    // A pipe fails when nobody reads it any more.
    let made = std::process::Command::new("mkfifo")
        .arg(&capture.server_side)
        .status();
    assert!(made.unwrap().success());
    let pipe = capture.server_side.clone();
    let reader = std::thread::spawn(move || {
        let mut header = [0; 24];
        let mut pipe = std::fs::File::open(pipe).unwrap();
        io::Read::read_exact(&mut pipe, &mut header).unwrap();
    });
    let server = socket((Ipv4Addr::LOCALHOST, 0));
    let relay = relay(&server, "", capture.clone());
    reader.join().unwrap();
    let client = socket((Ipv4Addr::LOCALHOST, 0));
    let mut sent = 0;
    let mut cross = || {
        client.send_to(&[sent; 100], relay.local_addr()).unwrap();
        assert_eq!(server.recv(&mut [0; 100]).unwrap(), 100);
        sent += 1;
    };
    cross();
    let mut error = None;
    while error.is_none() {
        error = relay.stats().capture.unwrap().error;
    }
    assert!(error.unwrap().contains("run-server.pcap"));
    (0..20).for_each(|_| cross());
    let stats = relay.shutdown().unwrap();
    assert_eq!(stats.link.delivered.packets, 21);
    let capture_stats = stats.capture.unwrap();
    assert_eq!(capture_stats.server_side, 0);
    assert_eq!(capture_stats.client_side + capture_stats.dropped, 42);
    let written = Pcap::read(&capture.client_side).packets.len();
    assert_eq!(capture_stats.client_side, written as u64);
}

/// A writer that never takes anything, as behind a disk that stands still.
fn stuck() -> (Capture, Receiver<Block>) {
    let (full, filled) = mpsc::sync_channel(MAX_BLOCKS);
    let (_, empty) = mpsc::sync_channel(MAX_BLOCKS);
    let capture = Capture {
        block: None,
        full: Some(full),
        empty,
        made: 0,
        recorded: 0,
        dropped: 0,
        progress: Arc::default(),
        thread: None,
    };
    (capture, filled)
}

fn captured(data: &[u8]) -> CapturedDatagram<'_> {
    let address = (Ipv4Addr::LOCALHOST, 9).into();
    CapturedDatagram {
        side: Side::Client,
        at: Timestamp::ZERO,
        from: address,
        to: address,
        ecn: Ecn::NotEct,
        data,
    }
}

#[test]
fn a_disk_that_stands_still_costs_packets_of_the_capture_and_bounded_memory() {
    let (mut capture, filled) = stuck();
    let data = vec![0; 60_000];
    for _ in 0..5_000 {
        capture.record(&captured(&data));
    }
    let blocks: Vec<Block> = filled.try_iter().collect();
    assert_eq!(blocks.len(), MAX_BLOCKS);
    let held: usize = blocks.iter().map(|block| block.records.len()).sum();
    assert_eq!(capture.dropped, 5_000 - held as u64);
    assert!(capture.dropped > 0);
}

#[test]
fn a_writer_that_has_given_up_costs_one_block() {
    let (mut capture, filled) = stuck();
    drop(filled);
    let data = vec![0; 60_000];
    for _ in 0..5_000 {
        capture.record(&captured(&data));
    }
    assert_eq!(capture.made, 1);
    assert_eq!(capture.stats().dropped, 5_000);
}

#[test]
fn a_block_is_handed_over_when_it_is_full_or_old() {
    let (mut capture, filled) = stuck();
    assert_eq!(capture.flush(Timestamp::ZERO), None);
    capture.record(&captured(b"!"));
    let due = capture.flush(Timestamp::ZERO);
    assert_eq!(due, Some(Timestamp::ZERO + MAX_WAIT));
    assert!(filled.try_recv().is_err());
    assert_eq!(capture.flush(Timestamp::ZERO + MAX_WAIT), None);
    assert_eq!(filled.try_recv().unwrap().records.len(), 1);
    for _ in 0..BLOCK_RECORDS {
        capture.record(&captured(b""));
    }
    assert_eq!(filled.try_recv().unwrap().records.len(), BLOCK_RECORDS);
}
