//! Arguments of the measuring examples.

use std::str::FromStr;

/// The number that `text` is.
///
/// # Errors
/// When it is none that `name` can be.
pub(crate) fn number<T: FromStr>(name: &str, text: &str) -> Result<T, String> {
    let wrong = |_| format!("{name} cannot be `{text}`; give a number such as 10");
    text.parse().map_err(wrong)
}
