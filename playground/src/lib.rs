//! The simulator behind the playground: flows under controllers of `cc-core` over a link that
//! changes while they run, and the report's own plots of them.
//!
//! ```text
//! page (web/) ── JSON ──▶ exports ─▶ request ─▶ Session ─▶ flow_sim::Run
//!      ◀── JSON, SVG ─────────────────────────────┴─▶ figures ─▶ bench_report::plot
//! ```
//!
//! Everything but [`exports`](self) is ordinary Rust, and the same natively: a page's figures are
//! those of [`Session`] for the same [`Setup`], to the digit.

#[cfg(target_arch = "wasm32")]
mod exports;
mod figures;
mod request;
mod session;
mod setup;

pub use request::{Request, answer};
pub use session::{FlowSummary, Session, Step};
pub use setup::{FlowSetup, LinkChange, MAX_FLOWS, Setup};
