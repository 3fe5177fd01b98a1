//! Each controller over emulated links, in virtual time: what its specification says, what others
//! have published for theirs, and every decision in standard situations, as recorded.
//!
//! Most of it is the small transport of `e2e::sim`; `bbr_quic` and `field_tests` run real QUIC
//! endpoints.

mod aqm_fair;
mod aqm_queue;
mod bbr1;
mod bbr2;
mod bbr_draft_cases;
mod bbr_links;
mod bbr_quic;
mod bbrplus;
mod both_transports;
mod brutal;
mod copa;
mod field_tests;
mod ledbat_pp;
mod loss_based;
mod paceline;
mod picoquic;
mod prague;
mod quiche;
mod situations;
