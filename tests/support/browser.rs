//! A real browser, driven by JSON over HTTP to `chromedriver`, as the W3C specifies it.
//!
//! A test waits in the page for what it expects ([`Browser::until`]), with a `MutationObserver`: it never sleeps.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Server;
use super::shortage::leave_out;

/// The name of the key that holds an element in the JSON of the driver.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Keys without a character of their own, as the driver names them.
pub const ENTER: &str = "\u{e007}";
pub const ESCAPE: &str = "\u{e00c}";
const TAB: &str = "\u{e004}";
pub const DOWN: &str = "\u{e015}";

/// The size of a phone in the tests.
const PHONE: (u32, u32) = (390, 844);

static TURNS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(1)));

/// Functions that the scripts of a browser may use. Elements are found as people find them: by their visible names.
const HELPERS: &str = r"
const visible = (el) => Boolean(el.offsetParent || el.getClientRects().length);
const nameOf = (el) => (el.getAttribute('aria-label') || (el.labels && [...el.labels].map((one) => one.textContent).join(' ')) || el.textContent).trim();
const all = (selector) => [...document.querySelectorAll(selector)].filter(visible);
const named = (selector, name) => all(selector).find((el) => nameOf(el) === name) ?? all(selector).find((el) => nameOf(el).startsWith(name));
const button = (name) => named('dialog[open] button, dialog[open] a.button', name) ?? named('button, a, summary, [role=menuitem], [role=menuitemradio]', name);
const field = (name) => named('dialog[open] input, dialog[open] textarea, dialog[open] select', name) ?? named('input, textarea, select', name);
const text = (selector) => document.querySelector(selector)?.textContent ?? '';
const says = (part) => document.body.innerText.includes(part);
";

/// A Chromium with a fresh profile. One at a time runs, because each needs as much of the machine as a server.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    http: reqwest::Client,
    _profile: tempfile::TempDir,
    _turn: OwnedSemaphorePermit,
}

/// How a browser looks at the page.
#[derive(Debug, Clone, Copy, Default)]
pub struct Look {
    pub is_phone: bool,
    pub is_dark: bool,
}

impl Browser {
    /// Starts a browser. Returns `None`, and says so, where there is none.
    pub async fn start() -> Option<Self> {
        Self::start_as(Look::default()).await
    }

    pub async fn start_as(look: Look) -> Option<Self> {
        let (Some(driver), Some(chromium)) = (find("chromedriver"), find("chromium")) else {
            return leave_out(
                "the page in a browser was NOT tested",
                &"chromium or chromium-driver is missing",
            );
        };
        let turn = TURNS.clone().acquire_owned().await.unwrap();
        let profile = tempfile::tempdir().unwrap();
        let mut driver = Command::new(driver)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let port = port_of(&mut driver);
        let mut options = json!({
            "binary": chromium,
            "args": arguments(look, profile.path()),
        });
        if look.is_phone {
            let (width, height) = PHONE;
            options["mobileEmulation"] = json!({
                "deviceMetrics": { "width": width, "height": height, "pixelRatio": 2.0, "touch": true },
            });
        }
        let mut browser = Self {
            driver,
            port,
            session: String::new(),
            http: reqwest::Client::new(),
            _profile: profile,
            _turn: turn,
        };
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "timeouts": { "script": 60_000, "pageLoad": 60_000 },
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let url = format!("http://127.0.0.1:{port}/session");
        let answer = browser.send(Method::POST, url, &wanted).await;
        answer["sessionId"]
            .as_str()
            .unwrap_or_else(|| panic!("no session: {answer}"))
            .clone_into(&mut browser.session);
        Some(browser)
    }

    async fn send(&self, method: Method, url: String, body: &Value) -> Value {
        let mut request = self.http.request(method.clone(), url);
        if method == Method::POST {
            request = request.json(body);
        }
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        answer["value"].clone()
    }

    /// Sends a command of the session and returns its value. Fails with the message of the browser.
    async fn command(&self, method: Method, command: &str, body: &Value) -> Value {
        let (port, session) = (self.port, &self.session);
        let url = format!("http://127.0.0.1:{port}/session/{session}/{command}");
        let value = self.send(method, url, body).await;
        assert!(value["error"].is_null(), "{command} {body}: {value}");
        value
    }

    async fn post(&self, command: &str, body: Value) -> Value {
        self.command(Method::POST, command, &body).await
    }

    /// Opens an address, and waits until the page is loaded.
    pub async fn open(&self, url: &str) {
        self.post("url", json!({ "url": url })).await;
    }

    /// Opens an address of a server as the operator.
    pub async fn open_as_operator(&self, server: &Server, path: &str) {
        let token = std::fs::read_to_string(server.data_dir.join("operator.token")).unwrap();
        let url = format!("{}{path}#token={}", server.url, token.trim());
        self.open(&url).await;
    }

    /// Runs a script in the page, which may use the helpers, and returns its value.
    pub async fn run(&self, script: &str) -> Value {
        let script = format!("{HELPERS}\n{script}");
        self.post("execute/sync", json!({ "script": script, "args": [] }))
            .await
    }

    /// Runs a script with `await` in the page, and returns its value.
    pub async fn run_async(&self, script: &str) -> Value {
        let script = format!(
            "const done = arguments[0];\n{HELPERS}\n(async () => {{ {script} }})().then((value) => done({{ value }}), (error) => done({{ failed: `${{error}} ${{error.stack}}` }}));"
        );
        let body = json!({ "script": script, "args": [] });
        let answer = self.post("execute/async", body).await;
        assert!(answer["failed"].is_null(), "{answer}");
        answer["value"].clone()
    }

    /// Waits until an expression is true in the page, and returns its value. The page is looked at after each change of it.
    pub async fn until(&self, expression: &str) -> Value {
        let script = format!(
            "const done = arguments[0];\n{HELPERS}
            const test = () => {{ try {{ return {expression}; }} catch {{ return null; }} }};
            const observer = new MutationObserver(() => look());
            const look = () => {{ const found = test(); if (!found) return; observer.disconnect(); clearInterval(timer); done({{ found }}); }};
            observer.observe(document, {{ subtree: true, childList: true, characterData: true, attributes: true }});
            // The focus, the address and the place of an element change without a mutation.
            const timer = setInterval(look, 100);
            setTimeout(() => done({{ lost: document.body.innerText.slice(0, 3000) }}), 45_000);
            look();"
        );
        let body = json!({ "script": script, "args": [] });
        let answer = self.post("execute/async", body).await;
        assert!(
            answer["lost"].is_null(),
            "{expression} did not become true; the page says:\n{}",
            answer["lost"].as_str().unwrap_or_default()
        );
        answer["found"].clone()
    }

    /// Waits until the page shows a text.
    pub async fn until_says(&self, text: &str) {
        self.until(&format!("says({})", json!(text))).await;
    }

    /// Waits for an element and clicks it, as a mouse does, once the buttons do not rest after a decision.
    pub async fn click(&self, expression: &str) {
        self.until("!('resting' in document.body.dataset)").await;
        let element = self.until(expression).await;
        let id = element[ELEMENT]
            .as_str()
            .unwrap_or_else(|| panic!("{expression} is no element: {element}"));
        self.post(&format!("element/{id}/click"), json!({})).await;
    }

    /// Clicks the button, link or menu item with this name.
    pub async fn press(&self, name: &str) {
        self.click(&format!("button({})", json!(name))).await;
    }

    /// Writes into the field with this label.
    pub async fn fill(&self, label: &str, text: &str) {
        let element = self.until(&format!("field({})", json!(label))).await;
        let id = element[ELEMENT].as_str().expect("an element has an id");
        self.post(&format!("element/{id}/click"), json!({})).await;
        self.post(&format!("element/{id}/value"), json!({ "text": text }))
            .await;
    }

    /// Presses keys, one after the other, wherever the focus is.
    pub async fn keys(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                let key = key.to_string();
                [
                    json!({ "type": "keyDown", "value": key }),
                    json!({ "type": "keyUp", "value": key }),
                ]
            })
            .collect();
        self.act(json!({ "type": "key", "id": "keyboard", "actions": actions }))
            .await;
    }

    /// Drags one element to another with the mouse.
    pub async fn drag(&self, from: &str, to: &str) {
        let (from, to) = (self.until(from).await, self.until(to).await);
        let actions = json!([
            { "type": "pointerMove", "duration": 0, "origin": from, "x": 0, "y": 0 },
            { "type": "pointerDown", "button": 0 },
            { "type": "pointerMove", "duration": 50, "origin": "pointer", "x": 12, "y": 12 },
            { "type": "pointerMove", "duration": 200, "origin": to, "x": 0, "y": 0 },
            { "type": "pointerUp", "button": 0 },
        ]);
        self.act(json!({ "type": "pointer", "id": "mouse", "parameters": { "pointerType": "mouse" }, "actions": actions }))
            .await;
    }

    /// Presses the tab key until the element with this name has the focus.
    pub async fn tab_to(&self, name: &str) {
        for _ in 0..60 {
            let is_there = format!(
                "return document.activeElement && nameOf(document.activeElement).startsWith({})",
                json!(name)
            );
            if self.run(&is_there).await == true {
                return;
            }
            self.keys(TAB).await;
        }
        panic!("the tab key does not reach {name}");
    }

    async fn act(&self, source: Value) {
        self.post("actions", json!({ "actions": [source] })).await;
    }

    /// Returns what the browser has complained about since the last call: failed scripts, violations of the policy.
    pub async fn complaints(&self) -> Vec<String> {
        let log = self.post("se/log", json!({ "type": "browser" })).await;
        let entries = log.as_array().cloned().unwrap_or_default();
        entries
            .iter()
            .filter(|entry| entry["level"] == "SEVERE")
            .filter_map(|entry| entry["message"].as_str().map(str::to_owned))
            // A server that is gone and an answer that is an error are not faults of the page.
            .filter(|message| {
                !message.contains("Failed to load resource") && !message.contains("net::ERR_")
            })
            .collect()
    }

    /// Returns the bytes that the scripts of the page occupy after a collection of garbage.
    pub async fn memory(&self) -> u64 {
        for command in ["HeapProfiler.collectGarbage", "Runtime.getHeapUsage"] {
            let body = json!({ "cmd": command, "params": {} });
            let answer = self.post("goog/cdp/execute", body).await;
            if let Some(used) = answer["usedSize"].as_u64() {
                return used;
            }
        }
        panic!("the browser does not say what it uses");
    }

    /// Returns a picture of the page as PNG.
    pub async fn picture(&self) -> Vec<u8> {
        use base64::Engine as _;
        let picture = self.command(Method::GET, "screenshot", &Value::Null).await;
        base64::prelude::BASE64_STANDARD
            .decode(picture.as_str().unwrap())
            .unwrap()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends Chromium; an error means that it is gone.
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
            let _ = write!(
                stream,
                "DELETE /session/{} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
                self.session
            );
            // The driver answers when Chromium has ended, and keeps the connection.
            let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
            let _ = stream.read(&mut [0; 512]);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn arguments(look: Look, profile: &std::path::Path) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
        "--force-prefers-reduced-motion",
        // Nothing leaves this machine.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        "--window-size=1360,993",
    ]
    .map(str::to_owned)
    .into();
    if look.is_dark {
        arguments.push("--force-dark-mode".to_owned());
    }
    arguments.push(format!("--user-data-dir={}", profile.display()));
    arguments
}

/// Reads the port that the driver says it listens on.
fn port_of(driver: &mut Child) -> u16 {
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let port = lines.find_map(|line| {
        let line = line.unwrap();
        let (_, port) = line.split_once("started successfully on port ")?;
        port.trim_end_matches('.').parse().ok()
    });
    // The driver must not block on a full pipe.
    std::thread::spawn(move || lines.for_each(drop));
    port.expect("chromedriver did not name its port")
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}
