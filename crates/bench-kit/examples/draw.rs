//! Draws the JSON of an A/B test as single SVG files, such as the README's picture.
//!
//! ```text
//! bench-client ab --json ab.json
//! cargo run -p bench-kit --example draw -- ab.json DIRECTORY
//! ```

use bench_kit::plot;
use bench_kit::result::AbResult;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(json), Some(directory)) = (arguments.next(), arguments.next()) else {
        return Err("expected the JSON of `ab` and a directory".into());
    };
    let result: AbResult = serde_json::from_str(&std::fs::read_to_string(json)?)?;
    std::fs::create_dir_all(&directory)?;
    let figures = [
        ("ab-forest", Some(plot::forest(&result))),
        ("ab-goodput", Some(plot::goodput(&result))),
        ("ab-rtt", Some(plot::rtt(&result))),
        ("ab-course-a", plot::course(&result, 0)),
        ("ab-course-b", plot::course(&result, 1)),
    ];
    for (name, figure) in figures {
        if let Some(figure) = figure {
            std::fs::write(
                directory.join(name).with_extension("svg"),
                figure.standalone(),
            )?;
        }
    }
    Ok(())
}
