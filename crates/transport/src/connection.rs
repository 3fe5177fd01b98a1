//! Connections: the state that a connection's handles and the endpoint's task share, its streams,
//! and the handles.

mod congestion;
mod connecting;
mod datagram;
mod handle;
mod shared;
mod stream;
mod wakeups;
mod work_queue;

pub use connecting::{Connecting, ZeroRttAccepted};
pub use handle::Connection;
pub(crate) use shared::{Lease, Shared, State};
pub use stream::{RecvStream, SendStream};
pub(crate) use wakeups::Wakeups;
pub(crate) use work_queue::WorkQueue;
