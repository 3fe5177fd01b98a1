//! Published libraries that depend on quinn, unchanged, on Paceline under quinn's name
//! (`crates/quinn-shim`).
//!
//! Each test has both ends of a connection in this program, moves data, and then asks
//! [`witness`] whether it was Paceline that did.

#[cfg(test)]
mod abstract_socket;
#[cfg(test)]
mod http3;
#[cfg(test)]
mod libp2p;
#[cfg(test)]
mod quinn_names;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod reqwest_client;
#[cfg(test)]
mod support;
#[cfg(test)]
mod web_transport;
#[cfg(test)]
mod witness;
