//! The scripted model of the session: it reads the request, calls tools, and quotes what it was sent.

use crate::support::bench::complete;
use pleach::domain::base::RunId;
use pleach::domain::call::{CallEnd, Delta, Outcome, Provider, Wire};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;

/// The earlier answers that the state block mentions, a line each.
const KNOWN: usize = 6;
/// Lines that are read of a symbol.
const LINES: u32 = 40;

/// What the model does with a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Code,
    Edit,
    Follow,
    Recall,
    Thanks,
}

impl Kind {
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "code" => Self::Code,
            "edit" => Self::Edit,
            "follow" => Self::Follow,
            "recall" => Self::Recall,
            "thanks" => Self::Thanks,
            other => panic!("no kind {other}"),
        }
    }
}

pub(crate) struct Question {
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

/// A symbol that a request shows.
struct Shown {
    path: String,
    first: u32,
    name: String,
}

impl Shown {
    fn read(&self) -> Step {
        Step::Call("read_file", json!({ "path": self.path, "start_line": self.first, "lines": LINES }))
    }
}

pub(crate) struct Answering {
    questions: Vec<Question>,
    workspace: PathBuf,
    bodies: Mutex<Vec<Vec<u8>>>,
    known: Mutex<Vec<String>>,
    /// What the open turn is about.
    target: Mutex<Option<Shown>>,
}

/// What the model says: text, or a call.
enum Step {
    Text(String),
    Call(&'static str, Value),
}

impl Provider for Answering {
    fn post(&self, _: RunId, wire: &Wire, sink: &mut dyn FnMut(Delta) -> bool) -> Outcome {
        let number = {
            let mut bodies = self.bodies.lock().unwrap();
            bodies.push(wire.bytes.to_vec());
            bodies.len()
        };
        let request: Value = serde_json::from_slice(&wire.bytes).expect("a request");
        let on = match self.step(&request) {
            Step::Text(text) => sink(Delta::Text(self.with_state(&text))),
            Step::Call(name, args) => {
                let (id, name) = (Some(format!("c{number}")), Some(name.to_owned()));
                sink(Delta::Call { index: 0, id, name, args: args.to_string() })
            }
        };
        Outcome { end: if on { CallEnd::Complete } else { CallEnd::Cancelled }, ..complete() }
    }
}

impl Answering {
    pub(crate) fn new(questions: Vec<Question>, workspace: PathBuf) -> Self {
        Self { questions, workspace, bodies: Mutex::default(), known: Mutex::default(), target: Mutex::default() }
    }

    pub(crate) fn bodies(&self) -> Vec<Vec<u8>> {
        self.bodies.lock().unwrap().clone()
    }

    /// The text with a state block as the instructions ask for it.
    fn with_state(&self, text: &str) -> String {
        let mut known = self.known.lock().unwrap();
        known.push(text.split_whitespace().take(14).collect::<Vec<_>>().join(" "));
        let from = known.len().saturating_sub(KNOWN);
        let facts = known[from..].join("\n- ");
        format!("{text}\n\n---STATE---\nGoal: understand the program\nFacts:\n- {facts}\n---END STATE---\n")
    }

    fn step(&self, request: &Value) -> Step {
        let messages = request["messages"].as_array().expect("messages");
        let asked = messages.iter().rposition(|one| one["role"] == "user").expect("a question");
        let text = content(&messages[asked]);
        let found = self.questions.iter().filter(|one| text.contains(&one.text)).max_by_key(|one| one.text.len());
        let question = found.expect("one of the questions");
        let results: Vec<String> =
            messages[asked + 1..].iter().filter(|one| one["role"] == "tool").map(content).collect();
        match question.kind {
            Kind::Thanks => Step::Text("You are welcome. Ask on whenever you like.".into()),
            Kind::Follow | Kind::Recall => Step::Text(remembered(&messages[..asked], &question.text)),
            Kind::Code | Kind::Edit => self.work(messages, question, &results),
        }
    }

    /// Reads the symbol of the request that fits, or what a search finds, then changes it if asked to, and explains it.
    fn work(&self, messages: &[Value], question: &Question, results: &[String]) -> Step {
        let mut target = self.target.lock().unwrap();
        if results.is_empty() {
            *target = best(messages, &question.text);
        } else if target.is_none() {
            *target = first_place(&results[0], &longest(&question.text));
            if let Some(place) = &*target {
                return place.read();
            }
        }
        let Some(symbol) = &*target else {
            return match results {
                [] => Step::Call("search", json!({ "pattern": longest(&question.text), "max": 8 })),
                _ => Step::Text("The program has nothing of that name.".into()),
            };
        };
        let called = |name: &str| {
            let calls =
                messages.iter().rev().take_while(|one| one["role"] != "user").map(|one| one["tool_calls"].to_string());
            calls.filter(|calls| calls.contains(name)).count() > 0
        };
        let edits = question.kind == Kind::Edit;
        match results {
            [] => symbol.read(),
            _ if edits && !called("edit_file") => self.edit(symbol),
            _ => {
                let read = results.iter().max_by_key(|result| result.len()).map_or("", String::as_str);
                Step::Text(explained(symbol, read, edits))
            }
        }
    }

    /// Adds a comment after a line of the symbol that the file has once.
    fn edit(&self, symbol: &Shown) -> Step {
        let text = std::fs::read_to_string(self.workspace.join(&symbol.path)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let from = (symbol.first as usize).saturating_sub(1).min(lines.len());
        let once = |line: &&&str| line.len() > 20 && lines.iter().filter(|other| other.contains(**line)).count() == 1;
        match lines[from..].iter().find(once) {
            Some(line) => {
                let edits = json!([{ "old": line, "new": format!("{line}\n// See also {}.", symbol.name) }]);
                Step::Call("edit_file", json!({ "path": symbol.path, "edits": edits }))
            }
            None => Step::Text(format!("I found no place in {} for that.", symbol.path)),
        }
    }
}

fn content(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// The parts of words, of at least four letters, lowercase: `after_turn` and `SummaryDraft` are two each.
fn words(text: &str) -> BTreeSet<String> {
    let mut split = String::new();
    let mut before = ' ';
    for c in text.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            split.push(' ');
        }
        split.push(c);
        before = c;
    }
    let all = split.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() >= 4);
    all.map(|word| word.to_lowercase().trim_end_matches('s').to_owned()).collect()
}

fn in_common(a: &BTreeSet<String>, text: &str) -> usize {
    words(text).intersection(a).count()
}

/// The shown symbol whose path and name have most words in common with the question. Of several, the first.
fn best(messages: &[Value], question: &str) -> Option<Shown> {
    let wanted = words(question);
    let mut best: Option<(usize, Shown)> = None;
    for message in messages.iter().filter(|one| one["role"] != "tool" && one["role"] != "assistant") {
        for (line, symbol) in shown(&content(message)) {
            let score = in_common(&wanted, &line) + in_common(&wanted, &symbol.path);
            if score > best.as_ref().map_or(0, |(score, _)| *score) {
                best = Some((score, symbol));
            }
        }
    }
    best.map(|(_, symbol)| symbol)
}

/// The symbols that a text lists under the headings of their files, each with its line.
fn shown(text: &str) -> Vec<(String, Shown)> {
    let mut found = Vec::new();
    let mut path: Option<String> = None;
    for line in text.lines() {
        if let Some(file) = line.strip_prefix("## ") {
            path = file.split_whitespace().next().filter(|file| file.contains('.')).map(str::to_owned);
        } else if let (Some(path), Some((place, signature))) = (&path, line.split_once(' '))
            && let Some(first) = place.split_once('-').and_then(|(first, _)| first.parse().ok())
        {
            let name = name_of(signature);
            found.push((line.to_owned(), Shown { path: path.clone(), first, name }));
        }
    }
    found
}

/// The first place that a search found: `path:line: text`.
fn first_place(found: &str, name: &str) -> Option<Shown> {
    found.lines().find_map(|line| {
        let (path, rest) = line.split_once(':')?;
        let first = rest.split(':').next()?.trim().parse().ok()?;
        Some(Shown { path: path.to_owned(), first, name: name.to_owned() })
    })
}

/// The name that a signature declares: the word after its keyword.
fn name_of(signature: &str) -> String {
    let words: Vec<&str> = signature.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let keywords = ["fn", "struct", "enum", "trait", "const", "type", "mod", "static"];
    let after = words.iter().position(|word| keywords.contains(word)).and_then(|at| words.get(at + 1));
    after.or(words.first()).map_or_else(String::new, |name| (*name).to_owned())
}

fn longest(question: &str) -> String {
    let split = question.split(|c: char| !c.is_alphanumeric() && c != '_');
    split.max_by_key(|word| (word.contains('_'), word.len())).unwrap_or_default().to_owned()
}

/// The first lines of a result that say something.
fn quoted(result: &str, most: usize) -> String {
    let lines = result.lines().map(str::trim).filter(|line| line.len() > 24);
    lines.skip(1).take(most).collect::<Vec<_>>().join("\n")
}

fn explained(symbol: &Shown, read: &str, edited: bool) -> String {
    let done = if edited { "I added the comment to" } else { "This is decided in" };
    let Shown { path, first, name } = symbol;
    let remarks: String = quoted(read, 8).lines().map(|line| remark(name, line)).collect();
    format!(
        "{done} `{name}`, in {path} from line {first}. The part that matters:\n\n{}\n\nIn words:\n{remarks}",
        quoted(read, 14)
    )
}

/// A sentence about a line of code.
fn remark(symbol: &str, line: &str) -> String {
    let named: Vec<String> = words(line).into_iter().take(5).collect();
    format!("- `{symbol}` then deals with {}, and nothing after this line depends on it.\n", named.join(", "))
}

/// The line of the request that has most words in common with the question. Of several, the last.
fn remembered(messages: &[Value], question: &str) -> String {
    let wanted = words(question);
    let texts: Vec<String> = messages.iter().filter(|one| one["role"] != "tool").map(content).collect();
    let lines = texts.iter().flat_map(|text| text.lines()).filter(|line| line.len() > 30);
    match lines.max_by_key(|line| in_common(&wanted, line)) {
        Some(line) => format!("As was said: {}", line.trim()),
        None => "That was not said here.".into(),
    }
}
