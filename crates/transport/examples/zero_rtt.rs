//! 0-RTT: a client that has been here before sends its request with its first packet.
//!
//! ```text
//! cargo run -p paceline --example zero_rtt
//! ```
//!
//! Both ends are in this program. The client connects first without a session, then twice with one,
//! and at last with one that the server has lost, as after a restart.
//!
//! Whoever is on the way can record a 0-RTT request and send it again, a *replay*. So the client
//! sends early only what may be done twice (GET, not PAY), and the server, which sees by
//! `RecvStream::is_0rtt` that a request came early, answers `PAY` after the handshake alone. Where
//! 0-RTT is rejected, nothing of it has happened, and the client sends again.

use paceline::{ClientConfig, Connection, Endpoint, Incoming, ServerConfig, tls};
use std::error::Error;
use std::io::{self, Write};
use std::net::SocketAddr;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let lines = run().await?;
    match writeln!(io::stdout(), "{}", lines.join("\n")) {
        // Whoever read this has gone.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// A line for each request.
pub(crate) async fn run() -> Result<Vec<String>> {
    let certificate = tls::SelfSigned::generate(["localhost"])?;
    // Sessions are kept with the configuration: a new one knows none.
    let config = || -> Result<ServerConfig> { Ok(certificate.server().config()?) };
    let server = Endpoint::server(config()?, "127.0.0.1:0".parse()?)?;
    let address = server.local_addr()?;
    let accepting = server.clone();
    let serving = tokio::spawn(async move {
        while let Some(attempt) = accepting.accept().await {
            tokio::spawn(serve(attempt));
        }
    });

    // The client's sessions are kept with this one, and its clones.
    let config_of_client = tls::client_with_fingerprint(certificate.fingerprint).config()?;
    let client = Endpoint::client("127.0.0.1:0".parse()?)?;
    let mut lines = Vec::new();
    for request in ["GET", "GET", "PAY"] {
        lines.push(ask(&client, &config_of_client, address, request).await?);
    }
    // As after a restart.
    server.set_server_config(Some(config()?));
    lines.push(ask(&client, &config_of_client, address, "GET").await?);

    server.close(0_u32.into(), b"done");
    client.wait_idle().await;
    serving.await?;
    Ok(lines)
}

/// Sends the request as early as possible; says how that went.
async fn ask(
    endpoint: &Endpoint,
    config: &ClientConfig,
    server: SocketAddr,
    request: &str,
) -> Result<String> {
    let connecting = endpoint.connect_with(config.clone(), server, "localhost")?;
    let (connection, how, answer) = match connecting.into_0rtt() {
        Err(connecting) => {
            let connection = connecting.await?;
            let answer = exchange(&connection, request).await?;
            (connection, "no session yet, after the handshake", answer)
        }
        Ok((connection, accepted)) => {
            let early = exchange(&connection, request).await;
            if accepted.await {
                (connection, "0-RTT accepted", early?)
            } else {
                // Its streams have never been. The connection goes on.
                let answer = exchange(&connection, request).await?;
                (connection, "0-RTT rejected, sent again", answer)
            }
        }
    };
    connection.close(0_u32.into(), b"done");
    Ok(format!("{request}, {how}: {answer}"))
}

async fn exchange(connection: &Connection, request: &str) -> Result<String> {
    let (mut send, mut recv) = connection.open_bi().await?;
    send.write_all(request.as_bytes()).await?;
    send.finish()?;
    Ok(String::from_utf8(recv.read_to_end(1_000).await?)?)
}

async fn serve(attempt: Incoming) -> Result<()> {
    // A server can always go on at once; the second value is true once the client is no replay.
    let (connection, handshake) = attempt.accept()?.into_0rtt().map_err(|_| "not a server")?;
    let (mut send, mut recv) = connection.accept_bi().await?;
    let is_early = recv.is_0rtt();
    let request = recv.read_to_end(1_000).await?;
    let answer = match (request.as_slice(), is_early) {
        (b"GET", _) => "here it is",
        (b"PAY", false) => "paid",
        // A replay has no handshake to finish.
        (b"PAY", true) if handshake.await => "paid, after the handshake",
        _ => "refused",
    };
    send.write_all(answer.as_bytes()).await?;
    send.finish()?;
    connection.closed().await;
    Ok(())
}
