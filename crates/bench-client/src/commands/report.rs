//! `bench-client report`.

use crate::args::ReportArgs;
use crate::emulated;
use crate::output::{self, Directory, Output};
use crate::text_file;
use bench_kit::failure::Failure;
use bench_kit::{clock, terminal};
use bench_report::plot::{self, NamedFigure};
use bench_report::report::{MAX_SAVED, Saved};
use bench_report::result::{AbResult, AnyResult};
use bench_report::{csv, report};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let results: Result<Vec<AnyResult>, Failure> =
        args.results.iter().map(|path| read(path)).collect();
    let mut results = results?;
    let saved;
    let views = match results.as_mut_slice() {
        [result] => {
            entitle(result, args)?;
            views(result)
        }
        several => {
            saved = saved_results(several, &args.results)?;
            of_saved(&saved, args)
        }
    };
    if args.rounds_csv.is_some() && views.rounds.is_none() {
        return Err(Failure::usage(
            "--rounds-csv: a matrix result has no rounds; use the files of its cells",
        ));
    }
    let html = Output::open_if("--html", html_file(args).as_deref())?;
    let csv = Output::open_if("--csv", args.csv.as_deref())?;
    let rounds = Output::open_if("--rounds-csv", args.rounds_csv.as_deref())?;
    let outputs = [&html, &csv, &rounds];
    output::check_distinct(&outputs)?;
    for result in &args.results {
        output::check_kept(&outputs, "RESULT.json", Some(result))?;
    }
    let text = |file: &Option<Output>, text: Option<Text<'_>>| {
        let text = text.filter(|_| file.is_some());
        text.map_or_else(String::new, |text| text())
    };
    let html_text = text(&html, Some(views.html));
    let csv_text = text(&csv, Some(views.csv));
    let rounds_text = text(&rounds, views.rounds);
    output::write_all(
        [(html, html_text), (csv, csv_text), (rounds, rounds_text)],
        false,
    )?;
    if let Some(path) = &args.svg {
        let directory = Directory::create("--svg", path)?;
        let (title, note) = (views.title.as_deref(), views.note.as_deref());
        directory.write(&(views.figures)(), title, note)?;
        terminal::note(format_args!("Written: {}", directory.path().display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<AnyResult, Failure> {
    let text = text_file::read_result(path).map_err(|error| named(path, error))?;
    AnyResult::from_json(&text).map_err(|error| named(path, error))
}

/// Puts the reader's title and note in the place of the result's own.
fn entitle(result: &mut AnyResult, args: &ReportArgs) -> Result<(), Failure> {
    let (title, note) = match result {
        AnyResult::Ab(ab) => (&mut ab.title, Some(&mut ab.note)),
        AnyResult::Run(run) => (&mut run.title, Some(&mut run.note)),
        AnyResult::Matrix(_) if args.note.is_some() => {
            return Err(Failure::usage(
                "--note: not for a matrix, whose page has many pictures; leave it out",
            ));
        }
        AnyResult::Matrix(matrix) => (&mut matrix.title, None),
    };
    if args.title.is_some() {
        title.clone_from(&args.title);
    }
    if let Some(note) = note.filter(|_| args.note.is_some()) {
        note.clone_from(&args.note);
    }
    Ok(())
}

/// Each by its title or, without one, by the name of its file.
fn saved_results(results: &[AnyResult], paths: &[PathBuf]) -> Result<Vec<Saved>, Failure> {
    let saved = results.iter().zip(paths).map(|(result, path)| {
        let is_idle = matches!(result, AnyResult::Run(run) if !run.has_payload());
        let result = match result {
            AnyResult::Ab(ab) => (**ab).clone(),
            AnyResult::Run(run) => report::as_ab(run, emulated::path(run)),
            AnyResult::Matrix(_) => {
                return Err(Failure::usage(format!(
                    "{}: a matrix cannot be shown beside other results; give it alone",
                    path.display()
                )));
            }
        };
        let stem = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned());
        Ok(Saved {
            name: result.title.clone().or(stem).unwrap_or_default(),
            result,
            is_idle,
        })
    });
    let saved: Vec<Saved> = saved.collect::<Result<_, _>>()?;
    let variants: usize = saved.iter().map(|saved| saved.result.variants.len()).sum();
    if variants > MAX_SAVED {
        return Err(Failure::usage(format!(
            "{variants} variants in {} results; at most {MAX_SAVED} have a colour, give fewer",
            saved.len()
        )));
    }
    Ok(saved)
}

struct Views<'a> {
    title: Option<String>,
    note: Option<String>,
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
            title: matrix.title.clone(),
            note: None,
            html: Box::new(|| report::matrix_html(matrix)),
            csv: Box::new(|| csv::cells(matrix)),
            rounds: None,
            figures: Box::new(|| plot::of_matrix(matrix)),
        },
    }
}

fn of_saved<'a>(saved: &'a [Saved], args: &'a ReportArgs) -> Views<'a> {
    let (title, note) = (args.title.as_deref(), args.note.as_deref());
    Views {
        title: args.title.clone(),
        note: args.note.clone(),
        ..of_rounds(
            move || report::saved_html(saved, title, note),
            || report::gathered(saved),
        )
    }
}

fn of_rounds<'a>(
    html: impl Fn() -> String + 'a,
    ab: impl Fn() -> AbResult + Copy + 'a,
) -> Views<'a> {
    let AbResult { title, note, .. } = ab();
    Views {
        title,
        note,
        html: Box::new(html),
        csv: Box::new(move || csv::csv(&ab())),
        rounds: Some(Box::new(move || csv::rounds(&ab()))),
        figures: Box::new(move || plot::of_ab(&ab())),
    }
}

/// The name that was given, or that of the result, unless only other things are asked for. Without
/// a name it overwrites none.
fn html_file(args: &ReportArgs) -> Option<PathBuf> {
    let others = [&args.svg, &args.csv, &args.rounds_csv];
    let is_alone = others.into_iter().all(Option::is_none);
    let default = || {
        let stem = match args.results.as_slice() {
            [result] => result.with_extension(""),
            _ => PathBuf::from("report"),
        };
        let now = clock::since_1970().as_secs();
        output::unused(&stem, "html", now, Path::exists)
    };
    args.html.clone().or_else(|| is_alone.then(default))
}

fn named(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::run(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{self, Command};

    fn report_args(line: &str) -> ReportArgs {
        let words = line.split(' ').map(Into::into);
        match args::parse(words).map(|args| args.command) {
            Ok(Command::Report(args)) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_page_without_a_name_overwrites_no_other_file() {
        let folder = std::env::temp_dir().join(format!("report-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let page = folder.join("a.html");
        let line = format!("bench-client report {}", folder.join("a.json").display());
        let file = |more: &str| html_file(&report_args(&format!("{line}{more}")));
        assert_eq!(file(""), Some(page.clone()));
        std::fs::write(&page, "by hand").unwrap();
        let other = file("").unwrap();
        assert_eq!(other.parent(), Some(folder.as_path()));
        let name = other.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("a-") && name.ends_with("Z.html"), "{name}");
        // A name that was given is the user's wish.
        assert_eq!(file(&format!(" --html {}", page.display())), Some(page));
        assert_eq!(file(" --csv x.csv"), None);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
