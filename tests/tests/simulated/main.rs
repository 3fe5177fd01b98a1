//! Controllers over links, in virtual time.
//!
//! They are one program: what they have in common is built and linked once, and none of them has
//! the other processors wait for its longest test.

mod aqm_fair;
mod aqm_queue;
mod bbr1;
mod bbr2;
mod bbr_ambient;
mod bbr_draft_cases;
mod bbr_links;
mod bbr_quic;
mod bbrplus;
mod brutal;
mod copa;
mod field_tests;
mod ledbat_pp;
mod loss_based;
mod picoquic;
mod prague;
mod quiche;
mod sim;
