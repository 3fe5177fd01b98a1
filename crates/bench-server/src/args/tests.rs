use super::*;

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
