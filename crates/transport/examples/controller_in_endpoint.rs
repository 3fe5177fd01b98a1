//! A controller of one's own in an endpoint, beside CUBIC over the same emulated link.
//!
//! ```text
//! cargo run -p paceline --features testing --example controller_in_endpoint
//! ```
//!
//! It is AIMD, the simplest that shares a link: a packet more for each window that is acknowledged,
//! and seven tenths of the window after a loss. Both upload 25 MB over 20 Mbit/s and 40 ms, in
//! virtual time.

use paceline::cc_core::{
    Control, Controller, ControllerSpec, LostPacket, Observer, PathState, RateSample, Registry,
    Snapshot,
};
use paceline::testing::Simulation;
use paceline::units::{Bytes, Gain, Timestamp};
use paceline::{ControllerChoice, Endpoint, tls};
use std::error::Error;
use std::io::{self, Write};
use std::time::Duration;
use tokio::time::Instant;

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

fn main() -> Result<()> {
    let registry = Registry::standard().with(AIMD);
    for name in ["aimd", "cubic"] {
        match writeln!(io::stdout(), "{}", upload(registry.choose(name)?)?) {
            // Whoever read this has gone.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => break,
            written => written?,
        }
    }
    Ok(())
}

/// The goodput, and what the controller says of itself at the end.
pub(crate) fn upload(controller: ControllerChoice) -> Result<String> {
    let link = "delay 20ms rate 20mbit queue 1bdp".parse()?;
    Simulation::new(1).links(&link, &link)?.run(async {
        let certificate = tls::SelfSigned::generate(["server.test"])?;
        let address = "10.0.0.1:443".parse()?;
        let server = Endpoint::server(certificate.server().config()?, address)?;
        let mut config = tls::client_with_fingerprint(certificate.fingerprint).config()?;
        config.congestion(controller);
        let client = Endpoint::client("0.0.0.0:0".parse()?)?;
        let connecting = client.connect_with(config, address, "server.test")?;
        let accepting = async { server.accept().await.expect("it is open").await };
        let (connection, accepted) = tokio::try_join!(connecting, accepting)?;

        let (mut send, begun) = (connection.open_uni().await?, Instant::now());
        tokio::spawn(async move { send.write_all(&vec![0; BYTES]).await });
        accepted.accept_uni().await?.read_to_end(BYTES).await?;
        let goodput = BYTES as f64 * 8e-6 / begun.elapsed().as_secs_f64();
        Ok(format!("{goodput:.1} Mbit/s, {}", connection.congestion()))
    })
}

const BYTES: usize = 25_000_000;
