//! The frames of a live video, from the encoder to the screen: the same in real and virtual time.
//!
//! ```text
//!  0       2         10          18      22      24      26      34      42
//!  | stream | number  | departure | frame | index | count | birth | clock | the rest is noise
//! ```
//! Big-endian. The first three are those of every datagram of a run, and `birth` and `departure`
//! nanoseconds of the sender's clock; `clock` tells clocks apart, so that a receiver knows whether
//! it reads the same one. A datagram is sent when its frame is made, so both times are equal but
//! for the time that the sender's thread takes.
//!
//! This is where the bench has its receive timestamps: one-way times are measured from the
//! departure in this header. The frame of draft-ietf-quic-receive-ts-02 would carry them for all
//! packets; quinn-proto would have to write and read it.

mod encoder;
mod header;
mod ledger;

pub use encoder::Encoder;
pub use ledger::{Arrived, FrameLedger};
