//! What a connection has learned of its path, for a later one to the same peer (RFC 9959).

mod error;
mod memory;
mod network;
mod store;

pub use error::PathMemoryError;
pub use memory::PathMemory;
pub use store::PathStore;
pub(crate) use store::Slot;
