//! Paceline's congestion controllers in [noq](https://docs.rs/noq), a QUIC transport.
//!
//! ```
//! use noq_proto::TransportConfig;
//!
//! let mut config = TransportConfig::default();
//! config.congestion_controller_factory(paceline_noq::controller("bbr3")?);
//! # Ok::<(), cc_core::ChooseError>(())
//! ```
//!
//! noq tells a controller of each packet that leaves, is acknowledged or is lost, and paces by the
//! controller's rate. `docs/noq.md` says fact by fact what it tells and what it does not.

mod controller;
mod packets;
mod path;
mod pending;

use cc_core::{ChooseError, Registry};
pub use controller::{Factory, PathController};
use noq_proto::congestion::ControllerFactory;
use std::sync::Arc;

/// What makes noq's connections use the controller that `text` names: `bbr3`, or
/// `bbr3:loss_thresh=5%`. Each network path gets a controller of its own with a random seed;
/// [`Factory::seed`] sets one.
///
/// # Errors
/// The text names no controller, or a parameter that it does not have. The error says what could
/// stand there.
pub fn controller(text: &str) -> Result<Arc<dyn ControllerFactory + Send + Sync>, ChooseError> {
    Ok(Arc::new(Factory::new(Registry::standard().choose(text)?)))
}

/// The example of the crate's README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
