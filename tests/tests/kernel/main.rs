//! Links of a real kernel: the scripts over tc, and `link-relay tun`. What cannot run on this
//! machine is skipped, and says so.
#![cfg(target_os = "linux")]

mod link_tun;
mod netem_scripts;
