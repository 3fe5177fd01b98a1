//! Conservation of packets: proves the simulator, not what runs over it.

use crate::packet::Ecn;
use core::cell::{Cell, RefCell};
use core::fmt;
use std::rc::Rc;

/// Counts what becomes of the packets that enter one link, apart from the link's own statistics:
/// each packet carries a [`Tag`], whose `Clone` and `Drop` count copies and losses.
pub(super) struct Conservation {
    entered: Cell<u64>,
    copied: Cell<u64>,
    destroyed: Cell<u64>,
    delivered: Cell<u64>,
    /// How often each of the latest packets ended, delivered or destroyed, by number modulo
    /// [`WINDOW`].
    ends: RefCell<Box<[u8]>>,
    /// The first packet that ended too often.
    violation: Cell<Option<u64>>,
    /// Ends that a packet may have.
    max_ends: Cell<u8>,
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
            entered: Cell::default(),
            copied: Cell::default(),
            destroyed: Cell::default(),
            delivered: Cell::default(),
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
        let number = self.entered.get();
        self.entered.set(number + 1);
        self.ends.borrow_mut()[(number % WINDOW) as usize] = 0;
        Tag {
            number,
            ecn,
            conservation: Rc::clone(self),
            is_inside: true,
        }
    }

    /// Packets that entered.
    pub(super) fn entered(&self) -> u64 {
        self.entered.get()
    }

    /// Copies made inside.
    pub(super) fn copied(&self) -> u64 {
        self.copied.get()
    }

    /// Packets and copies that came to their end inside.
    pub(super) fn destroyed(&self) -> u64 {
        self.destroyed.get()
    }

    /// Packets and copies that came out.
    pub(super) fn delivered(&self) -> u64 {
        self.delivered.get()
    }

    /// A packet that was delivered and dropped, or either of them twice, without a link that
    /// duplicates.
    pub(super) fn violation(&self) -> Option<u64> {
        self.violation.get()
    }

    fn end(&self, number: u64) {
        if number + WINDOW < self.entered.get() {
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
        self.conservation
            .delivered
            .set(self.conservation.delivered.get() + 1);
        self.conservation.end(self.number);
    }
}

impl Clone for Tag {
    fn clone(&self) -> Self {
        self.conservation
            .copied
            .set(self.conservation.copied.get() + 1);
        Self {
            number: self.number,
            ecn: self.ecn,
            conservation: Rc::clone(&self.conservation),
            is_inside: self.is_inside,
        }
    }
}

impl Drop for Tag {
    fn drop(&mut self) {
        if self.is_inside {
            self.conservation
                .destroyed
                .set(self.conservation.destroyed.get() + 1);
            self.conservation.end(self.number);
        }
    }
}

impl fmt::Debug for Conservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conservation")
            .field("entered", &self.entered())
            .field("copied", &self.copied())
            .field("destroyed", &self.destroyed())
            .field("delivered", &self.delivered())
            .finish_non_exhaustive()
    }
}

/// `Err` with the violation unless the invariant holds.
pub(super) fn ensure(holds: bool, violation: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(violation()) }
}

/// More packets than any of the usual links holds; older ones are not checked for a second end.
const WINDOW: u64 = 1 << 16;
