//! The library of cryptography: aws-lc-rs or ring, by the feature of that name.
//!
//! With both features it is aws-lc-rs, so that a dependency that turns on `ring` changes nothing.
//! Both offer the same functions under the same names, but for a block of AES, which ring lacks.
//!
//! quinn-proto makes the opposite choice: with both, its keys are ring's. No type of quinn-proto's
//! is therefore made of these.

#[cfg(feature = "aws-lc-rs")]
mod aws_lc;
#[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
mod ring;

#[cfg(feature = "aws-lc-rs")]
pub(crate) use aws_lc::*;
#[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
pub(crate) use ring::*;
