use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};
use clap_complete::Shell;

/// What `shell` needs to complete command lines of `command`.
pub fn completions(shell: Shell, command: &mut Command) -> String {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, command, &name, &mut script);
    // clap_complete 4.6.11 takes the hyphen in a program's name for the begin of a command in one
    // of the two places where bash has to find the same word.
    let begin = name.split('-').next().unwrap_or_default();
    let script = String::from_utf8_lossy(&script);
    let script = script.replace(&format!("{begin}__subcmd__"), &format!("{begin}__"));
    match shell {
        Shell::Bash => of_parts(&script, &format!("_{}", name.replace('-', "__"))),
        Shell::Fish => script + &of_arguments(&name, command),
        _ => script,
    }
}

/// Offers `values` of the name of an argument's value where such an argument stands, in `command`
/// and the commands below it. The arguments then refuse all other values, so this is for
/// completions alone. Where there are none, an argument stays as it is.
pub fn with_values(command: Command, values: &dyn Fn(&str) -> Vec<String>) -> Command {
    let with_its = |argument: Arg| {
        let name = argument.get_value_names().and_then(<[_]>::first);
        let values = name.map_or_else(Vec::new, |name| values(name));
        if values.is_empty() {
            return argument;
        }
        argument.value_parser(PossibleValuesParser::new(values))
    };
    let command = command.mut_args(with_its);
    command.mut_subcommands(|one| with_values(one, values))
}

/// The same completions, whose function is asked for through [`OF_PARTS`].
fn of_parts(script: &str, function: &str) -> String {
    let complete = format!("complete -F {function} ");
    let asked = script.replace(&complete, &format!("complete -F {function}_of_parts "));
    OF_PARTS.replace("COMPLETE", function) + &asked
}

/// The values of commands' own arguments, which clap_complete leaves out for fish.
fn of_arguments(name: &str, command: &Command) -> String {
    let function = name.replace('-', "_");
    let lines = command.get_subcommands().map(|sub| {
        let arguments = sub.get_positionals().flat_map(Arg::get_possible_values);
        let values: Vec<String> = arguments.map(|value| value.get_name().to_owned()).collect();
        if values.is_empty() {
            return String::new();
        }
        format!(
            "complete -c {name} -n \"__fish_{function}_using_subcommand {}\" -f -a \"{}\"\n",
            sub.get_name(),
            values.join(" ")
        )
    });
    lines.collect()
}

/// Gives bash's words to that function, in which names and values are words of their own.
const OF_PARTS: &str = include_str!("completions.bash");
