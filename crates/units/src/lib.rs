//! One type per physical quantity, so that no bare integer crosses a module border.
//!
//! | left | operator | right | gives | rounding |
//! |---|---|---|---|---|
//! | [`Timestamp`] | `+` | `Duration` | [`Timestamp`] | saturates at the end of time (year 584) |
//! | [`Timestamp`] | [`since`](Timestamp::since) | [`Timestamp`] | `Duration` | zero when the other is later |
//! | [`Bandwidth`] | `*` | `Duration` | [`Bytes`] | down |
//! | [`Bytes`] | `/` | [`Bandwidth`] | `Duration` | up |
//! | [`Bytes`], [`Bandwidth`], `Duration` | `*` | [`Gain`] | the same | down |
//!
//! Rates are bytes per second inside and bits per second only where a person reads or writes.
//! Everything is integer arithmetic with 128-bit intermediates, so a result is the same on every
//! machine. Text is read and written in the units of `tc(8)`: `100mbit`, `50ms`, `64kb`, `2.5%`.
//!
//! ```
//! use units::{Bandwidth, Bytes, Gain};
//! use core::time::Duration;
//!
//! let rate: Bandwidth = "100mbit".parse()?;
//! let bdp: Bytes = rate * Duration::from_millis(40);
//! assert_eq!(bdp, Bytes::new(500_000));
//! assert_eq!(bdp * Gain::new(2, 1), Bytes::new(1_000_000));
//! assert_eq!(Bytes::new(1_250) / rate, Duration::from_micros(100));
//! # Ok::<(), units::ParseError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod bandwidth;
mod bytes;
pub mod duration;
#[cfg(feature = "serde")]
pub mod encoding;
mod gain;
pub mod histogram;
mod nearest;
mod parse;
mod rng;
mod timestamp;

pub use bandwidth::Bandwidth;
pub use bytes::Bytes;
pub use gain::Gain;
pub use nearest::nearest;
pub use parse::ParseError;
pub use rng::Rng;
pub use timestamp::Timestamp;

/// The examples of the crate's README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
