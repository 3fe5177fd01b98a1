//! QUIC endpoints on real sockets over loopback, with those of other libraries.
//!
//! Pacing and memory are measured in programs of their own, `pacing` and `endurance`.

mod h3;
mod interop;
mod porting;
mod quic_lb;
mod sharded;
