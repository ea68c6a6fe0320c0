//! An embeddings server on loopback: equal texts have equal vectors, and synonyms count as one word.
//! Not for: quality of embeddings.

use super::server::{Request, read_request};
use pleach::domain::call::embedding::normalize;
use pleach::domain::call::{Embed, EmbedError, Purpose};
use pleach::engine::startup::setup::EmbedderSetup;
use serde_json::{Value, json};
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

/// Synonyms.
const MEANINGS: [&[&str]; 2] = [&["cat", "tabby", "feline", "moggy"], &["ill", "sick", "unwell", "fever"]];
const DIMS: usize = 256;

/// A running server, which ends with the test's process.
pub(crate) struct Embeddings {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Embeddings {
    /// Starts a server on a free port.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let Some(request) = read_request(&mut stream) else { continue };
                let texts = texts(&request);
                kept.lock().unwrap().push(request);
                let data: Vec<Value> = texts
                    .iter()
                    .enumerate()
                    .map(|(index, text)| json!({"object": "embedding", "index": index, "embedding": vector(text)}))
                    .collect();
                let body = json!({"object": "list", "model": "m", "data": data}).to_string();
                let head = format!(
                    "HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: \
                        close\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(format!("{head}{body}").as_bytes());
            }
        });
        Self { address, requests }
    }

    /// The `base_url` of a profile.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// All embedded texts, in order.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.requests.lock().unwrap().iter().flat_map(texts).collect()
    }
}

/// An embedder inside the test that records its texts. It reports that it is remote unless `local` is set.
#[derive(Default)]
pub(crate) struct RecordingEmbedder {
    pub(crate) local: bool,
    pub(crate) seen: Mutex<Vec<(Purpose, String)>>,
}

impl RecordingEmbedder {
    /// The texts of one purpose so far.
    pub(crate) fn texts(&self, purpose: Purpose) -> Vec<String> {
        let texts = self.seen.lock().unwrap();
        texts.iter().filter(|(of, _)| *of == purpose).map(|(_, text)| text.clone()).collect()
    }

    /// The setup of an engine with this embedder.
    pub(crate) fn setup(self: &Arc<Self>) -> EmbedderSetup {
        let embedder: Arc<dyn Embed> = Arc::clone(self) as _;
        EmbedderSetup { what: "one of the test".into(), open: Arc::new(move || Ok(Arc::clone(&embedder))) }
    }
}

impl Embed for RecordingEmbedder {
    fn id(&self) -> String {
        "elsewhere".into()
    }

    fn dims(&self) -> usize {
        DIMS
    }

    fn remote(&self) -> bool {
        !self.local
    }

    fn embed(&self, texts: &[&str], purpose: Purpose, _: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.seen.lock().unwrap().extend(texts.iter().map(|text| (purpose, (*text).to_owned())));
        let normal = |text: &&str| {
            let mut vector = vector(text);
            normalize(&mut vector);
            vector
        };
        Ok(texts.iter().map(normal).collect())
    }
}

fn texts(request: &Request) -> Vec<String> {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    match &body["input"] {
        Value::String(text) => vec![text.clone()],
        Value::Array(all) => all.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    }
}

fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.01; DIMS];
    let lower = text.to_lowercase();
    for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2) {
        let meaning = MEANINGS.iter().find(|words| words.contains(&word)).map_or(word, |words| words[0]);
        let place = meaning.bytes().fold(7_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)));
        vector[place % DIMS] += 1.0;
    }
    vector
}
