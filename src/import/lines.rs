//! Reads a file value by value and returns its sessions piece by piece.
//! Not for: splitting a file into values (`split`), the content of messages (`message`), or their order (`tree_builder`,
//! `arrange`).

use super::document::Document;
use super::json::{self, Object};
use super::message::Draft;
use super::notes::Notes;
use super::reader::{Reader, Shape, bare, drafted, is_message};
use super::session_buffer::SessionBuffer;
use super::shorten::{Shortener, WHOLE};
use super::source::Source;
use super::split::{self, Cutting, Element, Kept};
use super::survey::{self, Facts};
use super::tree_builder::{FilePosition, TreeBuilder};
use crate::domain::base::failure::Failure;
use crate::domain::conversation::record::{BranchPointer, Piece, PieceReader, Report};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::io;

pub(super) const LINES: &str = "jsonl";
pub(super) const MESSAGES: &str = "openai";

/// Most messages read from one file. Their positions are kept in memory.
pub(super) const MESSAGES_MOST: u32 = 800_000;

/// Most sessions read from one file of single messages, and most bytes of their names.
const SESSIONS_MOST: (usize, usize) = (100_000, 16 << 20);

/// Limit of a session's title in bytes.
const TITLE: usize = 1_000;

/// Most branches read per session, and most bytes of all their lines.
const BRANCHES_MOST: (usize, usize) = (1_000, 4 << 20);

/// Reading stops after this many elements, or bytes, without anything readable.
const HOPELESS: (u64, u64) = (10_000, 64 << 20);

/// See the module.
pub struct Stream {
    pub(super) source: Source,
    pub(super) reader: Reader,
    file: String,
    pub(super) stem: String,
    pub(super) notes: Notes,
    pub(super) format: Option<&'static str>,
    pub(super) buffers: Vec<SessionBuffer>,
    /// Weight in memory of what is ready, of all sessions.
    pub(super) weight: u64,
    by_session: HashMap<Option<String>, usize>,
    /// Bytes of the names of sessions and branches.
    names: (usize, usize),
    /// The result of a pass through the whole file, once one was needed.
    facts: Option<HashMap<Option<String>, Facts>>,
    /// Offsets of further lists, after the one being read.
    further: VecDeque<u64>,
    /// The conversation being read.
    pub(super) document: Option<Box<Document>>,
    pub(super) out: VecDeque<Piece>,
    /// The session_buffer whose messages can be placed further.
    pending: Option<usize>,
    /// The next session_buffer to end, once the file is read.
    ending: Option<usize>,
    /// Elements so far.
    number: u64,
    pub(super) messages: u32,
    /// Most messages to read: [`MESSAGES_MOST`].
    pub(super) most: u32,
    pub(super) sessions: usize,
    /// Branches that were skipped.
    branches_lost: u64,
    stranger: Option<String>,
    over: bool,
}

impl PieceReader for Stream {
    fn next(&mut self) -> Result<Option<Piece>, Failure> {
        while self.out.is_empty() && !self.over {
            let step = self.step();
            step.map_err(|error| Failure::user(format!("{} can't be read: {error}.", self.file)))?;
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
    /// A stream over a file with this name, shape, and further lists.
    pub(super) fn new(source: Source, (shape, further): (Shape, Vec<u64>), file_name: &str, file: &str) -> Self {
        let base = file_name.rsplit(['/', '\\']).next().unwrap_or_default();
        let stem = base.rsplit_once('.').map_or(base, |(stem, _)| if stem.is_empty() { base } else { stem });
        Self {
            source,
            reader: Reader { shape, inside: false, nodes: None },
            file: file.to_owned(),
            stem: if stem == "-" { String::new() } else { stem.to_owned() },
            notes: Notes::default(),
            format: None,
            buffers: Vec::new(),
            weight: 0,
            by_session: HashMap::new(),
            names: (0, 0),
            facts: None,
            further: further.into(),
            document: None,
            out: VecDeque::new(),
            pending: None,
            ending: None,
            number: 0,
            messages: 0,
            most: MESSAGES_MOST,
            sessions: 0,
            branches_lost: 0,
            stranger: None,
            over: false,
        }
    }

    fn nothing(&mut self) -> super::ImportError {
        let first = self.notes.first().map(|note| format!("{}: {}", note.place, note.why));
        let why = self.stranger.take().or(first).unwrap_or_else(|| "no message was found".into());
        super::ImportError::Unknown { file: self.file.clone(), why }
    }

    /// Reads one element, places what was read, or ends.
    fn step(&mut self) -> io::Result<()> {
        if let Some(document) = self.document.take() {
            return self.step_document(document);
        }
        if let Some(at) = self.pending {
            return self.proceed(at);
        }
        if let Some(at) = self.ending {
            return self.finish(at);
        }
        let shape = self.reader.shape;
        let hopeless = self.sessions == 0
            && self.buffers.is_empty()
            && (self.number >= HOPELESS.0 || self.source.place() - shape.start > HOPELESS.1);
        if hopeless || self.messages >= self.most {
            let more = if hopeless { 0 } else { split::count(&mut self.source, shape.cutting)? };
            if more > 0 {
                let why = format!(
                    "{more} more {}s were skipped: pleach reads {} messages from one file; split it for the rest",
                    shape.element, self.most
                );
                self.notes.skip(self.place(self.number + 1), why);
            }
            self.ending = Some(0);
            return Ok(());
        }
        let Some(element) = split::next(&mut self.source, shape.cutting)? else {
            match self.further.pop_front() {
                Some(next) => self.source.go(next)?,
                None => self.ending = Some(0),
            }
            return Ok(());
        };
        self.number += 1;
        let place = self.place(self.number);
        let (spot, weight) = (FilePosition { place: element.place, number: self.number }, element.weight);
        let Some(element) = self.enter(element, &place)? else { return Ok(()) };
        let value = self.value(&element, &place);
        drop(element);
        match value {
            Some(value) => self.take(value, &place, spot, weight),
            None => Ok(()),
        }
    }

    fn place(&self, number: u64) -> String {
        if self.reader.shape.cutting == Cutting::Nothing {
            return "the document".into();
        }
        format!("{} {number}", self.reader.shape.element)
    }

    /// The JSON of an element, if readable.
    pub(super) fn value(&mut self, element: &Element, place: &str) -> Option<Value> {
        match element.kept {
            Kept::Whole => {}
            Kept::Part => self.notes.skip(place, too_large(element)),
            Kept::Nothing => {
                let why =
                    format!("it is {} bytes long and could not be shortened; no part of it was kept", element.size);
                self.notes.skip(place, why);
                return None;
            }
        }
        let mut text = String::from_utf8_lossy(&element.bytes);
        if matches!(text, Cow::Owned(_)) {
            self.notes.lossy();
            // The replacement character is longer than the bad byte.
            if text.len() > WHOLE {
                let mut short = Shortener::default();
                short.feed(text.as_bytes());
                text = Cow::Owned(String::from_utf8_lossy(&short.finish().0).into_owned());
            }
        }
        let text = trimmed(&text);
        if text.is_empty() {
            return None;
        }
        json::parse(text).map_err(|error| self.notes.skip(place, format!("not readable as JSON: {error}"))).ok()
    }

    /// Takes one value: a message or a branch.
    fn take(&mut self, value: Value, place: &str, spot: FilePosition, weight: u64) -> io::Result<()> {
        let mut object = match value {
            Value::Object(object) => object,
            other => {
                self.notes.skip(place, format!("it is {}, not an object", json::kind(&other)));
                return Ok(());
            }
        };
        if is_message(&object) {
            // A bare array of messages and lines without ids are read alike; only the name of the format differs.
            self.format.get_or_insert(if self.reader.shape.unit == "line" { LINES } else { MESSAGES });
            self.message(object, spot, weight)?;
        } else if let Some(pointer) = pointer(&mut object) {
            let session = json::id(&mut object, "session");
            self.branch(session, pointer)?;
        } else {
            let why = stranger(&object);
            self.notes.skip(place, why.clone());
            self.stranger.get_or_insert(why);
        }
        Ok(())
    }

    fn message(&mut self, mut object: Object, spot: FilePosition, weight: u64) -> io::Result<()> {
        let (session, source, title) = bare(&mut object);
        let Some(at) = self.session_buffer(session, source, title)? else { return Ok(()) };
        self.messages += 1;
        let draft = drafted(object, spot.number, self.reader.shape.unit, "", &mut self.notes);
        let session_buffer = &mut self.buffers[at];
        session_buffer.holds |= !(draft.record.content.parts.is_empty() && draft.record.hidden);
        session_buffer.tree_builder.put(Draft { weight, ..draft }, spot, &mut self.notes);
        self.proceed(at)
    }

    fn branch(&mut self, session: Option<String>, pointer: BranchPointer) -> io::Result<()> {
        let Some(at) = self.session_buffer(session, None, None)? else { return Ok(()) };
        let bytes = pointer.name.len() + pointer.head.as_ref().map_or(0, String::len) + 100;
        if self.buffers[at].branches.len() >= BRANCHES_MOST.0 || self.names.1 + bytes > BRANCHES_MOST.1 {
            self.branches_lost += 1;
            return Ok(());
        }
        self.names.1 += bytes;
        self.buffers[at].branches.push(pointer);
        Ok(())
    }

    /// Places the messages of a session_buffer, up to one portion.
    fn proceed(&mut self, at: usize) -> io::Result<()> {
        let mut session_buffer = std::mem::take(&mut self.buffers[at]);
        let done = self.advance(&mut session_buffer)?;
        self.buffers[at] = session_buffer;
        self.pending = (!done).then_some(at);
        Ok(())
    }

    /// The session_buffer of a session's messages; `None` if there are too many sessions.
    fn session_buffer(
        &mut self,
        session: Option<String>,
        source: Option<String>,
        title: Option<String>,
    ) -> io::Result<Option<usize>> {
        if let Some(at) = self.by_session.get(&session).copied() {
            return Ok(Some(at));
        }
        let mut facts = match source {
            // Our own files state this on their first line, and every message names its parent.
            Some(source) => Facts { source: Some(source), title, tree: true },
            None => self.told(&session)?,
        };
        if let Some(title) = facts.title.as_mut().filter(|title| title.len() > TITLE) {
            title.truncate(title.floor_char_boundary(TITLE));
            self.notes.skip(self.place(self.number), format!("the session's title is cut after {TITLE} bytes"));
        }
        let length = |name: &Option<String>| name.as_ref().map_or(0, String::len);
        self.names.0 += length(&session) + length(&facts.source) + length(&facts.title);
        if self.buffers.len() >= SESSIONS_MOST.0 || self.names.0 > SESSIONS_MOST.1 {
            let why = format!(
                "skipped: pleach reads {} sessions and {} MiB of their names from one file; split it for the rest",
                SESSIONS_MOST.0,
                SESSIONS_MOST.1 >> 20
            );
            self.notes.skip(self.place(self.number), why);
            return Ok(None);
        }
        let at = self.buffers.len();
        let tree_builder = TreeBuilder::new(self.reader.shape.unit, "", facts.tree);
        let (source, title) = (facts.source, facts.title);
        let mut session_buffer =
            SessionBuffer { session: session.clone(), source, title, tree_builder, ..SessionBuffer::default() };
        self.begin(&mut session_buffer)?;
        self.buffers.push(session_buffer);
        self.by_session.insert(session, at);
        Ok(Some(at))
    }

    /// What the whole file states about a session.
    #[allow(clippy::ref_option, reason = "used as the key of a map")]
    fn told(&mut self, session: &Option<String>) -> io::Result<Facts> {
        if self.facts.is_none() {
            self.facts = Some(survey::of(&mut self.source, self.reader.shape)?);
        }
        Ok(self.facts.as_mut().and_then(|facts| facts.remove(session)).unwrap_or_default())
    }

    /// Ends a session_buffer, up to one portion, and the file after the last session_buffer.
    fn finish(&mut self, at: usize) -> io::Result<()> {
        let Some(session_buffer) = self.buffers.get_mut(at) else {
            if self.branches_lost > 0 {
                let why = format!(
                    "{} branches were skipped: pleach reads {} branches of a session and {} MiB of their names",
                    self.branches_lost,
                    BRANCHES_MOST.0,
                    BRANCHES_MOST.1 >> 20
                );
                self.notes.skip("file", why);
            }
            self.over = true;
            return Ok(());
        };
        let mut session_buffer = std::mem::take(session_buffer);
        if !self.end(&mut session_buffer)? {
            self.buffers[at] = session_buffer;
            return Ok(());
        }
        self.ending = Some(at + 1);
        let Some(session) = session_buffer.begun else { return Ok(()) };
        let SessionBuffer { tree_builder, branches, .. } = session_buffer;
        // Our own export names its current message; in other files the last message is current.
        let last = tree_builder.count.checked_sub(1).filter(|_| session_buffer.source.is_none());
        let branches = branches.into_iter().map(|pointer| {
            let head = pointer.head.as_ref().and_then(|id| tree_builder.number(id));
            (pointer, head)
        });
        self.out.push_back(Piece::End {
            session,
            current: tree_builder.current.or(last),
            branches: branches.collect(),
        });
        Ok(())
    }
}

pub(super) fn too_large(element: &Element) -> String {
    format!(
        "it is {} bytes long, more than pleach reads of one message; its longest texts are cut, {} bytes of it \
            were kept",
        element.size,
        element.bytes.len()
    )
}

/// The text without separators around a value.
pub(super) fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}' || c == '\0')
}

/// A branch, as written by our own export.
fn pointer(object: &mut Object) -> Option<BranchPointer> {
    if !object.contains_key("head") {
        return None;
    }
    let name = json::text(object, "branch")?;
    let archived = json::truth(object, "archived").unwrap_or(false);
    let current = json::truth(object, "current").unwrap_or(false);
    Some(BranchPointer { name, head: json::id(object, "head"), archived, current })
}

fn stranger(object: &Object) -> String {
    if object.contains_key("chat_messages") {
        return "it looks like a Claude export, which is not supported yet".into();
    }
    if object.contains_key("sessionId") || object.contains_key("parentUuid") {
        return "it looks like a session log of a coding agent, which is not supported yet".into();
    }
    let keys: Vec<String> = object.keys().take(5).map(|key| key.chars().take(30).collect()).collect();
    format!("an object with the fields {keys:?} is neither a message nor a conversation")
}
