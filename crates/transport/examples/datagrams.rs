//! Datagrams (RFC 9221) that go stale: what becomes of each.
//!
//! ```text
//! cargo run -p paceline --example datagrams
//! ```
//!
//! Both ends are in this program. Over a connection that is held to 200 kbit/s, the client of a
//! game sends ten commands at once and ten positions behind them. Commands wait for their turn. A
//! position lives for 30 ms: what has not left by then is dropped, so that it is not in the way of
//! newer ones. The last line is what has arrived.

use bytes::Bytes;
use paceline::units::Bandwidth;
use paceline::{
    Connection, ConnectionError, DatagramOptions, DatagramOutcome, Endpoint, TransportConfig, tls,
};
use std::error::Error;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

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

/// A line for each datagram, and one for what the server has received.
pub(crate) async fn run() -> Result<Vec<String>> {
    let certificate = tls::SelfSigned::generate(["localhost"])?;
    let server = Endpoint::server(certificate.server().config()?, "127.0.0.1:0".parse()?)?;
    let address = server.local_addr()?;
    let serving = tokio::spawn(receive(server));

    let mut config = tls::client_with_fingerprint(certificate.fingerprint).config()?;
    let mut transport = TransportConfig::default();
    transport.max_rate(Some("200kbit".parse::<Bandwidth>()?));
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::client("127.0.0.1:0".parse()?)?;
    let connection = endpoint.connect_with(config, address, "localhost")?.await?;

    let mut lines = send_all(&connection).await?;
    connection.close(0_u32.into(), b"done");
    endpoint.wait_idle().await;
    let received = serving.await??;
    lines.push(format!("received: {received:?}"));
    Ok(lines)
}

/// Sends everything, and waits until the fate of each is known.
async fn send_all(connection: &Connection) -> Result<Vec<String>> {
    let most = connection
        .max_datagram_size()
        .ok_or("the peer takes no datagrams; set its datagram_receive_buffer_size")?;
    let mut events = connection.datagram_events();
    let command = DatagramOptions::default().notify(true);
    let mut ids = Vec::new();
    for number in 0..2 * COUNT {
        let options = match number < COUNT {
            true => command,
            false => command.ttl(LIFETIME),
        };
        let mut data = vec![0; most.min(1_000)];
        data[0] = number;
        // It never waits: where the buffer is full, the oldest are dropped.
        ids.push(connection.send_datagram_with(data.into(), options)?);
    }

    let mut fates = vec![None; ids.len()];
    while fates.contains(&None) {
        let event = events.next().await.ok_or("the connection is over")?;
        // One that was sent will be acknowledged or lost.
        if event.outcome != DatagramOutcome::Sent
            && let Some(index) = ids.iter().position(|id| *id == event.id)
        {
            fates[index] = Some(event.outcome);
        }
    }
    let fates = (0..).zip(fates.into_iter().flatten());
    Ok(fates
        .map(|(number, fate)| match number < COUNT {
            true => format!("command {number}: {fate:?}"),
            false => format!("position {number}: {fate:?}"),
        })
        .collect())
}

/// The numbers that came before the client's end, in the order in which they came.
async fn receive(endpoint: Endpoint) -> Result<Vec<u8>> {
    let attempt = endpoint.accept().await.ok_or("the endpoint is closed")?;
    let connection = attempt.await?;
    let mut received = Vec::new();
    loop {
        match connection.read_datagram().await {
            Ok(data) => received.push(first_byte(&data)?),
            Err(ConnectionError::ApplicationClosed(_)) => return Ok(received),
            Err(error) => return Err(error.into()),
        }
    }
}

/// A peer may send anything, an empty datagram too.
fn first_byte(data: &Bytes) -> Result<u8> {
    Ok(*data.first().ok_or("a datagram without a number")?)
}

const COUNT: u8 = 10;
const LIFETIME: Duration = Duration::from_millis(30);
