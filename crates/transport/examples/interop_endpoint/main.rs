//! An endpoint of the QUIC interop runner, <https://interop.seemann.io>: client or server.
//!
//! The runner says by environment variables what is to be done: `ROLE` is `client` or `server`,
//! `TESTCASE` names a case, `SSLKEYLOGFILE` and `QLOGDIR` where secrets and traces go. The program
//! ends with 0 when all files have come, 127 when it does not know the case, else 1.
//! `tests/interop` has the script and the image that the runner starts, and docs/interop.md what
//! came of it beside other libraries.
//!
//! `ROLE=server TESTCASE=transfer cargo run --release -p paceline --features h3,qlog --example
//! interop_endpoint -- --www DIRECTORY --certs DIRECTORY --port 4433`
#![expect(clippy::print_stderr, reason = "a program that says what it has done")]

mod case;
#[path = "../shared/causes.rs"]
mod causes;
mod client;
mod server;
mod trace;

#[path = "../h3_client.rs"]
#[expect(dead_code, reason = "its `main` has no use here")]
mod h3_client;
#[path = "../h3_server.rs"]
#[expect(dead_code, reason = "its `main` has no use here")]
mod h3_server;

use case::Case;
use causes::failure;
use clap::Parser;
use http::Uri;
use paceline::VarInt;
use paceline::{TransportConfig, h3};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// An endpoint of the QUIC interop runner; ROLE and TESTCASE are environment variables
#[derive(Debug, Clone, Parser)]
struct Args {
    /// What a client fetches, all from one server
    requests: Vec<Uri>,
    /// What a server serves
    #[arg(long, value_name = "DIRECTORY", default_value = "/www")]
    www: PathBuf,
    /// Where a server's `cert.pem` and `priv.key` are
    #[arg(long, value_name = "DIRECTORY", default_value = "/certs")]
    certs: PathBuf,
    /// Where a client puts what it has fetched
    #[arg(long, value_name = "DIRECTORY", default_value = "/downloads")]
    downloads: PathBuf,
    /// UDP port of a server
    #[arg(long, default_value_t = 443)]
    port: u16,
    /// Flow-control window of each stream and of the connection; without it they follow the path
    #[arg(long, value_name = "BYTES")]
    window: Option<u32>,
    /// Fetches by HTTP/3 in every case, from servers that know nothing else
    #[arg(long)]
    h3: bool,
}

impl Args {
    fn transport(&self) -> TransportConfig {
        let mut config = TransportConfig::default();
        if let Some(bytes) = self.window {
            let bytes = VarInt::from_u32(bytes);
            config.receive_window(bytes).stream_receive_window(bytes);
        }
        if let Some(trace) = trace::begin() {
            config.qlog_stream(Some(trace));
        }
        config
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let variable = |name| std::env::var(name).unwrap_or_default();
    let (role, name) = (variable("ROLE"), variable("TESTCASE"));
    let Some(case) = Case::of(&name, &role) else {
        eprintln!("TESTCASE `{name}` is not one of the cases of ROLE `{role}` here");
        return ExitCode::from(UNSUPPORTED);
    };
    let done = match role.as_str() {
        "server" => server::serve(case, &args).await,
        _ => client::fetch(case, &args).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure(&name, &*error),
    }
}

/// The protocol of most cases: HTTP/0.9, one request on each stream, the file as the answer.
const HQ: &[u8] = b"hq-interop";
const H3: &[u8] = h3::ALPN;
/// What the runner takes for "skip this case".
const UNSUPPORTED: u8 = 127;
