//! A server on several cores: shards that share an address and nothing else.
//!
//! ```text
//!                  UDP port ── the kernel reads each packet's destination connection ID
//!              ┌──────┴──────┐         (its last octet, modulo the number of shards)
//!           socket 0      socket 1     … one SO_REUSEPORT group
//!              │  ◀─ strays ─▶ │
//!          Endpoint 0    Endpoint 1    … connection IDs that end in the shard's number
//!          handlers      handlers      … one thread and one current-thread runtime each
//! ```

mod builder;
mod cid;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(target_os = "linux")]
mod program;
mod server;
mod sockets;
mod worker;

pub use builder::ShardedBuilder;
#[cfg(feature = "metrics")]
pub use metrics::ShardedMetrics;
pub use server::{ShardStats, ShardedServer};
pub use sockets::Steering;

#[cfg(test)]
#[cfg(feature = "rcgen")]
mod tests;
