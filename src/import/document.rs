//! Reads one conversation of any size that is a separate JSON value (a list of messages, or a `ChatGPT` export's
//! mapping): its messages are read one by one from their offsets in the file.
//! Not for: files of single messages (`lines`), or the fields around a conversation's messages (`outline`).

use super::chatgpt::{self, Nodes};
use super::json::{self, Object};
use super::lines::{MAX_MESSAGES, OPENAI_FORMAT, Stream, trimmed};
use super::message::Draft;
use super::outline::{Found, Outline};
use super::reader::{Reader, Shape, drafted};
use super::session_buffer::SessionBuffer;
use super::source::Source;
use super::split::{self, Element, KeptPart, Separator};
use super::survey;
use super::telegram::{self, Chat};
use super::tree_builder::{FilePosition, TreeBuilder};
use crate::domain::base::Fields;
use crate::domain::conversation::Piece;
use memchr::memmem;
use serde_json::Value;
use std::io::{self, Cursor};

/// The state of reading one conversation.
pub(super) struct Document {
    /// The reader to continue with after the conversation.
    outer: Reader,
    back: ResumePoint,
    place: String,
    session_buffer: SessionBuffer,
    /// The id of the current message, if the file names one.
    current: Option<String>,
    /// The known facts about a Telegram chat.
    chat: Option<Chat>,
    messages: u32,
    number: u64,
    /// Whether all messages read so far are placed.
    settled: bool,
    /// Whether nothing is left to read.
    over: bool,
    /// Whether the conversation breaks off.
    truncated: bool,
}

/// The place to continue at after a conversation.
enum ResumePoint {
    /// In this source; the conversation is in memory.
    To(Box<Source>),
    /// At this offset of the same source.
    At(u64),
}

/// The fields around a conversation's messages.
struct Header {
    object: Object,
    separator: Separator,
    /// The offset of the first message.
    start: u64,
    closed: bool,
    dropped: u64,
}

impl Stream {
    /// Begins to read a conversation if the element is a conversation. Otherwise returns the element.
    pub(super) fn enter(&mut self, mut element: Element, place: &str) -> io::Result<Option<Element>> {
        if !may_be_one(&element) {
            return Ok(Some(element));
        }
        let after = self.source.place();
        let mut outline = Outline::default();
        let (header, back) = if element.kept == KeptPart::Whole {
            outline.feed(&element.bytes);
            let Some(header) = header(outline.finish()) else { return Ok(Some(element)) };
            let memory = Source::new(Box::new(Cursor::new(std::mem::take(&mut element.bytes))))?;
            (header, ResumePoint::To(Box::new(std::mem::replace(&mut self.source, memory))))
        } else {
            self.source.seek_to(element.place)?;
            self.source.end_at(Some(element.place + element.size));
            loop {
                let fresh = self.source.next()?;
                if fresh.is_empty() {
                    break;
                }
                outline.feed(fresh);
                let count = fresh.len();
                self.source.pass(count);
            }
            let Some(mut header) = header(outline.finish()) else {
                self.source.end_at(None);
                self.source.seek_to(after)?;
                return Ok(Some(element));
            };
            header.start += element.place;
            (header, ResumePoint::At(after))
        };
        self.open(header, back, place)?;
        Ok(None)
    }

    fn open(&mut self, header: Header, back: ResumePoint, place: &str) -> io::Result<()> {
        let Header { mut object, separator, start, closed, dropped } = header;
        if dropped > 0 {
            let why = format!("{dropped} bytes around its messages were cut");
            self.notes.skip(place, why);
        }
        let mapping = separator == Separator::Object;
        let unit = if mapping { "node" } else { "message" };
        let shape = Shape { separator, element: unit, unit, start, account: false };
        let prefix = format!("{place}, ");
        let (mut chat, mut nodes) = (None, None);
        let session_buffer = if mapping {
            let session_buffer = self.mapped(&mut object, &prefix, place);
            nodes = Some(Nodes::of(&mut self.source, start, &session_buffer.tree_builder.prefix, &mut self.notes)?);
            session_buffer
        } else if self.reader.shape.account || telegram::is_chat(&object) {
            let telegram::ChatFacts { source, title, chat: read } = telegram::about(&mut object);
            chat = Some(read);
            let prefix = if self.reader.shape.account { format!("{place} ({title}), ") } else { prefix };
            let tree_builder = TreeBuilder::new(unit, &prefix, false);
            SessionBuffer {
                source: Some(source),
                title: Some(title),
                tree_builder,
                format: Some(telegram::FORMAT),
                ..SessionBuffer::default()
            }
        } else {
            let session = json::id(&mut object, "id").or_else(|| json::id(&mut object, "conversation_id"));
            let title = json::text(&mut object, "title").or_else(|| json::text(&mut object, "name"));
            let tree_builder = TreeBuilder::new(unit, &prefix, survey::is_tree(&mut self.source, shape)?);
            SessionBuffer { session, title, tree_builder, format: Some(OPENAI_FORMAT), ..SessionBuffer::default() }
        };
        self.format.get_or_insert(session_buffer.format.unwrap_or(OPENAI_FORMAT));
        self.source.seek_to(start)?;
        let outer = std::mem::replace(&mut self.reader, Reader { shape, inside: true, nodes });
        let current = if mapping { json::id(&mut object, "current_node") } else { None };
        self.document = Some(Box::new(Document {
            outer,
            back,
            place: place.to_owned(),
            session_buffer,
            current,
            chat,
            messages: 0,
            number: 0,
            settled: true,
            over: false,
            truncated: !closed,
        }));
        Ok(())
    }

    /// Makes the state for a `ChatGPT` conversation with these fields.
    fn mapped(&self, object: &mut Object, prefix: &str, place: &str) -> SessionBuffer {
        let id = json::id(object, "conversation_id").or_else(|| json::id(object, "id"));
        let title = json::text(object, "title").filter(|title| !title.trim().is_empty());
        let title = title.unwrap_or_else(|| if self.stem.is_empty() { "Imported".into() } else { self.stem.clone() });
        let prefix = id.as_ref().map_or_else(|| prefix.to_owned(), |id| format!("{place} ({id}), "));
        let source = id.map(|id| format!("{}:{id}", chatgpt::FORMAT));
        let tree_builder = TreeBuilder::new("node", &prefix, true);
        SessionBuffer {
            source,
            title: Some(title),
            tree_builder,
            format: Some(chatgpt::FORMAT),
            ..SessionBuffer::default()
        }
    }

    /// Reads one message of the conversation, places messages that were read, or ends the conversation.
    pub(super) fn step_document(&mut self, mut document: Box<Document>) -> io::Result<()> {
        if !document.settled {
            document.settled = self.advance(&mut document.session_buffer)?;
        } else if !document.over {
            self.read_document(&mut document)?;
        } else if self.end(&mut document.session_buffer)? {
            return self.leave(*document);
        }
        self.document = Some(document);
        Ok(())
    }

    fn read_document(&mut self, document: &mut Document) -> io::Result<()> {
        let draft = if let Some(nodes) = &mut self.reader.nodes {
            let Some(position) = nodes.next() else {
                document.over = true;
                return Ok(());
            };
            nodes
                .draft(&mut self.source, position, &document.session_buffer.tree_builder.prefix, &mut self.notes)?
                .map(|draft| (draft, position))
        } else {
            if self.messages + document.messages >= MAX_MESSAGES {
                let more = split::count(&mut self.source, Separator::Array)?;
                if more > 0 {
                    let why = format!(
                        "{more} messages were skipped: pleach reads {MAX_MESSAGES}; split the file for the rest"
                    );
                    let prefix = &document.session_buffer.tree_builder.prefix;
                    self.notes.skip(format!("{prefix}message {}", document.number + 1), why);
                }
                document.over = true;
                return Ok(());
            }
            let Some(element) = split::next(&mut self.source, Separator::Array)? else {
                document.over = true;
                return Ok(());
            };
            document.number += 1;
            self.draft_document(&element, document).map(|draft| {
                let draft = Draft { weight: element.weight, ..draft };
                (draft, FilePosition { place: element.place, number: document.number })
            })
        };
        let Some((draft, position)) = draft else { return Ok(()) };
        document.messages += 1;
        document.session_buffer.put(draft, position, &mut self.notes);
        document.settled = false;
        Ok(())
    }

    fn draft_document(&mut self, element: &Element, document: &mut Document) -> Option<Draft> {
        let prefix = &document.session_buffer.tree_builder.prefix;
        let place = format!("{prefix}message {}", document.number);
        match self.value(element, &place)? {
            Value::Object(object) => match &mut document.chat {
                Some(chat) => chat.draft(object, document.number).map_err(|why| self.notes.skip(place, why)).ok(),
                None => Some(drafted(object, document.number, "message", prefix, &mut self.notes)),
            },
            other => {
                self.notes.skip(place, format!("it is {}, not an object", json::kind(&other)));
                None
            }
        }
    }

    fn leave(&mut self, document: Document) -> io::Result<()> {
        let Document { outer, back, place, session_buffer, current, truncated, .. } = document;
        self.reader = outer;
        match back {
            ResumePoint::To(source) => self.source = *source,
            ResumePoint::At(after) => {
                self.source.end_at(None);
                self.source.seek_to(after)?;
            }
        }
        if truncated {
            self.notes.skip(&*place, "the file is cut off; the messages before that point were read");
        }
        let Some(session) = session_buffer.begun else {
            if session_buffer.format == Some(chatgpt::FORMAT) {
                self.notes.skip(place, "the conversation has no messages");
            }
            return Ok(());
        };
        let current =
            current.and_then(|id| session_buffer.tree_builder.number(&id)).or(session_buffer.tree_builder.current);
        let current = current.or_else(|| session_buffer.tree_builder.count.checked_sub(1));
        self.out.push_back(Piece::End { session, current, branches: Vec::new() });
        Ok(())
    }
}

impl SessionBuffer {
    /// Identifies a conversation of an export that has no id by its first node.
    pub(super) fn name_by_first(&mut self) {
        if self.format == Some(chatgpt::FORMAT)
            && self.source.is_none()
            && let Some(first) = self.tree_builder.ready.first()
        {
            let hash = Fields::new("chatgpt").text(&first.record.id).finish().to_string();
            self.source = Some(format!("{}:{}", chatgpt::FORMAT, &hash[..20]));
        }
    }
}

/// Whether the element may be a conversation: it contains the name of such a field somewhere.
fn may_be_one(element: &Element) -> bool {
    let has = |word: &str| memmem::find(&element.bytes, word.as_bytes()).is_some();
    element.kept == KeptPart::Nothing || has("\"messages\"") || has("\"mapping\"")
}

/// Returns the header of a conversation, or `None` if the value is not one.
fn header(found: Found) -> Option<Header> {
    let Found { around, dropped, list, closed } = found;
    let (start, separator) = list?;
    let text = String::from_utf8_lossy(&around);
    let Ok(Value::Object(object)) = json::parse(trimmed(&text)) else { return None };
    let there = match separator {
        Separator::Object => object.get("mapping").is_some_and(Value::is_object),
        _ => {
            object.get("messages").is_some_and(Value::is_array) && !object.get("mapping").is_some_and(Value::is_object)
        }
    };
    there.then_some(Header { object, separator, start, closed, dropped })
}
