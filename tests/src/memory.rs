//! How much memory a thread, or the program, holds, to the byte.
//!
//! A test program that wants to know has [`Counting`] as its allocator:
//!
//! ```
//! use e2e::memory::{Counting, held};
//!
//! #[global_allocator]
//! static ALLOCATOR: Counting = Counting;
//!
//! let before = held();
//! let memory = vec![0_u8; 1_000];
//! assert_eq!(held() - before, 1_000);
//! drop(memory);
//! assert_eq!(held(), before);
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};

/// The system's allocator, counted for each thread.
#[derive(Debug)]
pub struct Counting;

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
    static MAX: Cell<i64> = const { Cell::new(0) };
}

static HELD_BY_ALL: AtomicI64 = AtomicI64::new(0);

/// Bytes that this thread has allocated and not freed. What one thread allocates and another
/// frees makes the one's count too large and the other's negative.
pub fn held() -> i64 {
    HELD.get()
}

/// By how much [`held`] was above what it is now at the highest, while `run` ran.
pub fn max_held(run: impl FnOnce()) -> i64 {
    let before = held();
    MAX.set(before);
    run();
    MAX.get() - before
}

/// Bytes that all threads together have allocated and not freed.
pub fn held_by_all() -> i64 {
    HELD_BY_ALL.load(Ordering::Relaxed)
}

fn add(bytes: usize, sign: i64) {
    let bytes = sign * bytes as i64;
    HELD_BY_ALL.fetch_add(bytes, Ordering::Relaxed);
    // A thread that ends frees after its counter is gone.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        MAX.with(|max| max.set(max.get().max(held.get())));
    });
}

#[expect(
    unsafe_code,
    reason = "a global allocator is an unsafe trait; this one hands on to std's"
)]
// SAFETY: every method passes its arguments to `System` unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size(), 1);
        // SAFETY: the caller keeps `GlobalAlloc::alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size(), 1);
        // SAFETY: the caller keeps `GlobalAlloc::alloc_zeroed`'s contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        add(layout.size(), -1);
        add(new_size, 1);
        // SAFETY: the caller keeps `GlobalAlloc::realloc`'s contract.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add(layout.size(), -1);
        // SAFETY: the caller keeps `GlobalAlloc::dealloc`'s contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}
