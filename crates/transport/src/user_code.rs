//! The application's code on the endpoint's task: a panic in it ends its own connection alone.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls code of the application's. Whatever it has left half done is the caller's to drop.
///
/// # Errors
/// What it said when it panicked.
pub(crate) fn call<T>(code: impl FnOnce() -> T) -> Result<T, String> {
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
