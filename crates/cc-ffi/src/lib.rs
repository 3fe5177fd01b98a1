//! Paceline's congestion controllers behind a C ABI, for transports that are not written in Rust.
//!
//! ```text
//!  C transport ── on_sent, on_acked, on_lost, end_feedback ──▶ PacelineCc
//!      │                                                         │ numbers ─▶ stamps
//!      │                                                         ▼
//!      └◀── cwnd, pacing rate, send quantum, ECT(1) ──── cc_core::Flow
//! ```
//!
//! The caller tells of packets by number. A handle keeps what cc-core's delivery-rate sampler has
//! to know of each, and holds at most [`MAX_IN_FLIGHT`] packets in flight and [`MAX_LOST`] lost
//! ones. The header is `include/paceline_cc.h`; `docs/c-abi.md` has the order of calls.
//!
//! No call is undefined behaviour for what its numbers say: null pointers, unknown packets, times
//! that go back and calls in the wrong order are a [`PacelineCcStatus`] and change nothing. What C
//! cannot promise to a callee is the caller's part: that a pointer which is not null points to what
//! its type says, and that a handle is used by one thread at a time and not after it was freed.

mod exports;
mod handle;
mod names;
mod packets;
mod status;
mod structs;
mod text;

pub use exports::{
    paceline_cc_control, paceline_cc_end_feedback, paceline_cc_free, paceline_cc_name,
    paceline_cc_new, paceline_cc_on_acked, paceline_cc_on_app_limited, paceline_cc_on_discarded,
    paceline_cc_on_lost, paceline_cc_on_mss, paceline_cc_on_path_change, paceline_cc_on_sent,
    paceline_cc_on_spurious_loss, paceline_cc_path, paceline_cc_set_sends_ect1, paceline_cc_state,
    paceline_cc_status_text,
};
pub use handle::PacelineCc;
pub use packets::{MAX_IN_FLIGHT, MAX_LOST};
pub use status::PacelineCcStatus;
pub use structs::{PacelineCcControl, PacelineCcFeedback, PacelineCcPath, PacelineCcSetup};
