//! The libraries, each by an endpoint program of the interop runner's kind: `tests/interop`.

use e2e::programs::example;
use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::process::{Child, Command};

/// A library whose endpoint can be started.
#[derive(Debug, Clone)]
pub(crate) struct Stack {
    pub(crate) name: &'static str,
    pub(crate) script: PathBuf,
    pub(crate) environment: Vec<(&'static str, PathBuf)>,
    /// Everybody talks HTTP/3 to it.
    pub(crate) is_h3_only: bool,
    /// It is no server.
    pub(crate) is_client_only: bool,
}

/// What an endpoint is started for.
#[derive(Debug)]
pub(crate) struct Task<'a> {
    pub(crate) case: &'a str,
    pub(crate) window: Option<u32>,
    pub(crate) is_h3: bool,
    pub(crate) directory: &'a Path,
}

impl Stack {
    pub(crate) fn ours() -> Self {
        Self {
            name: "Paceline",
            script: folder().join("run_endpoint.sh"),
            environment: vec![("INTEROP_ENDPOINT", example("interop_endpoint"))],
            is_h3_only: false,
            is_client_only: false,
        }
    }

    /// Gives its programs one more variable.
    pub(crate) fn set(&mut self, name: &'static str, value: &Path) {
        self.environment.push((name, value.to_owned()));
    }

    /// That of `tests/interop/stacks/NAME.sh`, made in `place`; or why it cannot be had.
    pub(crate) fn other(name: &'static str, place: &Path) -> Result<Self, String> {
        let script = format!("{}.sh", name.to_lowercase());
        let script = folder().join("stacks").join(script);
        let prepared = std::process::Command::new(&script)
            .arg("prepare")
            .env("STACKS", place)
            .output();
        let prepared = prepared.map_err(|error| format!("{name}: {error}"))?;
        if !prepared.status.success() {
            let why = String::from_utf8_lossy(&prepared.stderr);
            return Err(format!("{name}: {}", why.trim()));
        }
        Ok(Self {
            name,
            script,
            environment: vec![("STACKS", place.to_owned())],
            is_h3_only: ["ngtcp2", "Chromium"].contains(&name),
            is_client_only: name == "Chromium",
        })
    }

    /// Starts its server, and waits until it listens.
    pub(crate) async fn serve(&self, task: &Task<'_>, ip: IpAddr) -> Result<Server, Served> {
        let port = free_port();
        let mut command = self.command("server", task);
        let mut child = command.env("PORT", port.to_string()).spawn().unwrap();
        let listens = async {
            loop {
                if let Some(status) = child.try_wait().unwrap() {
                    return Err(status);
                }
                if is_taken(port) {
                    return Ok(());
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        match tokio::time::timeout(Duration::from_secs(20), listens).await {
            Ok(Ok(())) => Ok(Server {
                address: SocketAddr::new(ip, port),
                child,
            }),
            Ok(Err(status)) if is_unsupported(status) => Err(Served::Unsupported),
            Ok(Err(status)) => Err(Served::Failed(format!("the server ends: {status}"))),
            Err(_) => Err(Served::Failed("the server does not listen".to_owned())),
        }
    }

    /// Runs its client to its end.
    pub(crate) async fn fetch(&self, task: &Task<'_>, requests: &str) -> ExitStatus {
        let mut command = self.command("client", task);
        command.env("REQUESTS", requests).status().await.unwrap()
    }

    fn command(&self, role: &str, task: &Task<'_>) -> Command {
        let in_directory = |name: &str| task.directory.join(name);
        // Into files: some say more than a pipe holds.
        let log = File::create(in_directory(&format!("{role}.log"))).unwrap();
        let mut command = Command::new(&self.script);
        let mut parameters = String::new();
        if task.is_h3 {
            parameters.push_str("--h3 ");
        }
        if let Some(window) = task.window {
            parameters.push_str(&format!("--window {window}"));
            command.env("WINDOW", window.to_string());
        }
        command
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env("ROLE", role)
            .env("TESTCASE", task.case)
            .env("CLIENT_PARAMS", &parameters)
            .env("SSLKEYLOGFILE", in_directory(&format!("{role}.keys")))
            .env("WWW", in_directory("www"))
            .env("CERTS", in_directory("certs"))
            .env("DOWNLOADS", in_directory("downloads"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .kill_on_drop(true);
        command
    }
}

/// Why there is no server.
#[derive(Debug)]
pub(crate) enum Served {
    Unsupported,
    Failed(String),
}

/// A server that runs until this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    child: Child,
}

impl Server {
    pub(crate) async fn stop(mut self) {
        // It fails when it has ended already.
        let _ = self.child.kill().await;
    }
}

pub(crate) fn is_unsupported(status: ExitStatus) -> bool {
    status.code() == Some(127)
}

/// What the client or the server has said.
pub(crate) fn said(role: &str, directory: &Path) -> String {
    let log = std::fs::read(directory.join(format!("{role}.log")));
    String::from_utf8_lossy(&log.unwrap_or_default()).into_owned()
}

/// Of those that the kernel gives to nobody by itself (`ip_local_port_range`): such a one may be
/// taken by another program before the server has it.
fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 20_000 + (std::process::id() % 240 * 50 + next) % 12_000;
        let port = u16::try_from(port).expect("it is below 32,000");
        if !is_taken(port) {
            return port;
        }
    }
}

/// Whether a socket of any process is bound to that UDP port.
fn is_taken(port: u16) -> bool {
    let port = format!(":{port:04X} ");
    let tables = ["/proc/net/udp", "/proc/net/udp6"].map(std::fs::read_to_string);
    let mut tables = tables.iter().flatten();
    tables.any(|table| table.lines().any(|line| line.contains(&port)))
}

/// Other libraries, as they are called in the table.
pub(crate) const OTHERS: [&str; 7] = [
    "quic-go", "aioquic", "ngtcp2", "quinn", "s2n-quic", "Chromium", "quiche",
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("interop")
}
