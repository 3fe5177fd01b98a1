//! What the bench programs share.
//!
//! | module | what it holds |
//! |---|---|
//! | [`result`] | the JSON contract |
//! | [`stats`] | the order of the rounds, and what their differences mean |

pub mod result;
pub mod stats;

#[cfg(test)]
mod fixtures;
