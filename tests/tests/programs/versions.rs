//! Programs of different versions.

use e2e::programs::run;
use paceline::{Endpoint, ServerConfig, VarInt, tls};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc;

/// A server that answers every plan as those of earlier versions answer a part of it that they do
/// not know.
fn older_server(field: &'static str) -> SocketAddr {
    let (ready, address) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect(WORKS).block_on(async move {
            let own = tls::SelfSigned::generate(["localhost"]).expect(WORKS);
            let config: ServerConfig = own
                .server()
                .alpn(&[b"paceline-bench/2"])
                .config()
                .expect(WORKS);
            let endpoint = Endpoint::server(config, (Ipv4Addr::LOCALHOST, 0).into()).expect(WORKS);
            ready
                .send(endpoint.local_addr().expect(WORKS))
                .expect(WORKS);
            while let Some(incoming) = endpoint.accept().await {
                let connection = incoming.await.expect(WORKS);
                let _control = connection.accept_bi().await;
                let why = format!(
                    "malformed control message: unknown field `{field}`, expected one of `zeros`, \
                     `digest` at line 1 column 260"
                );
                connection.close(VarInt::from_u32(1), why.as_bytes());
            }
        });
    });
    address.recv().expect(WORKS)
}

#[test]
fn a_server_that_does_not_know_an_option_is_called_older() {
    let cases: [(&str, &[&str], &str); 3] = [
        (
            "window_follows",
            &["-w", "auto"],
            "does not know -w auto; update bench-server, or set a size, such as -w 32M",
        ),
        (
            "media",
            &["-u", "--source", "video:2mbit,30fps,key=2s"],
            "does not know --source; update bench-server, or leave it out",
        ),
        (
            "a_later_part",
            &[],
            "does not know the plan's `a_later_part`; use the same version on both sides",
        ),
    ];
    for (field, flags, what) in cases {
        let server = older_server(field).to_string();
        let ended = run("bench-client", [&["run", &server], flags].concat());
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let error = format!("error: {server} is older than this bench-client and {what}\n");
        assert!(ended.stderr.ends_with(&error), "{ended:?}");
    }
}

const WORKS: &str = "a server on loopback works";

#[test]
fn all_programs_print_their_version_at_the_same_letters() {
    for program in ["bench-client", "bench-server", "link-relay"] {
        for flag in ["-v", "-V", "--version"] {
            let ended = run(program, [flag]);
            assert_eq!(ended.code, Some(0), "{program} {flag}: {ended:?}");
            let version = format!("{program} {}\n", env!("CARGO_PKG_VERSION"));
            assert_eq!(ended.stdout, version, "{program} {flag}");
        }
    }
}
