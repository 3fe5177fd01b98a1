//! A directory's files over HTTP/3: GET and HEAD.
//!
//! `cargo run --release -p paceline --features h3 --example h3_server -- DIRECTORY`
//!
//! A browser comes to HTTP/3 by itself only where it has a TCP server to ask first, whose answers
//! carry `Alt-Svc: h3=":4433"` (RFC 7838); docs/http3.md shows how to take it there without.

#[path = "shared/causes.rs"]
mod causes;

use bytes::BytesMut;
use causes::{failure, with_causes};
use clap::Parser;
use h3::error::Code;
use h3::server::{self, RequestResolver, RequestStream};
use http::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE};
use http::{Method, Response, StatusCode};
use paceline::rustls::pki_types::pem::PemObject;
use paceline::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use paceline::{Connection, Endpoint, Incoming, h3 as h3_transport, tls};
use std::error::Error;
use std::fmt;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::fs::File;
use tokio::io::AsyncReadExt;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Serves a directory's files over HTTP/3.
#[derive(Debug, Parser)]
struct Args {
    /// What to serve; `index.html` stands for the directory that it is in
    directory: PathBuf,
    /// UDP address to listen at
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:4433")]
    listen: SocketAddr,
    /// Certificate chain in PEM; without it one for localhost that vouches for itself
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// The key to it, in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Congestion controller, such as bbr3:loss_thresh=5%
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
    let tls = match (&args.cert, &args.key) {
        (Some(cert), Some(key)) => {
            let chain = CertificateDer::pem_file_iter(cert).and_then(Iterator::collect);
            let chain = chain.map_err(|error| unreadable(cert, &error, "--cert"))?;
            let key =
                PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error, "--key"));
            tls::server(chain, key?)
        }
        _ => tls::SelfSigned::generate(["localhost", "127.0.0.1", "::1"])?.server(),
    };
    let mut config = tls.alpn(&[h3_transport::ALPN]).config()?;
    config.congestion(args.congestion.as_str())?;
    let (directory, listen) = (&args.directory, args.listen);
    if !directory.is_dir() {
        return Err(format!("{} is no directory; name one", directory.display()).into());
    }
    let endpoint = Endpoint::server(config, listen)
        .map_err(|error| format!("{listen}: {error}; name another address with --listen"))?;
    say(format_args!("listening on UDP {}", endpoint.local_addr()?));
    serve(endpoint, directory).await
}

fn unreadable(file: &Path, error: &dyn Error, option: &str) -> String {
    let file = file.display();
    format!("{file}: {error}; name a file in PEM with {option}")
}

/// Prints a line. A server goes on when nobody reads what it says.
fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Answers every client, until the endpoint is closed.
pub(crate) async fn serve(endpoint: Endpoint, directory: &Path) -> Result<()> {
    let root: Arc<Path> = directory.canonicalize()?.into();
    while let Some(attempt) = endpoint.accept().await {
        let root = Arc::clone(&root);
        tokio::spawn(async move {
            if let Err(error) = serve_connection(attempt, root).await {
                say(format_args!("connection: {}", with_causes(&*error)));
            }
        });
    }
    Ok(())
}

/// Says at its end what the congestion controller has made of the path.
async fn serve_connection(attempt: Incoming, root: Arc<Path>) -> Result<()> {
    let connection = attempt.await?;
    let end = serve_requests(&connection, root).await;
    let (client, state) = (connection.remote_address(), connection.congestion());
    say(format_args!("{client}: {state}"));
    end
}

/// Answers the requests of a connection, until it is closed.
pub(crate) async fn serve_requests(connection: &Connection, root: Arc<Path>) -> Result<()> {
    let connection = h3_transport::Connection::new(connection.clone());
    let mut requests = server::builder().build(connection).await?;
    loop {
        match requests.accept().await {
            Ok(Some(request)) => tokio::spawn(serve_request(request, Arc::clone(&root))),
            Ok(None) => return Ok(()),
            Err(error) if error.is_h3_no_error() => return Ok(()),
            Err(error) => return Err(error.into()),
        };
    }
}

type Request = RequestResolver<h3_transport::Connection, bytes::Bytes>;
type Stream = RequestStream<h3_transport::BidiStream<bytes::Bytes>, bytes::Bytes>;

async fn serve_request(request: Request, root: Arc<Path>) {
    let Ok((request, mut stream)) = request.resolve_request().await else {
        return;
    };
    let path = request.uri().path();
    let result = match *request.method() {
        Method::GET | Method::HEAD => match open(&root, path).await {
            Some((file, length, kind)) => {
                let response = Response::builder()
                    .header(CONTENT_LENGTH, length)
                    .header(CONTENT_TYPE, kind);
                let file = (request.method() == Method::GET).then_some(file);
                send(&mut stream, response, file, length).await
            }
            None => refuse(&mut stream, StatusCode::NOT_FOUND).await,
        },
        _ => refuse(&mut stream, StatusCode::METHOD_NOT_ALLOWED).await,
    };
    if let Err(error) = result {
        let (method, why) = (request.method(), with_causes(&*error));
        say(format_args!("{method} {path}: {why}"));
        // A stream that was only dropped would look finished.
        stream.stop_stream(Code::H3_INTERNAL_ERROR);
    }
}

async fn refuse(stream: &mut Stream, status: StatusCode) -> Result<()> {
    let mut response = Response::builder().status(status).header(CONTENT_LENGTH, 0);
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response = response.header(ALLOW, "GET, HEAD");
    }
    send(stream, response, None, 0).await
}

/// Sends `length` bytes of `file`, as fast as the peer and the congestion controller take them.
async fn send(
    stream: &mut Stream,
    response: http::response::Builder,
    file: Option<File>,
    length: u64,
) -> Result<()> {
    stream.send_response(response.body(())?).await?;
    if let Some(file) = file {
        let mut left = length;
        let mut file = file.take(length);
        while left > 0 {
            let mut chunk = BytesMut::with_capacity(CHUNK);
            left -= match file.read_buf(&mut chunk).await? {
                0 => return Err("the file has become shorter".into()),
                count => count as u64,
            };
            stream.send_data(chunk.freeze()).await?;
        }
    }
    Ok(stream.finish().await?)
}

/// The file that a request's path names below `root`, its length and its media type.
async fn open(root: &Path, path: &str) -> Option<(File, u64, &'static str)> {
    let mut found = root.join(decode(path)?.trim_start_matches('/'));
    if tokio::fs::metadata(&found).await.ok()?.is_dir() {
        found.push("index.html");
    }
    // Neither `..` nor a symbolic link leads out of the directory.
    let found = tokio::fs::canonicalize(found).await.ok()?;
    if !found.starts_with(root) {
        return None;
    }
    let file = File::open(&found).await.ok()?;
    let metadata = file.metadata().await.ok()?;
    metadata.is_file().then_some(())?;
    Some((file, metadata.len(), media_type(&found)))
}

/// A path without its percent-encoding (RFC 3986 §2.1).
fn decode(path: &str) -> Option<String> {
    let mut parts = path.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

fn media_type(path: &Path) -> &'static str {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let known = MEDIA_TYPES
        .iter()
        .find(|(known, _)| Some(*known) == extension);
    known.map_or("application/octet-stream", |(_, media_type)| media_type)
}

/// Bytes that are read from a file at a time, and a DATA frame's length.
const CHUNK: usize = 64 << 10;

/// What a browser has to know.
const MEDIA_TYPES: [(&str, &str); 8] = [
    ("css", "text/css"),
    ("html", "text/html; charset=utf-8"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain; charset=utf-8"),
];
