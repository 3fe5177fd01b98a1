//! Command lines for people to paste into a shell.

/// A word as a shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "=,.:/%+-_".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The words of a line with quotes around some.
#[cfg(test)]
pub(crate) fn words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_split_or_drop_is_quoted() {
        let links = ["delay 20ms", "", "cc=bbr3:adapts_down=on", "0.5%"];
        assert_eq!(
            links.map(quoted).join(" "),
            "'delay 20ms' '' cc=bbr3:adapts_down=on 0.5%"
        );
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
