use crate::packet::Ecn;
use core::cell::{Cell, RefCell};
use core::fmt;
use std::rc::Rc;

/// What became of the packets that entered one link, as they themselves tell: each carries a
/// [`Tag`], and wherever the link forgets a packet or copies it, its tag notices.
pub(super) struct Fates {
    entered: Cell<u64>,
    copied: Cell<u64>,
    destroyed: Cell<u64>,
    delivered: Cell<u64>,
    /// How often each of the latest packets ended, delivered or destroyed, by number modulo
    /// [`WINDOW`].
    ends: RefCell<Box<[u8]>>,
    /// The first packet that ended too often.
    culprit: Cell<Option<u64>>,
    /// Ends that a packet may have.
    most: Cell<u8>,
}

/// Numbers a packet inside a link.
#[derive(Debug)]
pub(super) struct Tag {
    number: u64,
    ecn: Ecn,
    fates: Rc<Fates>,
    is_inside: bool,
}

impl Fates {
    pub(super) fn new(most: u8) -> Rc<Self> {
        Rc::new(Self {
            entered: Cell::default(),
            copied: Cell::default(),
            destroyed: Cell::default(),
            delivered: Cell::default(),
            ends: RefCell::new(vec![0; WINDOW as usize].into()),
            culprit: Cell::default(),
            most: Cell::new(most),
        })
    }

    /// From now on packets, those inside included, may have up to `most` ends.
    pub(super) fn allow(&self, most: u8) {
        self.most.set(self.most.get().max(most));
    }

    /// A packet of this codepoint enters the link.
    pub(super) fn enter(self: &Rc<Self>, ecn: Ecn) -> Tag {
        let number = self.entered.get();
        self.entered.set(number + 1);
        self.ends.borrow_mut()[(number % WINDOW) as usize] = 0;
        Tag {
            number,
            ecn,
            fates: Rc::clone(self),
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
    pub(super) fn culprit(&self) -> Option<u64> {
        self.culprit.get()
    }

    fn end(&self, number: u64) {
        if number + WINDOW < self.entered.get() {
            return;
        }
        let ends = &mut self.ends.borrow_mut()[(number % WINDOW) as usize];
        *ends = ends.saturating_add(1);
        if *ends > self.most.get() && self.culprit.get().is_none() {
            self.culprit.set(Some(number));
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

    /// Whether the packet entered the link of `fates`.
    pub(super) fn is_of(&self, fates: &Rc<Fates>) -> bool {
        Rc::ptr_eq(&self.fates, fates)
    }

    /// The packet comes out of the link.
    pub(super) fn leave(mut self) {
        self.is_inside = false;
        self.fates.delivered.set(self.fates.delivered.get() + 1);
        self.fates.end(self.number);
    }
}

impl Clone for Tag {
    fn clone(&self) -> Self {
        self.fates.copied.set(self.fates.copied.get() + 1);
        Self {
            number: self.number,
            ecn: self.ecn,
            fates: Rc::clone(&self.fates),
            is_inside: self.is_inside,
        }
    }
}

impl Drop for Tag {
    fn drop(&mut self) {
        if self.is_inside {
            self.fates.destroyed.set(self.fates.destroyed.get() + 1);
            self.fates.end(self.number);
        }
    }
}

impl fmt::Debug for Fates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fates")
            .field("entered", &self.entered())
            .field("copied", &self.copied())
            .field("destroyed", &self.destroyed())
            .field("delivered", &self.delivered())
            .finish_non_exhaustive()
    }
}

/// `Err` with the broken promise unless it holds.
pub(super) fn ensure(holds: bool, promise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(promise()) }
}

/// More packets than any of the usual links holds; older ones are not checked for a second end.
const WINDOW: u64 = 1 << 16;
