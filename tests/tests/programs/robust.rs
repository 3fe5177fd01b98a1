//! The programs when things go wrong around them: killed, terminated, out of disk, with a clock
//! that jumps, with 200 clients at once. No wrong result, and no lost one.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]
#![expect(clippy::print_stdout, reason = "how fast a crowd is served")]

mod cgroup;
mod clock;
mod crowd;
mod descriptors;
mod disk;
mod ends;
mod example_arguments;
mod hangs;
mod installed;
mod lies;
mod no_buffers;
mod outputs;
mod resources;
mod siege;
mod storms;
mod unread;

use e2e::programs::{Ended, Running};
use serde_json::Value;

fn start_client(port: u16, flags: &[&str]) -> Running {
    let server = format!("127.0.0.1:{port}");
    Running::start("bench-client", [&["run", server.as_str()], flags].concat())
}

fn client(port: u16, flags: &[&str]) -> Ended {
    start_client(port, flags).wait()
}

/// A server with `--max-window 4M` serves windows of that size each way, and refuses larger ones.
fn assert_windows_fit(server: Running, port: u16) {
    let clients = [&[][..], &["-R"], &["--bidir"], &["-P", "8"]].map(|direction| {
        let flags = [&["-w", "4M", "-n", "50M"], direction].concat();
        start_client(port, &flags)
    });
    for client in clients {
        let ended = client.wait();
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let greedy = client(port, &["-w", "5M", "-n", "1M"]);
    assert_eq!(greedy.code, Some(1), "{greedy:?}");
    server.terminate();
    assert_eq!(server.wait().code, Some(0));
}

fn parse(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}:\n{json}"))
}
