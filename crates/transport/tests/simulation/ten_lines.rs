//! What a user's own test of his application looks like.

use paceline::testing::Simulation;
use paceline::{ClientConfig, Endpoint, VarInt, tls};
use std::error::Error;
use std::time::Duration;
use tokio::time::{Instant, sleep};

type Failure = Box<dyn Error + Send + Sync>;

/// The user's server: answers each stream with what has come.
async fn serve(endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            let connection = incoming.await?;
            while let Ok((mut send, mut recv)) = connection.accept_bi().await {
                let request = recv.read_to_end(1 << 20).await?;
                send.write_all(&request).await?;
                send.finish()?;
            }
            Ok::<_, Failure>(())
        });
    }
}

/// The user's client: asks once a second for a minute. Returns how long answers took.
async fn ask(config: ClientConfig) -> Result<Vec<Duration>, Failure> {
    let endpoint = Endpoint::client("0.0.0.0:0".parse()?)?;
    let connection = endpoint.connect_with(config, "10.0.0.1:443".parse()?, "server.test")?;
    let connection = connection.await?;
    let mut took = Vec::new();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        let asked = Instant::now();
        let (mut send, mut recv) = connection.open_bi().await?;
        send.write_all(&[7; 20_000]).await?;
        send.finish()?;
        assert_eq!(recv.read_to_end(1 << 20).await?.len(), 20_000);
        took.push(asked.elapsed());
        sleep(Duration::from_secs(1)).await;
    }
    connection.close(VarInt::from_u32(0), b"done");
    endpoint.wait_idle().await;
    Ok(took)
}

/// How long each answer took.
pub(crate) fn a_minute_over(link: &str, seed: u64) -> Result<Vec<Duration>, Failure> {
    let link = link.parse()?;
    Simulation::new(seed).links(&link, &link)?.run(async {
        let certificate = tls::SelfSigned::generate(["server.test"])?;
        let server = Endpoint::server(certificate.server().config()?, "10.0.0.1:443".parse()?)?;
        tokio::spawn(serve(server));
        ask(tls::client_with_fingerprint(certificate.fingerprint).config()?).await
    })
}

#[test]
fn an_application_works_for_a_minute_over_a_bad_link() {
    let took = a_minute_over("delay 50ms loss 2%", 1).unwrap();
    // A round trip each at least; more where the window has to grow, and for what is lost.
    let (least, most) = (took.iter().min().unwrap(), took.iter().max().unwrap());
    assert!(took.len() > 40, "{}", took.len());
    assert!(*least >= Duration::from_millis(100), "{least:?}");
    assert!(
        *most > Duration::from_millis(200) && *most < Duration::from_secs(1),
        "{most:?}"
    );
    // To the nanosecond.
    assert_eq!(took, a_minute_over("delay 50ms loss 2%", 1).unwrap());
    assert_ne!(took, a_minute_over("delay 50ms loss 2%", 2).unwrap());
}
