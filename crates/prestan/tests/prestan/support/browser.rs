//! A browser without a window, driven over the DevTools protocol.
//!
//! It records everything that a page must not do: errors, exceptions, and requests to anywhere but
//! the page's own file and, of a site, the common files beside it.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tungstenite::{Message, WebSocket};

/// Silence after which a browser is regarded as hanging.
const LIMIT: Duration = Duration::from_secs(60);

const PROGRAMS: [&str; 3] = [
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
];

const FLAGS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
];

/// A browser with one page. Dropping it ends it.
pub(crate) struct Browser {
    process: Child,
    socket: WebSocket<TcpStream>,
    session: String,
    calls: u64,
    events: Vec<Value>,
    /// Prefixes of addresses that the page may request.
    permitted: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// `None` where there is no browser; in CI that is a failure.
    pub(crate) fn start() -> Option<Browser> {
        let Some(program) = PROGRAMS.into_iter().find(|path| Path::new(path).exists()) else {
            assert!(
                std::env::var_os("CI").is_none(),
                "there is no Chromium; `cargo xtask setup` installs it"
            );
            eprintln!("skipped: there is no Chromium");
            return None;
        };
        let profile = TempDir::new().unwrap();
        let mut process = Command::new(program)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let url = listening(&mut process);
        let address = url.trim_start_matches("ws://").split('/').next().unwrap();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let (socket, _) = tungstenite::client(&url, stream).unwrap();
        let mut browser = Browser {
            process,
            socket,
            session: String::new(),
            calls: 0,
            events: Vec::new(),
            permitted: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Opens a file and waits until it has loaded. The page before must have done nothing that it
    /// must not.
    #[track_caller]
    pub(crate) fn open(&mut self, path: &Path) {
        let url = format!("file://{}", path.display());
        self.visit(&url, format!("{url}\n"));
    }

    /// The same for a page of a web server, which may request the files beside it.
    #[track_caller]
    pub(crate) fn open_served(&mut self, server: &str, page: &str) {
        self.visit(&format!("{server}{page}"), server.to_owned());
    }

    #[track_caller]
    fn visit(&mut self, url: &str, prefix: String) {
        assert_eq!(self.problems(), [""; 0], "before {url}");
        self.events.clear();
        self.permitted = vec![prefix, "data:".to_owned(), "about:blank".to_owned()];
        self.call("Page.navigate", json!({ "url": url }));
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    /// The same for a page of a site.
    #[track_caller]
    pub(crate) fn open_in_site(&mut self, site: &Path, page: &str) {
        let assets = format!("file://{}/assets/", site.display());
        self.open(&site.join(page));
        self.permitted.push(assets);
    }

    /// Waits until an expression is true.
    pub(crate) fn until(&mut self, expression: &str) {
        let deadline = Instant::now() + LIMIT;
        while self.evaluate(expression) != true {
            assert!(Instant::now() < deadline, "never true: {expression}");
            // A frame is the shortest pause of a page.
            self.evaluate("new Promise((next) => requestAnimationFrame(() => next(0)))");
        }
    }

    /// The value of an expression, or of its promise.
    #[track_caller]
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let parameters =
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let response = self.call("Runtime.evaluate", parameters);
        let exception = response.get("exceptionDetails");
        assert_eq!(exception, None, "{expression}");
        response["result"]["value"].clone()
    }

    pub(crate) fn press(&mut self, key: &str, code: u32) {
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            self.call(
                "Input.dispatchKeyEvent",
                json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text}),
            );
        }
    }

    /// Everything that a page must not do and that it has done since it was opened.
    pub(crate) fn problems(&mut self) -> Vec<String> {
        // Earlier events arrive before the response to a later request.
        self.evaluate("0");
        let problem = |event: &Value| {
            let parameters = &event["params"];
            match event["method"].as_str()? {
                "Runtime.exceptionThrown" => Some(parameters["exceptionDetails"].to_string()),
                "Runtime.consoleAPICalled" => {
                    let loud = ["error", "warning", "assert"];
                    let is_loud = loud.contains(&parameters["type"].as_str()?);
                    is_loud.then(|| parameters["args"].to_string())
                }
                "Log.entryAdded" => Some(parameters["entry"].to_string()),
                "Network.requestWillBeSent" => {
                    let url = parameters["request"]["url"].as_str()?;
                    let whole = format!("{url}\n");
                    let is_permitted = self.permitted.iter().any(|start| whole.starts_with(start));
                    (!is_permitted).then(|| format!("a request to {url}"))
                }
                _ => None,
            }
        };
        self.events.iter().filter_map(problem).collect()
    }

    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.calls += 1;
        let mut message = json!({"id": self.calls, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        self.socket
            .send(Message::text(message.to_string()))
            .unwrap();
        loop {
            let Message::Text(text) = self.socket.read().unwrap() else {
                continue;
            };
            let response: Value = serde_json::from_str(&text).unwrap();
            if response["id"] != self.calls {
                self.events.push(response);
                continue;
            }
            assert!(response.get("error").is_none(), "{method}: {response}");
            return response["result"].clone();
        }
    }
}

/// The address of the browser, which it prints on standard error.
fn listening(process: &mut Child) -> String {
    let stderr = BufReader::new(process.stderr.take().unwrap());
    let (sender, url) = channel();
    thread::spawn(move || {
        for line in stderr.lines().map_while(Result::ok) {
            if let Some(url) = line.strip_prefix("DevTools listening on ") {
                let _ = sender.send(url.to_owned());
            }
        }
    });
    url.recv_timeout(LIMIT)
        .expect("Chromium does not say where it listens")
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
