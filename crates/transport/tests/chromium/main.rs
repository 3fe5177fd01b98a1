//! WebTransport with headless Chromium as the client, which knows the server's certificate by its
//! hash. Skipped, loudly, where there is no Chromium.
//!
//! The page reports what it has seen in a stream of a session of its own. Nothing here depends on
//! how fast the machine is; a limit of two minutes turns what hangs into a failure.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[expect(dead_code, reason = "its main is not run")]
#[path = "../../examples/webtransport_server/main.rs"]
mod example;

use paceline::rustls::pki_types::CertificateDer;
use paceline::tls::{self, SelfSigned};
use paceline::units::Bytes;
use paceline::webtransport::{ALPN, Connection, ReadError, Session, SessionError, StreamCode};
use paceline::{ConnectionError, Endpoint, TransportConfig};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

const LARGE: usize = 10_000_000;

/// What the page does; it throws where something is not as it has to be.
const PAGE: &str = r#"<!doctype html><meta charset="utf-8"><script>
const URL_ = 'URL', HASH = new Uint8Array(HASH_BYTES), LARGE = 10000000;
const options = {serverCertificateHashes: [{algorithm: 'sha-256', value: HASH}]};
const hex = async data => Array.from(new Uint8Array(await crypto.subtle.digest('SHA-256', data)),
  byte => byte.toString(16).padStart(2, '0')).join('');
const all = stream => new Response(stream).arrayBuffer();
const send = async (stream, data) => {
  const writer = stream.getWriter();
  for (let at = 0; at < data.length; at += 65536) await writer.write(data.subarray(at, at + 65536));
  await writer.close();
};
const text = data => new TextEncoder().encode(data);
const open = async path => {
  const session = new WebTransport(URL_ + path, options);
  await session.ready;
  return session;
};
async function run(report) {
  const noise = new Uint8Array(LARGE);
  for (let at = 0; at < LARGE; at += 65536) {
    crypto.getRandomValues(noise.subarray(at, Math.min(at + 65536, LARGE)));
  }
  const session = await open('/data');
  // Up, and its hash back.
  const up = await session.createBidirectionalStream();
  const [hash] = await Promise.all([new Response(up.readable).text(), send(up.writable, noise)]);
  await report('up ' + (hash === await hex(noise)));
  // Down, in a stream that the server opens.
  const {value: down} = await session.incomingUnidirectionalStreams.getReader().read();
  await report('down ' + await hex(await all(down)));
  // One that the browser opens, and one in both directions from the server.
  await send(await session.createUnidirectionalStream(), text('from the browser'));
  const {value: both} = await session.incomingBidirectionalStreams.getReader().read();
  const said = new TextDecoder().decode(await all(both.readable));
  await send(both.writable, text(said.toUpperCase()));
  // Datagrams may be lost, so that they are sent until one is back.
  const reader = session.datagrams.readable.getReader();
  const writer = session.datagrams.writable.getWriter();
  const again = setInterval(() => writer.write(text('ping')), 50);
  const {value} = await reader.read();
  clearInterval(again);
  await report('datagram ' + new TextDecoder().decode(value));
  // Codes of streams, both ways.
  const codes = await session.createBidirectionalStream();
  const chunk = codes.writable.getWriter();
  await chunk.write(text('codes'));
  const read = await codes.readable.getReader().read().catch(error => error);
  await report('reset ' + read.streamErrorCode);
  await chunk.abort(new WebTransportError({streamErrorCode: 77, message: ''})).catch(() => {});
  // The server's close, and the browser's.
  const closed = await session.closed;
  await report(`closed ${closed.closeCode} ${closed.reason}`);
  const other = await open('/close');
  other.close({closeCode: 4000000000, reason: 'all seen'});
  await other.closed;
  // A path that the server rejects, and a connection that is cut.
  const missing = new WebTransport(URL_ + '/missing', options);
  missing.closed.catch(() => {});
  await report('missing ' + await missing.ready.then(() => 'there', error => error.name));
  const cut = await open('/cut');
  // Which may be cut before it is delivered.
  cut.createUnidirectionalStream().then(stream => send(stream, text('ready'))).catch(() => {});
  await report('cut ' + await cut.closed.then(() => 'cleanly', error => error.name));
}
(async () => {
  const session = await open('/report');
  const writer = (await session.createUnidirectionalStream()).getWriter();
  const report = line => writer.write(text(line + '\n'));
  await run(report).catch(error => report('failed: ' + error));
  await writer.close();
  // Ends abruptly, with the browser.
  await open('/until-killed');
})();
</script>"#;

#[tokio::test]
async fn chromium_uses_sessions_streams_and_datagrams() {
    let Some(chromium) = installed() else {
        return;
    };
    let work = async {
        let certificate = fortnight();
        let mut config = certificate.server().alpn(&[ALPN]).config().unwrap();
        let mut transport = TransportConfig::default();
        let silence = Duration::from_secs(15).try_into().unwrap();
        transport.max_idle_timeout(Some(silence));
        config.transport_config(Arc::new(transport));
        let endpoint = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
        let hash = format!("{:?}", certificate.fingerprint.as_bytes());
        let url = format!("'https://{}'", endpoint.local_addr().unwrap());
        let page = PAGE.replace("HASH_BYTES", &hash).replace("'URL'", &url);
        let mut browser = Browser::open(&chromium, "sessions", serve_page(page).await);
        let down = noise(LARGE);
        let expected = Arc::new([
            "up true".to_owned(),
            format!("down {}", hex(&down)),
            "datagram ping".to_owned(),
            "reset 4294967295".to_owned(),
            "closed 3000000000 ça suffit".to_owned(),
            "missing WebTransportError".to_owned(),
            "cut WebTransportError".to_owned(),
        ]);
        let mut tasks = tokio::task::JoinSet::new();
        let mut report = None;
        while !tasks.is_empty() || report.is_none() {
            tokio::select! {
                attempt = endpoint.accept() => {
                    let connection = Connection::new(attempt.unwrap().await.unwrap());
                    let request = connection.accept().await.unwrap();
                    let path = request.path().to_owned();
                    if path == "/missing" {
                        drop(request);
                        continue;
                    }
                    let session = request.accept().await.unwrap();
                    match path.as_str() {
                        "/data" => drop(tasks.spawn(exchange(session, down.clone()))),
                        "/close" => drop(tasks.spawn(closes(session))),
                        "/cut" => drop(tasks.spawn(async move {
                            session.accept_uni().await.unwrap();
                            session.connection().close(9_u32.into(), b"cut");
                        })),
                        "/report" => drop(tasks.spawn(reported(session, Arc::clone(&expected)))),
                        "/until-killed" => {
                            report = Some(());
                            browser.kill();
                            // Nothing comes any more: only silence ends this.
                            let end = session.closed().await;
                            let silence = ConnectionError::TimedOut;
                            let lost = end == SessionError::ConnectionLost(silence);
                            assert!(lost, "{end:?}");
                        }
                        other => panic!("{other}"),
                    }
                }
                Some(done) = tasks.join_next() => done.unwrap(),
            }
        }
    };
    let limited = tokio::time::timeout(Duration::from_secs(120), work).await;
    limited.expect("hangs");
}

/// The server's side of what the page does.
async fn exchange(session: Session, down: Vec<u8>) {
    let (mut send, mut recv) = session.accept_bi().await.unwrap();
    let up = recv.read_to_end(LARGE).await.unwrap();
    assert_eq!(up.len(), LARGE);
    send.write_all(hex(&up).as_bytes()).await.unwrap();
    send.finish().unwrap();
    let mut stream = session.open_uni().await.unwrap();
    stream.write_all(&down).await.unwrap();
    stream.finish().unwrap();
    let mut stream = session.accept_uni().await.unwrap();
    let said = stream.read_to_end(100).await.unwrap();
    assert_eq!(said, b"from the browser");
    let (mut send, mut recv) = session.open_bi().await.unwrap();
    send.write_all(b"loud").await.unwrap();
    send.finish().unwrap();
    assert_eq!(recv.read_to_end(100).await.unwrap(), b"LOUD");
    let ping = session.read_datagram().await.unwrap();
    assert_eq!(ping, "ping");
    let (mut send, mut recv) = loop {
        // Until the page has one.
        tokio::select! {
            stream = session.accept_bi() => break stream.unwrap(),
            () = tokio::time::sleep(Duration::from_millis(50)) => {
                session.send_datagram(&ping).unwrap();
            }
        }
    };
    assert_eq!(recv.read_chunk(100).await.unwrap().unwrap(), "codes");
    send.reset(u32::MAX).unwrap();
    let aborted = recv.read_chunk(100).await;
    let code = StreamCode::Application(77);
    assert_eq!(aborted, Err(ReadError::Reset(code)));
    session.close(3_000_000_000, "ça suffit");
}

/// What the page has seen, line by line.
async fn reported(session: Session, expected: Arc<[String; 7]>) {
    let mut stream = session.accept_uni().await.unwrap();
    let lines = stream.read_to_end(10_000).await.unwrap();
    let lines = String::from_utf8(lines).unwrap();
    assert_eq!(lines.lines().collect::<Vec<_>>(), *expected);
}

async fn closes(session: Session) {
    let expected = SessionError::Closed {
        code: 4_000_000_000,
        reason: "all seen".to_owned(),
    };
    assert_eq!(session.closed().await, expected);
}

/// The example: its page starts by itself and downloads under two controllers. What it shows of
/// them is possible over the link: a goodput below its rate, and an RTT of its delay at least.
#[tokio::test]
async fn chromium_shows_the_goodput_and_rtt_of_each_controller_on_the_examples_page() {
    let Some(chromium) = installed() else {
        return;
    };
    let args = ["", "--page", "127.0.0.1:0", "--listen", "127.0.0.1:0"];
    let args = <example::Args as clap::Parser>::parse_from(args);
    let mut server = example::Server::start(args).await.unwrap();
    let (reports, mut shown) = mpsc::channel(1_000);
    let reader = read_reports(reports).await;
    server.html.push_str(&REPORTS.replace("READER", &reader));
    let page = format!("{}/#run", server.page_address().unwrap());
    let (endpoint, relay) = (server.endpoint.clone(), Arc::clone(&server.relay));
    tokio::spawn(server.run());
    let _browser = Browser::open(&chromium, "example", page);
    let work = async {
        let mut rows = BTreeMap::<String, Vec<[f64; 2]>>::new();
        // Two controllers, and the session that changes the link after eight seconds.
        while endpoint.open_connections() < 3
            || relay.stats().return_link.delivered.bytes < Bytes::new(2_000_000)
        {
            tokio::select! {
                row = shown.recv() => {
                    let (name, figures) = row.unwrap();
                    rows.entry(name).or_default().push(figures);
                }
                () = tokio::time::sleep(Duration::from_millis(50)) => {}
            }
        }
        rows
    };
    let limited = tokio::time::timeout(Duration::from_secs(120), work).await;
    let rows = limited.expect("the page downloads");
    assert_eq!(rows.keys().collect::<Vec<_>>(), ["bbr3", "cubic"]);
    for (name, rows) in rows {
        assert!(rows.len() >= 8, "{name}: {rows:?}");
        let goodput = rows.iter().map(|row| row[0]).sum::<f64>() / rows.len() as f64;
        assert!((0.1..20.0).contains(&goodput), "{name}: {goodput} Mbit/s");
        let least = rows.iter().map(|row| row[1]).fold(f64::MAX, f64::min);
        assert!((20.0..1_000.0).contains(&least), "{name}: {least} ms");
    }
}

/// Tells the test what the page's table shows, once each time that it is drawn.
const REPORTS: &str = r#"<script>
const drawn = draw;
draw = () => {
  drawn();
  const rows = [...document.querySelectorAll('#rows tr')].map(row =>
    [...row.cells].map(cell => cell.textContent).join(','));
  if (rows.length) fetch('http://READER/?' + rows.join(';'), {mode: 'no-cors'}).catch(() => {});
};
</script>"#;

/// Where [`REPORTS`] go: of each row with figures the name, the goodput and the RTT.
async fn read_reports(reports: mpsc::Sender<(String, [f64; 2])>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((browser, _)) = listener.accept().await {
            let mut browser = BufReader::new(browser);
            let mut line = String::new();
            browser.read_line(&mut line).await.unwrap();
            let query = line.split([' ', '?']).nth(2).unwrap_or_default();
            for row in query.split(';') {
                let mut cells = row.split(',');
                let name = cells.next().unwrap().to_owned();
                let figures: Vec<f64> = cells.map_while(|cell| cell.parse().ok()).collect();
                // Before the first figures there are dashes.
                if let [goodput, rtt, _lost] = figures[..] {
                    let _ = reports.try_send((name, [goodput, rtt]));
                }
            }
            let _ = browser.write_all(b"HTTP/1.1 204 Seen\r\n\r\n").await;
        }
    });
    address
}

/// A certificate that browsers take by its hash.
fn fortnight() -> SelfSigned {
    #[expect(
        clippy::disallowed_methods,
        reason = "a certificate is valid by the wall clock"
    )]
    let begin = SystemTime::now() - Duration::from_secs(3600);
    let end = begin + Duration::from_secs(14 * 24 * 3600);
    SelfSigned::generate_valid(["localhost", "127.0.0.1"], begin..=end).unwrap()
}

/// Serves a page over TCP; returns where.
async fn serve_page(page: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((browser, _)) = listener.accept().await {
            // One that leaves early needs no page.
            let _ = example::send_page(browser, &page).await;
        }
    });
    address
}

/// A browser without a window; it ends when this is dropped.
struct Browser {
    process: Child,
    profile: PathBuf,
}

impl Browser {
    fn open(program: &str, name: &str, address: String) -> Self {
        let name = format!("webtransport-{name}-{}", std::process::id());
        let profile = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let process = Command::new(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
            ])
            .arg("--disable-background-timer-throttling")
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(format!("http://{address}"))
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { process, profile }
    }

    fn kill(&mut self) {
        // All its processes at once, so that none closes a connection because another has gone.
        if self.process.try_wait().unwrap().is_some() {
            return;
        }
        let group = format!("-{}", self.process.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.process.wait();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.kill();
        // What the browser's other processes still write stays.
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

/// `None`, which is said, where there is no Chromium.
fn installed() -> Option<String> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = names.into_iter().find(|name| {
        let asked = Command::new(name).arg("--version").output();
        asked.is_ok_and(|output| output.status.success())
    });
    if found.is_none() {
        // Not by `eprintln!`, which tests that pass swallow.
        let why = b"SKIPPED: there is no Chromium here; install the package chromium\n";
        std::io::stderr().write_all(why).unwrap();
    }
    found.map(str::to_owned)
}

/// SHA-256, which is what fingerprints are.
fn hex(data: &[u8]) -> String {
    tls::Fingerprint::of(&CertificateDer::from(data)).to_string()
}

fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        bytes.extend((state ^ (state >> 29)).to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}
