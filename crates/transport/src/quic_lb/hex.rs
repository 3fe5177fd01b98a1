//! Hexadecimal text.

/// Writes the octets that `text` means into `octets`, two digits for each, in either case.
///
/// # Errors
/// Says what is wrong without repeating the text, which may be secret.
pub(super) fn decode(text: &str, octets: &mut [u8]) -> Result<(), String> {
    let digits = text.as_bytes();
    if let Some(column) = digits.iter().position(|digit| !digit.is_ascii_hexdigit()) {
        return Err(format!(
            "character {} is not a hexadecimal digit",
            // Bytes before it are digits, one character each.
            column + 1
        ));
    }
    if digits.len() != 2 * octets.len() {
        return Err(format!(
            "expected {} hexadecimal digits, found {}",
            2 * octets.len(),
            digits.len()
        ));
    }
    for (octet, pair) in octets.iter_mut().zip(digits.chunks_exact(2)) {
        *octet = value(pair[0]) << 4 | value(pair[1]);
    }
    Ok(())
}

fn value(digit: u8) -> u8 {
    let value = char::from(digit).to_digit(16).expect("a digit");
    u8::try_from(value).expect("below 16")
}
