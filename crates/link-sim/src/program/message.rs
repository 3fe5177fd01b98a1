/// `text` as an error or a note says it to a person: in one line, with control characters escaped,
/// which a terminal would obey, and without the numbers that the standard library puts behind what
/// the system refuses, as in `No such file or directory (os error 2)`.
pub fn message(text: &str) -> String {
    let mut said = String::with_capacity(text.len());
    for letter in without_numbers(text).chars() {
        match letter.is_control() {
            true => said.extend(letter.escape_default()),
            false => said.push(letter),
        }
    }
    said
}

fn without_numbers(text: &str) -> String {
    let mut parts = text.split(NUMBER);
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (number, rest) = part.split_once(')').unwrap_or(("", ""));
        if number.parse::<i32>().is_ok() {
            kept.push_str(rest);
        } else {
            kept.push_str(NUMBER);
            kept.push_str(part);
        }
    }
    kept
}

/// What stands before the number.
const NUMBER: &str = " (os error ";

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn what_the_system_refuses_is_said_without_its_number() {
        let error = io::Error::from_raw_os_error(2);
        assert!(error.to_string().contains(NUMBER), "{error}");
        for (text, said) in [
            (format!("x: {error}"), "x: No such file or directory"),
            (
                format!("x: {error}; y: {error}"),
                "x: No such file or directory; y: No such file or directory",
            ),
            ("x (os error two) y".to_owned(), "x (os error two) y"),
            ("x (os error 2".to_owned(), "x (os error 2"),
        ] {
            assert_eq!(message(&text), said);
        }
    }

    #[test]
    fn a_terminal_obeys_no_message() {
        assert_eq!(message("a\x1b[31mb\nc\té"), r"a\u{1b}[31mb\nc\té");
    }
}
