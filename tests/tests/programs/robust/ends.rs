//! One of the two sides ends before its time.

use crate::robust::lies::{on_a_thread, plan, report};
use crate::robust::{client, parse, start_client};
use bench_kit::plan::{Direction, Limit, Plan};
use bench_kit::sample::SideReport;
use bench_kit::wire::{ALPN, Reply, Request, read_message, write_message};
use e2e::programs::{Ended, Running, bench_server, program, scratch_file};
use paceline::{Connection, Endpoint, tls};
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// Long enough to be ended in the midst of.
const LONG: [&str; 4] = ["-t", "60", "-i", "0.2"];

#[test]
fn a_server_notices_within_its_timeout_that_a_client_was_killed() {
    let (mut server, port) = bench_server(&["--idle-timeout", "1"]);
    for direction in [&[][..], &["-R"], &["--bidir"]] {
        let mut killed = start_client(port, &[&LONG[..], direction].concat());
        killed.line_with(" sec ");
        killed.kill();
        let line = server.line_with("Ended early: ");
        assert!(line.contains("for 1 s: "), "{line}");
    }
    assert_eq!(client(port, &["-n", "1M"]).code, Some(0));
    server.terminate();
    let ended = server.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("Served 4 runs: "), "{ended:?}");
}

// The end of a stream and a message on another may come in either order.
#[test]
fn a_server_says_why_a_client_failed_whose_streams_had_ended_before() {
    let (mut server, port) = bench_server(&[]);
    on_a_thread(async move {
        let connection = connect(port).await;
        let (mut send, mut receive) = connection.open_bi().await.unwrap();
        let run = Plan {
            limit: Limit::Bytes(1_000),
            streams: 1,
            ..plan(Direction::Forward, 2)
        };
        let run = Request::Run(Box::new(run));
        write_message(&mut send, &run).await.unwrap();
        let accepted = read_message::<Reply>(&mut receive).await.unwrap();
        assert_eq!(accepted, Some(Reply::Accepted));
        let mut payload = connection.open_uni().await.unwrap();
        payload.write_all(&[0; 1_000]).await.unwrap();
        payload.finish().unwrap();
        while !matches!(
            read_message::<Reply>(&mut receive).await.unwrap(),
            Some(Reply::Finished(_)) | None
        ) {}
        let failed = Request::Finished(Box::new(SideReport {
            error: Some("interrupted".to_owned()),
            ..report()
        }));
        write_message(&mut send, &failed).await.unwrap();
        connection.closed().await;
    });
    server.line_with("Ended early: the client: interrupted");
}

async fn connect(port: u16) -> Connection {
    let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let tls = tls::client_without_verification().alpn(&[ALPN]);
    let server = (Ipv4Addr::LOCALHOST, port).into();
    let config = tls.config().unwrap();
    let connecting = endpoint.connect_with(config, server, "localhost");
    connecting.unwrap().await.unwrap()
}

#[test]
fn a_client_whose_server_was_killed_prints_what_it_has_measured() {
    for direction in [&["-R"][..], &["--bidir"]] {
        let (mut server, port) = bench_server(&[]);
        let flags = ["--idle-timeout", "1", "--json", "/dev/stdout"];
        let mut client = start_client(port, &[&LONG[..], &flags, direction].concat());
        // The server's figures arrive with a row's delay.
        (0..4).for_each(|_| drop(client.line_with(" sec ")));
        server.kill();
        check_unfinished(client.wait(), "nothing listens on UDP");
    }
}

#[test]
fn a_client_that_is_asked_to_end_does_so_with_a_result() {
    let (_server, port) = bench_server(&[]);
    for ask in [Running::interrupt, Running::terminate, Running::hang_up] {
        let flags = ["--json", "/dev/stdout"];
        let mut client = start_client(port, &[&LONG[..], &flags].concat());
        client.line_with(" sec ");
        ask(&client);
        check_unfinished(client.wait(), "interrupted");
    }
}

#[test]
fn a_client_that_outlives_its_terminal_goes_on() {
    let (_server, port) = bench_server(&[]);
    // As nohup does.
    let script = "trap '' HUP; exec \"$0\" run 127.0.0.1:$1 -t 2 -i 0.2";
    let client = program("bench-client");
    let args = ["-c", script, client.to_str().unwrap(), &port.to_string()];
    let mut client = Running::start_system("sh", args);
    client.line_with(" sec ");
    client.hang_up();
    let ended = client.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_server_that_is_terminated_says_so_to_its_clients() {
    let (server, port) = bench_server(&[]);
    let flags = ["-R", "--json", "/dev/stdout"];
    let mut client = start_client(port, &[&LONG[..], &flags].concat());
    client.line_with(" sec ");
    server.terminate();
    check_unfinished(client.wait(), "server stopped");
    let ended = server.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn what_a_killed_client_has_received_does_not_bear_the_name_of_a_whole_file() {
    let (_server, port) = bench_server(&[]);
    let file = scratch_file("received.bin");
    let part = PathBuf::from(format!("{}.part", file.display()));
    std::fs::write(&file, "of an earlier run").unwrap();
    let flags = ["-R", "-b", "20M", "-i", "0.2", "-F", file.to_str().unwrap()];
    let long = [&flags[..], &["-n", "1G"]].concat();
    let mut killed = start_client(port, &long);
    killed.line_with(" sec ");
    killed.kill();
    killed.wait();
    assert_eq!(std::fs::read(&file).unwrap(), b"of an earlier run");
    assert!(std::fs::metadata(&part).unwrap().len() > 0);

    let mut interrupted = start_client(port, &long);
    interrupted.line_with(" sec ");
    interrupted.interrupt();
    let ended = interrupted.wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let told = format!("incomplete; what came is in {}; ", part.display());
    assert!(ended.stderr.contains(&told), "{ended:?}");
    assert_eq!(std::fs::read(&file).unwrap(), b"of an earlier run");

    let whole = client(port, &[&flags[..], &["-n", "100K"]].concat());
    assert_eq!(whole.code, Some(0), "{whole:?}");
    assert_eq!(std::fs::metadata(&file).unwrap().len(), 100 << 10);
    assert!(!part.exists());

    let nowhere = client(9, &[&flags[..], &["-n", "100K"]].concat());
    assert_eq!(nowhere.code, Some(1), "{nowhere:?}");
    assert!(!part.exists(), "nothing came");
}

#[test]
fn a_transfer_that_was_killed_goes_on_where_it_ended() {
    let (_server, port) = bench_server(&[]);
    let file = scratch_file("continued.bin");
    let part = PathBuf::from(format!("{}.part", file.display()));
    let path = file.to_str().unwrap();
    // The part ends within a block.
    let flags = ["-R", "-l", "10007", "-F", path];
    let slow = [&flags[..], &["-n", "8M", "-i", "0.2"]].concat();
    let mut killed = start_client(port, &[&slow[..], &["-b", "20M"]].concat());
    killed.line_with(" sec ");
    killed.kill();
    killed.wait();
    let there = std::fs::metadata(&part).unwrap().len();
    assert!(0 < there && there < 8 << 20, "{there} bytes");

    // Blocks of another size are another file, and so is what somebody has changed.
    let rest = |length| ["-R", "-l", length, "-F", path, "-n", "8M", "--continue"];
    let other = client(port, &rest("10008"));
    assert_eq!(other.code, Some(1), "{other:?}");
    let named = format!("{} is no part of what this run receives", part.display());
    assert!(other.stderr.contains(&named), "{other:?}");
    assert_eq!(std::fs::metadata(&part).unwrap().len(), there);

    let continued = client(port, &[&rest("10007")[..], &["-J"]].concat());
    assert_eq!(continued.code, Some(0), "{continued:?}");
    let moved = &parse(&continued.stdout)["end"]["sum_received"]["bytes"];
    assert_eq!(*moved, (8 << 20) - there, "no byte twice");
    assert!(!part.exists());

    let whole = scratch_file("whole.bin");
    let flags = [
        "-R",
        "-l",
        "10007",
        "-n",
        "8M",
        "-F",
        whole.to_str().unwrap(),
    ];
    assert_eq!(client(port, &flags).code, Some(0));
    let [continued, whole] = [&file, &whole].map(|file| std::fs::read(file).unwrap());
    assert!(continued == whole, "the same bytes as in one run");

    std::fs::rename(&file, &part).unwrap();
    let nothing_left = client(port, &rest("10007"));
    assert_eq!(nothing_left.code, Some(1), "{nothing_left:?}");
    assert!(
        nothing_left.stderr.contains("rename it"),
        "{nothing_left:?}"
    );
}

/// The rows have a result behind them, which is marked.
fn check_unfinished(ended: Ended, error: &str) {
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let json = ended.stdout.find("{\n").expect("the JSON is at the end");
    let result = parse(&ended.stdout[json..]);
    assert_eq!(result["complete"], false);
    let told = result["error"].as_str().unwrap();
    assert!(told.contains(error), "{told}");
    assert!(ended.stderr.contains(told), "{ended:?}");
    assert!(result["result"]["bytes"].as_u64() > Some(0), "{result}");
}
