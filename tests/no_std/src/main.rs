//! Every registered controller for a thousand round trips, without std and with 64 KiB of memory
//! that is never given back. The exit code is 0 if all of them could still send, or 1.
#![no_std]
#![no_main]

use cc_core::{AckedPacket, Feedback, Flow, LostPacket, Pacer, Registry, Setup};
use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use platform::stop;
use units::{Bytes, Timestamp};

/// What the C library calls; nothing of Rust has run before.
#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    let registry = Registry::standard();
    let mut specs = registry.specs().iter();
    let can_all_send = specs.all(|spec| {
        let setup = Setup::new(Timestamp::ZERO, MSS, 1);
        let choice = registry.choose(spec.name).expect("the name is registered");
        live(Flow::new(choice.build(&setup), &setup))
    });
    i32::from(!can_all_send)
}

/// Answers whether a packet may leave after all that.
fn live(mut flow: Flow) -> bool {
    let mut now = Timestamp::ZERO;
    let mut pacer = Pacer::new(now, flow.control(), MSS);
    for round in 0..1_000_u32 {
        let first = flow.on_sent(now, MSS);
        let mut flight = [AckedPacket {
            stamp: first,
            bytes: MSS,
        }; FLIGHT];
        for packet in &mut flight[1..] {
            now = pacer.next_departure(now);
            packet.stamp = flow.on_sent(now, MSS);
            pacer.on_sent(now, MSS);
        }
        now += Duration::from_millis(30);
        let lost = [LostPacket {
            stamp: first,
            bytes: MSS,
            starts_range: true,
        }];
        let losses = usize::from(round % 10 == 3);
        let feedback = Feedback {
            acked: &flight[losses..],
            lost: &lost[..losses],
            rtt: Some(now.since(flight[FLIGHT - 1].stamp.sent_at)),
            ce_marked: u64::from(round % 50 == 7),
            ..Feedback::at(now)
        };
        flow.on_feedback(&feedback, &mut ());
        pacer.set_control(now, flow.control(), MSS);
    }
    flow.path_state().inflight.is_zero() && flow.control().cwnd >= MSS
}

/// Hands out memory once.
struct Arena;

#[global_allocator]
static ARENA: Arena = Arena;
static mut MEMORY: [u8; MEMORY_BYTES] = [0; MEMORY_BYTES];
static USED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: no two allocations share a byte, because `USED` only grows and each is above its
// predecessors.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let start = &raw mut MEMORY as usize;
        let free = start + USED.load(Ordering::Relaxed);
        let begin = free.next_multiple_of(layout.align());
        let end = begin + layout.size() - start;
        if end > MEMORY_BYTES {
            return ptr::null_mut();
        }
        USED.store(end, Ordering::Relaxed);
        (&raw mut MEMORY).cast::<u8>().wrapping_add(begin - start)
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    stop()
}

/// On an operating system `main` is called by the C library, which also brings `memcpy`. What
/// Rust's `alloc` was compiled with wants to be able to unwind, which never happens.
#[cfg(not(target_os = "none"))]
mod platform {
    #[link(name = "c")]
    unsafe extern "C" {
        fn abort() -> !;
    }

    pub(crate) fn stop() -> ! {
        // SAFETY: it takes nothing and does not return.
        unsafe { abort() }
    }

    #[unsafe(no_mangle)]
    extern "C" fn rust_eh_personality() {}

    #[unsafe(no_mangle)]
    extern "C" fn _Unwind_Resume() {
        stop()
    }
}

/// On bare metal there is nothing to go back to.
#[cfg(target_os = "none")]
mod platform {
    pub(crate) fn stop() -> ! {
        loop {
            core::hint::spin_loop();
        }
    }

    #[unsafe(no_mangle)]
    extern "C" fn _start() -> ! {
        super::main();
        stop()
    }
}

const MSS: Bytes = Bytes::new(1_200);
const FLIGHT: usize = 20;
/// What the construction of all of them takes, and less than a word for each ACK.
const MEMORY_BYTES: usize = 64 * 1_024;
