//! Paceline beside other libraries of QUIC, each with its default features, in one program.
//!
//! Cargo builds one quinn-proto and one rustls for all of them, with the features of all: those of
//! aws-lc-rs, which Paceline turns on, and of ring, which the others do. That this compiles is what
//! is tested first; each test then has both ends of a connection in the program.

#[cfg(test)]
mod http3;
#[cfg(test)]
mod quinns;
#[cfg(test)]
mod support;
#[cfg(test)]
mod web_transport;
