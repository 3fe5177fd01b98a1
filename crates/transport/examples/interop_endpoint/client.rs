//! Fetches files over HTTP/0.9 or HTTP/3.

use crate::case::Case;
use crate::{Args, H3, HQ, Result, h3_client};
use bytes::Bytes;
use http::Uri;
use paceline::tls::{self, Cipher};
use paceline::{ClientConfig, Connection, Endpoint, h3 as h3_transport};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::fs::File;
use tokio::io::{AsyncWriteExt, BufWriter, copy};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Fetches what was asked for, as the case wants it.
pub(crate) async fn fetch(case: Case, args: &Args) -> Result<()> {
    let first = args.requests.first();
    let first = first.ok_or("no URLs: name what is to be fetched")?;
    let client = Client::to(first, case, args).await?;
    match case {
        Case::MultiConnect => {
            for request in &args.requests {
                client.fetch(std::slice::from_ref(request)).await?;
            }
        }
        Case::Resumption => {
            let (first, others) = args.requests.split_at(1);
            client.fetch(first).await?;
            client.fetch(others).await?;
        }
        Case::ZeroRtt => {
            let (first, others) = args.requests.split_at(1);
            wait_for_millisecond(0..100).await;
            client.fetch(first).await?;
            wait_for_millisecond(600..800).await;
            client.fetch(others).await?;
        }
        _ => client.fetch(&args.requests).await?,
    }
    client.endpoint.wait_idle().await;
    Ok(())
}

struct Client<'a> {
    case: Case,
    args: &'a Args,
    endpoint: Endpoint,
    server: SocketAddr,
    host: String,
    /// With the sessions of earlier connections.
    config: ClientConfig,
}

impl<'a> Client<'a> {
    async fn to(url: &Uri, case: Case, args: &'a Args) -> Result<Self> {
        let host = url.host().ok_or("expected https://HOST:PORT/FILE")?;
        let host = host.trim_matches(['[', ']']).to_owned();
        let port = url.port_u16().unwrap_or(443);
        let found = tokio::net::lookup_host((host.as_str(), port)).await?.next();
        let server = found.ok_or("the host has no address")?;
        let is_h3 = case == Case::Http3 || args.h3;
        // The runner's certificates are of its own authority, which it does not hand out.
        let mut tls = tls::client_without_verification()
            .alpn(&[if is_h3 { H3 } else { HQ }])
            .key_log();
        if case == Case::ChaCha20 {
            tls = tls.cipher(Cipher::ChaCha20);
        }
        Ok(Self {
            case,
            args,
            endpoint: Endpoint::client(any(server))?,
            server,
            host,
            config: tls.config()?,
        })
    }

    /// A connection, in the case of 0-RTT before its handshake is over.
    async fn connect(&self) -> Result<Connection> {
        let mut config = self.config.clone();
        config.transport_config(Arc::new(self.args.transport()));
        let connecting = self
            .endpoint
            .connect_with(config, self.server, &self.host)?;
        if self.case != Case::ZeroRtt {
            return Ok(connecting.await?);
        }
        match connecting.into_0rtt() {
            Ok((connection, _)) => Ok(connection),
            Err(connecting) => Ok(connecting.await?),
        }
    }

    /// These files over a connection of their own.
    async fn fetch(&self, requests: &[Uri]) -> Result<()> {
        let connection = self.connect().await?;
        let fetched = if self.case == Case::Http3 || self.args.h3 {
            self.fetch_h3(&connection, requests).await
        } else if self.case == Case::Datagrams {
            self.fetch_datagrams(&connection, requests).await
        } else {
            self.fetch_hq(&connection, requests).await
        };
        eprintln!("{}", facts(&connection));
        connection.close(0_u32.into(), b"");
        fetched
    }

    async fn fetch_h3(&self, connection: &Connection, requests: &[Uri]) -> Result<()> {
        let h3 = h3_transport::Connection::new(connection.clone());
        let (mut driver, sender) = h3::client::new(h3).await?;
        let closed = tokio::spawn(async move { driver.wait_idle().await });
        let mut fetching = JoinSet::new();
        for request in requests {
            let (mut sender, request, path) =
                (sender.clone(), request.clone(), self.path(request)?);
            fetching.spawn(async move {
                // At once: tokio's own would take longer than the handshake that 0-RTT is ahead of.
                let file = File::from_std(std::fs::File::create(path)?);
                let mut file = BufWriter::with_capacity(BUFFER, file);
                let (status, _) = h3_client::fetch(&mut sender, request, &mut file).await?;
                match status.is_success() {
                    true => Ok(()),
                    false => Err(format!("the server answers {status}").into()),
                }
            });
        }
        let fetched = self.finish(connection, fetching).await;
        drop(sender);
        let _ = closed.await;
        fetched
    }

    async fn fetch_hq(&self, connection: &Connection, requests: &[Uri]) -> Result<()> {
        let mut fetching = JoinSet::new();
        for request in requests {
            let (connection, path) = (connection.clone(), self.path(request)?);
            let request = format!("GET {}\r\n", request.path());
            fetching.spawn(fetch_file(connection, request, path));
        }
        self.finish(connection, fetching).await
    }

    /// One after the other; what is lost is asked for again.
    async fn fetch_datagrams(&self, connection: &Connection, requests: &[Uri]) -> Result<()> {
        for request in requests {
            let get = Bytes::from(format!("GET {}\r\n", request.path()));
            for _ in 0..ATTEMPTS {
                connection.send_datagram(get.clone())?;
                if let Ok(content) = timeout(LOST, connection.read_datagram()).await {
                    std::fs::write(self.path(request)?, content?)?;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Waits for the files, and for what is to be had of the connection besides.
    async fn finish(&self, connection: &Connection, fetching: JoinSet<Result<()>>) -> Result<()> {
        self.disturb(connection).await?;
        all(fetching).await?;
        // The session's ticket comes after the handshake, and nothing tells of it.
        if [Case::Resumption, Case::ZeroRtt].contains(&self.case) {
            sleep(TICKET).await;
        }
        Ok(())
    }

    /// What a case has happen in the midst of a transfer.
    async fn disturb(&self, connection: &Connection) -> Result<()> {
        if ![Case::KeyUpdate, Case::Migration].contains(&self.case) {
            return Ok(());
        }
        while connection.stats().udp_rx.datagrams < MIDST && connection.close_reason().is_none() {
            sleep(Duration::from_millis(1)).await;
        }
        if self.case == Case::KeyUpdate {
            connection.force_key_update();
        } else {
            self.endpoint.rebind(UdpSocket::bind(any(self.server))?)?;
        }
        Ok(())
    }

    fn path(&self, request: &Uri) -> Result<PathBuf> {
        let name = Path::new(request.path()).file_name();
        Ok(self.args.downloads.join(name.ok_or("a URL names no file")?))
    }
}

async fn fetch_file(connection: Connection, request: String, path: PathBuf) -> Result<()> {
    let (mut send, mut recv) = connection.open_bi().await?;
    send.write_all(request.as_bytes()).await?;
    send.finish()?;
    let mut file = BufWriter::with_capacity(BUFFER, File::create(path).await?);
    copy(&mut recv, &mut file).await?;
    Ok(file.flush().await?)
}

/// Waits for a time that is so far into a second of the clock.
///
/// rustls counts a ticket's age in whole seconds of the clock, so that it may be up to a second too
/// high, and GnuTLS accepts no early data with a ticket that is older than it can be. A ticket that
/// came earlier in a second than it is used has an age that is not too high.
async fn wait_for_millisecond(wanted: Range<u32>) {
    #[expect(
        clippy::disallowed_methods,
        reason = "rustls counts a ticket's age by the wall clock"
    )]
    let of_second = || {
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        time.map_or(0, |time| time.subsec_millis())
    };
    while !wanted.contains(&of_second()) {
        sleep(Duration::from_millis(5)).await;
    }
}

async fn all(mut fetching: JoinSet<Result<()>>) -> Result<()> {
    while let Some(fetched) = fetching.join_next().await {
        fetched??;
    }
    Ok(())
}

/// What a connection was, for whoever asks whether a case was what its name says.
pub(crate) fn facts(connection: &Connection) -> String {
    let stats = connection.stats();
    let ecn = stats.ecn;
    format!(
        "{}: ECT(0) sent {} received {}, lost packets {}",
        connection.remote_address(),
        ecn.sent_ect0,
        ecn.received_ect0,
        stats.path.lost_packets,
    )
}

fn any(server: SocketAddr) -> SocketAddr {
    match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

/// So many datagrams of the server have come by then; the files of such cases are larger.
const MIDST: u64 = 50;
/// Far more than a ticket takes on the runner's links.
const TICKET: Duration = Duration::from_millis(300);
/// How long a datagram's answer may take, and how often it is asked for.
const LOST: Duration = Duration::from_millis(200);
const ATTEMPTS: u32 = 20;
/// Data comes packet by packet, and each write of a file goes to another thread.
const BUFFER: usize = 1 << 20;
