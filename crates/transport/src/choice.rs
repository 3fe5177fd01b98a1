//! Choosing a congestion controller, by its name or from a registry.

use crate::cc_adapter::SumsFactory;
use cc_core::{ChooseError, ControllerChoice, Registry};
use quinn_proto::congestion::ControllerFactory;
use std::sync::Arc;

/// What names a congestion controller: a string such as `bbr3` or `cubic:beta=0.8`, looked up in
/// [`Registry::standard`], or a [`ControllerChoice`] from a registry of the application's.
///
/// A string can be wrong, a choice cannot; so what takes either gives a `Result` for the string
/// alone:
///
/// ```
/// let mut config = paceline::TransportConfig::default();
/// config.congestion("bbr3:loss_thresh=5%")?.initial_mtu(1_350);
///
/// let from_a_file = String::from("cubic:beta=0.8");
/// config.congestion(&from_a_file)?.congestion(from_a_file)?;
///
/// let choice = paceline::cc_core::Registry::standard().choose("cubic")?;
/// config.congestion(choice).initial_mtu(1_350);
///
/// let error = config.congestion("bbr33").unwrap_err();
/// assert!(error.to_string().contains("bbr3"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ChooseController {
    /// What becomes of a `T` that is made from the choice.
    type Chosen<T>;

    /// Has `apply` make something of the choice, if it is one.
    fn choose_controller<T>(self, apply: impl FnOnce(ControllerChoice) -> T) -> Self::Chosen<T>;
}

impl ChooseController for ControllerChoice {
    type Chosen<T> = T;

    fn choose_controller<T>(self, apply: impl FnOnce(Self) -> T) -> T {
        apply(self)
    }
}

impl ChooseController for &ControllerChoice {
    type Chosen<T> = T;

    fn choose_controller<T>(self, apply: impl FnOnce(ControllerChoice) -> T) -> T {
        apply(self.clone())
    }
}

macro_rules! choose_by_name {
    ($($name:ty),*) => {
        $(impl ChooseController for $name {
            type Chosen<T> = Result<T, ChooseError>;

            fn choose_controller<T>(
                self,
                apply: impl FnOnce(ControllerChoice) -> T,
            ) -> Result<T, ChooseError> {
                Registry::standard().choose(&self).map(apply)
            }
        })*
    };
}

choose_by_name!(&str, &String, String);

/// One of this library's controllers for an application that stays on quinn 0.11, for its
/// `TransportConfig::congestion_controller_factory`:
///
/// ```
/// let mut config = quinn::TransportConfig::default();
/// config.congestion_controller_factory(paceline::quinn_controller("bbr3")?);
/// # Ok::<(), paceline::ChooseError>(())
/// ```
///
/// Any number of connections can share it. The window is the controller's, and no more than its
/// pacing rate sends in a smoothed round-trip time; **the pacing is quinn's**, which knows no rate:
/// 1.25 × window ÷ smoothed round-trip time, in bursts of 10 to 256 packets. What that takes away
/// is in docs/transport.md, "In quinn".
///
/// # Errors
/// When the string names no controller.
pub fn quinn_controller<C: ChooseController>(
    choice: C,
) -> C::Chosen<Arc<dyn ControllerFactory + Send + Sync>> {
    choice.choose_controller(|choice| SumsFactory::new(choice, None))
}
