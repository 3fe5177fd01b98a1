//! The application's code on the endpoint's task: a panic in it ends its own connection alone.

use crate::lock;
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls code of the application's, which may use its connections and endpoints: no lock may be
/// held. Whatever it has left half done is the caller's to drop.
///
/// # Errors
/// What it said when it panicked.
pub(crate) fn call<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    lock::assert_none_held();
    catch(code)
}

/// As [`call`] for code that runs under a connection's lock, as controllers and sockets do: what
/// would wait for a lock, of this connection or of another whose controller waits for this one,
/// panics until it returns.
pub(crate) fn call_locked<T>(role: Role, code: impl FnOnce() -> T) -> Result<T, String> {
    let outer = LOCKED.replace(Some(role));
    let result = catch(code);
    LOCKED.set(outer);
    result
}

/// Whose code runs under a connection's lock.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Role {
    Controller,
    Socket,
}

/// Whether this thread is in the code of [`call_locked`].
pub(crate) fn is_locked() -> bool {
    LOCKED.get().is_some()
}

/// To be called before a lock is taken that is somewhere held while controllers are called.
///
/// # Panics
/// In the code of [`call_locked`], which would wait for ever.
pub(crate) fn assert_unlocked() {
    let Some(role) = LOCKED.get() else {
        return;
    };
    let who = match role {
        Role::Controller => "a congestion controller",
        Role::Socket => "an application's socket",
    };
    panic!(
        "{who} used a connection, stream or endpoint; it runs under a connection's lock, so have \
         another task do that"
    );
}

thread_local! {
    static LOCKED: Cell<Option<Role>> = const { Cell::new(None) };
}

fn catch<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|payload| message(&*payload))
}

fn message(payload: &(dyn Any + Send)) -> String {
    let literal = payload.downcast_ref::<&str>().copied();
    let text = literal.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locked_code_may_not_take_locks_and_other_code_may() {
        assert_unlocked();
        assert!(call_locked(Role::Socket, || call(assert_unlocked).unwrap_err()).is_ok());
        assert!(
            call_locked(Role::Socket, || call_locked(Role::Controller, || ())
                .and_then(|()| call(assert_unlocked)))
            .unwrap()
            .is_err()
        );
        let _ = call_locked(Role::Controller, || panic!("over"));
        assert_unlocked();
    }

    #[test]
    fn a_panic_is_its_message() {
        assert_eq!(call(|| 7), Ok(7));
        assert_eq!(
            call(|| panic!("literal")),
            Err::<(), _>("literal".to_owned())
        );
        assert_eq!(call(|| panic!("{}", 7)), Err::<(), _>("7".to_owned()));
        let other = call(|| std::panic::panic_any(7));
        assert_eq!(other, Err::<(), _>("no message".to_owned()));
    }
}
