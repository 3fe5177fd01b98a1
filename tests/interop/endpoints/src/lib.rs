//! What the endpoints of other libraries share: the environment by which the interop runner says
//! what is to be done, TLS, and HTTP/0.9.

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::TLS13;
use rustls::{KeyLogFile, RootCertStore};
use std::error::Error;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// Of everything that may fail here.
pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The protocol of most cases: HTTP/0.9, one request on each stream, the file as the answer.
pub const HQ: &[u8] = b"hq-interop";
/// HTTP/3.
pub const H3: &[u8] = b"h3";
/// A name in the server's certificate.
pub const NAME: &str = "localhost";
/// More than a request has, in bytes.
pub const LONGEST_REQUEST: usize = 4_096;
/// Datagrams of the server that come before a case's event: the files of such cases are larger.
pub const MIDST: u64 = 50;

/// How long a datagram's answer may take before it is asked for again.
pub const LOST: Duration = Duration::from_millis(200);

/// What the runner's environment variables ask for.
#[derive(Debug, Clone)]
pub struct Task {
    /// `TESTCASE`.
    pub case: String,
    /// `REQUESTS`, of a client.
    pub requests: Vec<String>,
    /// Flow-control window of a client in bytes, of each stream and of the connection.
    pub window: Option<u32>,
    /// Where a client puts files.
    pub downloads: PathBuf,
    /// What a server serves.
    pub www: PathBuf,
    /// Where `cert.pem` and `priv.key` are.
    pub certs: PathBuf,
    /// UDP port of a server.
    pub port: u16,
}

impl Task {
    /// # Errors
    ///
    /// Names the variable that is missing or is no number.
    fn from_environment() -> Result<Self> {
        let text = |name: &str| std::env::var(name).map_err(|error| format!("{name}: {error}"));
        let requests = std::env::var("REQUESTS").unwrap_or_default();
        Ok(Self {
            case: text("TESTCASE")?,
            requests: requests.split_whitespace().map(str::to_owned).collect(),
            window: number("WINDOW")?,
            downloads: text("DOWNLOADS")?.into(),
            www: text("WWW")?.into(),
            certs: text("CERTS")?.into(),
            port: number("PORT")?.unwrap_or(443),
        })
    }

    /// Where the requests go: all of them to one server.
    ///
    /// # Errors
    ///
    /// There is no request, or its host has no address.
    pub fn server(&self) -> Result<SocketAddr> {
        let first = self.requests.first().ok_or("REQUESTS has no URL")?;
        let host = first.strip_prefix("https://").ok_or("no https:// URL")?;
        let host = host.split('/').next().unwrap_or_default();
        let found = host.to_socket_addrs()?.next();
        found.ok_or_else(|| format!("{host} has no address").into())
    }

    /// The file that a URL's answer goes into.
    ///
    /// # Errors
    ///
    /// The URL names no file.
    pub fn download(&self, url: &str) -> Result<PathBuf> {
        let name = Path::new(url).file_name().ok_or("a URL names no file")?;
        Ok(self.downloads.join(name))
    }

    /// The file that `GET /PATH` asks for, if there is one.
    #[must_use]
    pub fn named(&self, path: &str) -> Option<PathBuf> {
        let path = PathBuf::from(path.trim_end().strip_prefix('/')?);
        let is_below = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        Some(self.www.join(path)).filter(|path| is_below && path.is_file())
    }

    /// The answer to a request of HTTP/0.9.
    ///
    /// # Errors
    ///
    /// It is no GET of a file.
    pub fn answer(&self, request: &[u8]) -> Result<Vec<u8>> {
        let request = String::from_utf8_lossy(request);
        let path = request
            .strip_prefix("GET ")
            .and_then(|path| self.named(path));
        Ok(std::fs::read(path.ok_or("no GET of a file")?)?)
    }

    fn provider(&self) -> Arc<CryptoProvider> {
        let mut provider = aws_lc_rs::default_provider();
        if self.case == "chacha20" {
            provider.cipher_suites = vec![aws_lc_rs::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256];
        }
        Arc::new(provider)
    }

    /// TLS of a server, with 0-RTT where `takes_early_data`.
    ///
    /// # Errors
    ///
    /// The certificate or its key cannot be read.
    pub fn server_tls(&self, takes_early_data: bool) -> Result<rustls::ServerConfig> {
        let chain: std::result::Result<_, _> =
            CertificateDer::pem_file_iter(self.certs.join("cert.pem"))?.collect();
        let key = PrivateKeyDer::from_pem_file(self.certs.join("priv.key"))?;
        let mut config = rustls::ServerConfig::builder_with_provider(self.provider())
            .with_protocol_versions(&[&TLS13])?
            .with_no_client_auth()
            .with_single_cert(chain?, key)?;
        config.alpn_protocols = vec![HQ.to_vec(), H3.to_vec()];
        config.max_early_data_size = if takes_early_data { u32::MAX } else { 0 };
        config.key_log = Arc::new(KeyLogFile::new());
        Ok(config)
    }

    /// TLS of a client that trusts the certificate of `CERTS`.
    ///
    /// # Errors
    ///
    /// The certificate cannot be read.
    pub fn client_tls(&self, protocol: &[u8]) -> Result<rustls::ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.certs.join("cert.pem"))?)?;
        let mut config = rustls::ClientConfig::builder_with_provider(self.provider())
            .with_protocol_versions(&[&TLS13])?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        config.enable_early_data = self.case == "zerortt";
        config.key_log = Arc::new(KeyLogFile::new());
        Ok(config)
    }

    /// Requests by connection: one each, or the first alone, or all.
    #[must_use]
    pub fn by_connection(&self) -> Vec<&[String]> {
        match self.case.as_str() {
            "multiconnect" => self.requests.chunks(1).collect(),
            "resumption" | "zerortt" => {
                let (first, others) = self.requests.split_at(1.min(self.requests.len()));
                vec![first, others]
            }
            _ => vec![&self.requests],
        }
    }
}

/// The path of a URL.
#[must_use]
pub fn path(url: &str) -> &str {
    let host = url.strip_prefix("https://").unwrap_or(url);
    host.find('/').map_or("/", |at| &host[at..])
}

/// Runs a client or a server, by `ROLE`. A case that is neither in its list nor one that all know
/// ends with 127, as the runner wants it.
pub fn run<C, S>(clients_cases: &[&str], servers_cases: &[&str], client: C, server: S) -> ExitCode
where
    C: AsyncFnOnce(Task) -> Result<()>,
    S: AsyncFnOnce(Task) -> Result<()>,
{
    let done = Task::from_environment().and_then(|task| {
        let is_client = std::env::var("ROLE")? == "client";
        let cases = if is_client {
            clients_cases
        } else {
            servers_cases
        };
        let case = task.case.as_str();
        if !ALL_KNOW.contains(&case) && !cases.contains(&case) {
            return Ok(ExitCode::from(UNSUPPORTED));
        }
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build()?;
        match is_client {
            true => runtime.block_on(client(task))?,
            false => runtime.block_on(server(task))?,
        }
        Ok(ExitCode::SUCCESS)
    });
    done.unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}

fn number<T: FromStr<Err: Error>>(name: &str) -> Result<Option<T>> {
    let Ok(text) = std::env::var(name) else {
        return Ok(None);
    };
    let number = text.parse();
    Ok(Some(number.map_err(|error| format!("{name}: {error}"))?))
}

/// What the runner takes for "skip this case".
const UNSUPPORTED: u8 = 127;

/// Cases of every client and every server.
const ALL_KNOW: [&str; 4] = ["handshake", "transfer", "retry", "multiconnect"];
