//! A sender whose datagrams are also sent damaged, cut off, twice, or as noise, and whose path
//! swallows large ones for a while.

use paceline::testing::Simulation;
use paceline::units::Rng;
use paceline::{ArrivedDatagrams, DatagramBatch, DatagramSocket};
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Instant;

/// What somebody on the path can do who has no keys: he sees datagrams, and sends others with the
/// same addresses.
#[derive(Debug)]
pub(super) struct Mangling {
    socket: Arc<dyn DatagramSocket>,
    rng: Mutex<Rng>,
    /// One datagram of so many has company.
    interval: u64,
    /// When datagrams of more than [`HOLE`] bytes vanish, and no word comes back.
    hole: Range<Instant>,
}

impl Mangling {
    pub(super) fn bind(address: SocketAddr, mut rng: Rng) -> Arc<Self> {
        let hole = match rng.below(3) {
            0 => rng.duration_between(Duration::ZERO, Duration::from_secs(60)),
            _ => Duration::ZERO,
        };
        let from = Instant::now() + rng.duration_between(Duration::ZERO, Duration::from_secs(5));
        Arc::new(Self {
            hole: from..from + hole,
            socket: Simulation::bind(address).unwrap(),
            interval: 2 + rng.below(30),
            rng: Mutex::new(rng),
        })
    }

    fn send_company(&self, batch: &DatagramBatch<'_>, rng: &mut Rng) -> io::Result<()> {
        let datagram = batch.datagrams().next().unwrap_or_default();
        let mut copy = datagram.to_vec();
        match rng.below(5) {
            // Twice.
            0 => {}
            // A bit is wrong.
            1 => {
                let at = rng.below(copy.len() as u64) as usize;
                copy[at] ^= 1 << rng.below(8);
            }
            // The end is missing.
            2 => copy.truncate(1 + rng.below(copy.len() as u64) as usize),
            // Noise behind the first byte.
            3 => copy[1..]
                .iter_mut()
                .for_each(|byte| *byte = rng.next_u64() as u8),
            // Two in one.
            _ => copy.extend_from_slice(datagram),
        }
        let mut company = DatagramBatch::new(batch.destination, &copy, copy.len());
        company.ecn = batch.ecn;
        self.socket.try_send(&company)
    }
}

impl DatagramSocket for Mangling {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn try_send(&self, batch: &DatagramBatch<'_>) -> io::Result<()> {
        let mut rng = self.rng.lock().unwrap();
        if rng.below(self.interval) == 0 {
            self.send_company(batch, &mut rng)?;
        }
        let is_large = batch.datagrams().any(|datagram| datagram.len() > HOLE);
        if is_large && self.hole.contains(&Instant::now()) {
            return Ok(());
        }
        self.socket.try_send(batch)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.socket.poll_writable(cx)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<ArrivedDatagrams>> {
        self.socket.poll_recv(cx, buffer)
    }

    fn max_batch(&self) -> usize {
        self.socket.max_batch()
    }
}

/// The least that every path carries (RFC 9000 §14).
const HOLE: usize = 1_200;
