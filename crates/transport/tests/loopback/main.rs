//! Endpoints on real sockets over loopback. Nothing here depends on how fast the machine is; a
//! limit of a minute turns what hangs into a failure.

mod attempts;
mod closing;
mod datagrams;
mod handles;
mod hostile;
mod interop;
mod security;
mod streams;
mod support;
