//! What leaves and what is acknowledged, packet by packet, read where packets are protected.
//!
//! ```text
//!  quinn_proto::Connection ── encrypt(number, packet) ──▶ TappedKey ── Sent ──┐
//!            ▲                                               │                ▼
//!            └───────── payload ◀── decrypt(number, …) ──────┴── Ack ──▶ Tap ──▶ cc_adapter
//! ```
//!
//! quinn-proto tells congestion control sums. But its packet protection is a trait, and keys see
//! the number, the length and the plain text of every packet: those of the Initial, Handshake and
//! application data spaces, with 0-RTT and 1-RTT keys, through Retry and key updates. So keys are
//! wrapped. Of what leaves, number, length and kind are recorded, and how far streams have left; of
//! what arrives, ACK frames (RFC 9000 §19.3) are read and nothing else. quinn-proto checks all of
//! it, as before.
//!
//! A packet that quinn-proto drops after decrypting it, such as a duplicate, is read here all the
//! same. Nobody has checked what it acknowledges, so the driver compares how many ACK frames were
//! [read](Received::frames) with how many quinn-proto has processed.

mod departed;
mod ecn;
mod facts;
mod frames;
mod header;
mod keys;
mod log;
mod padding;
mod parameters;
mod recent;
mod requests;

pub(crate) use facts::{Ack, PaddingMark, Received, Sent, Space};
pub(crate) use frames::{Content, EcnCounts};
pub(crate) use header::Head;
pub(crate) use log::Tap;
pub(crate) use requests::AckRequest;
