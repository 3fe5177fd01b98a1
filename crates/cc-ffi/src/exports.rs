//! The functions that C calls.
//!
//! Each checks its pointers here and does its work in safe code elsewhere.
#![expect(
    unsafe_code,
    reason = "C passes pointers, and calls functions by names that are unique in a program"
)]

use crate::handle::{Connection, PacelineCc};
use crate::names;
use crate::status::PacelineCcStatus;
use crate::structs::{PacelineCcControl, PacelineCcFeedback, PacelineCcPath, PacelineCcSetup};
use crate::text::fitting;
use cc_core::Registry;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// Makes congestion control for one connection under the controller that `controller` names, such
/// as "bbr3" or "bbr3:loss_thresh=5%", as of `setup`, and stores it in `handle`.
///
/// Where the text names none, up to `error_size` bytes of a message go to `error`, a terminating
/// zero included; `error` may be null. Without a handle, `handle` is set to null.
///
/// # Safety
/// Each pointer is null or points to what its type says: `controller` to a text that ends with a
/// zero, `error` to `error_size` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_cc_new(
    controller: *const c_char,
    setup: *const PacelineCcSetup,
    handle: *mut *mut PacelineCc,
    error: *mut c_char,
    error_size: usize,
) -> PacelineCcStatus {
    if handle.is_null() || !handle.is_aligned() {
        return PacelineCcStatus::NullPointer;
    }
    // SAFETY: it is neither null nor misaligned, so the caller promises a place for a pointer.
    unsafe { handle.write(ptr::null_mut()) };
    // SAFETY: the caller promises that it is null or points to a setup.
    let Some(setup) = (unsafe { shared(setup) }) else {
        return PacelineCcStatus::NullPointer;
    };
    if controller.is_null() {
        return PacelineCcStatus::NullPointer;
    }
    // SAFETY: it is not null, so the caller promises that a zero ends it.
    let Ok(text) = unsafe { CStr::from_ptr(controller) }.to_str() else {
        return PacelineCcStatus::BadArgument;
    };
    let choose = || {
        let choice = Registry::standard().choose(text);
        choice.map_err(|error| error.to_string())
    };
    let choice = match catch_unwind(choose) {
        Ok(Ok(choice)) => choice,
        Ok(Err(choose_error)) => {
            // SAFETY: the caller promises that the buffer is null or that long.
            unsafe { write_text(&choose_error, error, error_size) };
            return PacelineCcStatus::BadController;
        }
        Err(_) => return PacelineCcStatus::Panicked,
    };
    match PacelineCc::new(choice, setup) {
        Ok(made) => {
            // SAFETY: as above.
            unsafe { handle.write(Box::into_raw(Box::new(made))) };
            PacelineCcStatus::Ok
        }
        Err(status) => status,
    }
}

/// Ends a handle. Null is ignored.
///
/// # Safety
/// `handle` is null, or one of `paceline_cc_new` that was not freed; nothing uses it afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_cc_free(handle: *mut PacelineCc) {
    if handle.is_null() {
        return;
    }
    // SAFETY: `paceline_cc_new` made it of a box, which nobody else has.
    let handle = unsafe { Box::from_raw(handle) };
    // What has panicked once may do so again when it is dropped.
    drop(catch_unwind(AssertUnwindSafe(|| drop(handle))));
}

/// A packet leaves now: `number` is greater than that of every packet before, `bytes` its size as
/// it counts in flight, 1 to 65527. Packets that do not count in flight are not reported. A stack
/// with several packet number spaces numbers packets in the order of sending.
///
/// # Safety
/// `handle` is null or a handle in use by this thread alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_cc_on_sent(
    handle: *mut PacelineCc,
    now_ns: u64,
    number: u64,
    bytes: u64,
) -> PacelineCcStatus {
    // SAFETY: as the caller promises.
    unsafe { change(handle, |it| it.on_sent(now_ns, number, bytes)) }
}

/// A packet in flight was acknowledged. Takes effect with `paceline_cc_end_feedback`.
///
/// # Safety
/// `handle` is null or a handle in use by this thread alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_cc_on_acked(
    handle: *mut PacelineCc,
    number: u64,
) -> PacelineCcStatus {
    // SAFETY: as the caller promises.
    unsafe { change(handle, |it| it.on_acked(number)) }
}

/// A packet in flight was declared lost. Takes effect with `paceline_cc_end_feedback`. A lost probe
/// of the path's packet size is discarded instead: it says nothing of congestion.
///
/// # Safety
/// `handle` is null or a handle in use by this thread alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_cc_on_lost(
    handle: *mut PacelineCc,
    number: u64,
) -> PacelineCcStatus {
    // SAFETY: as the caller promises.
    unsafe { change(handle, |it| it.on_lost(number)) }
}

/// All packets were reported that one ACK acknowledges, with those declared lost because of it; or
/// all those that one expiry of the loss timer declares lost. The controller decides now.
///
/// # Safety
/// Each pointer is null or points to what its type says; the handle is in use by this thread alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_cc_end_feedback(
    handle: *mut PacelineCc,
    feedback: *const PacelineCcFeedback,
) -> PacelineCcStatus {
    // SAFETY: as the caller promises.
    let Some(feedback) = (unsafe { shared(feedback) }) else {
        return PacelineCcStatus::NullPointer;
    };
    // SAFETY: as the caller promises.
    unsafe { change(handle, |it| it.end_feedback(feedback)) }
}

/// A packet that was declared lost has arrived after all. Lost packets are remembered until 16384
/// later ones were lost.
///
/// # Safety
/// `handle` is null or a handle in use by this thread alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_cc_on_spurious_loss(
    handle: *mut PacelineCc,
    now_ns: u64,
    number: u64,
) -> PacelineCcStatus {
    // SAFETY: as the caller promises.
    unsafe { change(handle, |it| it.on_spurious_loss(now_ns, number)) }
}

/// A packet left flight without being acknowledged or lost, as when keys are discarded.
///
/// # Safety
/// `handle` is null or a handle in use by this thread alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_cc_on_discarded(
    handle: *mut PacelineCc,
    number: u64,
) -> PacelineCcStatus {
    // SAFETY: as the caller promises.
    unsafe { change(handle, |it| it.on_discarded(number)) }
}

/// Window and pacer would let more leave, but the application has nothing to send. Not for what the
/// peer's flow control holds back.
///
/// # Safety
/// `handle` is null or a handle in use by this thread alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_cc_on_app_limited(handle: *mut PacelineCc) -> PacelineCcStatus {
    // SAFETY: as the caller promises.
    unsafe { change(handle, Connection::on_app_limited) }
}

/// Packets may now be as large as `mss` bytes, 64 to 65527.
///
/// # Safety
/// `handle` is null or a handle in use by this thread alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_cc_on_mss(
    handle: *mut PacelineCc,
    now_ns: u64,
    mss: u64,
) -> PacelineCcStatus {
    // SAFETY: as the caller promises.
    unsafe { change(handle, |it| it.on_mss(now_ns, mss)) }
}

/// The connection goes on over another network path (RFC 9000, section 9.4): the controller begins
/// anew with packets of `mss` bytes, 64 to 65527. What was sent before may still be reported, and
/// is ignored. After a mere change of the peer's port this is not called.
///
/// # Safety
/// `handle` is null or a handle in use by this thread alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_cc_on_path_change(
    handle: *mut PacelineCc,
    now_ns: u64,
    mss: u64,
) -> PacelineCcStatus {
    // SAFETY: as the caller promises.
    unsafe { change(handle, |it| it.on_path_change(now_ns, mss)) }
}

/// Packets that leave from now on carry ECT(1) if the controller wants it (`sends_ect1` is 1), or
/// never do (0), as when the path does not carry ECN.
///
/// # Safety
/// `handle` is null or a handle in use by this thread alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_cc_set_sends_ect1(
    handle: *mut PacelineCc,
    now_ns: u64,
    sends_ect1: u64,
) -> PacelineCcStatus {
    // SAFETY: as the caller promises.
    unsafe { change(handle, |it| it.set_sends_ect1(now_ns, sends_ect1)) }
}

/// Stores the decision in force.
///
/// # Safety
/// Each pointer is null or points to what its type says; the handle is in use by this thread alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_cc_control(
    handle: *const PacelineCc,
    control: *mut PacelineCcControl,
) -> PacelineCcStatus {
    // SAFETY: as the caller promises.
    unsafe { read(handle, control, Connection::control) }
}

/// Stores the connection's state as the handle sees it.
///
/// # Safety
/// Each pointer is null or points to what its type says; the handle is in use by this thread alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_cc_path(
    handle: *const PacelineCc,
    path: *mut PacelineCcPath,
) -> PacelineCcStatus {
    // SAFETY: as the caller promises.
    unsafe { read(handle, path, Connection::path) }
}

/// Writes the name of the controller's state, such as "Startup", to `text`: up to `size` bytes, a
/// terminating zero included. 64 are enough for every state.
///
/// # Safety
/// `handle` is null or a handle in use by this thread alone; `text` is null or points to `size`
/// writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_cc_state(
    handle: *const PacelineCc,
    text: *mut c_char,
    size: usize,
) -> PacelineCcStatus {
    if text.is_null() {
        return PacelineCcStatus::NullPointer;
    }
    let mut state = "";
    // SAFETY: as the caller promises; `state` is a local.
    let status = unsafe { read(handle, &raw mut state, Connection::state) };
    // SAFETY: as the caller promises.
    unsafe { write_text(state, text, size) };
    status
}

/// The name of the controller at `index`, counted from 0; null behind the last one. The text lasts
/// as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_cc_name(index: usize) -> *const c_char {
    names::name(index).map_or(ptr::null(), CStr::as_ptr)
}

/// What a status means and what to do about it. The text lasts as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_cc_status_text(status: i32) -> *const c_char {
    let text = PacelineCcStatus::of(status).map_or(
        c"the number is no status; pass what a function of this library returned",
        PacelineCcStatus::text,
    );
    text.as_ptr()
}

/// # Safety
/// `handle` is null or points to a handle that nothing else uses meanwhile.
unsafe fn change(
    handle: *mut PacelineCc,
    call: impl FnOnce(&mut Connection) -> Result<(), PacelineCcStatus>,
) -> PacelineCcStatus {
    // SAFETY: as the caller promises.
    let Some(handle) = (unsafe { exclusive(handle) }) else {
        return PacelineCcStatus::NullPointer;
    };
    status(handle.change(call))
}

/// # Safety
/// `handle` is null or points to a handle that nothing changes meanwhile, `place` is null or may be
/// written to.
unsafe fn read<T>(
    handle: *const PacelineCc,
    place: *mut T,
    read: impl FnOnce(&Connection) -> T,
) -> PacelineCcStatus {
    if place.is_null() || !place.is_aligned() {
        return PacelineCcStatus::NullPointer;
    }
    // SAFETY: as the caller promises.
    let Some(handle) = (unsafe { shared(handle) }) else {
        return PacelineCcStatus::NullPointer;
    };
    status(handle.read(read).map(|value| {
        // SAFETY: it is neither null nor misaligned, so the caller promises that it is a place for
        // such a value, which need not hold one.
        unsafe { place.write(value) };
    }))
}

fn status(result: Result<(), PacelineCcStatus>) -> PacelineCcStatus {
    result.err().unwrap_or(PacelineCcStatus::Ok)
}

/// # Safety
/// `pointer` is null or points to a `T` that nothing changes while the reference is used.
unsafe fn shared<'a, T>(pointer: *const T) -> Option<&'a T> {
    if !pointer.is_aligned() {
        return None;
    }
    // SAFETY: it is aligned, and the caller promises the rest.
    unsafe { pointer.as_ref() }
}

/// # Safety
/// `pointer` is null or points to a `T` that nothing else uses while the reference is used.
unsafe fn exclusive<'a, T>(pointer: *mut T) -> Option<&'a mut T> {
    if !pointer.is_aligned() {
        return None;
    }
    // SAFETY: it is aligned, and the caller promises the rest.
    unsafe { pointer.as_mut() }
}

/// # Safety
/// `buffer` is null or points to `size` writable bytes.
unsafe fn write_text(text: &str, buffer: *mut c_char, size: usize) {
    if buffer.is_null() || size == 0 {
        return;
    }
    let text = fitting(text, size);
    // SAFETY: `fitting` leaves room for a zero in `size` bytes, which the caller promises;
    // a Rust text does not lie in them.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), text.len());
        buffer.add(text.len()).write(0);
    }
}
