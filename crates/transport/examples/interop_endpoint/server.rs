//! Files over HTTP/0.9 or HTTP/3, whichever the client takes.

use crate::case::Case;
use crate::causes::with_causes;
use crate::{Args, H3, HQ, Result, h3_server};
use paceline::rustls::pki_types::pem::PemObject;
use paceline::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use paceline::tls::{self, Cipher};
use paceline::{Connection, Endpoint, Incoming, RecvStream, SendStream, ServerConfig};
use quinn_proto::crypto::rustls::HandshakeData;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use tokio::fs::File;
use tokio::io::copy;

/// Serves until it is stopped.
pub(crate) async fn serve(case: Case, args: &Args) -> Result<()> {
    let config = config(case, args)?;
    let address = SocketAddr::from((Ipv6Addr::UNSPECIFIED, args.port));
    // Takes IPv4 too.
    let endpoint = Endpoint::server(config.clone(), address)?;
    eprintln!("listening on UDP {}", endpoint.local_addr()?);
    let root: Arc<Path> = args.www.canonicalize()?.into();
    while let Some(attempt) = endpoint.accept().await {
        if case == Case::Retry && !attempt.remote_address_validated() {
            attempt.retry()?;
            continue;
        }
        let mut config = config.clone();
        config.transport_config(Arc::new(args.transport()));
        let root = Arc::clone(&root);
        tokio::spawn(async move {
            if let Err(error) = serve_connection(attempt, config, root).await {
                eprintln!("connection: {}", with_causes(&*error));
            }
        });
    }
    Ok(())
}

fn config(case: Case, args: &Args) -> Result<ServerConfig> {
    let chain: std::result::Result<_, _> =
        CertificateDer::pem_file_iter(args.certs.join("cert.pem"))?.collect();
    let key = PrivateKeyDer::from_pem_file(args.certs.join("priv.key"))?;
    let mut tls = tls::server(chain?, key).alpn(&[HQ, H3]).key_log();
    if case == Case::ChaCha20 {
        tls = tls.cipher(Cipher::ChaCha20);
    }
    Ok(tls.config()?)
}

async fn serve_connection(attempt: Incoming, config: ServerConfig, root: Arc<Path>) -> Result<()> {
    let mut connecting = attempt.accept_with(Arc::new(config))?;
    // There is a protocol when the whole of the client's hello has come, which may be two packets.
    let data = connecting.handshake_data().await?;
    let data = data.downcast::<HandshakeData>().ok();
    let protocol = data.and_then(|data| data.protocol);
    // Requests in 0-RTT packets are answered at once: they are all GET.
    let (connection, _) = connecting.into_0rtt().map_err(|_| "a server can go on")?;
    let end = if protocol.as_deref() == Some(H3) {
        h3_server::serve_requests(&connection, root).await
    } else {
        let (streams, ()) = tokio::join!(
            serve_hq(&connection, &root),
            serve_datagrams(&connection, &root)
        );
        streams
    };
    eprintln!("{}", crate::client::facts(&connection));
    end
}

async fn serve_hq(connection: &Connection, root: &Arc<Path>) -> Result<()> {
    // Ends with the connection.
    while let Ok((send, recv)) = connection.accept_bi().await {
        let root = Arc::clone(root);
        tokio::spawn(async move {
            if let Err(error) = answer(send, recv, &root).await {
                eprintln!("request: {}", with_causes(&*error));
            }
        });
    }
    Ok(())
}

/// Answers those that ask for a file that fits into one.
async fn serve_datagrams(connection: &Connection, root: &Path) {
    while let Ok(request) = connection.read_datagram().await {
        let request = String::from_utf8_lossy(&request);
        if let Some(path) = named(&request)
            && let Ok(content) = tokio::fs::read(root.join(path)).await
        {
            // A file that is too large is not answered.
            let _ = connection.send_datagram(content.into());
        }
    }
}

/// A stream that is dropped unfinished is reset, so a client sees that the file is not whole.
async fn answer(mut send: SendStream, mut recv: RecvStream, root: &Path) -> Result<()> {
    let request = String::from_utf8(recv.read_to_end(LONGEST_REQUEST).await?)?;
    let file = match named(&request) {
        Some(path) => File::open(root.join(path)).await,
        None => return Err(format!("no GET of a file: {request:.40?}").into()),
    };
    match file {
        Ok(mut file) => {
            copy(&mut file, &mut send).await?;
            Ok(send.finish()?)
        }
        Err(error) => {
            send.reset(NO_FILE.into())?;
            Err(error.into())
        }
    }
}

/// The path of `GET /PATH`, which leads downwards only.
fn named(request: &str) -> Option<PathBuf> {
    let path = request.trim_end().strip_prefix("GET /")?;
    let path = PathBuf::from(path);
    let is_below = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    (is_below && path.components().next().is_some()).then_some(path)
}

const LONGEST_REQUEST: usize = 4_096;
/// Application error code of a stream whose file there is not.
const NO_FILE: u32 = 404;
