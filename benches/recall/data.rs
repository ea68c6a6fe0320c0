//! Conversations and questions in the import format, and a method's share of the evidence.

use pleach::context;
use pleach::domain::base::Hash;
use pleach::domain::call::{CountTokens, Encoding};
use pleach::domain::conversation::Role;
use pleach::llm::counting::tokens::Tokenizers;
use pleach::retrieval::compose::{CardRules, compose};
use pleach::retrieval::floor::Floor;
use pleach::retrieval::index::segment::NoSegments;
use pleach::retrieval::index::session::{Entry, Index};
use pleach::retrieval::scope::{Filter, Scope};
use pleach::retrieval::search::{Hit, MessageTexts, SearchOptions};
use pleach::retrieval::tuning::Tuning;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

pub struct Message {
    pub id: String,
    pub role: Role,
    pub name: Option<String>,
    pub at: Option<i64>,
    pub text: String,
    /// The line in the file, counted from 0.
    pub line: usize,
}

/// A conversation with its index.
pub struct Talk {
    pub session: String,
    pub messages: Vec<Message>,
    pub index: Index,
    pub scope: Scope,
    by_key: HashMap<Hash, usize>,
}

pub struct Question {
    pub session: String,
    pub query: String,
    pub category: String,
    pub evidence: Vec<usize>,
    /// The line in the file, counted from 0.
    pub line: usize,
}

/// Precomputed vectors.
pub struct Vectors {
    dims: usize,
    messages: Vec<f32>,
    questions: Vec<f32>,
    followups: Vec<f32>,
}

impl Vectors {
    /// Reads little-endian f32 numbers: a vector for each line of the conversations, then one for each question, then
    /// one for each of the follow-ups.
    pub fn read(file: &str, conversations: &str, questions: &str, followups: usize) -> Self {
        let bytes = std::fs::read(file).unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut all: Vec<f32> =
            bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().expect("four bytes"))).collect();
        let (messages, asked) = (lines(conversations).len(), lines(questions).len());
        let dims = all.len() / (messages + asked + followups);
        assert_eq!(all.len(), dims * (messages + asked + followups), "{file} has another number of vectors");
        let followups = all.split_off((messages + asked) * dims);
        let questions = all.split_off(messages * dims);
        Self { dims, messages: all, questions, followups }
    }

    fn row<'a>(&self, of: &'a [f32], line: usize) -> &'a [f32] {
        &of[line * self.dims..][..self.dims]
    }

    pub fn of_question(&self, question: &Question) -> &[f32] {
        self.row(&self.questions, question.line)
    }

    pub fn of_message(&self, message: &Message) -> &[f32] {
        self.row(&self.messages, message.line)
    }

    pub fn of_followup(&self, number: usize) -> &[f32] {
        self.row(&self.followups, number)
    }

    /// The cosine of each passage's message with a vector.
    pub fn cosines(&self, talk: &Talk, asked: &[f32]) -> Vec<(u32, f32)> {
        let mut found = Vec::new();
        for (position, message) in talk.messages.iter().enumerate() {
            let known = talk.index.known(talk.scope.number(position)).expect("an indexed message");
            let cosine = self.of_message(message).iter().zip(asked).map(|(a, b)| a * b).sum::<f32>();
            found.extend((known.first..known.first + u32::from(known.passages)).map(|passage| (passage, cosine)));
        }
        found
    }
}

impl Talk {
    pub fn new(session: String, messages: Vec<Message>) -> Self {
        let mut index = Index::new();
        let mut path = Vec::new();
        let mut by_key = HashMap::new();
        for (number, message) in messages.iter().enumerate() {
            let key = Hash::of(format!("{session}/{}", message.id).as_bytes());
            let (role, speaker, at, text) = (message.role, message.name.as_deref(), message.at, message.text.as_str());
            path.push(index.add(&Entry { key, role, speaker, at, lane: 0, text }));
            by_key.insert(key, number);
        }
        let scope = Scope::new(&index, &path);
        Self { session, messages, index, scope, by_key }
    }

    pub fn ask<'a>(&'a self, filter: &'a Filter, tuning: Option<&'a Tuning>) -> SearchOptions<'a> {
        SearchOptions {
            index: &self.index,
            scope: &self.scope,
            source: &NoSegments,
            texts: self,
            filter,
            cosines: None,
            tuning,
        }
    }
}

impl MessageTexts for Talk {
    fn text(&self, key: &Hash) -> Option<Cow<'_, str>> {
        self.by_key.get(key).map(|at| Cow::Borrowed(self.messages[*at].text.as_str()))
    }

    fn speaker(&self, key: &Hash) -> Option<Cow<'_, str>> {
        self.by_key.get(key).and_then(|at| self.messages[*at].name.as_deref().map(Cow::Borrowed))
    }
}

fn text(value: &Value, field: &str) -> Option<String> {
    value.get(field).and_then(Value::as_str).map(str::to_owned)
}

fn lines(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(line).expect("a JSON line"))
        .collect()
}

/// The conversations of a file, each in the order of its lines.
pub fn talks(path: &str) -> Vec<Talk> {
    let mut sessions: BTreeMap<String, Vec<Message>> = BTreeMap::new();
    for (number, line) in lines(path).into_iter().enumerate() {
        let at =
            text(&line, "created_at").and_then(|at| at.parse::<jiff::Timestamp>().ok()).map(jiff::Timestamp::as_second);
        let role = text(&line, "role").and_then(|role| Role::from_name(&role)).unwrap_or(Role::User);
        let (id, content) = (text(&line, "id").unwrap_or_default(), text(&line, "content").unwrap_or_default());
        let message = Message { id, role, name: text(&line, "name"), at, text: content, line: number };
        sessions.entry(text(&line, "session").unwrap_or_default()).or_default().push(message);
    }
    sessions.into_iter().map(|(session, messages)| Talk::new(session, messages)).collect()
}

/// The questions of a file whose evidence is known.
pub fn questions(path: &str, talks: &[Talk]) -> Vec<Question> {
    let mut places: HashMap<(&str, &str), usize> = HashMap::new();
    for talk in talks {
        places.extend(
            talk.messages.iter().enumerate().map(|(at, message)| ((talk.session.as_str(), message.id.as_str()), at)),
        );
    }
    let question = |(number, line): (usize, Value)| {
        let session = text(&line, "session").unwrap_or_default();
        let ids = line.get("evidence").and_then(Value::as_array).cloned().unwrap_or_default();
        let evidence: Vec<usize> =
            ids.iter().filter_map(|id| places.get(&(session.as_str(), id.as_str()?)).copied()).collect();
        let (query, category) = (text(&line, "query").unwrap_or_default(), text(&line, "category").unwrap_or_default());
        Question { session, query, category, evidence, line: number }
    };
    lines(path).into_iter().enumerate().map(question).filter(|question| !question.evidence.is_empty()).collect()
}

/// Recall of evidence, and how often all of it was found, by category; the total is `all`.
#[derive(Default, Clone)]
pub struct Table(pub BTreeMap<String, (f64, f64, u32)>);

impl Table {
    pub fn add(&mut self, question: &Question, filled: &Filled) {
        let found = question.evidence.iter().filter(|at| filled.positions.contains(at)).count();
        let share = found as f64 / question.evidence.len() as f64;
        for key in [question.category.as_str(), "all"] {
            let row = self.0.entry(key.to_owned()).or_default();
            *row = (row.0 + share, row.1 + f64::from(u8::from(found == question.evidence.len())), row.2 + 1);
        }
    }

    /// Recall and complete hits of a category in percent.
    pub fn percent(&self, category: &str) -> (f64, f64) {
        self.0.get(category).map_or((0.0, 0.0), |(recall, all, count)| {
            (100.0 * recall / f64::from(*count), 100.0 * all / f64::from(*count))
        })
    }
}

/// Counts with o200k, with a cache.
pub fn counter() -> impl Fn(&str) -> u32 {
    let tokenizers = Tokenizers::new();
    let memory = std::cell::RefCell::new(HashMap::<String, u32>::new());
    move |text: &str| {
        if let Some(known) = memory.borrow().get(text) {
            return *known;
        }
        let tokens = tokenizers.count(Encoding::O200kBase, text);
        memory.borrow_mut().insert(text.to_owned(), tokens);
        tokens
    }
}

/// The cards within a budget.
pub struct Filled {
    pub positions: Vec<usize>,
    pub tokens: u32,
}

pub fn filled(
    talk: &Talk,
    hits: &[Hit],
    tokens: u32,
    tuning: Option<&Tuning>,
    floor: Option<&Floor>,
    count: &dyn Fn(&str) -> u32,
) -> Filled {
    let filter = Filter::default();
    let is_enough = &context::enough_within(tokens);
    let rules = CardRules { count, together: &|at| at..at + 1, near: 0, floor, is_enough };
    let composed = compose(&talk.ask(&filter, tuning), hits, &rules);
    let (sent, _) = context::within(&composed.offer(), tokens);
    Filled {
        positions: sent.iter().map(|one| composed.cards[one.at].position).collect(),
        tokens: sent.iter().map(|one| one.tokens).sum(),
    }
}
