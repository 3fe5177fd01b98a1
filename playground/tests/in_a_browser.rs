//! The page in Chromium: its figures are those of the same run natively, to the digit.
#![cfg(target_os = "linux")]

#[path = "../../crates/bench-client/tests/chromium/browser.rs"]
#[allow(dead_code, reason = "it has more than this test uses")]
mod browser;

use browser::Browser;
use playground::{FlowSetup, Session, Setup};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

#[test]
fn the_page_shows_what_the_same_run_gives_natively() {
    let Some(program) = web_assembly("dev") else {
        return skipped("no wasm32-unknown-unknown here; rustup target add brings it");
    };
    let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join("playground-profile");
    let Some(mut browser) = Browser::start(&profile) else {
        return skipped("no Chromium here; Debian's package is `chromium`");
    };
    let address = serve(program);
    let hash = "link=rate+20mbit+delay+40ms+5ms+loss+1%25+queue+1bdp&back=&seed=3\
        &flow=paceline@0&flow=bbr3:loss_thresh=5%25@0.5&flow=cubic@1&speed=1&until=600";
    browser.show_url(&format!("{address}/index.html#{hash}"), 1280, "light");
    wait_for(&mut browser, "window.playground !== undefined");

    browser.evaluate("playground.pause(); playground.begin()");
    browser.evaluate("playground.advance(10, Infinity)");
    let mut native = Session::open(setup()).expect("it is right");
    advance(&mut native, 10.0);
    assert_eq!(flows(&mut browser), shown(&native));

    // A slider that is dragged changes the link, and the address repeats that.
    browser.evaluate(
        "document.getElementById('rate').value = 300; \
         document.getElementById('rate').dispatchEvent(new Event('input'))",
    );
    browser.evaluate("playground.advance(3, Infinity); playground.keep()");
    let link = browser.evaluate("document.getElementById('link').value");
    let link = link.as_str().expect("the field has a text");
    assert_eq!(link, "rate 3017kbit delay 40ms 5ms loss 1% queue 1bdp");
    native.change_link(link).expect("it is a link");
    advance(&mut native, 3.0);
    assert_eq!(flows(&mut browser), shown(&native));
    let kept = browser.evaluate("location.href");
    browser.show_url("about:blank", 1280, "light");
    browser.show_url(kept.as_str().expect("an address"), 390, "dark");
    wait_for(&mut browser, "window.playground !== undefined");
    browser.evaluate("playground.pause(); playground.begin(readAddress().changes)");
    browser.evaluate("playground.advance(13, Infinity)");
    assert_eq!(flows(&mut browser), shown(&native), "by its address");

    // Packet by packet.
    for _ in 0..20 {
        browser.evaluate("document.getElementById('step').click()");
    }
    let rows = browser.evaluate("document.querySelectorAll('#packets tbody tr').length");
    assert!(rows.as_u64().is_some_and(|rows| rows >= 20), "{rows}");
    for _ in 0..20 {
        native.step();
    }
    assert_eq!(flows(&mut browser), shown(&native), "after steps");

    // A mistake is said, and everything fits on a phone.
    browser.evaluate(
        "document.getElementById('link').value = 'rate fast'; \
         document.getElementById('link').dispatchEvent(new Event('change'))",
    );
    let message = browser.evaluate("document.getElementById('message').textContent");
    assert!(message.to_string().contains("fast"), "{message}");
    assert_eq!(browser.evaluate(WIDE), json!([]));
    let pictures = browser.evaluate("document.querySelectorAll('figure > svg').length");
    assert_eq!(pictures, 5);
    assert_eq!(browser.console_errors(), Vec::<String>::new());
    for request in browser.requests() {
        assert!(
            request.contains("//127.0.0.1:") || request.contains("data:"),
            "{request}"
        );
    }
}

/// `just playground-speed`: simulated seconds a second, for 60 s at 50 Mbit/s, as the page draws.
#[test]
fn the_page_is_twenty_times_as_fast_as_real_time() {
    if std::env::var_os("PACELINE_PLAYGROUND_SPEED").is_none() {
        return skipped("for PACELINE_PLAYGROUND_SPEED=1 alone: a busy machine decides it");
    }
    let program = web_assembly("web").expect("rustup target add wasm32-unknown-unknown");
    let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join("playground-speed");
    let mut browser = Browser::start(&profile).expect("Debian's package is `chromium`");
    let address = serve(program);
    for flows in [
        "flow=paceline@0",
        "flow=bbr3@0&flow=cubic@0",
        "flow=paceline@0&flow=bbr3@0&flow=cubic@0&flow=copa@0",
    ] {
        let hash = format!(
            "link=rate+50mbit+delay+40ms+loss+0.5%25+queue+1bdp&back=&seed=1&{flows}&speed=0\
             &until=60"
        );
        browser.show_url("about:blank", 1280, "light");
        browser.show_url(&format!("{address}/index.html#{hash}"), 1280, "light");
        wait_for(&mut browser, "window.playground !== undefined");
        browser
            .evaluate("playground.pause(); playground.begin(); void (begun = performance.now())");
        browser.evaluate("playground.play()");
        wait_for(&mut browser, "!playground.isPlaying");
        let factor = browser.evaluate("60000 / (performance.now() - begun)");
        let factor = factor.as_f64().expect("it is a number");
        say(&format!("{flows}: {factor:.1} × real time"));
        assert!(factor >= 20.0, "{flows}: {factor}");
    }
    assert_eq!(browser.console_errors(), Vec::<String>::new());
}

fn setup() -> Setup {
    let flow = |controller: &str, start| FlowSetup {
        controller: controller.to_owned(),
        start,
    };
    Setup {
        link: "rate 20mbit delay 40ms 5ms loss 1% queue 1bdp".to_owned(),
        return_link: String::new(),
        flows: vec![
            flow("paceline", 0.0),
            flow("bbr3:loss_thresh=5%", 0.5),
            flow("cubic", 1.0),
        ],
        seed: 3,
        changes: Vec::new(),
    }
}

fn advance(session: &mut Session, seconds: f64) {
    let end = session.seconds() + seconds;
    while session.seconds() < end - 1e-9 {
        session.advance((end - session.seconds()).min(0.05));
    }
}

fn flows(browser: &mut Browser) -> Value {
    browser.evaluate("playground.ask({flows: {}}).flows.flows")
}

/// As the page gets it: through JSON's text.
fn shown(session: &Session) -> Value {
    let text = json!(session.summaries()).to_string();
    serde_json::from_str(&text).expect("it was written by the same")
}

fn wait_for(browser: &mut Browser, condition: &str) {
    for _ in 0..300 {
        if browser.evaluate(condition) == true {
            return;
        }
        #[expect(clippy::disallowed_methods, reason = "a browser has no clock of ours")]
        thread::sleep(Duration::from_millis(100));
    }
    let message = browser.evaluate("document.getElementById('message').textContent");
    panic!("`{condition}` is not so after half a minute: {message}");
}

/// The simulator for the browser, built with this profile; `None` where it cannot be built.
fn web_assembly(profile: &str) -> Option<PathBuf> {
    let libdir = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", WASM])
        .output()
        .expect("there is a compiler");
    let libdir = String::from_utf8(libdir.stdout).expect("a path is text");
    if !Path::new(libdir.trim()).exists() {
        return None;
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("playground");
    let status = Command::new(env!("CARGO"))
        .args([
            "build",
            "--offline",
            "--locked",
            "--quiet",
            "--package=playground",
        ])
        .args(["--target", WASM, "--profile", profile])
        .env("CARGO_TARGET_DIR", &target)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .status();
    assert!(status.expect("cargo is there").success());
    let folder = if profile == "dev" { "debug" } else { profile };
    Some(target.join(WASM).join(folder).join("playground.wasm"))
}

/// Serves the page and the simulator as any web server would. Returns the address.
fn serve(program: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A browser that goes away in the middle needs no answer.
            let _ = respond(stream, &program);
        }
    });
    format!("http://{address}")
}

fn respond(mut stream: TcpStream, program: &Path) -> std::io::Result<()> {
    let mut request = String::new();
    BufReader::new(&stream).read_line(&mut request)?;
    let name = request.split(' ').nth(1).unwrap_or_default();
    let name = name.trim_start_matches('/');
    let kind = match name.rsplit('.').next() {
        Some("html") => "text/html",
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("wasm") => "application/wasm",
        _ => return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
    };
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
    let body = match name {
        "playground.wasm" => fs::read(program)?,
        name => fs::read(web.join(name))?,
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    )?;
    stream.write_all(&body)
}

/// Past the harness, which shows output only of tests that fail.
fn skipped(why: &str) {
    say(&format!("SKIPPED: {why}"));
}

fn say(line: &str) {
    writeln!(std::io::stderr(), "{line}").expect("stderr is open");
}

/// What is wider than the window and not in a box that scrolls.
const WIDE: &str = "[...document.querySelectorAll('body *')] \
    .filter((part) => part.getBoundingClientRect().right > innerWidth) \
    .filter((part) => !part.closest('.scroll')) \
    .map((part) => part.outerHTML.slice(0, 80))";
const WASM: &str = "wasm32-unknown-unknown";
