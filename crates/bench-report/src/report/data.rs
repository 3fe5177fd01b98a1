//! The figures behind a page, inside it: as JSON, which no browser shows.

use crate::csv;
use crate::plot;
use crate::result::AbResult;
use serde_json::{Value, json};

/// A table for each kind of row, for the page's script and for other programs: every round, and the
/// samples of the rounds that are drawn bold.
pub(super) fn block(result: &AbResult) -> String {
    let data = json!({
        "rounds": table(csv::round_rows(result)),
        "samples": table(csv::sample_rows(plot::bold_rounds(result), MAX_SAMPLES)),
    });
    // What would end the element, or be markup where a page is read as XML.
    let text = data.to_string();
    let text = text.replace('&', "\\u0026").replace('<', "\\u003c");
    format!("<script type=\"application/json\" id=\"data\">{text}</script>\n")
}

fn table(rows: Vec<Vec<String>>) -> Value {
    let mut rows = rows.into_iter();
    let names = rows.next().unwrap_or_default();
    let rows: Vec<Vec<Value>> = rows
        .map(|row| row.iter().map(|field| value(field)).collect())
        .collect();
    json!({"columns": names, "rows": rows})
}

/// A number where it is one; `null` where nothing is known.
fn value(field: &str) -> Value {
    match field {
        "" => Value::Null,
        _ => serde_json::from_str::<serde_json::Number>(field)
            .map_or_else(|_| Value::from(field), Value::from),
    }
}

/// A sample takes about 150 bytes.
const MAX_SAMPLES: usize = 300;
