//! A handle as a C caller has it, with Rust's types around the calls.
#![expect(unsafe_code, reason = "the functions take pointers, as C passes them")]

use paceline_cc::*;
use std::ffi::{CStr, CString};
use std::ptr;

pub(crate) type Status = PacelineCcStatus;

pub(crate) const SETUP: PacelineCcSetup = PacelineCcSetup {
    now_ns: 1_000,
    mss: 1_200,
    initial_cwnd: 0,
    seed: 7,
    sends_ect1: 0,
};

#[derive(Debug)]
pub(crate) struct Handle(pub(crate) *mut PacelineCc);

impl Handle {
    pub(crate) fn new(controller: &str) -> Self {
        Self::with(controller, &SETUP).expect("the text names a controller")
    }

    pub(crate) fn with(
        controller: &str,
        setup: &PacelineCcSetup,
    ) -> Result<Self, (Status, String)> {
        let controller = CString::new(controller).expect("no zero is in it");
        let mut handle = ptr::dangling_mut();
        let mut error = [1; 400];
        // SAFETY: all of these are locals of the right types.
        let status = unsafe {
            paceline_cc_new(
                controller.as_ptr(),
                setup,
                &raw mut handle,
                error.as_mut_ptr(),
                error.len(),
            )
        };
        if status == Status::Ok {
            return Ok(Self(handle));
        }
        assert!(handle.is_null());
        let text = match error[0] {
            1 => String::new(),
            // SAFETY: it was written to, and every text ends with a zero.
            _ => unsafe { CStr::from_ptr(error.as_ptr()) }
                .to_str()
                .expect("texts are UTF-8")
                .to_owned(),
        };
        Err((status, text))
    }

    // SAFETY of all that follow: the handle is one of `paceline_cc_new` that is freed on drop, and
    // other pointers are to locals.

    pub(crate) fn on_sent(&self, now_ns: u64, number: u64, bytes: u64) -> Status {
        // SAFETY: see above.
        unsafe { paceline_cc_on_sent(self.0, now_ns, number, bytes) }
    }

    pub(crate) fn on_acked(&self, number: u64) -> Status {
        // SAFETY: see above.
        unsafe { paceline_cc_on_acked(self.0, number) }
    }

    pub(crate) fn on_lost(&self, number: u64) -> Status {
        // SAFETY: see above.
        unsafe { paceline_cc_on_lost(self.0, number) }
    }

    pub(crate) fn end(&self, now_ns: u64, rtt_ns: u64) -> Status {
        self.end_feedback(PacelineCcFeedback {
            now_ns,
            rtt_ns,
            ce_marked: 0,
            is_persistent_congestion: 0,
        })
    }

    pub(crate) fn end_feedback(&self, feedback: PacelineCcFeedback) -> Status {
        // SAFETY: see above.
        unsafe { paceline_cc_end_feedback(self.0, &raw const feedback) }
    }

    pub(crate) fn on_spurious_loss(&self, now_ns: u64, number: u64) -> Status {
        // SAFETY: see above.
        unsafe { paceline_cc_on_spurious_loss(self.0, now_ns, number) }
    }

    pub(crate) fn on_discarded(&self, number: u64) -> Status {
        // SAFETY: see above.
        unsafe { paceline_cc_on_discarded(self.0, number) }
    }

    pub(crate) fn on_app_limited(&self) -> Status {
        // SAFETY: see above.
        unsafe { paceline_cc_on_app_limited(self.0) }
    }

    pub(crate) fn on_mss(&self, now_ns: u64, mss: u64) -> Status {
        // SAFETY: see above.
        unsafe { paceline_cc_on_mss(self.0, now_ns, mss) }
    }

    pub(crate) fn on_path_change(&self, now_ns: u64, mss: u64) -> Status {
        // SAFETY: see above.
        unsafe { paceline_cc_on_path_change(self.0, now_ns, mss) }
    }

    pub(crate) fn set_sends_ect1(&self, now_ns: u64, sends: u64) -> Status {
        // SAFETY: see above.
        unsafe { paceline_cc_set_sends_ect1(self.0, now_ns, sends) }
    }

    pub(crate) fn control(&self) -> PacelineCcControl {
        let mut control = PacelineCcControl::default();
        // SAFETY: see above.
        let status = unsafe { paceline_cc_control(self.0, &raw mut control) };
        assert_eq!(status, Status::Ok);
        control
    }

    pub(crate) fn path(&self) -> PacelineCcPath {
        let mut path = PacelineCcPath::default();
        // SAFETY: see above.
        let status = unsafe { paceline_cc_path(self.0, &raw mut path) };
        assert_eq!(status, Status::Ok);
        path
    }

    pub(crate) fn state(&self) -> String {
        let mut text = [1; 64];
        // SAFETY: see above.
        let status = unsafe { paceline_cc_state(self.0, text.as_mut_ptr(), text.len()) };
        assert_eq!(status, Status::Ok);
        // SAFETY: a zero ends it.
        let text = unsafe { CStr::from_ptr(text.as_ptr()) };
        text.to_str().expect("texts are UTF-8").to_owned()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: nothing else has it.
        unsafe { paceline_cc_free(self.0) }
    }
}

/// Every call with null pointers, and those to be filled misaligned.
pub(crate) fn calls_with_null(handle: &Handle) -> Vec<Status> {
    let null = ptr::null_mut();
    let mut made = ptr::null_mut();
    let mut space = [0_u64; 8];
    let askew = space.as_mut_ptr().wrapping_byte_add(1);
    let name = c"cubic".as_ptr();
    // SAFETY: null is what every function takes, and what is misaligned is not read.
    unsafe {
        paceline_cc_free(null);
        vec![
            paceline_cc_new(ptr::null(), &SETUP, &raw mut made, ptr::null_mut(), 9),
            paceline_cc_new(name, ptr::null(), &raw mut made, ptr::null_mut(), 9),
            paceline_cc_new(name, &SETUP, ptr::null_mut(), ptr::null_mut(), 9),
            paceline_cc_new(name, askew.cast(), &raw mut made, ptr::null_mut(), 9),
            paceline_cc_on_sent(null, 1_000, 1, 1_200),
            paceline_cc_on_acked(null, 1),
            paceline_cc_on_lost(null, 1),
            paceline_cc_end_feedback(null, askew.wrapping_byte_sub(1).cast()),
            paceline_cc_end_feedback(handle.0, ptr::null()),
            paceline_cc_end_feedback(handle.0, askew.cast()),
            paceline_cc_on_spurious_loss(null, 1_000, 1),
            paceline_cc_on_discarded(null, 1),
            paceline_cc_on_app_limited(null),
            paceline_cc_on_mss(null, 1_000, 1_200),
            paceline_cc_on_path_change(null, 1_000, 1_200),
            paceline_cc_set_sends_ect1(null, 1_000, 1),
            paceline_cc_control(null, askew.wrapping_byte_sub(1).cast()),
            paceline_cc_control(handle.0, ptr::null_mut()),
            paceline_cc_control(handle.0, askew.cast()),
            paceline_cc_path(handle.0, ptr::null_mut()),
            paceline_cc_state(handle.0, ptr::null_mut(), 9),
        ]
    }
}

/// What the first bytes of a buffer of this size become.
pub(crate) fn error_in(size: usize) -> [u8; 8] {
    let mut error = [b'#'; 8];
    let mut made = ptr::null_mut();
    // SAFETY: the buffer is at least `size` long.
    let status = unsafe {
        assert!(size <= error.len());
        paceline_cc_new(
            c"nope".as_ptr(),
            &SETUP,
            &raw mut made,
            error.as_mut_ptr().cast(),
            size,
        )
    };
    assert_eq!(status, Status::BadController);
    error
}

pub(crate) fn names() -> Vec<String> {
    let pointers = (0..).map(|index| paceline_cc_name(index));
    let pointers = pointers.take_while(|name| !name.is_null());
    // SAFETY: what is not null is a text that lasts.
    let names = pointers.map(|name| unsafe { CStr::from_ptr(name) });
    names
        .map(|name| name.to_str().expect("texts are UTF-8").to_owned())
        .collect()
}

pub(crate) fn status_text(status: i32) -> String {
    // SAFETY: it is a text that lasts.
    let text = unsafe { CStr::from_ptr(paceline_cc_status_text(status)) };
    text.to_str().expect("texts are UTF-8").to_owned()
}
