//! Reads a file value by value and gives its sessions piece by piece.
//! Not for: cutting a file into values (`split`), what single messages say (`message`), or their order (`flow`, `arrange`).

use super::arrange::{Arranged, arrange};
use super::beginning::Beginning;
use super::chatgpt;
use super::flow::{Flow, Spot};
use super::json::{self, Object};
use super::message::{self, Draft};
use super::notes::Notes;
use super::source::Source;
use super::split::{self, Cutting, Element, Kept};
use super::survey::{self, Facts};
use crate::domain::base::failure::Failure;
use crate::domain::conversation::record::{PORTION, PORTION_RECORDS, Piece, Pieces, Pointer, Report, Transcript};
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::io;

const LINES: &str = "jsonl";
const MESSAGES: &str = "openai";

/// Messages that are read from one file; where each stands is kept in memory.
const MESSAGES_MOST: u32 = 1_800_000;

/// Sessions that are read from one file of single messages.
const SESSIONS_MOST: usize = 100_000;

/// Contents of all sessions together that may wait to be handed on.
const HELD: u64 = 4 * PORTION;

/// After so many elements, or bytes, without anything that can be read, nothing more is looked for.
const HOPELESS: (u64, u64) = (10_000, 64 << 20);

/// One session's messages as they come.
struct Pile {
    session: Option<String>,
    source: Option<String>,
    title: Option<String>,
    /// Its number, once it was begun.
    begun: Option<usize>,
    flow: Flow,
    branches: Vec<Pointer>,
}

/// How a file is cut, and what its elements are called.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) cutting: Cutting,
    /// For sentences: `line`, `element`, `conversation`.
    pub(super) element: &'static str,
    /// What a single message in it is called.
    pub(super) unit: &'static str,
    /// Where the first element begins.
    pub(super) start: u64,
}

/// See the module.
pub struct Stream {
    source: Source,
    shape: Shape,
    file: String,
    stem: String,
    notes: Notes,
    format: Option<&'static str>,
    piles: Vec<Pile>,
    by_session: HashMap<Option<String>, usize>,
    /// What a look through the whole file told, once that was needed.
    facts: Option<HashMap<Option<String>, Facts>>,
    out: VecDeque<Piece>,
    /// Elements so far.
    number: u64,
    messages: u32,
    sessions: usize,
    lossy: bool,
    stranger: Option<String>,
    over: bool,
}

impl Pieces for Stream {
    fn next(&mut self) -> Result<Option<Piece>, Failure> {
        while self.out.is_empty() && !self.over {
            let step = self.step();
            step.map_err(|error| Failure::user(format!("{} cannot be read: {error}.", self.file)))?;
            if self.over && self.sessions == 0 {
                return Err(Failure::user(self.nothing().to_string()));
            }
        }
        Ok(self.out.pop_front())
    }

    fn report(&mut self) -> Report {
        Report { format: self.format.unwrap_or(LINES).to_owned(), skipped: self.notes.finish() }
    }
}

impl Stream {
    /// Of a file of this name and shape.
    pub(super) fn new(source: Source, shape: Shape, file_name: &str, file: &str) -> Self {
        let base = file_name.rsplit(['/', '\\']).next().unwrap_or_default();
        let stem = base.rsplit_once('.').map_or(base, |(stem, _)| if stem.is_empty() { base } else { stem });
        Self {
            source,
            shape,
            file: file.to_owned(),
            stem: if stem == "-" { String::new() } else { stem.to_owned() },
            notes: Notes::default(),
            format: None,
            piles: Vec::new(),
            by_session: HashMap::new(),
            facts: None,
            out: VecDeque::new(),
            number: 0,
            messages: 0,
            sessions: 0,
            lossy: false,
            stranger: None,
            over: false,
        }
    }

    fn nothing(&mut self) -> super::ImportError {
        let first = self.notes.first().map(|note| format!("{}: {}", note.place, note.why));
        let why = self.stranger.take().or(first).unwrap_or_else(|| "no message was found".into());
        super::ImportError::Unknown { file: self.file.clone(), why }
    }

    /// Reads one element, or ends.
    fn step(&mut self) -> io::Result<()> {
        let hopeless = self.sessions == 0
            && self.piles.is_empty()
            && (self.number >= HOPELESS.0 || self.source.place() - self.shape.start > HOPELESS.1);
        if hopeless || self.messages >= MESSAGES_MOST {
            if !hopeless {
                let why =
                    format!("more than {MESSAGES_MOST} messages are not read from one file; split it for the rest");
                self.notes.skip(self.place(self.number + 1), why);
            }
            return self.finish();
        }
        let Some(element) = split::next(&mut self.source, self.shape.cutting)? else { return self.finish() };
        self.number += 1;
        let place = self.place(self.number);
        let spot = Spot { place: element.place, size: element.size, number: self.number };
        let value = self.value(&element, &place);
        drop(element);
        match value {
            Some(value) => self.take(value, &place, spot),
            None => Ok(()),
        }
    }

    fn place(&self, number: u64) -> String {
        if self.shape.cutting == Cutting::Nothing {
            return "the document".into();
        }
        format!("{} {number}", self.shape.element)
    }

    fn value(&mut self, element: &Element, place: &str) -> Option<Value> {
        match element.kept {
            Kept::Whole => {}
            Kept::Part => self.notes.skip(place, too_large(element)),
            Kept::Nothing => {
                let why =
                    format!("it is {} bytes long and could not be shortened; nothing of it was kept", element.size);
                self.notes.skip(place, why);
                return None;
            }
        }
        let text = String::from_utf8_lossy(&element.bytes);
        if matches!(text, std::borrow::Cow::Owned(_)) && !std::mem::replace(&mut self.lossy, true) {
            self.notes.skip("file", "some bytes were not UTF-8; each such place now reads U+FFFD");
        }
        let text = trimmed(&text);
        if text.is_empty() {
            return None;
        }
        serde_json::from_str(text)
            .map_err(|error| self.notes.skip(place, format!("not readable as JSON: {error}")))
            .ok()
    }

    /// Takes one value: a message, a branch, a conversation of messages, or a ChatGPT conversation.
    fn take(&mut self, value: Value, place: &str, spot: Spot) -> io::Result<()> {
        let mut object = match value {
            Value::Object(object) => object,
            other => {
                self.notes.skip(place, format!("it is {}, not an object", json::kind(&other)));
                return Ok(());
            }
        };
        if object.get("mapping").is_some_and(Value::is_object) {
            self.format.get_or_insert(chatgpt::FORMAT);
            let found = chatgpt::read(object, place, &self.stem, &mut self.notes);
            self.give(found);
        } else if let Some(Value::Array(_)) = object.get("messages") {
            self.format.get_or_insert(MESSAGES);
            let Some(Value::Array(messages)) = object.shift_remove("messages") else { return Ok(()) };
            self.conversation(&mut object, messages, place);
        } else if is_message(&object) {
            // A bare array of messages and lines without ids are the same to us; only the name differs.
            self.format.get_or_insert(if self.shape.unit == "line" { LINES } else { MESSAGES });
            self.message(object, spot)?;
        } else if let Some(pointer) = pointer(&mut object) {
            let session = json::id(&mut object, "session");
            if let Some(at) = self.pile(session, None, None)? {
                self.piles[at].branches.push(pointer);
            }
        } else {
            let why = stranger(&object);
            self.notes.skip(place, why.clone());
            self.stranger.get_or_insert(why);
        }
        Ok(())
    }

    fn message(&mut self, mut object: Object, spot: Spot) -> io::Result<()> {
        let session = json::id(&mut object, "session");
        let (source, title) = (json::text(&mut object, "source"), json::text(&mut object, "title"));
        let Some(at) = self.pile(session, source, title)? else { return Ok(()) };
        self.messages += 1;
        let draft = drafted(object, spot.number, self.shape.unit, "", &mut self.notes);
        let shape = self.shape;
        let (source, notes) = (&mut self.source, &mut self.notes);
        let holds = !(draft.record.content.parts.is_empty() && draft.record.hidden);
        self.piles[at].flow.put(draft, spot, notes, &mut |spot| fetch(source, shape, spot))?;
        self.begin(at, holds)?;
        self.hand_on(at);
        Ok(())
    }

    /// The pile of a session's messages; none where there are too many sessions.
    fn pile(
        &mut self,
        session: Option<String>,
        source: Option<String>,
        title: Option<String>,
    ) -> io::Result<Option<usize>> {
        if let Some(at) = self.by_session.get(&session).copied() {
            return Ok(Some(at));
        }
        if self.piles.len() >= SESSIONS_MOST {
            let why = format!("more than {SESSIONS_MOST} sessions are not read from one file; split it for the rest");
            self.notes.skip(self.place(self.number), why);
            return Ok(None);
        }
        let facts = match source {
            // Our own files say it all at once, and every message names its parent.
            Some(source) => Facts { source: Some(source), title, tree: true },
            None => self.told(&session)?,
        };
        let at = self.piles.len();
        let flow = Flow::new(self.shape.unit, facts.tree);
        let title = facts.title;
        self.piles.push(Pile {
            session: session.clone(),
            source: facts.source,
            title,
            begun: None,
            flow,
            branches: vec![],
        });
        self.by_session.insert(session, at);
        self.begin(at, false)?;
        Ok(Some(at))
    }

    /// What the whole file says of a session.
    #[allow(clippy::ref_option, reason = "the key of a map")]
    fn told(&mut self, session: &Option<String>) -> io::Result<Facts> {
        if self.facts.is_none() {
            self.facts = Some(survey::of(&mut self.source, self.shape)?);
        }
        Ok(self.facts.as_mut().and_then(|facts| facts.remove(session)).unwrap_or_default())
    }

    /// Begins a session once it holds anything.
    fn begin(&mut self, at: usize, holds: bool) -> io::Result<()> {
        let pile = &self.piles[at];
        if pile.begun.is_some() || (pile.source.is_none() && !holds) {
            return Ok(());
        }
        let format = self.format.unwrap_or(LINES);
        let (session, title) = (pile.session.clone(), pile.title.clone());
        let nameless = session.is_none() && (pile.source.is_none() || (title.is_none() && self.stem.is_empty()));
        let begun = if nameless { Some(self.beginning(at)?) } else { None };
        let pile = &mut self.piles[at];
        let source = match (&pile.source, &session, &begun) {
            (Some(source), ..) => source.clone(),
            (None, Some(id), _) => format!("{format}:{id}"),
            (None, None, begun) => format!("{format}:{}", begun.as_ref().map_or("", |(hash, _)| hash.as_str())),
        };
        let first = begun.and_then(|(_, first)| first).unwrap_or_else(|| "Imported".into());
        let title = title.or(session).unwrap_or_else(|| if self.stem.is_empty() { first } else { self.stem.clone() });
        pile.begun = Some(self.sessions);
        self.out.push_back(Piece::Begin { session: self.sessions, source, title });
        self.sessions += 1;
        Ok(())
    }

    /// How the session without a name begins: a hash of it, and its first question. The file is read once more, up to
    /// the first answer.
    fn beginning(&mut self, at: usize) -> io::Result<(String, Option<String>)> {
        let mut flow = Flow::new("", self.piles[at].flow.tree);
        let (here, shape) = (self.source.place(), self.shape);
        self.source.go(shape.start)?;
        let (mut hash, mut number) = (Beginning::default(), 0);
        while let Some(element) = split::next(&mut self.source, shape.cutting)? {
            number += 1;
            let spot = Spot { place: element.place, size: element.size, number };
            let Some(object) = plain_message(&element) else { continue };
            let draft = drafted(object, number, shape.unit, "", &mut Notes::default());
            let source = &mut self.source;
            flow.put(draft, spot, &mut Notes::default(), &mut |spot| fetch(source, shape, spot))?;
            if flow.ready.drain(..).any(|placed| hash.add(&placed.record)) {
                break;
            }
        }
        if !hash.over {
            let source = &mut self.source;
            flow.finish(&mut Notes::default(), &mut |spot| fetch(source, shape, spot))?;
            flow.ready.drain(..).any(|placed| hash.add(&placed.record));
        }
        self.source.go(here)?;
        Ok(hash.finish())
    }

    /// Hands on what is ready, where that is enough.
    fn hand_on(&mut self, at: usize) {
        let flow = &self.piles[at].flow;
        if flow.bytes >= PORTION || flow.ready.len() >= PORTION_RECORDS {
            self.flush(at);
        } else if self.piles.len() > 1 && self.waiting() > HELD {
            for at in 0..self.piles.len() {
                self.flush(at);
            }
        }
    }

    /// The bytes of all contents that are ready.
    fn waiting(&self) -> u64 {
        self.piles.iter().map(|pile| pile.flow.bytes).fold(0, u64::saturating_add)
    }

    fn flush(&mut self, at: usize) {
        let pile = &mut self.piles[at];
        if let Some(session) = pile.begun {
            pile.flow.bytes = 0;
            let records = std::mem::take(&mut pile.flow.ready);
            self.out.push_back(Piece::Records { session, records });
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.over = true;
        for at in 0..self.piles.len() {
            let shape = self.shape;
            let (source, notes) = (&mut self.source, &mut self.notes);
            self.piles[at].flow.finish(notes, &mut |spot| fetch(source, shape, spot))?;
            self.flush(at);
            let pile = &mut self.piles[at];
            let Some(session) = pile.begun else { continue };
            let flow = &pile.flow;
            // Our own export says where it stands; another file stands at its end.
            let last = flow.count.checked_sub(1).filter(|_| pile.source.is_none());
            let branches = std::mem::take(&mut pile.branches);
            let branches = branches.into_iter().map(|pointer| {
                let head = pointer.head.as_ref().and_then(|id| flow.number(id));
                (pointer, head)
            });
            self.out.push_back(Piece::End { session, current: flow.current.or(last), branches: branches.collect() });
            pile.flow = Flow::default();
        }
        Ok(())
    }

    fn conversation(&mut self, object: &mut Object, messages: Vec<Value>, place: &str) {
        let session = json::id(object, "id").or_else(|| json::id(object, "conversation_id"));
        let title = json::text(object, "title").or_else(|| json::text(object, "name"));
        let prefix = format!("{place}, ");
        let mut drafts = Vec::with_capacity(messages.len());
        for (number, value) in (1..).zip(messages) {
            match value {
                Value::Object(object) => drafts.push(drafted(object, number, "message", &prefix, &mut self.notes)),
                other => self
                    .notes
                    .skip(format!("{prefix}message {number}"), format!("it is {}, not an object", json::kind(&other))),
            }
        }
        let Arranged { records, current } = arrange(drafts, &prefix, &mut self.notes);
        if records.iter().all(|record| record.content.parts.is_empty() && record.hidden) {
            return;
        }
        let current = current.or_else(|| records.last().map(|record| record.id.clone()));
        let mut hash = Beginning::default();
        let _ = records.iter().any(|record| hash.add(record));
        let (begins, first) = hash.finish();
        let source = format!("{MESSAGES}:{}", session.as_ref().unwrap_or(&begins));
        let stem = Some(self.stem.clone()).filter(|stem| !stem.is_empty());
        let title = title.or(session).or(stem).or(first).unwrap_or_else(|| "Imported".into());
        self.give(Some(Transcript { source, title, records, current, branches: Vec::new() }));
    }

    /// Gives a whole session.
    fn give(&mut self, transcript: Option<Transcript>) {
        if let Some(transcript) = transcript {
            self.out.extend(transcript.pieces(self.sessions));
            self.sessions += 1;
        }
    }
}

fn too_large(element: &Element) -> String {
    format!(
        "it is {} bytes long, more than is read of one; its longest texts are cut, {} bytes of it were kept",
        element.size,
        element.bytes.len()
    )
}

/// Without what may stand around a value.
pub(super) fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}' || c == '\0')
}

fn is_message(object: &Object) -> bool {
    ["role", "content", "parent"].iter().any(|key| object.contains_key(*key))
}

/// A message without a session.
fn plain_message(element: &Element) -> Option<Object> {
    let text = String::from_utf8_lossy(&element.bytes);
    let Ok(Value::Object(mut object)) = serde_json::from_str(trimmed(&text)) else { return None };
    let other =
        object.get("mapping").is_some_and(Value::is_object) || object.get("messages").is_some_and(Value::is_array);
    (!other && is_message(&object) && json::id(&mut object, "session").is_none()).then(|| bare(object))
}

/// A message as a session takes it.
fn bare(mut object: Object) -> Object {
    let _ = (json::text(&mut object, "source"), json::text(&mut object, "title"));
    object
}

fn drafted(object: Object, number: u64, unit: &'static str, prefix: &str, notes: &mut Notes) -> Draft {
    message::read(object, number, unit).unwrap_or_else(|(why, ghost)| {
        notes.skip(ghost.place(prefix), why);
        *ghost
    })
}

/// Reads a message again.
fn fetch(source: &mut Source, shape: Shape, spot: Spot) -> io::Result<Option<Draft>> {
    let bytes = if spot.size > super::shorten::WHOLE as u64 {
        let here = source.place();
        source.go(spot.place)?;
        let element = split::next(source, shape.cutting)?;
        source.go(here)?;
        element.map(|element| element.bytes).unwrap_or_default()
    } else {
        source.again(spot.place, usize::try_from(spot.size).unwrap_or_default())?
    };
    let text = String::from_utf8_lossy(&bytes);
    let Ok(Value::Object(mut object)) = serde_json::from_str(trimmed(&text)) else { return Ok(None) };
    let _ = json::id(&mut object, "session");
    Ok(Some(drafted(bare(object), spot.number, shape.unit, "", &mut Notes::default())))
}

/// A branch, as our own export writes it.
fn pointer(object: &mut Object) -> Option<Pointer> {
    if !object.contains_key("head") {
        return None;
    }
    let name = json::text(object, "branch")?;
    let archived = json::truth(object, "archived").unwrap_or(false);
    let current = json::truth(object, "current").unwrap_or(false);
    Some(Pointer { name, head: json::id(object, "head"), archived, current })
}

fn stranger(object: &Object) -> String {
    if object.contains_key("chat_messages") {
        return "it looks like a Claude export, which is not read yet".into();
    }
    if object.contains_key("sessionId") || object.contains_key("parentUuid") {
        return "it looks like a session log of a coding agent, which is not read yet".into();
    }
    let keys: Vec<String> = object.keys().take(5).map(|key| key.chars().take(30).collect()).collect();
    format!("an object with the fields {keys:?} is neither a message nor a conversation")
}
