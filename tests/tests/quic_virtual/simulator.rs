//! The simulators themselves: these tests show that virtual time is right, and nothing of what runs
//! in it. Where they name controllers, others would do.
//!
//! | test | of |
//! |---|---|
//! | [`small_transport`] | the transport of `e2e::sim` over one link |
//! | [`topology`] | the same over shared, chained and partly shared links |
//! | [`competition`] | real endpoints that share links |
//! | [`recorded`] | both: the same run everywhere |

mod competition;
mod recorded;
mod small_transport;
mod topology;
