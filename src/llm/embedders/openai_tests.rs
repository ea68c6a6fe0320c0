//! Tests of `openai` over real sockets: requests, handling of responses, and cancellation.

use super::*;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

const KEY: &str = "sk-canary-0123456789";

struct Request {
    head: String,
    body: Value,
}

type Answering = dyn Fn(usize, &Value) -> Option<(u16, String)> + Send + Sync;

/// A server that answers the n-th request with the result of `answer`, or never.
struct Server {
    base: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    fn start(answer: impl Fn(usize, &Value) -> Option<(u16, String)> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (shared, answer): (_, Arc<Answering>) = (Arc::clone(&requests), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shared, answer) = (Arc::clone(&shared), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &shared, &*answer));
            }
        });
        Self { base, requests }
    }

    fn embedder(&self, change: impl FnOnce(&mut ServerSettings)) -> ServerEmbedder {
        let profile = Profile { name: "p".into(), base_url: self.base.clone(), ..Profile::default() };
        let mut settings = ServerSettings { model: "m".into(), ..ServerSettings::default() };
        change(&mut settings);
        ServerEmbedder::new(&profile, Some(&SecretString::from(KEY)), settings).unwrap()
    }

    fn inputs(&self) -> Vec<Value> {
        self.requests.lock().unwrap().iter().map(|request| request.body["input"].clone()).collect()
    }
}

fn serve(mut stream: TcpStream, requests: &Mutex<Vec<Request>>, answer: &Answering) {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 8_192]);
    let (head, body) = loop {
        let read = stream.read(&mut buffer).unwrap_or(0);
        if read == 0 {
            return;
        }
        bytes.extend_from_slice(&buffer[..read]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse::<usize>().ok());
        if bytes.len() >= end + 4 + length.unwrap_or(0) {
            break (head, serde_json::from_slice::<Value>(&bytes[end + 4..]).unwrap());
        }
    };
    let number = {
        let mut requests = requests.lock().unwrap();
        requests.push(Request { head, body: body.clone() });
        requests.len() - 1
    };
    match answer(number, &body) {
        Some((status, text)) => {
            let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-type: application/json\r\n\r\n");
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(text.as_bytes()));
        }
        // Waits until the client disconnects.
        None => while stream.read(&mut buffer).is_ok_and(|read| read > 0) {},
    }
}

fn texts(body: &Value) -> Vec<String> {
    serde_json::from_value(body["input"].clone()).unwrap()
}

/// Returns a vector that encodes the text's length and first byte.
fn vector(text: &str) -> [f32; 3] {
    let length = u16::try_from(text.len()).unwrap();
    [f32::from(length), f32::from(text.as_bytes()[0]), 1.0]
}

fn list(vectors: impl Iterator<Item = Value>) -> (u16, String) {
    let data: Vec<Value> = vectors.collect();
    (200, json!({"object": "list", "data": data}).to_string())
}

#[allow(clippy::unnecessary_wraps, reason = "an answer may be withheld; this one never is")]
fn good(_: usize, body: &Value) -> Option<(u16, String)> {
    Some(list(texts(body).iter().enumerate().rev().map(|(at, text)| json!({"index": at, "embedding": vector(text)}))))
}

fn always() -> bool {
    true
}

#[test]
fn batches_prefixes_and_order() {
    let server = Server::start(good);
    let embedder = server.embedder(|settings| {
        settings.batch = 2;
        settings.dimensions = 3;
        settings.query_prefix = "query: ".into();
        settings.passage_prefix = "passage: ".into();
    });
    let found = embedder.embed(&["a", "  ", "bb", "ccc"], Purpose::Passage, &always).unwrap();
    assert_eq!(server.inputs(), [json!(["passage: a", "passage: bb"]), json!(["passage: ccc"])]);
    for (found, text) in [(&found[0], "passage: a"), (&found[2], "passage: bb"), (&found[3], "passage: ccc")] {
        let mut expected = vector(text);
        normalize(&mut expected);
        assert_eq!(found.as_slice(), expected);
    }
    assert_eq!(found[1], [0.0; 3]);
    embedder.embed(&["why"], Purpose::Query, &always).unwrap();
    assert_eq!(server.inputs()[2], json!(["query: why"]));
    let requests = server.requests.lock().unwrap();
    assert!(
        requests[0].head.starts_with("post /v1/embeddings ") && requests[0].head.contains(&format!("bearer {KEY}"))
    );
    assert_eq!((&requests[0].body["model"], &requests[0].body["dimensions"]), (&json!("m"), &json!(3)));
}

#[test]
fn the_dimensions_come_from_the_model_and_do_not_change() {
    let server = Server::start(|number, _| Some(list([json!({"embedding": vec![0.5; 4 + number / 2]})].into_iter())));
    let embedder = server.embedder(|_| {});
    assert_eq!(embedder.dims(), 0);
    assert_eq!(embedder.embed(&["a"], Purpose::Query, &always).unwrap(), [[0.5; 4]]);
    assert_eq!(embedder.dims(), 4);
    assert!(embedder.embed(&["a"], Purpose::Query, &always).is_ok());
    let error = embedder.embed(&["a"], Purpose::Query, &always).unwrap_err().to_string();
    assert!(error.contains("5 dimensions instead of 4"), "{error}");
    assert!(server.requests.lock().unwrap()[0].body.get("dimensions").is_none());
}

#[test]
fn long_texts_are_split_and_split_again_when_refused() {
    let server = Server::start(|number, body| {
        if texts(body).iter().any(|text| text.len() > 400) {
            return Some((
                500,
                json!({"error": {"message": "input (900 tokens) is too large to process"}}).to_string(),
            ));
        }
        good(number, body)
    });
    let embedder = server.embedder(|settings| settings.max_input = 500);
    let text = format!("{} {}", "x".repeat(390), "y".repeat(390));
    let found = embedder.embed(&[&text, "z"], Purpose::Passage, &always).unwrap();
    let expected = pooled(["x", "y"].map(|letter| (1.0, vector(&letter.repeat(390)).to_vec())).into());
    assert!(found[0].iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5), "{found:?} {expected:?}");
    let before = server.inputs().len();
    embedder.embed(&[&text], Purpose::Passage, &always).unwrap();
    assert_eq!(server.inputs().len(), before + 1, "the learned limit is kept");
    let stubborn = Server::start(|_, _| Some((413, json!({"error": "the prompt is too long"}).to_string())));
    let error = stubborn.embedder(|_| {}).embed(&[&text], Purpose::Passage, &always).unwrap_err();
    assert!(matches!(error, EmbedError::Server(error) if error.kind == Kind::TooLong));
}

#[test]
fn bodies_without_an_answer() {
    let of = |vectors: Value| json!({"data": vectors}).to_string();
    let cases = [
        (200, of(json!([{"embedding": [1.0]}])), "the server returned 1 vectors for 2"),
        (
            200,
            of(json!([{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}])),
            "duplicate or missing indexes",
        ),
        (200, of(json!([{"embedding": []}, {"embedding": []}])), "0 dimensions"),
        (200, of(json!([{"embedding": [1.0]}, {"embedding": [1.0, 2.0]}])), "2 dimensions instead of 1"),
        (200, of(json!([{"embedding": [1.0]}, {"embedding": [1e300]}])), "not numbers"),
        (200, of(json!([{"embedding": [1.0]}, {"embedding": [null]}])), "can't be read"),
        (200, "<html>".to_owned(), "can't be read"),
        (200, json!({"error": {"message": "model is loading"}}).to_string(), "model is loading"),
        (401, json!({"error": {"message": format!("bad key {KEY}")}}).to_string(), "bad key [redacted]"),
        (404, json!({"error": {"message": "The model `m` does not exist"}}).to_string(), "does not exist"),
        (503, "busy".to_owned(), "busy"),
    ];
    for (status, body, expected) in cases {
        let server = Server::start(move |_, _| Some((status, body.clone())));
        let error = server.embedder(|_| {}).embed(&["a", "b"], Purpose::Passage, &always).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains(KEY), "{error}");
        assert_eq!(server.inputs().len(), 1, "no hidden retry: {expected}");
    }
}

#[test]
fn requests_stop_on_cancel_and_time_out() {
    let server = Server::start(|_, _| None);
    let asked = Arc::clone(&server.requests);
    let stopped = Arc::new(AtomicBool::new(false));
    let stop_flag = Arc::clone(&stopped);
    let embedder = server.embedder(|_| {});
    let running =
        std::thread::spawn(move || embedder.embed(&["a"], Purpose::Query, &|| !stop_flag.load(Ordering::Acquire)));
    while asked.lock().unwrap().is_empty() && !running.is_finished() {
        std::thread::yield_now();
    }
    stopped.store(true, Ordering::Release);
    assert_eq!(running.join().unwrap(), Err(EmbedError::Stopped));
    let hasty = server.embedder(|settings| settings.timeout = Duration::from_millis(40));
    let error = hasty.embed(&["a"], Purpose::Query, &always).unwrap_err().to_string();
    assert!(error.contains("did not answer within 0.04 s"), "{error}");
    assert_eq!(hasty.embed(&["a"], Purpose::Query, &|| false), Err(EmbedError::Stopped));
}

#[test]
fn an_unreachable_server() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let profile = Profile { base_url: format!("http://{free}/v1"), ..Profile::default() };
    let settings = ServerSettings { model: "m".into(), ..ServerSettings::default() };
    let embedder = ServerEmbedder::new(&profile, None, settings).unwrap();
    let error = embedder.embed(&["a"], Purpose::Query, &always).unwrap_err();
    assert!(matches!(error, EmbedError::Server(error) if error.kind == Kind::Connect));
}

#[test]
fn identities_distinguish_models_and_hide_secrets() {
    let made = |base: &str, change: &dyn Fn(&mut ServerSettings)| {
        let mut settings = ServerSettings { model: "m".into(), ..ServerSettings::default() };
        change(&mut settings);
        let profile = Profile { base_url: base.into(), ..Profile::default() };
        ServerEmbedder::new(&profile, Some(&SecretString::from(KEY)), settings).unwrap()
    };
    let plain = made("http://me:hunter2@h.example/v1?k=secret", &|_| {});
    assert_eq!(plain.id(), "server http://h.example/v1 m");
    let hosts =
        ["h.example", "localhost", "127.0.0.1", "127.9.9.9", "[::1]", "128.0.0.1", "[::2]", "localhost.example"];
    let remote = hosts.map(|host| made(&format!("http://{host}:9/v1"), &|_| {}).remote());
    assert_eq!(remote, [true, false, false, false, false, true, true, true]);
    let others: [&dyn Fn(&mut ServerSettings); 3] =
        [&|s| s.dimensions = 5, &|s| s.model = "n".into(), &|s| s.query_prefix = "q".into()];
    for other in others {
        assert_ne!(made("http://h.example/v1", other).id(), plain.id());
    }
    let profile = Profile { base_url: "http://h/v1".into(), needs_key: true, ..Profile::default() };
    assert!(matches!(ServerEmbedder::new(&profile, None, ServerSettings::default()), Err(EmbedError::Settings(_))));
    let settings = ServerSettings { model: "m".into(), ..ServerSettings::default() };
    assert!(matches!(ServerEmbedder::new(&profile, None, settings), Err(EmbedError::Settings(_))));
}
