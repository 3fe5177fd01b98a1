use super::*;
use clap::ValueEnum as _;

#[test]
fn the_help_is_readable_at_80_columns() {
    let Err(Exit::Asked(text)) = parse(["bench-server", "--help"].map(OsString::from)) else {
        panic!("no help");
    };
    for line in text.lines() {
        assert!(line.chars().count() <= HELP_WIDTH, "{line}");
    }
    insta::assert_snapshot!("help_server", text);
}

#[test]
fn every_shell_has_a_script_that_knows_the_flags_and_the_controllers() {
    let registry = cc_core::Registry::standard();
    for shell in Shell::value_variants() {
        let name = shell.to_string();
        let words = ["bench-server", "completions", &name].map(OsString::from);
        let args = parse(words).unwrap();
        let Some(ServerCommand::Completions(args)) = args.command else {
            panic!("{shell}: no command");
        };
        let script = crate::completions(args.shell, &registry);
        assert!(script.contains("idle-timeout"), "{shell}: {script}");
        // elvish and PowerShell get no values.
        let has_values = matches!(shell, Shell::Bash | Shell::Fish | Shell::Zsh);
        assert_eq!(script.contains("ledbat_pp"), has_values, "{shell}");
    }
}

#[test]
fn completions_are_no_way_of_serving() {
    let words = ["bench-server", "--one-off", "completions", "bash"].map(OsString::from);
    assert!(matches!(parse(words), Err(Exit::Refused(_))));
}
