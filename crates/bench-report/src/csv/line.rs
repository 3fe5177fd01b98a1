pub(super) fn line(text: &mut String, fields: impl IntoIterator<Item = String>) {
    for (index, value) in fields.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&field(&value));
    }
    text.push('\n');
}

pub(super) fn shown(figure: Option<impl ToString>) -> Option<String> {
    figure.map(|figure| figure.to_string())
}

/// In quotes where it holds what would end a field.
pub(super) fn field(value: &str) -> String {
    if value.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", value.replace('"', "\"\""))
    } else {
        value.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_field_is_quoted() {
        for (value, expected) in [
            ("plain 1", "plain 1"),
            ("a,b", "\"a,b\""),
            ("say \"so\"", "\"say \"\"so\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("two\rlines", "\"two\rlines\""),
        ] {
            assert_eq!(field(value), expected);
        }
    }
}
