//! A controller of one's own in an endpoint, beside CUBIC over the same emulated link.
//!
//! ```text
//! cargo run -p paceline --features testing --example controller_in_endpoint
//! ```
//!
//! It is AIMD, the simplest that shares a link: a packet more for each window that is acknowledged,
//! and seven tenths of the window after a loss. `main` compares both in virtual time, 10 s over
//! 20 Mbit/s and 40 ms; [`over_loopback`] has it in an endpoint on a socket.

use paceline::cc_core::{
    Control, Controller, ControllerSpec, LostPacket, Observer, PathState, RateSample, Registry,
    Snapshot,
};
use paceline::testing::{Load, Pair, PairConfig, Side};
use paceline::units::{Bytes, Gain, Timestamp};
use paceline::{ControllerChoice, Endpoint, tls};
use std::error::Error;
use std::io::{self, Write};
use std::time::Duration;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

pub(crate) const AIMD: ControllerSpec =
    ControllerSpec::new("aimd", "additive increase, an example", |_, setup| {
        Box::new(Aimd {
            cwnd: setup.initial_cwnd,
            mss: setup.mss,
            srtt: setup.srtt,
            reduced_at: None,
        })
    });

#[derive(Debug)]
struct Aimd {
    cwnd: Bytes,
    mss: Bytes,
    srtt: Option<Duration>,
    /// What left before then is part of the loss that was answered.
    reduced_at: Option<Timestamp>,
}

impl Controller for Aimd {
    fn on_lost(&mut self, path: &PathState, packet: &LostPacket, _: &mut dyn Observer) {
        if self.reduced_at.is_none_or(|at| packet.stamp.sent_at > at) {
            self.reduced_at = Some(path.now);
            self.cwnd = (self.cwnd * Gain::new(7, 10)).max(path.mss * 2);
        }
    }

    fn on_ack(&mut self, path: &PathState, sample: &RateSample, _: &mut dyn Observer) {
        (self.mss, self.srtt) = (path.mss, path.srtt);
        // A window that is not full says nothing about the path.
        if path.is_cwnd_limited {
            self.cwnd += sample.newly_acked * Gain::new(self.mss.get(), self.cwnd.get());
        }
    }

    fn control(&self) -> Control {
        Control::paced(self.cwnd, self.srtt, self.mss)
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::new(AIMD.name, "Avoidance", self.control())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let registry = Registry::standard().with(AIMD);
    let aimd = over_a_link(registry.choose("aimd")?)?;
    let cubic = over_a_link(registry.choose("cubic")?)?;
    let socket = over_loopback(registry.choose("aimd")?).await?;
    match writeln!(io::stdout(), "aimd:  {aimd}\ncubic: {cubic}\n{socket}") {
        // Whoever read this has gone.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Goodput and round-trip time of ten seconds, in virtual time.
pub(crate) fn over_a_link(controller: ControllerChoice) -> Result<String> {
    let mut config = PairConfig {
        link: "delay 20ms rate 20mbit queue 1bdp".parse()?,
        return_link: "delay 20ms".parse()?,
        ..PairConfig::default()
    };
    config.client.congestion(controller);
    let mut pair = Pair::new(&config)?;
    pair.connect(Duration::from_secs(5))?;
    pair.send(Side::Client, Load::Endless);
    pair.run_for(TIME);
    let goodput = pair.received(Side::Server).get() as f64 * 8e-6 / TIME.as_secs_f64();
    let rtt = pair.stats(Side::Client).rtt_histogram.quantile(50);
    let rtt = rtt.unwrap_or_default().as_millis();
    Ok(format!("{goodput:.1} Mbit/s, median RTT {rtt} ms"))
}

/// The same controller on a socket: what it says of itself after a megabyte.
pub(crate) async fn over_loopback(controller: ControllerChoice) -> Result<String> {
    let certificate = tls::SelfSigned::generate(["localhost"])?;
    let server = Endpoint::server(certificate.server().config()?, "127.0.0.1:0".parse()?)?;
    let address = server.local_addr()?;
    let serving = tokio::spawn(async move {
        let attempt = server.accept().await.ok_or("the endpoint is closed")?;
        let mut stream = attempt.await?.accept_uni().await?;
        Result::Ok(stream.read_to_end(1_000_000).await?.len())
    });
    let mut config = tls::client_with_fingerprint(certificate.fingerprint).config()?;
    config.congestion(controller);
    let client = Endpoint::client("127.0.0.1:0".parse()?)?;
    let connection = client.connect_with(config, address, "localhost")?.await?;
    // Dropping the stream finishes it.
    connection
        .open_uni()
        .await?
        .write_all(&vec![0; 1_000_000])
        .await?;
    let bytes = serving.await??;
    Ok(format!(
        "{bytes} bytes over loopback: {}",
        connection.congestion()
    ))
}

const TIME: Duration = Duration::from_secs(10);
