//! Reads a file value by value and gives its sessions piece by piece.
//! Not for: cutting a file into values (`split`), what single messages say (`message`), or their order (`flow`, `arrange`).

use super::flow::{FilePosition, Flow};
use super::inside::Inside;
use super::json::{self, Object};
use super::message::Draft;
use super::notes::Notes;
use super::pile::Pile;
use super::reader::{Reader, Shape, bare, drafted, is_message};
use super::shorten::{Shortener, WHOLE};
use super::source::Source;
use super::split::{self, Cutting, Element, Kept};
use super::survey::{self, Facts};
use crate::domain::base::failure::Failure;
use crate::domain::conversation::record::{BranchPointer, Piece, PieceReader, Report};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::io;

pub(super) const LINES: &str = "jsonl";
pub(super) const MESSAGES: &str = "openai";

/// Messages that are read from one file; where each stands is kept in memory.
pub(super) const MESSAGES_MOST: u32 = 800_000;

/// Sessions that are read from one file of single messages, and the bytes of their names.
const SESSIONS_MOST: (usize, usize) = (100_000, 16 << 20);

/// Bytes of a session's title.
const TITLE: usize = 1_000;

/// Branches that are read of one session, and the bytes of what all say.
const BRANCHES_MOST: (usize, usize) = (1_000, 4 << 20);

/// After so many elements, or bytes, without anything that can be read, nothing more is looked for.
const HOPELESS: (u64, u64) = (10_000, 64 << 20);

/// See the module.
pub struct Stream {
    pub(super) source: Source,
    pub(super) reader: Reader,
    file: String,
    pub(super) stem: String,
    pub(super) notes: Notes,
    pub(super) format: Option<&'static str>,
    pub(super) piles: Vec<Pile>,
    /// What is ready of all sessions weighs so much in memory.
    pub(super) weight: u64,
    by_session: HashMap<Option<String>, usize>,
    /// The bytes of the names of sessions and branches.
    names: (usize, usize),
    /// What a look through the whole file told, once that was needed.
    facts: Option<HashMap<Option<String>, Facts>>,
    /// The conversation that is being read.
    pub(super) inside: Option<Box<Inside>>,
    pub(super) out: VecDeque<Piece>,
    /// The pile of which more can be brought to its place.
    pending: Option<usize>,
    /// The pile that ends next, once all was read.
    ending: Option<usize>,
    /// Elements so far.
    number: u64,
    pub(super) messages: u32,
    /// Messages that are read: [`MESSAGES_MOST`].
    pub(super) most: u32,
    pub(super) sessions: usize,
    /// Branches that were left out.
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
    /// Of a file of this name and shape.
    pub(super) fn new(source: Source, shape: Shape, file_name: &str, file: &str) -> Self {
        let base = file_name.rsplit(['/', '\\']).next().unwrap_or_default();
        let stem = base.rsplit_once('.').map_or(base, |(stem, _)| if stem.is_empty() { base } else { stem });
        Self {
            source,
            reader: Reader { shape, inside: false, nodes: None },
            file: file.to_owned(),
            stem: if stem == "-" { String::new() } else { stem.to_owned() },
            notes: Notes::default(),
            format: None,
            piles: Vec::new(),
            weight: 0,
            by_session: HashMap::new(),
            names: (0, 0),
            facts: None,
            inside: None,
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

    /// Reads one element, or goes on with what was read, or ends.
    fn step(&mut self) -> io::Result<()> {
        if let Some(inside) = self.inside.take() {
            return self.step_inside(inside);
        }
        if let Some(at) = self.pending {
            return self.proceed(at);
        }
        if let Some(at) = self.ending {
            return self.finish(at);
        }
        let shape = self.reader.shape;
        let hopeless = self.sessions == 0
            && self.piles.is_empty()
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
            self.ending = Some(0);
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

    /// The JSON of an element, where it is readable.
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
            // What stands for a bad byte is longer than it.
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
        serde_json::from_str(text)
            .map_err(|error| self.notes.skip(place, format!("not readable as JSON: {error}")))
            .ok()
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
            // A bare array of messages and lines without ids are the same to us; only the name differs.
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
        let Some(at) = self.pile(session, source, title)? else { return Ok(()) };
        self.messages += 1;
        let draft = drafted(object, spot.number, self.reader.shape.unit, "", &mut self.notes);
        let pile = &mut self.piles[at];
        pile.holds |= !(draft.record.content.parts.is_empty() && draft.record.hidden);
        pile.flow.put(Draft { weight, ..draft }, spot, &mut self.notes);
        self.proceed(at)
    }

    fn branch(&mut self, session: Option<String>, pointer: BranchPointer) -> io::Result<()> {
        let Some(at) = self.pile(session, None, None)? else { return Ok(()) };
        let bytes = pointer.name.len() + pointer.head.as_ref().map_or(0, String::len) + 100;
        if self.piles[at].branches.len() >= BRANCHES_MOST.0 || self.names.1 + bytes > BRANCHES_MOST.1 {
            self.branches_lost += 1;
            return Ok(());
        }
        self.names.1 += bytes;
        self.piles[at].branches.push(pointer);
        Ok(())
    }

    /// Brings the messages of a pile to their places, as far as one portion goes.
    fn proceed(&mut self, at: usize) -> io::Result<()> {
        let mut pile = std::mem::take(&mut self.piles[at]);
        let done = self.advance(&mut pile)?;
        self.piles[at] = pile;
        self.pending = (!done).then_some(at);
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
        let mut facts = match source {
            // Our own files say it all at once, and every message names its parent.
            Some(source) => Facts { source: Some(source), title, tree: true },
            None => self.told(&session)?,
        };
        if let Some(title) = facts.title.as_mut().filter(|title| title.len() > TITLE) {
            title.truncate(title.floor_char_boundary(TITLE));
            self.notes.skip(self.place(self.number), format!("the session's title is cut after {TITLE} bytes"));
        }
        let length = |name: &Option<String>| name.as_ref().map_or(0, String::len);
        self.names.0 += length(&session) + length(&facts.source) + length(&facts.title);
        if self.piles.len() >= SESSIONS_MOST.0 || self.names.0 > SESSIONS_MOST.1 {
            let why = format!(
                "skipped: pleach reads {} sessions and {} MiB of their names from one file; split it for the rest",
                SESSIONS_MOST.0,
                SESSIONS_MOST.1 >> 20
            );
            self.notes.skip(self.place(self.number), why);
            return Ok(None);
        }
        let at = self.piles.len();
        let flow = Flow::new(self.reader.shape.unit, "", facts.tree);
        let (source, title) = (facts.source, facts.title);
        let mut pile = Pile { session: session.clone(), source, title, flow, ..Pile::default() };
        self.begin(&mut pile)?;
        self.piles.push(pile);
        self.by_session.insert(session, at);
        Ok(Some(at))
    }

    /// What the whole file says of a session.
    #[allow(clippy::ref_option, reason = "the key of a map")]
    fn told(&mut self, session: &Option<String>) -> io::Result<Facts> {
        if self.facts.is_none() {
            self.facts = Some(survey::of(&mut self.source, self.reader.shape)?);
        }
        Ok(self.facts.as_mut().and_then(|facts| facts.remove(session)).unwrap_or_default())
    }

    /// Ends a pile, as far as one portion goes, and all after the last one.
    fn finish(&mut self, at: usize) -> io::Result<()> {
        let Some(pile) = self.piles.get_mut(at) else {
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
        let mut pile = std::mem::take(pile);
        if !self.end(&mut pile)? {
            self.piles[at] = pile;
            return Ok(());
        }
        self.ending = Some(at + 1);
        let Some(session) = pile.begun else { return Ok(()) };
        let Pile { flow, branches, .. } = pile;
        // Our own export says where it stands; another file stands at its end.
        let last = flow.count.checked_sub(1).filter(|_| pile.source.is_none());
        let branches = branches.into_iter().map(|pointer| {
            let head = pointer.head.as_ref().and_then(|id| flow.number(id));
            (pointer, head)
        });
        self.out.push_back(Piece::End { session, current: flow.current.or(last), branches: branches.collect() });
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

/// Without what may stand around a value.
pub(super) fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}' || c == '\0')
}

/// A branch, as our own export writes it.
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
