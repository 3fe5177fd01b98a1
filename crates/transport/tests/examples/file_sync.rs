//! The example that copies a directory.

#[path = "../../examples/file_sync/main.rs"]
#[expect(dead_code, reason = "a test has no use for `main`")]
mod example;

use clap::Parser;
use example::protocol::{Reply, Request, SyncError};
use example::server::Server;
use example::session::Session;
use example::sync::{Plan, Summary, priority, sync};
use indicatif::ProgressBar;
use paceline::units::{Bandwidth, Rng};
use paceline::{ConnectionError, WriteError};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

/// A folder that is gone with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("file_sync-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("from/deep/er")).unwrap();
        Self(folder)
    }

    fn source(&self) -> PathBuf {
        self.0.join("from")
    }

    fn copy(&self) -> PathBuf {
        self.0.join("into")
    }

    fn plan(&self) -> Plan {
        Plan {
            path: String::new(),
            into: self.copy(),
            first: None,
            concurrency: 3,
        }
    }

    fn assert_equal(&self, path: &str) {
        let [from, into] = [self.source(), self.copy()].map(|root| fs::read(root.join(path)));
        assert!(from.unwrap() == into.unwrap(), "{path} differs");
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn an_interruption_says_why() {
    let lost = WriteError::ConnectionLost(ConnectionError::TimedOut);
    let interrupted = SyncError::from(lost).to_string();
    assert_eq!(
        interrupted,
        "the transfer was interrupted: connection lost: timed out"
    );
}

fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    (0..len).map(|_| rng.below(256) as u8).collect()
}

fn serve(root: &Path) -> Server {
    Server::new(root, "127.0.0.1:0".parse().unwrap(), None).unwrap()
}

fn session(server: &Server, max_rate: Option<&str>) -> Session {
    let max_rate = max_rate.map(|rate| rate.parse::<Bandwidth>().unwrap());
    Session::new(
        server.local_addr().unwrap(),
        &server.fingerprint(),
        max_rate,
    )
    .unwrap()
}

/// Runs `test` beside the server.
async fn beside<T>(server: &Server, test: impl Future<Output = T>) -> T {
    tokio::select! {
        () = server.run() => panic!("the server has ended"),
        result = test => result,
    }
}

async fn fetch(session: &Session, plan: &Plan) -> Result<Summary, SyncError> {
    sync(session, plan, &ProgressBar::hidden()).await
}

#[tokio::test]
async fn a_tree_is_copied_and_then_left_alone() {
    let scratch = Scratch::new("tree");
    let files = [
        ("empty", 0),
        ("small.txt", 10),
        ("deep/odd name", 100_000),
        ("deep/er/large", 3_000_000),
    ];
    for (seed, (path, len)) in (0..).zip(files) {
        fs::write(scratch.source().join(path), noise(seed, len)).unwrap();
    }
    let server = serve(&scratch.source());
    let session = session(&server, None);
    beside(&server, async {
        let bar = ProgressBar::hidden();
        let summary = sync(&session, &scratch.plan(), &bar).await.unwrap();
        let expected = Summary {
            files: 4,
            received: 3_100_010,
            ..Summary::default()
        };
        assert_eq!(summary, expected);
        assert_eq!((bar.position(), bar.length()), (3_100_010, Some(3_100_010)));
        for (path, _) in files {
            scratch.assert_equal(path);
        }

        let summary = fetch(&session, &scratch.plan()).await.unwrap();
        assert_eq!(
            summary,
            Summary {
                unchanged: 4,
                ..Summary::default()
            }
        );

        fs::write(scratch.source().join("small.txt"), "changed").unwrap();
        let plan = Plan {
            path: "small.txt".to_owned(),
            ..scratch.plan()
        };
        assert_eq!(fetch(&session, &plan).await.unwrap().files, 1);
        scratch.assert_equal("small.txt");
        session.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_killed_transfer_goes_on_at_its_offset_even_with_another_server_process() {
    let scratch = Scratch::new("killed");
    let content = noise(1, 2_000_000);
    fs::write(scratch.source().join("film"), &content).unwrap();
    let part = scratch.copy().join("film.part");
    let part_len = || fs::metadata(&part).map_or(0, |metadata| metadata.len());

    let server = serve(&scratch.source());
    let slow = session(&server, Some("10mbit"));
    beside(&server, async {
        let plan = scratch.plan();
        let killed = async {
            while part_len() < 300_000 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            result = fetch(&slow, &plan) => panic!("not killed: {result:?}"),
            () = killed => {}
        }
    })
    .await;
    drop((slow, server));
    assert!(!scratch.copy().join("film").exists());

    let server = serve(&scratch.source());
    let session = session(&server, None);
    let summary = beside(&server, fetch(&session, &scratch.plan()))
        .await
        .unwrap();
    scratch.assert_equal("film");
    assert!(!part.exists());
    assert!((300_000..2_000_000).contains(&summary.resumed), "{summary}");
    assert_eq!(summary.resumed + summary.received, 2_000_000);
}

/// The program itself, with Ctrl-C once 300 kB of the file have come.
#[tokio::test]
async fn ctrl_c_pauses_and_the_same_command_goes_on() {
    let scratch = Scratch::new("paused");
    fs::write(scratch.source().join("film"), noise(1, 2_000_000)).unwrap();
    let server = serve(&scratch.source());
    let pin = scratch.0.join("fingerprint");
    fs::write(&pin, server.fingerprint()).unwrap();
    let part = scratch.copy().join("film.part");
    let part_len = || fs::metadata(&part).map_or(0, |metadata| metadata.len());
    let command = |rate: &str| {
        let words = format!(
            "file_sync fetch --server {} --max-rate {rate} --into",
            server.local_addr().unwrap()
        );
        let words = words.split(' ').map(PathBuf::from);
        let words = words.chain([scratch.copy(), "--fingerprint".into(), pin.clone()]);
        example::CommandLine::parse_from(words)
    };
    beside(&server, async {
        let interrupted = async {
            while part_len() < 300_000 {
                tokio::task::yield_now().await;
            }
            Ok(())
        };
        let line = example::run(command("10mbit"), interrupted).await.unwrap();
        assert_eq!(line, "paused; the same command goes on from here");
        let kept = part_len();
        assert!((300_000..2_000_000).contains(&kept), "{kept}");
        assert!(!scratch.copy().join("film").exists());

        let line = example::run(command("1gbit"), std::future::pending());
        let line = line.await.unwrap();
        let rest = 2_000_000 - kept;
        let expected =
            format!("1 files fetched, 0 unchanged, {rest} bytes received, {kept} resumed");
        assert_eq!(line, expected);
        scratch.assert_equal("film");
    })
    .await;
}

/// Time can only show that a transfer was not faster.
#[tokio::test]
async fn where_a_copy_cannot_be_written_is_named() {
    let scratch = Scratch::new("unwritable");
    fs::write(scratch.source().join("deep/file"), "text").unwrap();
    // A file stands where the directory would have to be made.
    fs::create_dir(scratch.copy()).unwrap();
    fs::write(scratch.copy().join("deep"), "").unwrap();
    let server = serve(&scratch.source());
    let session = session(&server, None);
    let error = beside(&server, fetch(&session, &scratch.plan())).await;
    let error = error.unwrap_err().to_string();
    let target = scratch.copy().join("deep/file");
    assert!(
        error.starts_with(&format!("{}: ", target.display())),
        "{error}"
    );
    assert!(
        error.ends_with("; make room there, or change --into"),
        "{error}"
    );
}

#[tokio::test]
async fn neither_sides_highest_rate_is_exceeded() {
    let scratch = Scratch::new("rate");
    fs::write(scratch.source().join("film"), noise(1, 1_000_000)).unwrap();
    for (servers, clients) in [(None, "8mbit"), (Some("8mbit"), "1gbit")] {
        let _ = fs::remove_dir_all(scratch.copy());
        let servers = servers.map(|rate| rate.parse().unwrap());
        let listen = "127.0.0.1:0".parse().unwrap();
        let server = Server::new(&scratch.source(), listen, servers).unwrap();
        let session = session(&server, Some(clients));
        let begun = Instant::now();
        let fetched = beside(&server, fetch(&session, &scratch.plan())).await;
        assert_eq!(fetched.unwrap().received, 1_000_000);
        // A second, less the first burst.
        let took = begun.elapsed();
        let least = Duration::from_millis(900);
        assert!(took >= least, "{took:?} with {servers:?}, {clients}");
    }
}

/// With turns the large file would get as much as the other.
#[tokio::test]
async fn a_chosen_file_overtakes_a_large_one_that_is_on_its_way() {
    let scratch = Scratch::new("overtaken");
    fs::write(scratch.source().join("large"), noise(1, 16_000_000)).unwrap();
    fs::write(scratch.source().join("small"), noise(2, 4_000_000)).unwrap();
    let server = serve(&scratch.source());
    let session = session(&server, Some("40mbit"));
    let plan = |path: &str| Plan {
        path: path.to_owned(),
        first: Some("small".to_owned()),
        ..scratch.plan()
    };
    let (large, small) = (plan("large"), plan("small"));
    let chosen = async {
        while session.received() < 100_000 {
            tokio::task::yield_now().await;
        }
        let before = session.received();
        let fetched = fetch(&session, &small).await.unwrap();
        (fetched, session.received() - before)
    };
    let race = async {
        tokio::select! {
            result = fetch(&session, &large) => panic!("not overtaken: {result:?}"),
            chosen = chosen => chosen,
        }
    };
    let (fetched, received) = beside(&server, race).await;
    assert_eq!(fetched.received, 4_000_000);
    scratch.assert_equal("small");
    let others = received - 4_000_000;
    // What had left, or was about to, until the server had read the request.
    assert!(others < 2_000_000, "{others} of the large file");
}

#[tokio::test]
async fn a_partial_file_that_is_wrong_is_noticed_and_fetched_anew() {
    let scratch = Scratch::new("corrupted");
    let content = noise(2, 500_000);
    fs::write(scratch.source().join("film"), &content).unwrap();
    let server = serve(&scratch.source());
    let session = session(&server, None);
    beside(&server, async {
        fs::create_dir_all(scratch.copy()).unwrap();
        for (name, part) in [
            ("wrong", noise(3, 200_000)),
            ("too long", noise(4, 600_000)),
        ] {
            fs::write(scratch.copy().join("film.part"), part).unwrap();
            let summary = fetch(&session, &scratch.plan()).await.unwrap();
            assert_eq!(summary.resumed, 0, "{name}");
            scratch.assert_equal("film");
            fs::remove_file(scratch.copy().join("film")).unwrap();
        }
        // What is right but not all is taken over.
        fs::write(scratch.copy().join("film.part"), &content[..200_000]).unwrap();
        let summary = fetch(&session, &scratch.plan()).await.unwrap();
        assert_eq!((summary.resumed, summary.received), (200_000, 300_000));
    })
    .await;
}

/// That the server says so of a path, to both requests.
async fn assert_refused(session: &Session, path: &str) {
    let list = Request::List {
        path: path.to_owned(),
    };
    let get = Request::Get {
        path: path.to_owned(),
        offset: 0,
        priority: 0,
    };
    for request in [list, get] {
        let error = session
            .ask(&request)
            .await
            .map(|(reply, _)| reply)
            .unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, SyncError::Refused(_)), "{text}");
        assert!(
            text.starts_with(&format!("the server says: {path:?} ")),
            "{text}"
        );
    }
}

#[tokio::test]
async fn nothing_outside_the_directory_is_served() {
    let scratch = Scratch::new("outside");
    fs::write(scratch.0.join("secret"), "secret").unwrap();
    fs::write(scratch.source().join("film"), "film").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(scratch.0.join("secret"), scratch.source().join("link")).unwrap();
    let server = serve(&scratch.source());
    let session = session(&server, None);
    beside(&server, async {
        for path in [
            "../secret",
            "../../etc/passwd",
            "/etc/passwd",
            "deep/../../secret",
            "a\\b",
        ] {
            assert_refused(&session, path).await;
        }
        assert_refused(&session, "missing").await;
        if cfg!(unix) {
            assert_refused(&session, "link").await;
        }
        // What links out is not in the list either.
        let (reply, _) = session
            .ask(&Request::List {
                path: String::new(),
            })
            .await
            .unwrap();
        let Reply::Files(files) = reply else {
            panic!("{reply:?}");
        };
        assert_eq!(files.len(), 1);
        let beyond = Request::Get {
            path: "film".to_owned(),
            offset: 5,
            priority: 0,
        };
        let error = session
            .ask(&beyond)
            .await
            .map(|(reply, _)| reply)
            .unwrap_err();
        assert!(
            error.to_string().ends_with("fewer than 5; begin at 0"),
            "{error}"
        );
    })
    .await;
}

#[test]
fn a_server_cannot_name_a_file_outside_the_directory() {
    for path in ["../x", "/x", "a/../../x", "c:x", "a\0"] {
        let error = example::paths::relative(path).unwrap_err().to_string();
        assert!(
            error.contains("expected a path below the directory"),
            "{error}"
        );
    }
    assert_eq!(
        example::paths::relative("a/b.c").unwrap(),
        Path::new("a/b.c")
    );
}

#[tokio::test]
async fn an_address_without_this_server_is_named_within_seconds() {
    let scratch = Scratch::new("nobody");
    let server = serve(&scratch.source());
    // It reads nothing.
    let holder = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let silent = holder.local_addr().unwrap();
    let session = Session::new(silent, &server.fingerprint(), None).unwrap();
    let begun = Instant::now();
    let error = fetch(&session, &scratch.plan()).await.unwrap_err();
    let took = begun.elapsed();
    let expected = format!(
        "{silent}: no server answers within 4s; start one there, or name another address with \
         --server"
    );
    assert_eq!(error.to_string(), expected);
    // Without the limit it is a minute.
    assert!(took < Duration::from_secs(15), "{took:?}");

    let address = server.local_addr().unwrap();
    let other = serve(&scratch.source()).fingerprint();
    let session = Session::new(address, &other, None).unwrap();
    let error = beside(&server, fetch(&session, &scratch.plan())).await;
    let text = error.unwrap_err().to_string();
    assert!(
        text.starts_with(&format!("{address}: no connection (")),
        "{text}"
    );
    assert!(text.ends_with("are of the same server"), "{text}");
}

#[tokio::test]
async fn after_a_lost_connection_the_next_request_is_early() {
    let scratch = Scratch::new("lost");
    let server = serve(&scratch.source());
    let session = session(&server, None);
    beside(&server, async {
        for is_early in [false, true] {
            let path = String::new();
            let (reply, stream) = session.ask(&Request::List { path }).await.unwrap();
            assert_eq!(reply, Reply::Files(Vec::new()));
            assert_eq!(stream.is_0rtt(), is_early);
            session.close().await;
        }
    })
    .await;
}

#[test]
fn small_files_go_before_large_ones_and_chosen_ones_before_all() {
    let sizes = [0, 1, 1_000, 1_000_000, 1 << 50, u64::MAX];
    let priorities = sizes.map(|size| priority(false, size));
    assert!(
        priorities.is_sorted_by(|small, large| small >= large),
        "{priorities:?}"
    );
    assert!(priorities[1] > priorities[2] && priorities[2] > priorities[3]);
    assert!(priority(true, u64::MAX) > priority(false, 0));
}

#[tokio::test]
async fn a_directory_or_an_address_that_cannot_be_is_named() {
    let scratch = Scratch::new("named");
    let error = |root: &Path, listen: &str| {
        let server = Server::new(root, listen.parse().unwrap(), None);
        server.err().unwrap().to_string()
    };
    let missing = scratch.0.join("missing");
    let text = error(&missing, "127.0.0.1:0");
    assert!(text.starts_with(missing.to_str().unwrap()), "{text}");
    assert!(text.ends_with("name a directory that exists"), "{text}");
    let holder = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let held = holder.local_addr().unwrap().to_string();
    let text = error(&scratch.source(), &held);
    assert!(
        text.starts_with(&held) && text.ends_with("with --listen"),
        "{text}"
    );
}
