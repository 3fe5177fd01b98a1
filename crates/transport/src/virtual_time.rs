//! The world of a thread that runs in virtual time: its clock, alarms, network and
//! randomness.
//!
//! A simulation [enters](enter) it, and for as long as it is entered, endpoints that are made on
//! the thread have no part of the real one.

use crate::datagram_socket::DatagramSocket;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use units::Timestamp;

/// What endpoints take from the system otherwise.
pub(crate) trait World {
    /// The present.
    fn now(&self) -> Timestamp;

    /// The time since 1970.
    fn since_1970(&self) -> Duration;

    /// An alarm that is not set.
    fn alarm(&self) -> Box<dyn Alarm>;

    /// A socket bound to `address`; where that leaves something open, the world chooses.
    ///
    /// # Errors
    /// When the address is taken.
    fn bind(&self, address: SocketAddr) -> io::Result<Arc<dyn DatagramSocket>>;

    /// A number drawn evenly from all.
    fn random(&self) -> u64;
}

/// Wakes a task at a time that can be moved.
pub(crate) trait Alarm: fmt::Debug + Send {
    fn set(&mut self, at: Timestamp);

    /// Ready once the time has come; before that, the task will be woken then.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()>;
}

/// The thread is in `world` until the guard is dropped. Not in two at once.
///
/// # Panics
/// When the thread is in a world already.
pub(crate) fn enter(world: Rc<dyn World>) -> Entered {
    let former = WORLD.replace(Some(world));
    assert!(former.is_none(), "a simulation runs inside of a simulation");
    IS_ENTERED.set(true);
    Entered(())
}

pub(crate) struct Entered(());

impl Drop for Entered {
    fn drop(&mut self) {
        IS_ENTERED.set(false);
        WORLD.take();
    }
}

/// Asks the thread's world, if it is in one.
pub(crate) fn with<T>(ask: impl FnOnce(&dyn World) -> T) -> Option<T> {
    if !IS_ENTERED.get() {
        return None;
    }
    // A thread that ends has no world any more.
    let world = WORLD.try_with(|world| world.borrow().clone());
    Some(ask(&*world.ok()??))
}

thread_local! {
    /// What every reading of the clock asks first.
    static IS_ENTERED: Cell<bool> = const { Cell::new(false) };
    static WORLD: RefCell<Option<Rc<dyn World>>> = const { RefCell::new(None) };
}
