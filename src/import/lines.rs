//! Reads a file value by value and returns its sessions piece by piece.
//! Not for: splitting a file into values (`split`), the content of messages (`message`), or their order
//! (`tree_builder`).

use super::bundle::BundleCheck;
use super::document::Document;
use super::json::{self, Object};
use super::message::Draft;
use super::notes::Notes;
use super::reader::{Reader, Shape, bare, drafted, is_message};
use super::session_buffer::SessionBuffer;
use super::shorten::{MAX_VALUE_BYTES, Shortener};
use super::source::Source;
use super::split::{self, Element, KeptPart, Separator};
use super::survey::{self, Facts};
use super::tree_builder::{FilePosition, TreeBuilder};
use crate::domain::base::Failure;
use crate::domain::conversation::{BranchPointer, Piece, PieceReader, Report};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::io;

/// The names of the formats: one JSON object per line, and a list of messages as in the chat API.
pub(super) const JSONL_FORMAT: &str = "jsonl";
pub(super) const OPENAI_FORMAT: &str = "openai";

/// The maximum number of messages read from one file, because their positions are kept in memory.
pub(super) const MAX_MESSAGES: u32 = 800_000;

/// The maximum number of sessions read from one file of single messages, and the maximum size of their names in bytes.
const MAX_SESSIONS: (usize, usize) = (100_000, 16 << 20);

/// The maximum length of a session's title in bytes.
const MAX_TITLE_BYTES: usize = 1_000;

/// The maximum number of branches read per session, and the maximum size of all of their lines in bytes.
const MAX_BRANCHES: (usize, usize) = (1_000, 4 << 20);

/// The number of elements, or of bytes, without anything readable after which reading stops.
const MAX_UNREADABLE: (u64, u64) = (10_000, 64 << 20);

/// A file that is being read piece by piece.
pub struct Stream {
    pub(super) source: Source,
    pub(super) reader: Reader,
    file: String,
    pub(super) stem: String,
    pub(super) notes: Notes,
    pub(super) format: Option<&'static str>,
    pub(super) buffers: Vec<SessionBuffer>,
    /// The weight in memory of the ready messages of all sessions.
    pub(super) weight: u64,
    by_session: HashMap<Option<String>, usize>,
    /// The size of the names of sessions and of branches in bytes.
    names: (usize, usize),
    /// The result of a pass through the whole file, if one was needed.
    facts: Option<HashMap<Option<String>, Facts>>,
    /// The offsets of the lists after the current one.
    further: VecDeque<u64>,
    /// The check of the file's records, if it is a bundle.
    pub(super) bundle: Option<BundleCheck>,
    /// The current conversation.
    pub(super) document: Option<Box<Document>>,
    pub(super) out: VecDeque<Piece>,
    /// The index of the session with more messages to place.
    pending: Option<usize>,
    /// The index of the next session to end, after the file was read.
    ending: Option<usize>,
    /// The number of elements read so far.
    number: u64,
    pub(super) messages: u32,
    /// The maximum number of messages to read: [`MAX_MESSAGES`], except in tests.
    pub(super) most: u32,
    pub(super) sessions: usize,
    /// The number of branches that were skipped.
    branches_lost: u64,
    unknown_object: Option<String>,
    over: bool,
}

impl PieceReader for Stream {
    fn next(&mut self) -> Result<Option<Piece>, Failure> {
        while self.out.is_empty() && !self.over {
            let step = self.step();
            step.map_err(|error| Failure::user(format!("{} can't be read: {error}.", self.file)))?;
            if self.over && self.sessions == 0 {
                return Err(Failure::user(self.nothing_read().to_string()));
            }
        }
        Ok(self.out.pop_front())
    }

    fn report(&mut self) -> Report {
        Report { format: self.format.unwrap_or(JSONL_FORMAT).to_owned(), skipped: self.notes.finish() }
    }
}

impl Stream {
    /// Makes a stream over a file with this name, shape, and additional lists.
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
            bundle: None,
            document: None,
            out: VecDeque::new(),
            pending: None,
            ending: None,
            number: 0,
            messages: 0,
            most: MAX_MESSAGES,
            sessions: 0,
            branches_lost: 0,
            unknown_object: None,
            over: false,
        }
    }

    fn nothing_read(&mut self) -> super::ImportError {
        let first = self.notes.first().map(|note| format!("{}: {}", note.place, note.why));
        let why = self.unknown_object.take().or(first).unwrap_or_else(|| "no message was found".into());
        super::ImportError::Unknown { file: self.file.clone(), why }
    }

    /// Reads one element, places messages that were read, or ends.
    fn step(&mut self) -> io::Result<()> {
        if let Some(document) = self.document.take() {
            return self.step_document(document);
        }
        if let Some(at) = self.pending {
            return self.place_messages(at);
        }
        if let Some(at) = self.ending {
            return self.finish(at);
        }
        let shape = self.reader.shape;
        let hopeless = self.sessions == 0
            && self.buffers.is_empty()
            && (self.number >= MAX_UNREADABLE.0 || self.source.place() - shape.start > MAX_UNREADABLE.1);
        if hopeless || self.messages >= self.most {
            let more = if hopeless { 0 } else { split::count(&mut self.source, shape.separator)? };
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
        let Some(element) = split::next(&mut self.source, shape.separator)? else {
            match self.further.pop_front() {
                Some(next) => self.source.seek_to(next)?,
                None => self.ending = Some(0),
            }
            return Ok(());
        };
        self.number += 1;
        let place = self.place(self.number);
        let (position, weight) = (FilePosition { place: element.place, number: self.number }, element.weight);
        let checked = self.check_record(&element);
        if !self.report_record(checked, &place) {
            return Ok(());
        }
        let Some(element) = self.enter(element, &place)? else { return Ok(()) };
        let value = self.value(&element, &place);
        drop(element);
        match value {
            Some(value) => self.handle_value(value, &place, position, weight),
            None => Ok(()),
        }
    }

    fn place(&self, number: u64) -> String {
        if self.reader.shape.separator == Separator::Nothing {
            return "the document".into();
        }
        format!("{} {number}", self.reader.shape.element)
    }

    /// Parses the JSON of an element. Reports what cannot be read, and returns `None` for it.
    pub(super) fn value(&mut self, element: &Element, place: &str) -> Option<Value> {
        match element.kept {
            KeptPart::Whole => {}
            KeptPart::Part => self.notes.skip(place, too_large(element)),
            KeptPart::Nothing => {
                let why =
                    format!("it is {} bytes long and could not be shortened; no part of it was kept", element.size);
                self.notes.skip(place, why);
                return None;
            }
        }
        let mut text = String::from_utf8_lossy(&element.bytes);
        if matches!(text, Cow::Owned(_)) {
            self.notes.lossy();
            // The replacement character is longer than an invalid byte.
            if text.len() > MAX_VALUE_BYTES {
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

    /// Handles a value: a message or a branch.
    fn handle_value(&mut self, value: Value, place: &str, position: FilePosition, weight: u64) -> io::Result<()> {
        let mut object = match value {
            Value::Object(object) => object,
            other => {
                self.notes.skip(place, format!("it is {}, not an object", json::kind(&other)));
                return Ok(());
            }
        };
        if self.begin_bundle(&mut object)? {
            return Ok(());
        }
        if is_message(&object) {
            // A bare array of messages and lines without ids are read in the same way; only the name of the format
            // differs.
            self.format.get_or_insert(if self.reader.shape.unit == "line" { JSONL_FORMAT } else { OPENAI_FORMAT });
            self.message(object, position, weight)?;
        } else if let Some(pointer) = pointer(&mut object) {
            let session = json::id(&mut object, "session");
            self.branch(session, pointer)?;
        } else {
            let why = unknown_object(&object);
            self.notes.skip(place, why.clone());
            self.unknown_object.get_or_insert(why);
        }
        Ok(())
    }

    fn message(&mut self, mut object: Object, position: FilePosition, weight: u64) -> io::Result<()> {
        let (session, source, title) = bare(&mut object);
        let Some(at) = self.session_buffer(session, source, title)? else { return Ok(()) };
        self.messages += 1;
        let draft = drafted(object, position.number, self.reader.shape.unit, "", &mut self.notes);
        self.buffers[at].put(Draft { weight, ..draft }, position, &mut self.notes);
        self.place_messages(at)
    }

    fn branch(&mut self, session: Option<String>, pointer: BranchPointer) -> io::Result<()> {
        let Some(at) = self.session_buffer(session, None, None)? else { return Ok(()) };
        let bytes = pointer.name.len() + pointer.head.as_ref().map_or(0, String::len) + 100;
        if self.buffers[at].branches.len() >= MAX_BRANCHES.0 || self.names.1 + bytes > MAX_BRANCHES.1 {
            self.branches_lost += 1;
            return Ok(());
        }
        self.names.1 += bytes;
        self.buffers[at].branches.push(pointer);
        Ok(())
    }

    /// Places the messages of a session, up to one portion.
    fn place_messages(&mut self, at: usize) -> io::Result<()> {
        let mut session_buffer = std::mem::take(&mut self.buffers[at]);
        let done = self.advance(&mut session_buffer)?;
        self.buffers[at] = session_buffer;
        self.pending = (!done).then_some(at);
        Ok(())
    }

    /// Returns the index of a session, which is added if it is new. `None` if there are too many sessions.
    pub(super) fn session_buffer(
        &mut self,
        session: Option<String>,
        source: Option<String>,
        title: Option<String>,
    ) -> io::Result<Option<usize>> {
        if let Some(at) = self.by_session.get(&session).copied() {
            return Ok(Some(at));
        }
        let mut facts = match source {
            // Files that this program exported state this in their first line, and every message names its parent.
            Some(source) => Facts { source: Some(source), title, tree: true },
            None => self.facts_of(&session)?,
        };
        if let Some(title) = facts.title.as_mut().filter(|title| title.len() > MAX_TITLE_BYTES) {
            title.truncate(title.floor_char_boundary(MAX_TITLE_BYTES));
            self.notes
                .skip(self.place(self.number), format!("the session's title is cut after {MAX_TITLE_BYTES} bytes"));
        }
        let length = |name: &Option<String>| name.as_ref().map_or(0, String::len);
        self.names.0 += length(&session) + length(&facts.source) + length(&facts.title);
        if self.buffers.len() >= MAX_SESSIONS.0 || self.names.0 > MAX_SESSIONS.1 {
            let why = format!(
                "skipped: pleach reads {} sessions and {} MiB of their names from one file; split it for the rest",
                MAX_SESSIONS.0,
                MAX_SESSIONS.1 >> 20
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

    /// Returns the facts that the whole file states about a session.
    #[allow(clippy::ref_option, reason = "used as the key of a map")]
    fn facts_of(&mut self, session: &Option<String>) -> io::Result<Facts> {
        if self.facts.is_none() {
            self.facts = Some(survey::of(&mut self.source, self.reader.shape)?);
        }
        Ok(self.facts.as_mut().and_then(|facts| facts.remove(session)).unwrap_or_default())
    }

    /// Ends a session, up to one portion, or the file after the last session.
    fn finish(&mut self, at: usize) -> io::Result<()> {
        let Some(session_buffer) = self.buffers.get_mut(at) else {
            if self.branches_lost > 0 {
                let why = format!(
                    "{} branches were skipped: pleach reads {} branches of a session and {} MiB of their names",
                    self.branches_lost,
                    MAX_BRANCHES.0,
                    MAX_BRANCHES.1 >> 20
                );
                self.notes.skip("file", why);
            }
            self.end_bundle();
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
        // Files that this program exported name their current message. In other files the last message is current.
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
        "it is {} bytes long, more than pleach reads of one message; its longest texts were cut, and {} bytes were \
        kept",
        element.size,
        element.bytes.len()
    )
}

/// Returns a text without the separators around a value.
pub(super) fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}' || c == '\0')
}

/// Parses a branch as this program exports it.
fn pointer(object: &mut Object) -> Option<BranchPointer> {
    if !object.contains_key("head") {
        return None;
    }
    let name = json::text(object, "branch")?;
    let archived = json::truth(object, "archived").unwrap_or(false);
    let current = json::truth(object, "current").unwrap_or(false);
    Some(BranchPointer { name, head: json::id(object, "head"), archived, current })
}

fn unknown_object(object: &Object) -> String {
    if object.contains_key("chat_messages") {
        return "it looks like a Claude export, which is not supported yet".into();
    }
    if object.contains_key("sessionId") || object.contains_key("parentUuid") {
        return "it looks like a session log of a coding agent, which is not supported yet".into();
    }
    let keys: Vec<String> = object.keys().take(5).map(|key| key.chars().take(30).collect()).collect();
    format!("an object with the fields {keys:?} is neither a message nor a conversation")
}
