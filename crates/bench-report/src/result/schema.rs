use serde::Serialize;

/// The version of the schema that this crate writes.
pub const SCHEMA_VERSION: u32 = 1;

/// Whether a field says what is usual.
pub(crate) fn is_false(value: &bool) -> bool {
    !value
}

/// What every result before there were several connections had.
pub(crate) fn one() -> u32 {
    1
}

/// Whether a number is what it is where there is one connection and one copy.
pub fn is_one(number: &u32) -> bool {
    *number == 1
}

pub(crate) fn to_json(result: &impl Serialize) -> String {
    let mut text =
        serde_json::to_string_pretty(result).expect("keys are strings and every figure is finite");
    text.push('\n');
    text
}
