//! What bytes are no memory of a path.

use thiserror::Error;

/// Why bytes are no [`PathMemory`](super::PathMemory).
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PathMemoryError {
    /// Too few or too many.
    #[error("a path memory of {found} bytes; expected {ENCODED}")]
    Length {
        /// How many there are.
        found: usize,
    },
    /// Written by another version of this library.
    #[error("a path memory of version {found}; expected {VERSION}")]
    Version {
        /// Which.
        found: u8,
    },
    /// A number that is never written.
    #[error("wrong {field} in a path memory; expected {expected}")]
    Field {
        /// Which number.
        field: &'static str,
        /// What it can be.
        expected: &'static str,
    },
}

pub(super) fn wrong(field: &'static str, expected: &'static str) -> PathMemoryError {
    PathMemoryError::Field { field, expected }
}

/// The version that is written and read.
pub(super) const VERSION: u8 = 1;
/// Length in bytes.
pub(super) const ENCODED: usize = 41;
