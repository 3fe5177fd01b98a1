//! Whole applications in virtual time: their tasks, timers and endpoints, over emulated links.
//!
//! ```text
//!  the application: tokio::spawn, tokio::time …  Endpoint::client, Endpoint::server
//!        │ tokio's clock, paused                     │ sockets and alarms
//!  ══════╪═══════════════════════════════════════════╪══════════════════════════════
//!     clockwork: whose event is next?  ◀────────  network: link-sim's simulator
//! ```

mod clockwork;
mod current;
mod network;
mod world;

use crate::datagram_socket::DatagramSocket;
use crate::virtual_time;
use link_sim::sim::RouteStats;
use link_sim::{LinkSpec, SpecError};
use network::Network;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Runs an application, clients and servers in one thread, in virtual time over emulated links.
///
/// [`run`](Self::run) takes a future as `main` would be. In it, and in whatever it spawns,
/// - [`client`](crate::Endpoint::client) and [`server`](crate::Endpoint::server) of `Endpoint` bind
///   sockets of the simulation: each is a host of its own, whatever its address is, and between
///   each two lies a link in each direction. An unspecified address becomes one of its own, which
///   [`local_addr`](crate::Endpoint::local_addr) tells.
/// - `tokio::spawn` and all of `tokio::time` work, and time passes only while nothing else can
///   happen, so that an hour takes as long as its packets take to be computed. What the application
///   computes takes no time.
///
/// The same seed, links and application give the same packets at the same nanoseconds. For that the
/// application has to draw no randomness and read no clock but `tokio::time`'s
/// (`tokio::select!` draws: write `biased;`), and certificates have to be of one length each time:
/// [`SelfSigned`](crate::tls::SelfSigned) makes such ones inside of `run`.
///
/// ```
/// use paceline::testing::Simulation;
/// use paceline::{Endpoint, VarInt, tls};
/// use std::time::Duration;
///
/// let (there, back) = ("delay 50ms loss 2%".parse()?, "delay 50ms".parse()?);
/// let simulation = Simulation::new(1).links(&there, &back)?;
/// let took = simulation.run(async {
///     let certificate = tls::SelfSigned::generate(["server.test"])?;
///     let server = Endpoint::server(certificate.server().config()?, "10.0.0.1:443".parse()?)?;
///     tokio::spawn(async move {
///         let connection = server.accept().await?.await.ok()?;
///         let mut stream = connection.open_uni().await.ok()?;
///         stream.write_all(&[7; 100_000]).await.ok()?;
///         stream.finish().ok()?;
///         Some(connection.closed().await)
///     });
///     let begun = tokio::time::Instant::now();
///     let client = Endpoint::client("0.0.0.0:0".parse()?)?;
///     let config = tls::client_with_fingerprint(certificate.fingerprint).config()?;
///     let connecting = client.connect_with(config, "10.0.0.1:443".parse()?, "server.test")?;
///     let connection = connecting.await?;
///     let received = connection.accept_uni().await?.read_to_end(100_000).await?;
///     assert_eq!(received.len(), 100_000);
///     connection.close(VarInt::from_u32(0), b"done");
///     Ok::<_, Box<dyn std::error::Error>>(begun.elapsed())
/// })?;
/// assert!(took > Duration::from_millis(200) && took < Duration::from_secs(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Simulation {
    seed: u64,
    there: LinkSpec,
    back: LinkSpec,
    are_shared: bool,
    limit: Duration,
}

impl Simulation {
    /// Without links: what is sent arrives at once. All that links and endpoints draw comes from
    /// `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            there: LinkSpec::default(),
            back: LinkSpec::default(),
            are_shared: false,
            limit: Duration::from_secs(3_600),
        }
    }

    /// Puts these links between each two sockets: `there` from the one that was bound later, a
    /// client as a rule, to the one that was bound earlier, and `back`.
    ///
    /// # Errors
    /// A queue in `bdp` without a delay in either direction.
    pub fn links(self, there: &LinkSpec, back: &LinkSpec) -> Result<Self, SpecError> {
        there.base_rtt(back)?;
        Ok(Self {
            there: there.clone(),
            back: back.clone(),
            ..self
        })
    }

    /// Has all sockets share one pair of links, a bottleneck for all of them together. Default:
    /// each two have a pair of their own.
    pub fn shared(self) -> Self {
        Self {
            are_shared: true,
            ..self
        }
    }

    /// How long a run may take in virtual time. Default: an hour.
    pub fn time_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Runs `application` to its end, and then ends what it has spawned.
    ///
    /// # Panics
    /// When it panics, when it has not ended after [`time_limit`](Self::time_limit), and inside of
    /// a tokio runtime or another simulation.
    pub fn run<F: Future>(&self, application: F) -> F::Output {
        let (there, back) = (self.there.clone(), self.back.clone());
        let network = Network::new(self.seed, there, back, self.are_shared);
        clockwork::run(network, self.seed, self.limit, application)
    }

    /// Makes all links others from now on, inside of [`run`](Self::run). What is inside of them
    /// stays there.
    ///
    /// # Errors
    /// A queue in `bdp` without a delay in either direction.
    ///
    /// # Panics
    /// Outside of a run.
    pub fn change_links(there: &LinkSpec, back: &LinkSpec) -> Result<(), SpecError> {
        let now = virtual_time::with(|world| world.now()).expect(OUTSIDE);
        current::with(|network| network.set_links(now, there, back)).expect(OUTSIDE)
    }

    /// A socket of the simulation's, as endpoints inside of [`run`](Self::run) have them: for
    /// [`Endpoint::with_socket`](crate::Endpoint::with_socket) with something of the application's
    /// around it, or for another protocol.
    ///
    /// # Errors
    /// When the address has a socket already.
    ///
    /// # Panics
    /// Outside of a run.
    pub fn bind(address: SocketAddr) -> io::Result<Arc<dyn DatagramSocket>> {
        virtual_time::with(|world| world.bind(address)).expect(OUTSIDE)
    }

    /// Packets that were sent from one socket to another inside of [`run`](Self::run), as these
    /// sockets' local addresses name them; zeros where there is no such socket any more.
    ///
    /// # Panics
    /// Outside of a run.
    pub fn packets(from: SocketAddr, to: SocketAddr) -> RouteStats {
        current::with(|network| network.stats(from, to)).expect(OUTSIDE)
    }
}

const OUTSIDE: &str = "called outside of `Simulation::run`; call it in the application that runs";
