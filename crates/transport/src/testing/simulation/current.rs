//! The network of the run that a thread is in.

use super::network::{Network, RunId};
use std::cell::RefCell;
use std::task::Waker;

thread_local! {
    /// The simulator counts packets without locks, so all of a simulation is on one thread.
    static NETWORK: RefCell<Option<Network>> = const { RefCell::new(None) };
}

/// Makes `network` the thread's until the guard is dropped.
pub(super) fn enter(network: Network) -> Entered {
    NETWORK.set(Some(network));
    Entered(())
}

pub(super) struct Entered(());

impl Drop for Entered {
    fn drop(&mut self) {
        // What it drops may use the network.
        let network = NETWORK.take();
        drop(network);
    }
}

/// Uses the thread's network, if it has one, and wakes whoever is to be woken for it.
pub(super) fn with<T>(ask: impl FnOnce(&mut Network) -> T) -> Option<T> {
    // A thread that ends has none any more.
    let used = NETWORK.try_with(|network| {
        let mut network = network.borrow_mut();
        let network = network.as_mut()?;
        let answer = ask(network);
        Some((answer, network.take_wakers()))
    });
    let (answer, (woken, _retired)) = used.ok()??;
    woken.into_iter().for_each(Waker::wake);
    Some(answer)
}

/// As [`with`], if the network is that of this run.
pub(super) fn with_run<T>(run: RunId, ask: impl FnOnce(&mut Network) -> T) -> Option<T> {
    with(|network| (network.run_id() == run).then(|| ask(network))).flatten()
}
