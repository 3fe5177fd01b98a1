//! What a package installs beside the program: its manual pages and completions.

use crate::failure::Failure;
use clap::{Args, Command, ValueHint};
use clap_mangen::Man;
use link_sim::program::{self, Shell};
use link_sim::{LINK_WORDS, presets};
use std::io::{self, Write as _};
use std::path::PathBuf;

/// Write the man pages to a directory
#[derive(Debug, Args)]
pub(super) struct ManArguments {
    /// Directory for the pages
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
}

/// Print a shell completion script
#[derive(Debug, Args)]
pub(super) struct CompletionsArguments {
    /// Shell to complete for
    shell: Shell,
}

/// Writes a page for the program and each of its commands.
///
/// # Errors
/// When the folder or a file in it cannot be written.
pub(super) fn write_pages(
    ManArguments { folder }: &ManArguments,
    command: Command,
) -> Result<(), Failure> {
    let cannot = |path: &std::path::Path, error: io::Error| {
        Failure::run(format!("cannot write {}: {error}", path.display()))
    };
    std::fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
    for (name, text) in pages(command) {
        let path = folder.join(format!("{name}.1"));
        std::fs::write(&path, text).map_err(|error| cannot(&path, error))?;
    }
    Ok(())
}

/// Prints a shell's script.
///
/// # Errors
/// When it cannot be printed.
pub(super) fn print_completions(
    arguments: &CompletionsArguments,
    command: Command,
) -> Result<(), Failure> {
    match io::stdout().write_all(script(arguments.shell, command).as_bytes()) {
        // Whoever read it has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(Failure::run),
    }
}

fn script(shell: Shell, command: Command) -> String {
    let script = program::completions(shell, &mut with_links(command));
    match shell {
        Shell::Fish => after_options(&script),
        Shell::Zsh => of_commands(&script),
        _ => script,
    }
}

/// The same completions without the words of a LINK in a command's place: zsh takes a command for
/// the first of them where it knows of both.
fn of_commands(script: &str) -> String {
    let Some((before, after)) = script.split_once(":_link-relay_commands") else {
        return script.to_owned();
    };
    let lines = before.lines().filter(|line| !line.starts_with("'::words"));
    let before = lines.collect::<Vec<_>>().join("\n");
    before + ":_link-relay_commands" + &after.replace("line[2]", "line[1]")
}

/// The same completions with those of an option that still lacks its value, which fish's argparse
/// takes for an error in the words before.
fn after_options(script: &str) -> String {
    let parse = "argparse -s (__fish_link_relay_global_optspecs) -- $cmd";
    let with_value = format!("{parse} 2>/dev/null\n    or {parse} '' 2>/dev/null");
    script.replace(&format!("{parse} 2>/dev/null"), &with_value)
}

/// Words that a shell may offer where a LINK stands, which takes more than these.
fn with_links(command: Command) -> Command {
    let words = LINK_WORDS
        .iter()
        .filter_map(|word| word.form.split(' ').next());
    let mut names: Vec<&str> = words.chain(presets().map(|preset| preset.name)).collect();
    names.dedup();
    program::with_values(command, &|value| match value {
        "LINK" => names.iter().map(|name| (*name).to_owned()).collect(),
        _ => Vec::new(),
    })
}

/// The names of the pages, and their text in roff.
fn pages(command: Command) -> Vec<(String, Vec<u8>)> {
    let mut command = command.disable_help_subcommand(true);
    // Gives the commands their full names.
    command.build();
    let commands = [&command].into_iter().chain(command.get_subcommands());
    commands.map(|one| page(one.clone())).collect()
}

fn page(command: Command) -> (String, Vec<u8>) {
    let name = command.get_display_name().unwrap_or(NAME).to_owned();
    let mut text = Vec::new();
    render(command, &mut text).expect("a vector takes everything");
    text.extend_from_slice(REST.as_bytes());
    (name, text)
}

/// All of clap_mangen's sections that have something in them.
fn render(command: Command, to: &mut Vec<u8>) -> io::Result<()> {
    let has_subcommands = command.has_subcommands();
    let man = Man::new(command).source(env!("CARGO_PKG_VERSION"));
    let man = man.manual("Paceline");
    man.render_title(to)?;
    man.render_name_section(to)?;
    man.render_synopsis_section(to)?;
    man.render_description_section(to)?;
    man.render_options_section(to)?;
    if has_subcommands {
        man.render_subcommands_section(to)?;
    }
    man.render_version_section(to)
}

const NAME: &str = "link-relay";

/// What all pages end with.
const REST: &str = r#".SH "EXIT STATUS"
.TP
0
Done. With \fBexec\fR and \fBtun\fR it is the program's exit code instead.
.TP
1
The relay failed.
.TP
2
Invalid command line.
.SH "SEE ALSO"
.BR bench\-client (1),
.BR bench\-server (1),
.BR tc\-netem (8)
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CommandLine;
    use clap::{Arg, CommandFactory as _, ValueEnum as _};

    #[test]
    fn every_flag_and_every_command_is_in_its_page() {
        let mut command = CommandLine::command().disable_help_subcommand(true);
        command.build();
        let commands: Vec<Command> = command.get_subcommands().cloned().collect();
        assert_eq!(pages(CommandLine::command()).len(), 1 + commands.len());
        for command in [command].into_iter().chain(commands) {
            let (_, text) = page(command.clone());
            let text = String::from_utf8(text).unwrap();
            for long in command.get_arguments().filter_map(Arg::get_long) {
                let flag = format!("\\-\\-{}", long.replace('-', "\\-"));
                assert!(text.contains(&flag), "{flag} in:\n{text}");
            }
            for sub in command.get_subcommands() {
                let sub = sub.get_name().replace('-', "\\-");
                assert!(text.contains(&format!("\\-{sub}(1)")), "{sub} in:\n{text}");
            }
        }
    }

    #[test]
    fn every_shell_has_a_script_that_knows_the_flags() {
        for shell in Shell::value_variants() {
            let script = script(*shell, CommandLine::command());
            assert!(script.contains("return-link-file"), "{shell}: {script}");
            // elvish and PowerShell get no values.
            let has_values = matches!(shell, Shell::Bash | Shell::Fish | Shell::Zsh);
            assert_eq!(script.contains("starlink-down"), has_values, "{shell}");
            if *shell == Shell::Zsh {
                let (before, _) = script.split_once(":_link-relay_commands").unwrap();
                assert!(!before.contains("::words"), "{script}");
            }
        }
    }
}
