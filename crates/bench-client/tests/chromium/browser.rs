//! A Chromium without a window, driven over a pipe by its DevTools protocol.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// A running browser with one page; it ends when it is dropped.
pub(crate) struct Browser {
    process: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    /// Of the page.
    session: Option<String>,
    last_id: u64,
    /// What has happened and was not asked for.
    events: Vec<Value>,
}

impl Browser {
    /// `None` where there is no Chromium.
    pub(crate) fn start(profile: &Path) -> Option<Self> {
        let program = PROGRAMS.into_iter().find(|program| exists(program))?;
        // The pipe's ends are file descriptors 3 and 4.
        let mut process = Command::new("sh")
            .args([
                "-c",
                r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#,
            ])
            .arg(program)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let commands = process.stdin.take().expect("it is piped");
        let answers = process.stdout.take().expect("it is piped");
        let (sender, messages) = mpsc::channel();
        std::thread::spawn(move || {
            for message in BufReader::new(answers).split(0) {
                let message = message
                    .ok()
                    .and_then(|text| serde_json::from_slice(&text).ok());
                let Some(message) = message else { return };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self {
            process,
            commands,
            messages,
            session: None,
            last_id: 0,
            events: Vec::new(),
        };
        browser.attach();
        Some(browser)
    }

    fn attach(&mut self) {
        let target = self.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = self.call("Target.attachToTarget", attach);
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Network", "Runtime", "Log"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Shows a file in a window of this width; returns when it is loaded.
    pub(crate) fn show(&mut self, file: &Path, width: u32, scheme: &str) {
        self.show_url(&url(file), width, scheme);
    }

    /// The same with the page at an address.
    pub(crate) fn show_url(&mut self, url: &str, width: u32, scheme: &str) {
        let window =
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", window);
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call(
            "Emulation.setEmulatedMedia",
            json!({"media": "", "features": features}),
        );
        self.events.clear();
        self.call("Page.navigate", json!({"url": url}));
        while !self
            .events
            .iter()
            .any(|event| event["method"] == "Page.loadEventFired")
        {
            let event = self.next();
            self.events.push(event);
        }
    }

    /// From now on as on paper.
    pub(crate) fn emulate_print(&mut self) {
        self.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    }

    /// The value of a script's last expression, which the page itself could not run.
    pub(crate) fn evaluate(&mut self, script: &str) -> Value {
        let what = json!({"expression": script, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", what);
        assert!(answer["exceptionDetails"].is_null(), "{answer}");
        answer["result"]["value"].clone()
    }

    /// The same of a script that ends later.
    pub(crate) fn evaluate_later(&mut self, script: &str) -> Value {
        let what = json!({"expression": script, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", what);
        assert!(answer["exceptionDetails"].is_null(), "{answer}");
        answer["result"]["value"].clone()
    }

    /// Where in the window an element is, once it has been scrolled there: in the middle of its
    /// height, and at this part of its width.
    pub(crate) fn place_of(&mut self, element: &str, part: f64) -> (f64, f64) {
        let box_of = format!(
            "(() => {{ const node = {element}; node.scrollIntoView({{ block: 'center' }}); \
             const box = node.getBoundingClientRect(); \
             return [box.left + {part} * box.width, box.top + box.height / 2]; }})()"
        );
        let place = self.evaluate(&box_of);
        let at = |index: usize| place[index].as_f64().expect("two numbers");
        (at(0), at(1))
    }

    /// The pointer comes to a place of the window, with or without a pressed button.
    pub(crate) fn point(&mut self, (x, y): (f64, f64), action: &str) {
        let button = if action == "mouseMoved" {
            "none"
        } else {
            "left"
        };
        let what = json!({"type": action, "x": x, "y": y, "button": button, "clickCount": 1});
        self.call("Input.dispatchMouseEvent", what);
    }

    pub(crate) fn press(&mut self, key: &str) {
        for action in ["keyDown", "keyUp"] {
            self.call(
                "Input.dispatchKeyEvent",
                json!({"type": action, "key": key}),
            );
        }
    }

    /// The page on paper, as PDF in base64.
    pub(crate) fn print(&mut self) -> String {
        let pdf = self.call("Page.printToPDF", json!({"preferCSSPageSize": true}));
        pdf["data"].as_str().unwrap_or_default().to_owned()
    }

    /// What the page has asked the network for since it was shown.
    pub(crate) fn requests(&self) -> Vec<String> {
        let requests = self.of("Network.requestWillBeSent");
        requests
            .map(|event| event["params"]["request"]["url"].to_string())
            .collect()
    }

    /// What the console would show, and every dialog.
    pub(crate) fn console_errors(&self) -> Vec<String> {
        let methods = [
            "Log.entryAdded",
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
            "Page.javascriptDialogOpening",
        ];
        let console_errors = methods.into_iter().flat_map(|method| self.of(method));
        console_errors
            .map(|event| event["params"].to_string())
            .collect()
    }

    fn of(&self, method: &'static str) -> impl Iterator<Item = &Value> {
        self.events
            .iter()
            .filter(move |event| event["method"] == method)
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let mut command = json!({"id": self.last_id, "method": method, "params": params});
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        let command = format!("{command}\0");
        self.commands
            .write_all(command.as_bytes())
            .expect("Chromium reads");
        loop {
            let message = self.next();
            if message["id"] == self.last_id {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn next(&self) -> Value {
        let message = self.messages.recv_timeout(MESSAGE_TIMEOUT);
        message.expect("Chromium answers within half a minute")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // One that has ended by itself needs no killing.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The address of a file, whatever characters its path has.
pub(crate) fn url(file: &Path) -> String {
    let path = file.to_str().expect("the target folder's path is UTF-8");
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let characters = path.bytes().map(|byte| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    format!("file://{}", characters.collect::<String>())
}

fn exists(program: &str) -> bool {
    let asked = Command::new(program).arg("--version").output();
    asked.is_ok_and(|output| output.status.success())
}

const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Without a window, and without what Chromium itself would ask the network for.
const FLAGS: [&str; 8] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--hide-scrollbars",
];
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(30);
