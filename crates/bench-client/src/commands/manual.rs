//! What a package installs beside the programs: manual pages and completions.

use super::list;
use crate::args::{self, CompletionsArgs, ManArgs, Program};
use crate::matrix::BUILT_IN;
use bench_kit::failure::Failure;
use bench_kit::terminal;
use cc_core::Registry;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, ValueEnum as _};
use clap_complete::Shell;
use clap_mangen::Man;
use link_sim::{LINK_WORDS, presets};
use std::io;
use std::iter;
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
    let mut script = Vec::new();
    let mut command = with_names(command(program), &Names::of(registry));
    clap_complete::generate(shell, &mut command, program.name(), &mut script);
    // clap_complete 4.6.11 takes the hyphen in a program's name for the begin of a command in one
    // of the two places where bash has to find the same word.
    let script = String::from_utf8_lossy(&script).replace("bench__subcmd__", "bench__");
    match shell {
        Shell::Bash => of_parts(&script, &format!("_{}", program.name().replace('-', "__"))),
        Shell::Fish => script + &of_arguments(&command),
        _ => script,
    }
}

/// The same completions, whose function is asked for through [`OF_PARTS`].
fn of_parts(script: &str, function: &str) -> String {
    let complete = format!("complete -F {function} ");
    let asked = script.replace(&complete, &format!("complete -F {function}_of_parts "));
    OF_PARTS.replace("COMPLETE", function) + &asked
}

/// The values of commands' own arguments, which clap_complete leaves out for fish. bench-server has
/// no commands.
fn of_arguments(command: &Command) -> String {
    let lines = command.get_subcommands().map(|sub| {
        let arguments = sub.get_positionals().flat_map(Arg::get_possible_values);
        let values: Vec<String> = arguments.map(|value| value.get_name().to_owned()).collect();
        if values.is_empty() {
            return String::new();
        }
        format!(
            "complete -c bench-client -n \"__fish_bench_client_using_subcommand {}\" -f -a \
             \"{}\"\n",
            sub.get_name(),
            values.join(" ")
        )
    });
    lines.collect()
}

/// Gives bash's words to that function, in which names and values are words of their own.
const OF_PARTS: &str = include_str!("completions.bash");

/// Words that stand for something, which a shell may offer; the programs take more than these.
struct Names {
    /// With the begin of each parameter, as in `bbr3:beta=`.
    controllers: Vec<String>,
    links: Vec<String>,
    matrices: Vec<String>,
}

impl Names {
    fn of(registry: &Registry) -> Self {
        let controllers = registry.specs().iter().flat_map(|spec| {
            let params = spec.params.iter();
            let params = params.map(|param| format!("{}:{}=", spec.name, param.name));
            iter::once(spec.name.to_owned()).chain(params)
        });
        let words = LINK_WORDS
            .iter()
            .map(|word| list::name_of(word.form).to_owned());
        let mut links: Vec<_> = words
            .chain(presets().map(|link| link.name.to_owned()))
            .collect();
        links.dedup();
        Self {
            controllers: controllers.collect(),
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

fn with_names(command: Command, names: &Names) -> Command {
    let with_values = |argument: Arg| {
        let value = argument.get_value_names().and_then(<[_]>::first);
        let values = value.map_or_else(Vec::new, |name| names.of_value(name));
        if values.is_empty() {
            return argument;
        }
        argument.value_parser(PossibleValuesParser::new(values))
    };
    let command = command.mut_args(with_values);
    command.mut_subcommands(|subcommand| with_names(subcommand, names))
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
The run failed, or a rule of \-\-fail\-if holds. What was measured until then is still written,
marked "complete": false.
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
