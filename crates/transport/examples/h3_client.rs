//! Fetches a URL over HTTP/3, once, and says how fast.
//!
//! `cargo run --release -p paceline --features h3 --example h3_client -- --insecure https://localhost:4433/FILE --output FILE`
#![expect(clippy::print_stderr, reason = "a program that says what it has done")]

#[path = "shared/causes.rs"]
mod causes;

use bytes::{Buf, Bytes};
use causes::failure;
use clap::{ArgGroup, Parser};
use h3::client::{self, SendRequest};
use http::header::CONTENT_LENGTH;
use http::{Request, StatusCode, Uri};
use paceline::{ConnectionError, Endpoint, h3 as h3_transport, tls};
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use tokio::io::{AsyncWrite, AsyncWriteExt, BufWriter};
use tokio::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Fetches a URL over HTTP/3.
#[derive(Debug, Parser)]
#[command(group = ArgGroup::new("trust").required(true))]
struct Args {
    /// https://HOST[:PORT]/PATH
    #[arg(value_parser = fetchable)]
    url: Uri,
    /// Where the body goes; standard output without it
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The authorities to trust, in PEM
    #[arg(long, value_name = "FILE", group = "trust")]
    ca: Option<PathBuf>,
    /// Takes whatever certificate it is shown
    #[arg(long, group = "trust")]
    insecure: bool,
    /// Congestion controller of what is sent, such as bbr3; the server's decides over a download
    #[arg(long, value_name = "NAME[:KEY=VALUE,...]", default_value = "cubic")]
    congestion: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure("error", &*error),
    }
}

async fn run(args: Args) -> Result<()> {
    let tls = match &args.ca {
        Some(file) => {
            let wrong = |error: &dyn Error| {
                let file = file.display();
                format!("{file}: {error}; name a file with certificates in PEM with --ca")
            };
            let pem = std::fs::read(file).map_err(|error| wrong(&error))?;
            tls::client_with_ca(&pem).map_err(|error| wrong(&error))?
        }
        None => tls::client_without_verification(),
    };
    let mut config = tls.alpn(&[h3_transport::ALPN]).config()?;
    config.congestion(args.congestion.as_str())?;
    // The name that the certificate has to have.
    let host = args.url.host().unwrap_or_default();
    let host = host.trim_matches(['[', ']']);
    let sink: Box<dyn AsyncWrite + Send + Unpin> = match &args.output {
        Some(path) => {
            let file = tokio::fs::File::create(path).await;
            let wrong =
                |error: io::Error| format!("{}: {error}; name another --output", path.display());
            Box::new(file.map_err(wrong)?)
        }
        None => Box::new(tokio::io::stdout()),
    };
    let mut sink = BufWriter::with_capacity(BUFFER, sink);

    let address = address(&args.url, host).await?;
    let unspecified = if address.is_ipv4() {
        "0.0.0.0:0"
    } else {
        "[::]:0"
    };
    let endpoint = Endpoint::client(unspecified.parse()?)?;
    let connecting = endpoint.connect_with(config, address, host)?;
    let connection = connecting.await.map_err(|error| match error {
        ConnectionError::TimedOut => {
            format!("{address} does not answer; start the server, or give the URL its port")
        }
        ConnectionError::TransportError(error) => format!(
            "{address}: {error}; name the authority of its certificate with --ca, or take any \
             certificate with --insecure"
        ),
        error => format!("{address}: {error}; the URL has to be that of an HTTP/3 server"),
    })?;
    let (mut driver, mut requests) = client::new(h3_transport::Connection::new(connection)).await?;

    let begin = Instant::now();
    let fetched = async {
        let fetched = fetch(&mut requests, args.url.clone(), &mut sink).await;
        // The last of these closes the connection.
        drop(requests);
        fetched
    };
    let (closed, fetched) = tokio::join!(driver.wait_idle(), fetched);
    let (status, length) = match fetched {
        // Whoever read the body has seen enough.
        Err(error) if is_unread(&*error) => return Ok(()),
        fetched => fetched?,
    };
    let seconds = begin.elapsed().as_secs_f64();
    let rate = length as f64 * 8e-6 / seconds;
    eprintln!("{status}: {length} bytes in {seconds:.3} s, {rate:.1} Mbit/s");
    endpoint.wait_idle().await;
    if !closed.is_h3_no_error() {
        return Err(closed.into());
    }
    Ok(())
}

/// The URL that `text` is, if it can be fetched over HTTP/3.
pub(crate) fn fetchable(text: &str) -> std::result::Result<Uri, String> {
    let url = text.parse::<Uri>().ok();
    let url = url.filter(|url| url.scheme_str() == Some("https") && url.host().is_some());
    url.ok_or_else(|| "it is no URL to fetch; give one as https://HOST[:PORT]/PATH".to_owned())
}

async fn address(url: &Uri, host: &str) -> Result<SocketAddr> {
    let port = url.port_u16().unwrap_or(443);
    let found = tokio::net::lookup_host((host, port)).await;
    let mut found = found.map_err(|error| format!("{host}: {error}; check the name in the URL"))?;
    let address = found.next();
    Ok(address.ok_or_else(|| format!("{host} has no address; check the name in the URL"))?)
}

fn is_unread(error: &(dyn Error + 'static)) -> bool {
    let of_output = error.downcast_ref::<io::Error>();
    of_output.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Sends a GET request and writes the body of its response to `sink`; tells its status and length.
pub(crate) async fn fetch(
    requests: &mut SendRequest<h3_transport::OpenStreams, Bytes>,
    uri: Uri,
    sink: &mut (impl AsyncWrite + Unpin),
) -> Result<(StatusCode, u64)> {
    let mut stream = requests.send_request(Request::get(uri).body(())?).await?;
    stream.finish().await?;
    let response = stream.recv_response().await?;
    let mut length = 0;
    while let Some(mut chunk) = stream.recv_data().await? {
        length += chunk.remaining() as u64;
        sink.write_all_buf(&mut chunk).await?;
    }
    sink.flush().await?;
    // h3 leaves this to the application (RFC 9114 §4.1.2).
    if let Some(promised) = response.headers().get(CONTENT_LENGTH)
        && promised.to_str()?.parse() != Ok(length)
    {
        return Err(format!("{length} bytes of {promised:?} promised").into());
    }
    Ok((response.status(), length))
}

/// Data comes packet by packet, and tokio passes each write of a file to another thread: with a
/// buffer that happens a thousand times less often.
const BUFFER: usize = 1 << 20;
