//! Streams of bytes.

mod recv;
mod send;

pub use recv::RecvStream;
pub use send::SendStream;
