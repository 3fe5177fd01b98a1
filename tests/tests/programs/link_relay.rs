//! link-relay as its users run it.

use e2e::programs::{Running, port_at_end, run, scratch_file};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::time::Duration;

/// A server, a client, and a relay between them.
struct Across {
    server: UdpSocket,
    client: UdpSocket,
    relay: Running,
    port: u16,
}

impl Across {
    fn start(arguments: &[&str]) -> Self {
        let server = socket();
        let to = server.local_addr().expect("it is bound").to_string();
        let common = ["--listen", "127.0.0.1:0", "--to", &to];
        let arguments = common.iter().chain(arguments);
        let mut relay = Running::start_with_input("link-relay", arguments);
        let heading = relay.line_with("link-relay 127.0.0.1:");
        let port = port_at_end(heading.split(" to ").next().expect("it says where to"));
        Self {
            server,
            client: socket(),
            relay,
            port,
        }
    }

    fn send(&self, data: &[u8]) {
        self.client
            .send_to(data, (Ipv4Addr::LOCALHOST, self.port))
            .expect("the relay listens");
    }

    /// A datagram there and its answer back.
    fn cross(&self, data: &[u8]) {
        self.send(data);
        let mut buffer = [0; 2_000];
        let (length, from) = self.server.recv_from(&mut buffer).expect("it crosses");
        assert_eq!(&buffer[..length], data);
        self.server
            .send_to(&buffer[..length], from)
            .expect("the relay waits");
        let back = self.client.recv(&mut buffer).expect("it crosses");
        assert_eq!(back, data.len());
    }

    /// What it prints when it ends well.
    fn end(self) -> String {
        self.relay.interrupt();
        let ended = self.relay.wait();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stdout
    }
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let patience = Some(Duration::from_secs(30));
    socket
        .set_read_timeout(patience)
        .expect("half a minute is a time");
    socket
}

/// Both figures of a line of the totals.
fn total(stdout: &str, what: &str) -> Vec<u64> {
    let line = stdout
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(what));
    let line = line.unwrap_or_else(|| panic!("no total `{what}` in\n{stdout}"));
    let figures = line
        .split_whitespace()
        .map(|figure| figure.parse().expect("totals are numbers"));
    figures.collect()
}

#[test]
fn a_line_on_standard_input_changes_a_link_and_a_wrong_one_nothing() {
    let mut across = Across::start(&["delay 1ms", "-i", "0.1"]);
    across.relay.line_with("-> delay 1ms");
    across.relay.line_with("<- no link");
    across.cross(b"before");
    across.relay.type_line("loss 100%");
    across.relay.line_with("-> changed to loss 100%");
    across.send(b"lost");
    // The next line would not wait for it.
    across.relay.line_with("       1       0       0       0 ");
    across.relay.type_line("");
    across.relay.type_line("return rate fast");
    across.relay.note_with("`fast` at column 6");
    across.relay.type_line("rate 1mbit queue 1bdp");
    across.relay.note_with("a queue in bdp needs a `delay`");
    across
        .relay
        .type_line("return delay 2ms rate 10mbit queue 1bdp");
    across.relay.line_with("<- changed to delay 2ms");
    across.relay.type_line("delay 1ms  # as it was");
    across.relay.line_with("-> changed to delay 1ms");
    across.relay.end_input();
    across.cross(b"after");
    let stdout = across.end();
    assert_eq!(total(&stdout, "lost"), [1, 0]);
    assert_eq!(total(&stdout, "delivered"), [2, 2]);
}

#[test]
fn files_are_read_again_when_the_relay_is_hung_up() {
    let [link, return_link] = ["link.txt", "return-link.txt"].map(scratch_file);
    std::fs::write(&link, "# a slow link\ndelay 2ms  # there\nrate 10mbit\n").unwrap();
    std::fs::write(&return_link, "").unwrap();
    let files = [&link, &return_link].map(|path| path.to_str().unwrap());
    let mut across = Across::start(&["--link-file", files[0], "--return-link-file", files[1]]);
    across.relay.line_with("-> delay 2ms rate 10mbit");
    across.relay.line_with("<- no link");
    across.cross(b"before");

    std::fs::write(&return_link, "loss 100%").unwrap();
    across.relay.hang_up();
    across.relay.note_with("link.txt: link unchanged");
    across.relay.line_with("<- changed to loss 100%");

    std::fs::write(&link, "wibble").unwrap();
    std::fs::remove_file(&return_link).unwrap();
    across.relay.hang_up();
    across.relay.note_with("link.txt: `wibble` at column 1");
    across.relay.note_with("return-link.txt: ");

    std::fs::write(&link, "delay 1ms").unwrap();
    std::fs::write(&return_link, "delay 1ms").unwrap();
    across.relay.hang_up();
    across.relay.line_with("<- changed to delay 1ms");
    across.cross(b"after");
    across.end();
}

#[test]
fn a_pipe_where_a_file_is_wanted_is_refused_and_holds_nothing_up() {
    let pipe = scratch_file("pipe");
    let file = scratch_file("link-or-pipe.txt");
    let [pipe, file] = [&pipe, &file].map(|path| path.to_str().unwrap());
    let made = std::process::Command::new("mkfifo").arg(pipe).status();
    assert!(made.unwrap().success());
    std::fs::write(file, "delay 1ms").unwrap();
    let mut across = Across::start(&["--link-file", file]);
    across.relay.type_line(&format!("trace {pipe}"));
    across.relay.note_with("not a regular file");
    std::fs::rename(pipe, file).unwrap();
    across.relay.hang_up();
    across
        .relay
        .note_with("link-or-pipe.txt: not a regular file");
    across.cross(b"as before");
    across.end();
}

#[test]
fn without_a_file_to_read_a_hang_up_ends_it_as_it_ends_any_program() {
    if ignores_hang_ups() {
        return e2e::skipped("hang-ups are ignored here, as under nohup");
    }
    let across = Across::start(&[]);
    across.relay.hang_up();
    assert_eq!(across.relay.wait().code, None);
}

/// By Linux's account of this process: SIGHUP is the first signal of the mask.
fn ignores_hang_ups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.map_or(Ok(0), |mask| u64::from_str_radix(mask.trim(), 16));
    ignored.expect("a mask in hexadecimal") & 1 == 1
}

#[test]
fn both_sides_are_captured() {
    let prefix = scratch_file("capture");
    let prefix = prefix.to_str().unwrap();
    let mut across = Across::start(&["--pcap", prefix, "--snaplen", "128", "-i", "0.1"]);
    across.cross(&[7; 1_000]);
    across.relay.line_with("seconds");
    let stdout = across.end();
    let captured = "captured 2 packets on the clients' side, 2 on the server's; 0 not captured";
    assert!(stdout.contains(captured), "{stdout}");
    for side in ["client", "server"] {
        let file = std::fs::read(format!("{prefix}-{side}.pcap")).unwrap();
        assert_eq!(file[..4], 0xa1b2_3c4d_u32.to_le_bytes());
        // A header, and two packets that were cut.
        assert_eq!(file.len(), 24 + 2 * (16 + 128));
    }
}

#[cfg(unix)]
#[test]
fn a_capture_that_breaks_off_is_said_at_once_and_costs_the_exit_code_only() {
    let prefix = scratch_file("broken");
    let prefix = prefix.to_str().unwrap();
    let pipe = format!("{prefix}-server.pcap");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    // A pipe fails when nobody reads it any more, as a disk does when it is full.
    let reader = std::thread::spawn(move || {
        let mut file = std::fs::File::open(pipe).unwrap();
        io::Read::read_exact(&mut file, &mut [0; 24]).unwrap();
    });
    let mut across = Across::start(&["--pcap", prefix, "-i", "3600"]);
    reader.join().unwrap();
    across.cross(b"first");
    across.relay.note_with("capture stopped");
    across.cross(b"second");
    across.relay.interrupt();
    let ended = across.relay.wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(total(&ended.stdout, "delivered"), [2, 2]);
    assert!(ended.stderr.contains("capture incomplete"));
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    let prefix = scratch_file("full");
    let file = format!("{}-client.pcap", prefix.display());
    if !Path::new("/dev/full").exists() {
        return;
    }
    std::os::unix::fs::symlink("/dev/full", &file).unwrap();
    let ended = refused(&["--pcap", prefix.to_str().unwrap()]);
    assert_eq!(ended.0, Some(1));
    assert!(ended.1.contains(&file), "{ended:?}");
}

#[test]
fn clients_beyond_the_limit_are_refused_and_said() {
    let across = Across::start(&["--max-clients", "1"]);
    across.cross(b"first");
    let other = socket();
    for _ in 0..3 {
        other
            .send_to(b"?", (Ipv4Addr::LOCALHOST, across.port))
            .unwrap();
    }
    across.cross(b"again");
    let stdout = across.end();
    assert!(
        stdout.contains("warning: 3 datagrams of too many clients dropped"),
        "{stdout}"
    );
}

#[test]
fn live_figures_fit_into_80_columns() {
    // With this seed none of the packets is lost.
    let link = "delay 1ms 1ms loss 1% rate 1gbit queue 10p seed 1";
    let mut across = Across::start(&["-i", "0.1", link]);
    let heading = across.relay.line_with("seconds");
    for _ in 0..5 {
        across.cross(&[0; 1_000]);
    }
    across.relay.line_with("->");
    let stdout = across.end();
    for line in stdout.lines().chain([heading.as_str()]) {
        assert!(line.len() <= 80, "{line}");
    }
    assert!(stdout.contains("sent late by"));
    assert!(stdout.contains("% of one core"));
}

#[test]
fn contradictions_and_nonsense_are_refused() {
    let file = scratch_file("empty.txt");
    let missing = file.to_str().unwrap();
    for (arguments, reason) in [
        (&["--link-file", missing][..], missing),
        (&["--link-file", missing, "loss 1%"], "cannot be used with"),
        (
            &["--return-link-file", missing, "--return-link", "loss 1%"],
            "cannot be used with",
        ),
        (&["--snaplen", "100"], "--pcap"),
        (&["--max-clients", "0"], "from 1 to 60000"),
        (&["rate", "1mbit", "queue", "1bdp"], "needs a `delay`"),
        (&["-i", "0"], "0.1 to 3600"),
    ] {
        let (code, stderr) = refused(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(reason), "{arguments:?}: {stderr}");
        assert!(stderr.starts_with("error: "), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_server_that_is_none_is_refused() {
    for (listen, to, reason) in [
        ("127.0.0.1:0", "127.0.0.1:0", "port 0"),
        (
            "127.0.0.1:4434",
            "127.0.0.1:4434",
            "the relay's own address",
        ),
        ("0.0.0.0:4434", "127.0.0.1:4434", "the relay's own address"),
        ("[::]:4434", "[::1]:4434", "the relay's own address"),
    ] {
        let ended = run("link-relay", ["--listen", listen, "--to", to]);
        assert_eq!(ended.code, Some(2), "{listen} {to}: {ended:?}");
        assert!(ended.stderr.contains(reason), "{listen} {to}: {ended:?}");
    }
}

#[test]
fn what_a_link_can_be_is_listed_in_80_columns() {
    for (option, contained) in [
        ("--list-presets", ["lte-down ", "WebPageTest"]),
        ("--list-words", ["aqm NAME [PARAMETERS]\n", "example: "]),
    ] {
        let printed = run("link-relay", [option]);
        assert_eq!(printed.code, Some(0), "{printed:?}");
        for text in contained {
            assert!(printed.stdout.contains(text), "{printed:?}");
        }
        for line in printed.stdout.lines() {
            assert!(line.len() <= 80, "{line}");
        }
    }
    let printed = run("link-relay", ["--print-tc", "dsl-down"]);
    assert!(printed.stdout.contains("rate 5.66mbit"), "{printed:?}");
}

#[test]
fn help_fits_into_80_columns() {
    for arguments in [&["--help"][..], &["-h"], &["tun", "--help"]] {
        let help = run("link-relay", arguments);
        assert_eq!(help.code, Some(0), "{help:?}");
        for line in help.stdout.lines() {
            assert!(line.len() <= 80, "{arguments:?}: {line}");
        }
    }
}

#[test]
fn links_are_printed_for_a_kernels_tc() {
    let link = ["delay", "20ms", "rate", "100mbit", "queue", "1bdp"];
    let printed = run(
        "link-relay",
        link.iter()
            .chain(&["--print-tc", "--return-link", "delay 30ms"]),
    );
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert_eq!(
        printed.stdout.lines().collect::<Vec<_>>(),
        [
            "# Towards the server.",
            "tc qdisc replace dev $RATE_DEV root tbf rate 100mbit burst 12500 limit 625000",
            "tc qdisc replace dev $DELAY_DEV root netem limit 100000 delay 20ms",
            "# Towards the client.",
            "tc qdisc replace dev $RETURN_DELAY_DEV root netem limit 1000 delay 30ms",
        ]
    );
    let refused = run("link-relay", ["--print-tc", "delay 1ms radio 5ms"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.stderr.contains("`radio` at column 11"),
        "{refused:?}"
    );
}

/// What `convert-trace` prints, without its comments.
fn converted(arguments: &[&str]) -> String {
    let ended = run("link-relay", [&["convert-trace"], arguments].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines = ended.stdout.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn recorded_losses_and_delays_are_played_and_can_be_recorded_again() {
    let [delays, losses] = ["delays.txt", "losses.txt"].map(scratch_file);
    std::fs::write(&delays, "5 20\n").unwrap();
    std::fs::write(&losses, "0100\n").unwrap();
    let prefix = scratch_file("recorded");
    let prefix = prefix.to_str().unwrap();
    let link = format!(
        "delay trace {} every 1s loss trace {}",
        delays.display(),
        losses.display()
    );
    let mut across = Across::start(&["--pcap", prefix, &link]);
    across.relay.line_with("-> delay trace ");
    for number in 0..8_u8 {
        across.send(&[number; 100]);
    }
    let mut buffer = [0; 200];
    for number in [0, 2, 3, 4, 6, 7] {
        let length = across.server.recv(&mut buffer).expect("it is not lost");
        assert_eq!(buffer[..length], [number; 100]);
    }
    let stdout = across.end();
    assert_eq!(total(&stdout, "lost"), [2, 0]);

    let [sent, received] = ["client", "server"].map(|side| format!("{prefix}-{side}.pcap"));
    assert_eq!(converted(&["--loss", &sent, &received]), "01000100\n");
    let delays = converted(&["--delay", "--every", "3600s", &sent, &received]);
    let delay: f64 = delays.trim().parse().unwrap();
    assert!(delay >= 5.0, "{delay}");
}

#[test]
fn traces_are_made_of_other_recordings() {
    let [lines, csv] = ["short.down", "rates.csv"].map(scratch_file);
    let [lines, csv] = [&lines, &csv].map(|path| path.to_str().unwrap());
    std::fs::write(lines, "1\n3\n3\n40\n").unwrap();
    std::fs::write(csv, "s,kbps\n0,12112\n1,0\n").unwrap();
    let counts = converted(&[lines]);
    assert_eq!(counts, "counts\n0102ZH1\n");
    std::fs::write(lines, counts).unwrap();
    assert_eq!(converted(&["--to", "lines", lines]), "1\n3\n3\n40\n");
    // A packet a millisecond, then none until the end.
    let rates = ["--column", "kbps", "--unit", "1kbit", "--every", "3ms", csv];
    assert_eq!(converted(&rates), "counts\n0111A1\n");
    for (arguments, code, says) in [
        (&["--loss", lines][..], 2, "RECEIVED"),
        (&[lines, csv], 2, "--delay|--loss"),
        (&[csv], 1, "rates.csv: 2 columns (s, kbps)"),
        (&["--from", "pcap", csv], 1, "rates.csv: not a pcap file"),
        (&["--every", "0s", csv], 2, "--every `0s`"),
        (&["/nowhere"], 1, "/nowhere: "),
    ] {
        let ended = run("link-relay", [&["convert-trace"], arguments].concat());
        assert_eq!(ended.code, Some(code), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(says), "{arguments:?}: {ended:?}");
    }
}

fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let common = ["--listen", "127.0.0.1:0", "--to", "127.0.0.1:9"];
    let ended = run("link-relay", common.iter().chain(arguments));
    (ended.code, ended.stderr)
}
