//! A server for browsers: WebTransport behind an emulated link, and a page that plots goodput and
//! RTT by controller while the link changes.
//!
//! `cargo run --release -p paceline --features webtransport --example webtransport_server`
//!
//! Then open the address that it prints in Chromium. The page has the SHA-256 of the certificate
//! in it, which is made anew at each start: no browser knows it otherwise.
//!
//! | path of the session | what it does |
//! |---|---|
//! | `/download?NAME` | sends as fast as the controller NAME permits, and its state in datagrams |
//! | `/echo` | returns streams and datagrams |
//! | `/link` | a stream with a link in tc's words makes it the link of all sessions |

#[path = "../shared/causes.rs"]
mod causes;

use causes::{failure, with_causes};
use clap::Parser;
use link_sim::LinkSpec;
use link_sim::relay::{Direction, Relay, RelayConfig, RelayHandle};
use paceline::webtransport::http::StatusCode;
use paceline::webtransport::{ALPN, Connection, RecvStream, Request, SendStream, Session};
use paceline::{Endpoint, tls};
use std::error::Error;
use std::fmt::{self, Write as _};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// A WebTransport server behind an emulated link, and a page for browsers.
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// TCP address of the page
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8080")]
    page: SocketAddr,
    /// UDP address that browsers send to
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:4433")]
    listen: SocketAddr,
    /// The link to the browser, in tc's words
    #[arg(long, default_value = "delay 20ms rate 20mbit queue 1bdp")]
    link: LinkSpec,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure("error", &*error),
    }
}

async fn run(args: Args) -> Result<()> {
    let server = Server::start(args).await?;
    let address = server.page_address()?;
    say(format_args!("open http://{address} in Chromium"));
    server.run().await
}

/// Prints a line. A server goes on when nobody reads what it says.
fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// The endpoint, the link before it, and the page's listener.
pub(crate) struct Server {
    pub(crate) endpoint: Endpoint,
    page: TcpListener,
    pub(crate) html: String,
    pub(crate) relay: Arc<RelayHandle>,
}

impl Server {
    pub(crate) async fn start(args: Args) -> Result<Self> {
        // What browsers take by its hash: P-256, and no more than two weeks.
        #[expect(
            clippy::disallowed_methods,
            reason = "a certificate is valid by the wall clock"
        )]
        let begin = SystemTime::now() - Duration::from_secs(3600);
        let end = begin + Duration::from_secs(14 * 24 * 3600);
        let names = ["localhost", "127.0.0.1"];
        let certificate = tls::SelfSigned::generate_valid(names, begin..=end)?;
        let config = certificate.server().alpn(&[ALPN]).config()?;
        let endpoint = Endpoint::server(config, "127.0.0.1:0".parse()?)?;
        let relay = Relay::spawn(RelayConfig {
            link: "delay 0ms".parse()?,
            return_link: args.link.clone(),
            ..RelayConfig::new(args.listen, endpoint.local_addr()?)
        })
        .map_err(|error| taken(args.listen, &error, "--listen"))?;
        let page = TcpListener::bind(args.page).await;
        let page = page.map_err(|error| taken(args.page, &error, "--page"))?;
        let hash = certificate
            .fingerprint
            .as_bytes()
            .map(|byte| byte.to_string());
        let config = format!(
            "{{url: 'https://{}', hash: [{}], link: '{}'}}",
            relay.local_addr(),
            hash.join(","),
            args.link
        );
        Ok(Self {
            endpoint,
            page,
            html: include_str!("page.html").replace("/*CONFIG*/ null", &config),
            relay: Arc::new(relay),
        })
    }

    /// Where the page is.
    pub(crate) fn page_address(&self) -> Result<SocketAddr> {
        Ok(self.page.local_addr()?)
    }

    /// Serves until the endpoint is closed.
    pub(crate) async fn run(self) -> Result<()> {
        let Self {
            endpoint,
            page,
            html,
            relay,
        } = self;
        tokio::spawn(async move {
            while let Ok((browser, _)) = page.accept().await {
                let html = html.clone();
                // One that leaves early needs no page.
                tokio::spawn(async move { drop(send_page(browser, &html).await) });
            }
        });
        while let Some(attempt) = endpoint.accept().await {
            let relay = Arc::clone(&relay);
            tokio::spawn(async move {
                let Ok(connection) = attempt.await else {
                    return;
                };
                let connection = Connection::new(connection);
                while let Ok(request) = connection.accept().await {
                    tokio::spawn(serve(request, Arc::clone(&relay)));
                }
            });
        }
        Ok(())
    }
}

fn taken(address: SocketAddr, error: &dyn Error, option: &str) -> String {
    format!("{address}: {error}; name another address with {option}")
}

async fn serve(request: Request, relay: Arc<RelayHandle>) {
    let controller = request.query().unwrap_or("cubic").to_owned();
    let path = request.path().to_owned();
    let served = match path.as_str() {
        "/download" => match request.connection().set_congestion(controller.as_str()) {
            Ok(()) => download(request).await,
            Err(_) => request
                .reject(StatusCode::BAD_REQUEST)
                .await
                .map_err(Into::into),
        },
        "/echo" => echo(request).await,
        "/link" => link(request, &relay).await,
        _ => request
            .reject(StatusCode::NOT_FOUND)
            .await
            .map_err(Into::into),
    };
    if let Err(error) = served {
        say(format_args!("{path}: {}", with_causes(&*error)));
    }
}

/// One stream without an end, and a line of figures ten times a second.
async fn download(request: Request) -> Result<()> {
    let session = request.accept().await?;
    let mut stream = session.open_uni().await?;
    let data = vec![0x5a; 64 * 1024];
    let send = async { while stream.write_all(&data).await.is_ok() {} };
    let report = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(100));
        loop {
            ticks.tick().await;
            let connection = session.connection();
            let mut line = String::new();
            let rtt = connection.rtt().as_secs_f64() * 1e3;
            let lost = connection.stats().path.lost_packets;
            write!(line, r#"{{"rtt":{rtt:.2},"lost":{lost}}}"#)?;
            session.send_datagram(line.as_bytes())?;
        }
    };
    tokio::select! {
        () = send => {}
        end = report => return end,
        _ = session.closed() => {}
    }
    Ok(())
}

/// Returns each stream in a stream, and each datagram, until the session is over.
async fn echo(request: Request) -> Result<()> {
    let session = request.accept().await?;
    loop {
        tokio::select! {
            stream = session.accept_bi() => match stream {
                Ok((send, recv)) => drop(tokio::spawn(copy(recv, send))),
                Err(_) => return Ok(()),
            },
            stream = session.accept_uni() => match stream {
                Ok(recv) => drop(tokio::spawn(copy_back(session.clone(), recv))),
                Err(_) => return Ok(()),
            },
            datagram = session.read_datagram() => match datagram {
                // One that does not fit the way back is lost, as others are.
                Ok(data) => drop(session.send_datagram(&data)),
                Err(_) => return Ok(()),
            },
        }
    }
}

async fn copy_back(session: Session, recv: RecvStream) {
    if let Ok(send) = session.open_uni().await {
        copy(recv, send).await;
    }
}

async fn copy(mut recv: RecvStream, mut send: SendStream) {
    match tokio::io::copy(&mut recv, &mut send).await {
        // It was finished by nobody else.
        Ok(_) => drop(send.finish()),
        Err(_) => drop(send.reset(1)),
    }
}

/// Each stream has a link, and gets a word about it.
async fn link(request: Request, relay: &RelayHandle) -> Result<()> {
    let session = request.accept().await?;
    while let Ok((mut send, mut recv)) = session.accept_bi().await {
        let text = String::from_utf8(recv.read_to_end(1000).await?)?;
        let changed = match text.parse::<LinkSpec>() {
            Ok(link) => relay
                .reconfigure(Direction::ToClient, link)
                .map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let answer = changed.map_or_else(|error| error, |_| "ok".to_owned());
        send.write_all(answer.as_bytes()).await?;
        send.finish()?;
    }
    Ok(())
}

/// Whatever a browser asks for over TCP is the page.
pub(crate) async fn send_page(mut browser: TcpStream, html: &str) -> Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") && request.len() < 16_384 {
        if browser.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\n\
         content-length: {}\r\ncache-control: no-store\r\nconnection: close\r\n\r\n",
        html.len()
    );
    browser.write_all(head.as_bytes()).await?;
    browser.write_all(html.as_bytes()).await?;
    Ok(browser.shutdown().await?)
}
