//! What a package installs beside the programs: manual pages and completions.

use super::list;
use crate::args::{self, CompletionsArgs, ManArgs, Program};
use crate::matrix::BUILT_IN;
use bench_kit::completions::{self, Shell};
use bench_kit::failure::Failure;
use bench_kit::terminal;
use cc_core::Registry;
use clap::{Command, ValueEnum as _};
use clap_mangen::Man;
use link_sim::{LINK_WORDS, presets};
use std::io;
use std::process::ExitCode;

pub(super) fn write_pages(args: &ManArgs) -> Result<ExitCode, Failure> {
    let folder = &args.folder;
    let cannot = |path: &std::path::Path, error: io::Error| {
        Failure::run(format!("cannot write {}: {error}", path.display()))
    };
    std::fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
    for program in Program::value_variants() {
        for page in pages(*program) {
            let path = folder.join(&page.file);
            std::fs::write(&path, page.text).map_err(|error| cannot(&path, error))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn print_completions(args: &CompletionsArgs, registry: &Registry) -> ExitCode {
    terminal::text(&script(args.shell, args.program, registry));
    ExitCode::SUCCESS
}

fn script(shell: Shell, program: Program, registry: &Registry) -> String {
    match program {
        Program::BenchClient => {
            let names = Names::of(registry);
            let mut command = completions::with_values(args::command(), &|value| {
                names.of_value(value).into_iter().cloned().collect()
            });
            completions::script(shell, &mut command)
        }
        Program::BenchServer => bench_server::completions(shell, registry),
    }
}

/// Words that stand for something, which a shell may offer; the programs take more than these.
struct Names {
    /// With the begin of each parameter, as in `bbr3:beta=`.
    controllers: Vec<String>,
    links: Vec<String>,
    matrices: Vec<String>,
}

impl Names {
    fn of(registry: &Registry) -> Self {
        let words = LINK_WORDS
            .iter()
            .map(|word| list::name_of(word.form).to_owned());
        let mut links: Vec<_> = words
            .chain(presets().map(|link| link.name.to_owned()))
            .collect();
        links.dedup();
        Self {
            controllers: completions::controllers(registry),
            links,
            matrices: BUILT_IN.map(|matrix| matrix.name.to_owned()).into(),
        }
    }

    /// Those that an argument with this name of its value takes.
    fn of_value(&self, name: &str) -> Vec<&String> {
        let Self {
            controllers,
            links,
            matrices,
        } = self;
        match name {
            "CC" => controllers.iter().collect(),
            "LINK" => links.iter().collect(),
            "NAME|FILE" => matrices.iter().collect(),
            "NAME" => {
                let is_name = |name: &&String| !name.contains(':');
                let controllers = controllers.iter().filter(is_name);
                controllers.chain(links).chain(matrices).collect()
            }
            _ => Vec::new(),
        }
    }
}

fn command(program: Program) -> Command {
    match program {
        Program::BenchClient => args::command(),
        Program::BenchServer => bench_server::command(),
    }
}

struct Page {
    /// `bench-client-run.1`.
    file: String,
    /// In roff.
    text: Vec<u8>,
}

fn pages(program: Program) -> Vec<Page> {
    let mut command = command(program).disable_help_subcommand(true);
    // Gives the commands their full names.
    command.build();
    let commands = command.get_subcommands().filter(|one| !one.is_hide_set());
    [&command]
        .into_iter()
        .chain(commands)
        .map(|one| page(one.clone()))
        .collect()
}

fn page(command: Command) -> Page {
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name());
    let file = format!("{name}.1");
    let mut text = Vec::new();
    render(command, &mut text).expect("a vector takes everything");
    text.extend_from_slice(REST.as_bytes());
    Page { file, text }
}

/// All of clap_mangen's sections that have something in them.
fn render(command: Command, to: &mut Vec<u8>) -> io::Result<()> {
    let has_subcommands = command.has_subcommands();
    let has_extra = command.get_after_help().is_some() || command.get_after_long_help().is_some();
    let man = Man::new(command)
        .source(bench_kit::VERSION)
        .manual("Paceline");
    man.render_title(to)?;
    man.render_name_section(to)?;
    man.render_synopsis_section(to)?;
    man.render_description_section(to)?;
    man.render_options_section(to)?;
    if has_subcommands {
        man.render_subcommands_section(to)?;
    }
    if has_extra {
        man.render_extra_section(to)?;
    }
    man.render_version_section(to)
}

const REST: &str = r#".SH "EXIT STATUS"
.TP
0
Done.
.TP
1
The run failed, or was ended early by Ctrl-C, a signal or, with run \-\-live, q; or a rule of
\-\-fail\-if holds. What was measured until then is still shown and written, marked
"complete": false. It is written beside a complete result of that name, as x.partial.json beside
x.json.
.TP
2
Invalid command line.
.TP
3
With ab \-\-until: the intervals are still wider after \-\-max\-rounds.
.SH ENVIRONMENT
.TP
PACELINE_TOKEN
The token, where \-\-token names no file.
.TP
SSLKEYLOGFILE
The file to which the TLS secrets of connections are appended, for Wireshark.
.SH "SEE ALSO"
.BR bench\-client (1),
.BR bench\-server (1)
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Arg;

    #[test]
    fn every_flag_and_every_command_is_in_its_page() {
        for program in Program::value_variants() {
            let mut command = command(*program).disable_help_subcommand(true);
            command.build();
            let commands: Vec<Command> = command.get_subcommands().cloned().collect();
            for command in [command].into_iter().chain(commands) {
                let name = command
                    .get_display_name()
                    .unwrap_or_else(|| command.get_name());
                let page = page(command.clone());
                assert_eq!(page.file, format!("{name}.1"));
                let text = String::from_utf8(page.text).unwrap();
                let flags = command.get_arguments().filter(|flag| !flag.is_hide_set());
                for long in flags.filter_map(Arg::get_long) {
                    let flag = format!("\\-\\-{}", long.replace('-', "\\-"));
                    assert!(text.contains(&flag), "{flag} in:\n{text}");
                }
                for sub in command.get_subcommands() {
                    let sub = sub.get_name();
                    assert!(text.contains(&format!("\\-{sub}(1)")), "{sub} in:\n{text}");
                }
            }
        }
    }

    #[test]
    fn every_shell_has_a_script_that_knows_the_flags() {
        for shell in Shell::value_variants() {
            for program in Program::value_variants() {
                let script = script(*shell, *program, &Registry::standard());
                assert!(script.contains("idle-timeout"), "{shell}: {script}");
                let offers = |name: &str| script.contains(name);
                let is_client = *program == Program::BenchClient;
                // elvish and PowerShell get no values.
                let has_values = matches!(shell, Shell::Bash | Shell::Fish | Shell::Zsh);
                assert_eq!(offers("ledbat_pp"), has_values, "{shell}");
                assert_eq!(offers("starlink-down"), has_values && is_client, "{shell}");
                assert_eq!(offers("seven-rounds"), has_values && is_client, "{shell}");
            }
        }
    }
}
