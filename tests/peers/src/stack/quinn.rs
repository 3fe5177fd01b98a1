//! quinn 0.11, with two numbers that large packets need:
//!
//! - It asks for ten packets a system call, whatever their size. Above 64 KiB the kernel refuses
//!   them, quinn-udp takes the refusal for a success, and the transfer stands still. Its socket is
//!   told how many fit.
//! - CUBIC's initial window is 12,000 bytes, below one large packet, so that nothing is ever sent.

#[expect(clippy::duplicate_mod, reason = "the one text is for two libraries")]
#[path = "named_alike.rs"]
mod named_alike;

use self::Quinn as Marker;
use crate::Result;
use crate::settings::{LARGEST_PAYLOAD, Settings};
use library::udp::{RecvMeta, Transmit};
use library::{AsyncUdpSocket, Runtime, TokioRuntime, UdpPoller};
use quinn as library;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The marker of this library.
pub(crate) struct Quinn;

fn endpoint(
    config: library::EndpointConfig,
    server: Option<library::ServerConfig>,
    settings: &Settings,
) -> Result<library::Endpoint> {
    let socket = Arc::new(Narrow {
        inner: TokioRuntime.wrap_udp_socket(settings.socket()?)?,
        segments: LARGEST_PAYLOAD / usize::from(settings.mtu),
    });
    let runtime = Arc::new(TokioRuntime);
    Ok(library::Endpoint::new_with_abstract_socket(
        config, server, socket, runtime,
    )?)
}

fn adapt(config: &mut library::TransportConfig, settings: &Settings) {
    let mut cubic = library::congestion::CubicConfig::default();
    cubic.initial_window(settings.initial_window());
    config.congestion_controller_factory(Arc::new(cubic));
}

/// quinn's own socket, which promises no more segments than fit into one datagram.
#[derive(Debug)]
struct Narrow {
    inner: Arc<dyn AsyncUdpSocket>,
    segments: usize,
}

impl AsyncUdpSocket for Narrow {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.inner).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.inner.try_send(transmit)
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.inner.poll_recv(context, buffers, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments().min(self.segments)
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}
