//! `bench-client report`.

use crate::args::ReportArgs;
use crate::emulated;
use crate::output::{Directory, Output};
use bench_kit::failure::Failure;
use bench_kit::terminal;
use bench_report::plot::{self, NamedFigure};
use bench_report::result::{AbResult, AnyResult};
use bench_report::{csv, report};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let text = std::fs::read_to_string(&args.result);
    let text = text.map_err(|error| named(&args.result, error))?;
    let result = AnyResult::from_json(&text);
    let result = result.map_err(|error| named(&args.result, error))?;
    let views = views(&result);
    if args.rounds_csv.is_some() && views.rounds.is_none() {
        return Err(Failure::usage(
            "--rounds-csv: a matrix result has no rounds; use the files of its cells",
        ));
    }
    let html = html_file(args);
    let files = [
        ("--html", &html, Some(views.html)),
        ("--csv", &args.csv, Some(views.csv)),
        ("--rounds-csv", &args.rounds_csv, views.rounds),
    ];
    for (flag, path, text) in files {
        if let (Some(path), Some(text)) = (path, text) {
            Output::open(flag, path)?.write(&text())?;
            terminal::note(format_args!("Written: {}", path.display()));
        }
    }
    if let Some(path) = &args.svg {
        let directory = Directory::create("--svg", path)?;
        directory.write(&(views.figures)())?;
        terminal::note(format_args!("Written: {}", directory.path().display()));
    }
    Ok(ExitCode::SUCCESS)
}

struct Views<'a> {
    html: Text<'a>,
    csv: Text<'a>,
    /// `None` where a result keeps no rounds.
    rounds: Option<Text<'a>>,
    figures: Box<dyn Fn() -> Vec<NamedFigure> + 'a>,
}

type Text<'a> = Box<dyn Fn() -> String + 'a>;

fn views(result: &AnyResult) -> Views<'_> {
    match result {
        AnyResult::Ab(ab) => of_rounds(|| report::html(ab), || (**ab).clone()),
        AnyResult::Run(run) => {
            let path = emulated::path(run);
            Views {
                figures: Box::new(move || report::run_figures(run, path)),
                ..of_rounds(
                    move || report::run_html(run, path),
                    move || report::as_ab(run, path),
                )
            }
        }
        AnyResult::Matrix(matrix) => Views {
            html: Box::new(|| report::matrix_html(matrix)),
            csv: Box::new(|| csv::cells(matrix)),
            rounds: None,
            figures: Box::new(|| plot::of_matrix(matrix)),
        },
    }
}

fn of_rounds<'a>(
    html: impl Fn() -> String + 'a,
    ab: impl Fn() -> AbResult + Copy + 'a,
) -> Views<'a> {
    Views {
        html: Box::new(html),
        csv: Box::new(move || csv::csv(&ab())),
        rounds: Some(Box::new(move || csv::rounds(&ab()))),
        figures: Box::new(move || plot::of_ab(&ab())),
    }
}

/// The name that was given, or that of the result, unless only other things are asked for.
fn html_file(args: &ReportArgs) -> Option<PathBuf> {
    let others = [&args.svg, &args.csv, &args.rounds_csv];
    let is_alone = others.into_iter().all(Option::is_none);
    let default = || is_alone.then(|| args.result.with_extension("html"));
    args.html.clone().or_else(default)
}

fn named(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::run(format!("{}: {error}", path.display()))
}
