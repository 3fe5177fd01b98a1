//! Texts in a caller's buffer.

/// The part of `text` that a buffer of this many bytes holds before its terminating zero: whole
/// characters, up to the first zero.
pub(crate) fn fitting(text: &str, capacity: usize) -> &str {
    let end = text.find('\0').unwrap_or(text.len());
    let most = end.min(capacity.saturating_sub(1));
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_before_a_zero() {
        assert_eq!(fitting("bbr3", 5), "bbr3");
        assert_eq!(fitting("bbr3", 4), "bbr");
        assert_eq!(fitting("aé", 3), "a");
        assert_eq!(fitting("aé", 4), "aé");
        assert_eq!(fitting("a\0b", 9), "a");
        assert_eq!((fitting("a", 1), fitting("a", 0)), ("", ""));
    }
}
