//! `bench-client scorecard`.

use crate::args::ScorecardArgs;
use crate::client;
use crate::output::{self, Output};
use crate::scorecard::{ScorecardFile, ScorecardPlan, Tests};
use bench_kit::cli::{self, DEFAULT_CONTROLLER};
use bench_kit::failure::Failure;
use bench_kit::interrupt::Interrupts;
use bench_kit::terminal;
use bench_report::markdown;
use bench_report::result::ScorecardResult;
use bench_report::text::{printable, quantity};
use cc_core::Registry;
use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::process::ExitCode;
use std::thread;

/// Measures one controller, or all, and prints or writes their pages.
pub(super) fn run(args: &ScorecardArgs, registry: &Registry) -> Result<ExitCode, Failure> {
    let file = match &args.criteria {
        Some(path) => ScorecardFile::load(path)?,
        None => ScorecardFile::built_in(),
    };
    let only = file.check_only(&args.only);
    only.map_err(|error| Failure::usage(format!("--only: {error}")))?;
    let against = neighbours(args, registry)?;
    let plan = |cc: &str| ScorecardPlan {
        file: &file,
        criteria: args.criteria.as_deref(),
        only: &args.only,
        cc: cc.to_owned(),
        against: &against,
        rounds: args.rounds,
        seed: args.seed,
        registry,
    };
    if let Some(folder) = &args.all {
        let plans = registry.specs().iter().map(|spec| plan(spec.name));
        return all(plans.collect(), folder);
    }
    let cc = args.cc.as_deref().expect("clap demands it");
    let cc = registry.choose(cc);
    let cc = cc.map_err(|error| Failure::usage(error.to_string()))?;
    let page = Output::open_if("--output", args.output.as_deref())?;
    let json = Output::open_if("--json", args.json.as_deref())?;
    output::check_distinct(&[&page, &json])?;
    output::check_kept(&[&page, &json], "--criteria", args.criteria.as_deref())?;
    let interrupts = cli::interrupts()?;
    let result = measure(&plan(&cc.to_string()), &mut Tests::default(), &interrupts)?;
    let text = markdown::scorecard(&result);
    if page.is_none() {
        terminal::text(&text);
    }
    output::write_all([(page, text), (json, result.to_json())], false)?;
    judge(&result)
}

/// The neighbours, as the registry writes them.
fn neighbours(args: &ScorecardArgs, registry: &Registry) -> Result<Vec<String>, Failure> {
    let mut neighbours: Vec<String> = Vec::new();
    for cc in &args.against {
        let choice = registry.choose(cc);
        let choice = choice.map_err(|error| Failure::usage(format!("--against: {error}")))?;
        let cc = choice.to_string();
        if !neighbours.contains(&cc) {
            neighbours.push(cc);
        }
    }
    if neighbours.is_empty() {
        neighbours.push(DEFAULT_CONTROLLER.to_owned());
    }
    Ok(neighbours)
}

/// A page for each controller, as soon as it is measured, and at last the table of all.
fn all(plans: Vec<ScorecardPlan<'_>>, folder: &Path) -> Result<ExitCode, Failure> {
    let failure = |path: &Path, error: &std::io::Error| {
        Failure::run(format!("--all {}: {error}", path.display()))
    };
    fs::create_dir_all(folder).map_err(|error| failure(folder, &error))?;
    let interrupts = cli::interrupts()?;
    let mut tests = Tests::default();
    let mut results = Vec::new();
    let write = |name: &str, text: String| {
        let path = folder.join(name).with_extension("md");
        fs::write(&path, text).map_err(|error| failure(&path, &error))
    };
    for plan in &plans {
        let result = measure(plan, &mut tests, &interrupts)?;
        match result.error.as_deref() {
            Some(client::INTERRUPTED) => {
                let (done, folder) = (results.len(), folder.display());
                return Err(Failure::interrupted(format!(
                    "interrupted: the scorecards were ended early, by Ctrl-C or a signal, after \
                     those of {done} of {} controllers, whose pages are in {folder}; the same \
                     command measures all of them anew",
                    plans.len()
                )));
            }
            Some(_) => return judge(&result),
            None => {}
        }
        if !plan.against.contains(&plan.cc) {
            tests.forget(&plan.cc);
        }
        write(&plan.cc, markdown::scorecard(&result))?;
        results.push(result);
    }
    write("README", markdown::scorecard_summary(&results))?;
    terminal::note(format_args!("Written: {}", folder.display()));
    // That a controller loses connections is what its page says, and no failure of this run.
    for failure in results.iter().filter_map(|result| judge(result).err()) {
        terminal::note(format_args!("{failure}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Says of each criterion what it came to.
fn measure(
    plan: &ScorecardPlan<'_>,
    tests: &mut Tests,
    interrupts: &Interrupts,
) -> Result<ScorecardResult, Failure> {
    let rows = plan.rows()?;
    terminal::note(format_args!(
        "{}: {rows} figures, {} rounds of each test; seed {}; virtual time",
        printable(&plan.cc),
        plan.rounds,
        plan.seed
    ));
    let workers = thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let mut done = 0;
    plan.run(workers, tests, interrupts, &mut |row| {
        done += 1;
        let figure = row.figure.as_ref();
        let figure = figure.map(|figure| quantity(figure.value.get(), &row.unit));
        let figure = figure.unwrap_or_else(|| "no figure".to_owned());
        terminal::note(format_args!("{done:>4}/{rows}  {:<22} {figure}", row.id));
    })
}

fn judge(result: &ScorecardResult) -> Result<ExitCode, Failure> {
    if result.complete {
        return Ok(ExitCode::SUCCESS);
    }
    let failed = result.rows().find_map(|row| {
        let error = row.error.as_ref()?;
        Some(format!("{}: {error}", row.id))
    });
    let error = result.error.clone().or(failed).unwrap_or_default();
    let cc = &result.cc;
    Err(match error.as_str() {
        client::INTERRUPTED => Failure::interrupted(format!(
            "interrupted: the scorecard of {cc} was ended early, by Ctrl-C or a signal, with {} \
             of its figures measured; the same command measures all of them anew, and --only ID \
             some",
            result.rows().count()
        )),
        error => Failure::run(format!("the scorecard of {cc} is incomplete: {error}")),
    })
}

#[cfg(test)]
mod tests {
    use super::super::ab;
    use super::*;
    use crate::ab::AbSetup;
    use crate::args::{self, Command};
    use crate::shell;

    /// What `ab` would do with a command line.
    fn setup(command: &str, registry: &Registry) -> AbSetup {
        let words = shell::words(command).into_iter().map(Into::into);
        match args::parse(words).map(|args| args.command) {
            Ok(Command::Ab(args)) => ab::setup(&args, registry).unwrap(),
            other => panic!("{command}: {other:?}"),
        }
    }

    #[test]
    fn every_command_beside_a_figure_is_the_test_behind_it() {
        let promises = Path::new(env!("CARGO_MANIFEST_DIR")).join(PROMISES);
        for file in [
            ScorecardFile::built_in(),
            ScorecardFile::load(&promises).unwrap(),
        ] {
            every_command_of(&file);
        }
    }

    fn every_command_of(file: &ScorecardFile) {
        let registry = Registry::standard();
        let plan = ScorecardPlan {
            file,
            criteria: None,
            only: &[],
            cc: registry.choose("bbr3:adapts_down=on").unwrap().to_string(),
            against: &["cubic", "new_reno"].map(str::to_owned),
            rounds: 4,
            seed: 7,
            registry: &registry,
        };
        let tests = plan.tests();
        assert!(tests.len() > file.ids().count());
        for (cell, command) in tests {
            let pasted = setup(&command, &registry);
            let mut planned = cell.ab_setup(&registry, pasted.workers);
            planned.title = None;
            assert_eq!(format!("{pasted:?}"), format!("{planned:?}"), "{command}");
        }
    }

    const PROMISES: &str = "scenarios/paceline.toml";
}
