//! Recordings of other formats, made into traces. No I/O.
//!
//! ```
//! use core::time::Duration;
//! use link_sim::convert::{RateColumn, rates_of_csv, trace_of_rates};
//! use units::Bandwidth;
//!
//! let unit = Bandwidth::from_bits_per_sec(1_000_000);
//! let csv = "second,mbps\n0,12.5\n1,3\n";
//! let rates = rates_of_csv(csv, RateColumn::Named("mbps"), unit)?;
//! let trace = trace_of_rates(&rates, Duration::from_secs(1))?;
//! assert_eq!(trace.period(), Duration::from_secs(2));
//! # Ok::<(), String>(())
//! ```

mod capture;
mod rates;

pub use capture::Capture;
pub use rates::{RateColumn, rates_of_csv, trace_of_rates};
