//! Starts a third-party model server, if one is installed.
//! Not for: features of the server besides its journal of received requests.

use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The key that the server requires.
pub(crate) const KEY: &str = "sk-local-test";

/// A running aimock (npm `@copilotkit/aimock`).
pub(crate) struct Aimock {
    child: Child,
    address: String,
}

impl Aimock {
    /// Starts the server on a free port. Returns `None` if `PLEACH_AIMOCK` does not name its `llmock` script.
    pub(crate) fn start() -> Option<Self> {
        let Some(script) = std::env::var_os("PLEACH_AIMOCK").map(PathBuf::from) else {
            let skipped =
                "SKIPPED: PLEACH_AIMOCK does not name aimock's llmock script; nothing was tried on a foreign server";
            let _ = writeln!(std::io::stderr(), "{skipped}");
            return None;
        };
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/aimock.json");
        let mut command = Command::new("node");
        command.arg(script).args(["-p", "0", "--validate-on-load", "--strict", "-f"]).arg(fixtures);
        command.env("AIMOCK_API_KEYS", KEY).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("node runs");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = loop {
            let line = lines.next().expect("it starts").unwrap();
            if let Some((_, address)) = line.split_once("listening on http://") {
                break address.trim().to_owned();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self { child, address })
    }

    /// The `base_url` of a profile.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The bodies of all chat requests so far, as the server parsed them.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let request = format!("GET /__aimock/journal HTTP/1.0\r\nauthorization: Bearer {KEY}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let entries: Vec<Value> = serde_json::from_str(body).unwrap();
        let chats = entries.into_iter().filter(|entry| entry["path"].as_str().unwrap().ends_with("/chat/completions"));
        chats
            .map(|mut entry| {
                // The journal adds this field.
                entry["body"].as_object_mut().unwrap().shift_remove("_endpointType");
                entry["body"].take()
            })
            .collect()
    }
}

impl Drop for Aimock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
