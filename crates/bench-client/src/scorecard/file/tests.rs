use super::*;

/// One criterion; `more` are further keys of it.
fn file(more: &str) -> String {
    format!(
        r#"
        url = "https://example.org"
        section = [{{ number = "5.1", title = "First" }}, {{ number = "5.2", title = "Second" }}]
        not_covered = [{{ section = "5.2", what = "x", why = "y" }}]
        [[criterion]]
        id = "one"
        section = "5.2"
        title = "one flow"
        link = "delay 20ms rate 10mbit queue 1bdp"
        sentence = "It has {{figure}}, {{against}} {{reference}}."
        {more}
        "#
    )
}

const GOOD: &str = "good = { at_most = 2, reason = \"x\" }";

const LOSS: &str = "measure = \"loss\"";

fn refusal(text: &str) -> String {
    let refused = ScorecardFile::read("s.toml", text);
    refused.unwrap_err().to_string()
}

#[test]
fn the_built_in_criteria_are_those_of_the_rfc_in_its_order() {
    let file = ScorecardFile::built_in();
    assert!(file.ids().count() >= 25);
    let numbers: Vec<Vec<u32>> = file
        .section
        .iter()
        .map(|one| {
            one.number
                .split('.')
                .map(|part| part.parse().unwrap())
                .collect()
        })
        .collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    for section in &file.section {
        let number = &section.number;
        let has_criterion = file.criterion.iter().any(|one| one.section == *number);
        assert!(
            has_criterion || file.gaps(number).next().is_some(),
            "{number}"
        );
    }
}

#[test]
fn a_neighbour_that_takes_part_has_a_row_for_each() {
    let against = ["cubic", "bbr3"].map(str::to_owned);
    let rows = |more: &str| {
        let file = ScorecardFile::read("s.toml", &file(more)).unwrap();
        file.criterion[0].neighbours(&against).len()
    };
    assert_eq!(rows(LOSS), 1);
    assert_eq!(rows(&format!("compete = true\n{LOSS}")), 2);
    let with_itself = r#"variants = [{ cc = "{cc}" }, { cc = "{cc}" }]"#;
    assert_eq!(rows(&format!("compete = true\n{LOSS}\n{with_itself}")), 1);
}

#[test]
fn what_is_wrong_is_named() {
    let wrong = [
        (
            file("measure = \"los\""),
            "s.toml:11: unknown variant `los`",
        ),
        (
            file(&format!("{LOSS}\nlnk = 1")),
            "s.toml:12: unknown field `lnk`",
        ),
        (
            file(&format!("{LOSS}\nof = \"c\"")),
            "criterion one: of: no variant `c`",
        ),
        (
            file(LOSS).replace("id = \"one\"", "id = \"One\""),
            "criterion One: id: only the characters a-z, 0-9 and `-`",
        ),
        (
            file(LOSS).replace("{figure}", "{figur}"),
            "unknown word `{figur}`; known: {cc}, {against}, {figure}, {reference}",
        ),
        (
            file(LOSS).replace(
                "section = \"5.2\"\n        title",
                "section = \"6\"\n title",
            ),
            "section: `6` is not a section; known: 5.1, 5.2",
        ),
        (file("measure = \"recovery\""), "since: needed by"),
        (
            file("measure = \"jain\"\nrelative = true"),
            "relative: the measure is no metric",
        ),
        (
            file(&format!("{LOSS}\ngood = {{ reason = \"x\" }}")),
            "good: needs `at_least` or `at_most`",
        ),
        (
            file(&format!("{LOSS}\nover = \"p90\"")),
            "over: needs `axes`",
        ),
        (
            file(&format!("{LOSS}\naxes = {{ flows = [1, 2] }}")),
            "axes: need `good` with one of `at_least` and `at_most`",
        ),
        (
            file(&format!("{LOSS}\n{GOOD}\naxes = {{ flows = [1, 2] }}")),
            "sentence: with `axes` there is no {reference}",
        ),
        (
            file(&format!("{LOSS}\nrelative = true\ndifference = true")),
            "difference: not together with `relative`",
        ),
        (
            file(&format!("{LOSS}\n{GOOD}\nreference = \"best\"")),
            "reference: `best` needs `relative = true`, no `compete`, and `good`",
        ),
    ];
    for (text, expected) in wrong {
        let refusal = refusal(&text);
        assert!(refusal.contains(expected), "{refusal}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let refused = ScorecardFile::load(Path::new("no/such.toml")).unwrap_err();
    assert!(
        refused.to_string().starts_with("no/such.toml: "),
        "{refused}"
    );
}

#[test]
fn a_criterion_that_does_not_exist_is_named_with_those_that_do() {
    let file = ScorecardFile::read("s.toml", &file(LOSS)).unwrap();
    let only = |id: &str| file.check_only(&[id.to_owned()]);
    assert_eq!(only("one"), Ok(()));
    let expected = "unknown criterion `two`; known: one".to_owned();
    assert_eq!(only("two"), Err(expected));
}
