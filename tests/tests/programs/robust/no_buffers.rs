//! A kernel that has no buffers (ENOBUFS) now and then: a library between the program and the
//! system's stands for it.

use crate::robust::parse;
use e2e::programs::{Running, port_at_end, scratch_file};
use std::process::Command;

#[test]
fn packets_for_which_the_kernel_has_no_buffer_are_sent_again() {
    let Some(library) = library() else {
        return e2e::skipped("there is no C compiler `cc`; install one");
    };
    let environment = [("LD_PRELOAD", library.as_str())];
    let args = ["--bind", "127.0.0.1", "--port", "0"];
    let mut server = Running::start_with_environment("bench-server", args, &environment);
    let port = port_at_end(&server.line_with("listening on UDP 127.0.0.1:"));
    let server_address = format!("127.0.0.1:{port}");
    for direction in [&[][..], &["-R"]] {
        let args = ["run", &server_address, "-J", "-n", "20M"];
        let args = [&args[..], direction].concat();
        let client = Running::start_with_environment("bench-client", args, &environment);
        let ended = client.wait();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let result = parse(&ended.stdout);
        assert_eq!(result["end"]["sum_received"]["bytes"], 20 << 20);
        // The library did what it is for.
        assert!(
            result["result"]["packets_lost"].as_u64() > Some(0),
            "{direction:?}"
        );
    }
    server.terminate();
    assert_eq!(server.wait().code, Some(0));
}

/// It refuses each twentieth call to send.
fn library() -> Option<String> {
    let (source, library) = (scratch_file("no_buffers.c"), scratch_file("no_buffers.so"));
    std::fs::write(&source, SOURCE).unwrap();
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .output();
    let compiled = compiled.ok()?;
    assert!(compiled.status.success(), "{compiled:?}");
    Some(library.to_str().unwrap().to_owned())
}

const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/socket.h>

ssize_t sendmsg(int socket, const struct msghdr *message, int flags) {
    static atomic_uint calls;
    if (atomic_fetch_add(&calls, 1) % 20 == 19) {
        errno = ENOBUFS;
        return -1;
    }
    ssize_t (*next)(int, const struct msghdr *, int) = dlsym(RTLD_NEXT, "sendmsg");
    return next(socket, message, flags);
}
"#;
