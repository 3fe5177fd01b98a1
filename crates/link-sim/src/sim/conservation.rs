//! Conservation of packets: proves the simulator, not what runs over it.

use crate::packet::Ecn;
use core::cell::{Cell, RefCell};
use std::rc::Rc;

/// Counts what becomes of the packets that enter one link, apart from the link's own statistics:
/// each packet carries a [`Tag`], whose `Clone` and `Drop` count copies and losses.
#[derive(Debug)]
pub(super) struct Conservation {
    counts: Cell<Counts>,
    /// How often each of the latest packets ended, delivered or destroyed, by number modulo
    /// [`WINDOW`].
    ends: RefCell<Box<[u8]>>,
    /// The first packet that ended too often.
    violation: Cell<Option<u64>>,
    /// Ends that a packet may have.
    max_ends: Cell<u8>,
}

/// Packets and copies by what became of them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) entered: u64,
    /// Copies made inside.
    pub(super) copied: u64,
    /// Packets and copies that came to their end inside.
    pub(super) destroyed: u64,
    /// Packets and copies that came out.
    pub(super) delivered: u64,
}

/// Numbers a packet inside a link.
#[derive(Debug)]
pub(super) struct Tag {
    number: u64,
    ecn: Ecn,
    conservation: Rc<Conservation>,
    is_inside: bool,
}

impl Conservation {
    pub(super) fn new(max_ends: u8) -> Rc<Self> {
        Rc::new(Self {
            counts: Cell::default(),
            ends: RefCell::new(vec![0; WINDOW as usize].into()),
            violation: Cell::default(),
            max_ends: Cell::new(max_ends),
        })
    }

    /// From now on packets, those inside included, may have up to `max_ends` ends.
    pub(super) fn allow(&self, max_ends: u8) {
        self.max_ends.set(self.max_ends.get().max(max_ends));
    }

    /// A packet of this codepoint enters the link.
    pub(super) fn enter(self: &Rc<Self>, ecn: Ecn) -> Tag {
        let number = self.counts().entered;
        self.count(|counts| counts.entered += 1);
        self.ends.borrow_mut()[(number % WINDOW) as usize] = 0;
        Tag {
            number,
            ecn,
            conservation: Rc::clone(self),
            is_inside: true,
        }
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts.get()
    }

    /// A packet that was delivered and dropped, or either of them twice, without a link that
    /// duplicates.
    pub(super) fn violation(&self) -> Option<u64> {
        self.violation.get()
    }

    fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    fn end(&self, number: u64) {
        if number + WINDOW < self.counts().entered {
            return;
        }
        let ends = &mut self.ends.borrow_mut()[(number % WINDOW) as usize];
        *ends = ends.saturating_add(1);
        if *ends > self.max_ends.get() && self.violation.get().is_none() {
            self.violation.set(Some(number));
        }
    }
}

impl Tag {
    /// How many packets entered the link before this one.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether a packet that entered with this tag may come out with codepoint `ecn`: as it was, or
    /// marked if it is ECN-capable.
    pub(super) fn may_become(&self, ecn: Ecn) -> bool {
        ecn == self.ecn || ecn == Ecn::Ce && self.ecn != Ecn::NotEct
    }

    /// Whether the packet entered the link of `conservation`.
    pub(super) fn is_of(&self, conservation: &Rc<Conservation>) -> bool {
        Rc::ptr_eq(&self.conservation, conservation)
    }

    /// The packet comes out of the link.
    pub(super) fn leave(mut self) {
        self.is_inside = false;
        self.conservation.count(|counts| counts.delivered += 1);
        self.conservation.end(self.number);
    }
}

impl Clone for Tag {
    fn clone(&self) -> Self {
        self.conservation.count(|counts| counts.copied += 1);
        Self {
            conservation: Rc::clone(&self.conservation),
            ..*self
        }
    }
}

impl Drop for Tag {
    fn drop(&mut self) {
        if self.is_inside {
            self.conservation.count(|counts| counts.destroyed += 1);
            self.conservation.end(self.number);
        }
    }
}

/// `Err` with the violation unless the invariant holds.
pub(super) fn ensure(holds: bool, violation: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(violation()) }
}

/// More packets than any of the usual links holds; older ones are not checked for a second end.
const WINDOW: u64 = 1 << 16;
