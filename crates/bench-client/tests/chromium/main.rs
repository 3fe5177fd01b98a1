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
"#;
