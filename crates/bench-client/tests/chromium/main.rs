//! Every kind of report, opened in headless Chromium: on a phone and on a wide screen, in light and
//! dark, and on paper. Skipped, loudly, where there is no Chromium.

mod browser;
mod pages;

use browser::{Browser, url};
use pages::{Page, folder};
use serde_json::Value;

#[test]
fn every_report_is_whole_at_any_width_in_any_scheme_and_asks_nobody() {
    let Some(mut browser) = Browser::start(&folder().join("profile")) else {
        return skipped();
    };
    let mut faults = Vec::new();
    for page in pages::all() {
        for width in [390, 1_280] {
            for scheme in ["light", "dark"] {
                browser.show(&page.file, width, scheme);
                let view = format!("{}, {width} pixels, {scheme}", page.name);
                faults.extend(faults_of(&mut browser, &page, &view));
            }
        }
        faults.extend(faults_on_paper(&mut browser, &page));
    }
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

/// A report to point at, shown; `None` where there is no Chromium.
fn pointed_at(profile: &'static str) -> Option<(Browser, pages::Pointed)> {
    let mut browser = Browser::start(&folder().join(profile))?;
    let page = pages::pointed_at(profile);
    browser.show(&page.file, 1_280, "light");
    browser.evaluate(HELPERS);
    Some((browser, page))
}

#[test]
fn a_report_has_the_values_under_the_pointer_in_all_panels_at_once() {
    let Some((mut browser, _)) = pointed_at("pointing at values") else {
        return skipped();
    };
    let middle = browser.place_of("inside", 0.5);
    browser.point(middle, "mouseMoved");
    let values = browser.evaluate("values(inside)");
    let values = values.as_str().expect("a text");
    for part in [
        " s · ",
        "Delivery rate, ",
        "Round-trip time, ms: ",
        "cwnd ",
        "in flight ",
        "pacing ",
    ] {
        assert!(values.contains(part), "no `{part}` in `{values}`");
    }
    let beside = browser.evaluate("values(first)");
    let beside = beside.as_str().expect("a text");
    assert!(
        beside.contains("a cubic ") && beside.contains("b bbr3 "),
        "{beside}"
    );
    // Within what a hundredth of a unit of the drawing is.
    assert_eq!(browser.evaluate("rttIsThatOfTheData()"), "");
    assert_eq!(browser.evaluate("pointsNameTheirRound()"), true);
    assert_eq!(browser.console_errors(), Vec::<String>::new());
}

#[test]
fn a_report_hides_series_and_zooms_by_pointer_and_by_keys() {
    let Some((mut browser, _)) = pointed_at("pointing at series") else {
        return skipped();
    };
    let key = browser.place_of("first.querySelector('[data-series][role=button]')", 0.5);
    for action in ["mousePressed", "mouseReleased"] {
        browser.point(key, action);
    }
    assert_eq!(browser.evaluate("shownLines('a')"), 0);
    assert!(browser.evaluate("shownLines('b')").as_u64() > Some(0));
    browser.evaluate("first.querySelector('[data-series]').focus()");
    browser.press("Enter");
    assert!(browser.evaluate("shownLines('a')").as_u64() > Some(0));

    let from = browser.place_of("first", 0.4);
    let to = browser.place_of("first", 0.6);
    browser.point(from, "mousePressed");
    browser.point(to, "mouseMoved");
    browser.point(to, "mouseReleased");
    assert_eq!(browser.evaluate("zoomed()"), true);
    let labels = browser.evaluate("labelsBelow(first)");
    assert!(labels.as_array().is_some_and(|l| l.len() > 2), "{labels}");
    browser.evaluate("first.parentNode.querySelector('button.tool').click()");
    assert_eq!(browser.evaluate("zoomed()"), false);
    browser.evaluate("first.focus()");
    browser.press("+");
    assert_eq!(browser.evaluate("zoomed()"), true);
    browser.press("Escape");
    assert_eq!(browser.evaluate("zoomed()"), false);
    assert_eq!(browser.console_errors(), Vec::<String>::new());
}

#[test]
fn a_report_sorts_its_rounds_and_saves_its_figures() {
    let Some((mut browser, page)) = pointed_at("pointing at tools") else {
        return skipped();
    };
    let sorted = browser.evaluate("sortedByGoodput()");
    assert_eq!(sorted, serde_json::json!([true, true]));
    let tools = browser.evaluate("tools()");
    let expected = [
        "Copy the command",
        "Save rounds as CSV",
        "Save samples as CSV",
    ];
    assert_eq!(tools, serde_json::json!(expected));
    let saved = browser.evaluate_later("saved('rounds')");
    assert_eq!(saved.as_str(), Some(page.csv.as_str()));
    assert_eq!(browser.console_errors(), Vec::<String>::new());
}

/// What the tests ask the page.
const HELPERS: &str = include_str!("pointing.js");

#[expect(
    clippy::print_stderr,
    reason = "whoever runs the tests should know what was not looked at"
)]
fn skipped() {
    eprintln!("SKIPPED: there is no Chromium here, so that no report was looked at");
}

/// What is wrong with the page that is shown.
fn faults_of(browser: &mut Browser, page: &Page, view: &str) -> Vec<String> {
    let found = browser.evaluate(include_str!("faults.js"));
    let found = found.as_array().expect("the script returns a list");
    let own = Value::from(url(&page.file)).to_string();
    let requests = browser.requests().into_iter();
    let requests = requests.filter(|request| *request != own);
    let said = browser.console_errors().into_iter();
    found
        .iter()
        .map(Value::to_string)
        .chain(requests.map(|request| format!("asks for {request}")))
        .chain(said.map(|message| format!("the console says {message}")))
        .map(|fault| format!("{view}: {fault}"))
        .collect()
}

fn faults_on_paper(browser: &mut Browser, page: &Page) -> Vec<String> {
    let view = format!("{}, on paper", page.name);
    browser.emulate_print();
    let mut faults = faults_of(browser, page, &view);
    // %PDF- in base64.
    if !browser.print().starts_with("JVBERi0") {
        faults.push(format!("{view}: it is no PDF"));
    }
    faults
}

#[test]
fn the_browser_sees_faults_where_there_are_some() {
    let folder = folder();
    let Some(mut browser) = Browser::start(&folder.join("profile of faults")) else {
        return skipped();
    };
    let file = folder.join("faults.html");
    std::fs::write(&file, FAULTY).expect("the folder of tests is writable");
    browser.show(&file, 390, "light");
    let page = Page {
        name: "faulty",
        file,
    };
    let faults = faults_of(&mut browser, &page, "").join("\n");
    for part in [
        "1 scripts",
        "scrolls sideways",
        "leaves the plot",
        "overlaps",
        "no mark",
        "an empty text",
        "a header cell without words",
        "a control without a name",
        "asks for \\\"file:",
        "out loud",
    ] {
        let part = part.replace('\\', "");
        assert!(faults.contains(&part), "`{part}` is not among:\n{faults}");
    }
}

const FAULTY: &str = r#"<!DOCTYPE html><meta charset="utf-8"/>
<script>console.error("out loud")</script>
<img src="elsewhere.png" alt=""/>
<figure style="width: 900px; margin: 0"><svg class="plot" viewBox="0 0 300 100" width="300">
<title>faulty</title><text x="10" y="50">one</text><text x="12" y="50">other</text>
<text x="280" y="20">beyond the edge</text><text x="0" y="90"></text></svg></figure>
<table><tr><th><span style="display: none">Reading</span></th></tr></table><button></button>
"#;
