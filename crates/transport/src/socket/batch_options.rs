use crate::dscp::Dscp;
use std::time::Instant;

/// How a batch is to leave, beside what quinn-proto says of it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BatchOptions {
    /// Until when the kernel keeps it; `None` is not at all.
    pub(crate) departure: Option<Instant>,
    /// Linux's kernel alone sets it, and a socket of the application's is told.
    pub(crate) dscp: Dscp,
}
