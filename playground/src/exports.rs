//! The functions that the page calls. A request is written to [`buffer`], its answer is read from
//! [`answer_at`].
#![expect(
    unsafe_code,
    reason = "a page finds functions by their names, which have to be unique in a program"
)]

use super::request::answer;
use super::session::Session;
use std::cell::RefCell;

thread_local! {
    static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Where the next request of `length` bytes is to be written.
// SAFETY: nothing else in a program that is only this library has this name, nor the other two.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn buffer(length: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|request| {
        request.clear();
        request.resize(length, 0);
        request.as_mut_ptr()
    })
}

/// Answers the request in the buffer; returns the length of the answer.
// SAFETY: see `buffer`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ask() -> usize {
    let text = REQUEST.with_borrow(|request| String::from_utf8_lossy(request).into_owned());
    let text = SESSION.with_borrow_mut(|session| answer(session, &text));
    ANSWER.with_borrow_mut(|answer| {
        *answer = text;
        answer.len()
    })
}

/// Where the answer is, until the next request.
// SAFETY: see `buffer`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn answer_at() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}
