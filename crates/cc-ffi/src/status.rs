//! What a call returns.

use core::ffi::CStr;

/// What became of a call. Everything but `PACELINE_CC_STATUS_OK` has changed nothing, except that a
/// panic ends the handle.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacelineCcStatus {
    /// The call did what it says.
    Ok = 0,
    /// A pointer that has to point to something is null or not aligned.
    NullPointer = 1,
    /// A number is outside the range that its documentation gives, or a text is not UTF-8.
    BadArgument = 2,
    /// The text names no controller, or a parameter that it does not have.
    BadController = 3,
    /// The time is earlier than that of a call before.
    TimeWentBack = 4,
    /// A packet number is not greater than those of all packets sent before.
    NumberNotNew = 5,
    /// No packet of this number is in flight, or for a spurious loss: none is known to be lost.
    UnknownPacket = 6,
    /// Packets were reported since the last `paceline_cc_end_feedback`, which has to come first.
    FeedbackNotEnded = 7,
    /// From the oldest packet that is not settled on, a handle holds no more packets.
    TooManyPackets = 8,
    /// The controller has panicked, now or before. The handle can only be freed.
    Panicked = 9,
}

impl PacelineCcStatus {
    /// What is wrong, and what to do.
    pub(crate) const fn text(self) -> &'static CStr {
        match self {
            Self::Ok => c"done",
            Self::NullPointer => {
                c"a pointer is null or not aligned; point it to the documented type"
            }
            Self::BadArgument => c"an argument is out of range; paceline_cc.h has the range",
            Self::BadController => {
                c"the text chooses no controller; the error buffer says what could"
            }
            Self::TimeWentBack => {
                c"the time is earlier than in a call before; read one monotonic clock"
            }
            Self::NumberNotNew => {
                c"the packet number is not greater than all before; number in order of sending"
            }
            Self::UnknownPacket => {
                c"no such packet is outstanding; report each once, as it was sent"
            }
            Self::FeedbackNotEnded => {
                c"the reported packets come first; call paceline_cc_end_feedback"
            }
            Self::TooManyPackets => {
                c"too many packets since the oldest unsettled one; report what became of it first"
            }
            Self::Panicked => {
                c"the controller has panicked, a bug in it; free the handle and make another"
            }
        }
    }

    /// The status of this number, if there is one.
    pub(crate) fn of(number: i32) -> Option<Self> {
        ALL.into_iter().find(|status| *status as i32 == number)
    }
}

pub(crate) const ALL: [PacelineCcStatus; 10] = [
    PacelineCcStatus::Ok,
    PacelineCcStatus::NullPointer,
    PacelineCcStatus::BadArgument,
    PacelineCcStatus::BadController,
    PacelineCcStatus::TimeWentBack,
    PacelineCcStatus::NumberNotNew,
    PacelineCcStatus::UnknownPacket,
    PacelineCcStatus::FeedbackNotEnded,
    PacelineCcStatus::TooManyPackets,
    PacelineCcStatus::Panicked,
];
