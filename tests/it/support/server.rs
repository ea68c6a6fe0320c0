//! A scripted HTTP server on loopback that sends raw bytes and keeps every request as received.
//! Not for: HTTP beyond finding a request's body.
//!
//! The nth request is answered by the nth script, and further requests by the last one. A script that ends closes the
//! connection. Nothing waits for a time: `Stall` continues when the test says so, and `Hang` waits until the client
//! disconnects.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// A step of a script.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Sends bytes at once.
    Send(Vec<u8>),
    /// Sends bytes in pieces of a size.
    Split(Vec<u8>, usize),
    /// Waits for [`Server::release`] or until the client disconnects.
    Stall,
    /// Waits until the client disconnects.
    Hang,
    /// Resets the connection.
    Reset,
    /// Closes the connection properly.
    Close,
}

/// A request as received.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// `POST`, `GET`, …
    pub(crate) method: String,
    /// The path and query.
    pub(crate) path: String,
    /// Names (in lowercase) and values.
    pub(crate) headers: Vec<(String, String)>,
    /// The body's bytes.
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// The first header with a lowercase name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The requests so far, and a signal at each of them.
#[derive(Default)]
struct Received {
    list: Mutex<Vec<Request>>,
    more: Condvar,
}

/// A request that does not arrive within this time is considered missing.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running server, whose threads end with the test's process.
pub(crate) struct Server {
    address: SocketAddr,
    requests: Arc<Received>,
    release: Sender<()>,
    gone: Receiver<()>,
}

impl Server {
    /// Starts a server on a free port.
    pub(crate) fn start(scripts: Vec<Vec<Step>>) -> Self {
        Self::serve(scripts, None)
    }

    /// Starts a server whose scripts are only for `POST` requests. Other requests get an empty list of models.
    pub(crate) fn start_posts(scripts: Vec<Vec<Step>>) -> Self {
        Self::serve(scripts, Some(json(200, &[], r#"{"object":"list","data":[]}"#)))
    }

    /// Starts a server with several models, each of which always gives the same answer.
    pub(crate) fn models(answers: &[(&str, &str)]) -> Self {
        let list: Vec<_> = answers.iter().map(|(name, _)| serde_json::json!({"id": name, "object": "model"})).collect();
        let other = json(200, &[], &serde_json::json!({"object": "list", "data": list}).to_string());
        let answers: Vec<(String, String)> = answers.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let by_model = move |request: &Request| {
            let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap_or_default();
            let answer = answers.iter().find(|(name, _)| body["model"] == **name).map_or("?", |(_, answer)| answer);
            let pieces = answer.split_inclusive(' ').map(words);
            [stream()].into_iter().chain(pieces).chain([end()]).collect()
        };
        Self::run(Vec::new(), Some(other), Some(Box::new(by_model)))
    }

    /// Starts a server that computes each answer from the request.
    pub(crate) fn answering(answer: impl Fn(&Request) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::run(Vec::new(), None, Some(Box::new(answer)))
    }

    /// Starts a server whose scripts are only for `POST` requests, with another answer to all other requests.
    pub(crate) fn serve(scripts: Vec<Vec<Step>>, other: Option<Vec<Step>>) -> Self {
        Self::run(scripts, other, None)
    }

    fn run(scripts: Vec<Vec<Step>>, other: Option<Vec<Step>>, chosen: Option<Chosen>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Received::default());
        let (release, released) = channel();
        let (goes, gone) = channel();
        let shared = Shared {
            scripts,
            other,
            chosen,
            requests: Arc::clone(&requests),
            released: Arc::new(Mutex::new(released)),
            goes,
        };
        let shared = Arc::new(shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || shared.serve(stream));
            }
        });
        Self { address, requests, release, gone }
    }

    /// The `base_url` of a profile.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// All requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.list.lock().unwrap().clone()
    }

    /// Waits until `count` `POST` requests have arrived.
    pub(crate) fn await_posts(&self, count: usize) {
        let too_few = |list: &mut Vec<Request>| list.iter().filter(|request| request.method == "POST").count() < count;
        let list = self.requests.list.lock().unwrap();
        let (_list, waited) = self.requests.more.wait_timeout_while(list, PATIENCE, too_few).unwrap();
        assert!(!waited.timed_out(), "{count} requests arrive");
    }

    /// Releases one `Stall`.
    pub(crate) fn release(&self) {
        self.release.send(()).unwrap();
    }

    /// Whether a client disconnected in a `Stall` or `Hang`; waits up to five seconds.
    pub(crate) fn saw_client_leave(&self) -> bool {
        self.gone.recv_timeout(Duration::from_secs(5)).is_ok()
    }
}

/// Computes the answer to a `POST` request.
type Chosen = Box<dyn Fn(&Request) -> Vec<Step> + Send + Sync>;

struct Shared {
    scripts: Vec<Vec<Step>>,
    other: Option<Vec<Step>>,
    chosen: Option<Chosen>,
    requests: Arc<Received>,
    released: Arc<Mutex<Receiver<()>>>,
    goes: Sender<()>,
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) {
        let Some(request) = read_request(&mut stream) else { return };
        let aside = self.other.as_ref().filter(|_| request.method != "POST").cloned();
        let aside = aside.or_else(|| self.chosen.as_ref().map(|chosen| chosen(&request)));
        let number = {
            let mut requests = self.requests.list.lock().unwrap();
            requests.push(request);
            self.requests.more.notify_all();
            let counted = |known: &&Request| self.other.is_none() || known.method == "POST";
            requests.iter().filter(counted).count().saturating_sub(1)
        };
        let script = aside.or_else(|| self.scripts.get(number).or(self.scripts.last()).cloned()).unwrap_or_default();
        for step in script {
            if !self.step(&step, &mut stream) {
                if matches!(step, Step::Reset) {
                    reset(stream);
                }
                return;
            }
        }
    }

    fn step(&self, step: &Step, stream: &mut TcpStream) -> bool {
        match step {
            Step::Send(bytes) => stream.write_all(bytes).is_ok(),
            Step::Split(bytes, size) => {
                let _ = stream.set_nodelay(true);
                bytes.chunks(*size).all(|piece| stream.write_all(piece).is_ok())
            }
            Step::Stall => self.wait(stream, || self.released.lock().unwrap().try_recv().is_ok()),
            Step::Hang => self.wait(stream, || false),
            Step::Reset | Step::Close => false,
        }
    }

    /// Waits until `done`, or until the client disconnects.
    fn wait(&self, stream: &mut TcpStream, done: impl Fn() -> bool) -> bool {
        stream.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        let mut byte = [0];
        while !done() {
            match stream.read(&mut byte) {
                Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {
                }
                Ok(1) => {}
                _ => {
                    let _ = self.goes.send(());
                    return false;
                }
            }
        }
        true
    }
}

fn reset(stream: TcpStream) {
    stream.set_nonblocking(true).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let _inside = runtime.enter();
    let stream = tokio::net::TcpStream::from_std(stream).unwrap();
    stream.set_zero_linger().unwrap();
}

pub(crate) fn read_request(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 * 1024];
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        let read = stream.read(&mut buffer).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&buffer[..read]);
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse::<usize>().ok()).unwrap_or(0);
    let mut body = bytes.split_off(head + 4);
    while body.len() < length {
        let read = stream.read(&mut buffer).ok().filter(|read| *read > 0)?;
        body.extend_from_slice(&buffer[..read]);
    }
    Some(Request { method, path, headers, body })
}

/// The head of an answer without a length, whose body ends with the connection.
pub(crate) fn head(status: u16, headers: &[(&str, &str)]) -> Step {
    let lines: String = headers.iter().flat_map(|(name, value)| [name, ": ", value, "\r\n"]).collect();
    Step::Send(format!("HTTP/1.1 {status} X\r\nconnection: close\r\n{lines}\r\n").into_bytes())
}

/// The head of an event stream.
pub(crate) fn stream() -> Step {
    head(200, &[("content-type", "text/event-stream")])
}

/// A complete answer with a JSON body.
pub(crate) fn json(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<Step> {
    let mut all = vec![("content-type", "application/json")];
    all.extend_from_slice(headers);
    vec![head(status, &all), send(body)]
}

/// Sends a text.
pub(crate) fn send(text: &str) -> Step {
    Step::Send(text.as_bytes().to_vec())
}

/// An event with a piece of an answer's text.
pub(crate) fn words(text: &str) -> Step {
    send(&format!("data: {}\n\n", serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}}]})))
}

/// The final events of a stream.
pub(crate) fn end() -> Step {
    send("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}
