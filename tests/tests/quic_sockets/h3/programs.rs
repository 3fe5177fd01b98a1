//! Other people's programs, where they are installed: Chromium, and ngtcp2's client and server as
//! Debian packages them (`ngtcp2-client`, `ngtcp2-server`). Skipped, and said so, where not.

use crate::h3::files::Files;
use crate::h3::{NAME, connect, drive, h3_client, limited, noise, sha256};
use aws_lc_rs::digest::{SHA256, digest};
use e2e::programs::{example, scratch_file};
use paceline::tls::SelfSigned;
use rcgen::{KeyPair, PublicKeyData};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use tokio::process::{Child, Command};

/// Fetches a file by script, and says how it came and what it was.
const PAGE: &str = "<!doctype html><p id=said></p><script>
(async () => {
  const body = await (await fetch('/body')).arrayBuffer();
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', body));
  const hex = Array.from(hash, byte => byte.toString(16).padStart(2, '0')).join('');
  const by = performance.getEntriesByName(location.origin + '/body')[0].nextHopProtocol;
  said.textContent = `${body.byteLength} bytes by ${by}: ${hex}`;
})();
</script>
";

#[tokio::test]
async fn chromium_loads_a_page_and_what_the_page_asks_for() {
    let Some(chromium) = installed(&["chromium", "chromium-browser", "google-chrome"]) else {
        return skip("no Chromium");
    };
    let files = Files::serve("chromium");
    let body = noise(5_000_000);
    files.put("body", &body);
    files.put("index.html", PAGE.as_bytes());
    let profile = scratch_file("profile");
    let mut command = Command::new(chromium);
    let origin = format!("127.0.0.1:{}", files.address.port());
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        // The script's time: it stands still while a request is under way.
        .arg("--virtual-time-budget=20000")
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--origin-to-force-quic-on={origin}"))
        .arg(format!(
            "--ignore-certificate-errors-spki-list={}",
            key_hash(&files.certificate)
        ))
        .arg(format!("https://{origin}/"));
    let shown = output(command).await;
    let _ = std::fs::remove_dir_all(profile);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let expected = format!("5000000 bytes by h3: {}", hex(sha256(&body).as_ref()));
    assert!(shown.contains(&expected), "no `{expected}` in:\n{shown}");
}

#[tokio::test]
async fn our_client_writes_a_file_in_large_pieces() {
    let files = Files::serve("pieces");
    let body = noise(20_000_000);
    files.put("body", &body);
    let output = files.directory.join("below/body");
    let mut command = Command::new(example("h3_client"));
    command
        .args(["--insecure", "--output"])
        .arg(&output)
        .arg(format!("https://{}/body", files.address))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let child = start(&mut command);
    let id = child.id().expect("it runs");
    // What the kernel has counted of a process is there until its parent asks how it ended.
    let counted = tokio::task::spawn_blocking(move || {
        let id = Pid::from_raw(id.cast_signed()).expect("it is not 0");
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(id), options).unwrap();
        std::fs::read_to_string(format!("/proc/{}/io", id.as_raw_nonzero())).ok()
    });
    let Some(counted) = limited(counted).await.unwrap() else {
        return skip("no /proc/PID/io");
    };
    drop(child);
    assert_eq!(
        sha256(&std::fs::read(output).unwrap()).as_ref(),
        sha256(&body).as_ref()
    );
    let writes = counted
        .lines()
        .find_map(|line| line.strip_prefix("syscw: "));
    let writes: u64 = writes.expect("it counts").parse().unwrap();
    // One for each megabyte, and those by which threads wake each other.
    assert!(writes < MOST_WRITES, "{writes} calls of write");
}

/// A chunk of data has 64 KiB at most, so that there would be more if each were written by itself.
const MOST_WRITES: u64 = 250;

#[tokio::test]
async fn ngtcp2s_client_downloads_from_our_server() {
    let Some(client) = installed(&["gtlsclient"]) else {
        return skip("no client of ngtcp2");
    };
    let files = Files::serve("gtlsclient");
    let body = noise(5_000_000);
    files.put("body", &body);
    let downloads = files.directory.join("below");
    let mut command = Command::new(client);
    command
        .args(["--quiet", "--exit-on-all-streams-close"])
        .arg(format!("--download={}", downloads.display()))
        .args(["127.0.0.1", &files.address.port().to_string()])
        .arg(format!("https://{NAME}/body"));
    let ended = output(command).await;
    let downloaded = std::fs::read(downloads.join("body"));
    let downloaded = downloaded.unwrap_or_else(|error| panic!("{error}: {ended:?}"));
    assert_eq!(sha256(&downloaded).as_ref(), sha256(&body).as_ref());
}

#[tokio::test]
async fn our_client_downloads_from_ngtcp2s_server() {
    let Some(server) = installed(&["gtlsserver"]) else {
        return skip("no server of ngtcp2");
    };
    let directory = scratch_file("gtlsserver");
    std::fs::create_dir_all(&directory).unwrap();
    let certificate = SelfSigned::generate([NAME]).unwrap();
    let body = noise(5_000_000);
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| directory.join(name));
    std::fs::write(&cert, pem("CERTIFICATE", &certificate.cert)).unwrap();
    std::fs::write(&key, pem("PRIVATE KEY", certificate.key.secret_der())).unwrap();
    std::fs::write(directory.join("body"), &body).unwrap();
    let address = free_address();
    let mut command = Command::new(server);
    command
        .arg("--quiet")
        .arg(format!("--htdocs={}", directory.display()))
        .args([address.ip().to_string(), address.port().to_string()])
        .args([key, cert]);
    let _server = start(command.stdout(Stdio::null()).stderr(Stdio::null()));
    let mut requests = drive(connect(&certificate, address).await).await;
    let mut received = Vec::new();
    let uri = format!("https://{NAME}/body").parse().unwrap();
    let fetched = limited(h3_client::fetch(&mut requests, uri, &mut received)).await;
    assert_eq!(fetched.unwrap().0, 200);
    assert_eq!(sha256(&received).as_ref(), sha256(&body).as_ref());
    std::fs::remove_dir_all(directory).unwrap();
}

/// Runs a program to its end.
async fn output(mut command: Command) -> Output {
    let child = start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    limited(child.wait_with_output()).await.unwrap()
}

/// Killed when it is dropped.
fn start(command: &mut Command) -> Child {
    let command = command.stdin(Stdio::null()).kill_on_drop(true);
    command.spawn().unwrap()
}

/// The first of these programs that is there. Debian has servers in a folder that is not in
/// everybody's search path.
fn installed(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path)
        .chain([Path::new("/usr/sbin").to_owned()])
        .collect();
    let files = names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    files.into_iter().find(|file| file.is_file())
}

fn skip(why: &str) {
    e2e::skipped(&format!("{why} here"));
}

/// SHA-256 of the certificate's public key, in Base64: what Chromium calls a certificate by.
fn key_hash(certificate: &SelfSigned) -> String {
    let key = KeyPair::try_from(&certificate.key).unwrap();
    base64(digest(&SHA256, &key.subject_public_key_info()).as_ref())
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = base64(der);
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

/// RFC 4648 §4.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| {
            bits << 8 | usize::from(*group.get(at).unwrap_or(&0))
        });
        let digits = [18, 12, 6, 0].map(|shift| char::from(BASE64[bits >> shift & 63]));
        let used = group.len() + 1;
        text.extend(&digits[..used]);
        text.extend(std::iter::repeat_n('=', 4 - used));
    }
    text
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where nobody listened a moment ago.
fn free_address() -> SocketAddr {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.local_addr().unwrap()
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
