//! What the programs of this workspace say to people and to shells.
//!
//! `link-relay` and the programs that measure with links share it; this is the lowest crate that
//! all of them use.

mod command_line;
mod completions;
mod message;
mod number;

pub use clap_complete::Shell;
pub use command_line::{is_link_word, parse, refusal};
pub use completions::{completions, with_values};
pub use message::message;
pub use number::whole;
