//! Reads one conversation that is a JSON value of its own (a list of messages, or a `ChatGPT` export's mapping), of any
//! size: its messages are read one by one from their places in the file.
//! Not for: single messages of a file (`lines`), or the fields around a conversation's messages (`outline`).

use super::chatgpt::{self, Nodes};
use super::flow::{FilePosition, Flow};
use super::json::{self, Object};
use super::lines::{MESSAGES, MESSAGES_MOST, Stream, trimmed};
use super::outline::{Found, Outline};
use super::pile::Pile;
use super::reader::{Reader, Shape, drafted};
use super::source::Source;
use super::split::{self, Cutting, Element, Kept};
use super::survey;
use super::telegram::{self, Chat};
use crate::domain::base::hash::Fields;
use crate::domain::conversation::record::Piece;
use memchr::memmem;
use serde_json::Value;
use std::io::{self, Cursor};

/// A conversation being read.
pub(super) struct Inside {
    /// The reader to continue with after it.
    outer: Reader,
    back: Back,
    place: String,
    pile: Pile,
    /// The id of the current message, if given.
    current: Option<String>,
    /// What is known of a chat of Telegram.
    chat: Option<Chat>,
    messages: u32,
    number: u64,
    /// Everything read so far is placed.
    settled: bool,
    /// Nothing remains to be read.
    over: bool,
    /// The conversation breaks off.
    torn: bool,
}

/// Where to continue after a conversation.
enum Back {
    /// In this source, if the conversation is in memory.
    To(Box<Source>),
    /// At this offset of the same source.
    At(u64),
}

/// The fields found around a value's messages.
struct Header {
    object: Object,
    cutting: Cutting,
    /// Offset of its first message.
    start: u64,
    closed: bool,
    dropped: u64,
}

impl Stream {
    /// Begins to read a conversation if this element is one; otherwise returns the element.
    pub(super) fn enter(&mut self, mut element: Element, place: &str) -> io::Result<Option<Element>> {
        if !may_be_one(&element) {
            return Ok(Some(element));
        }
        let after = self.source.place();
        let mut outline = Outline::default();
        let (header, back) = if element.kept == Kept::Whole {
            outline.feed(&element.bytes);
            let Some(header) = header(outline.finish()) else { return Ok(Some(element)) };
            let memory = Source::new(Box::new(Cursor::new(std::mem::take(&mut element.bytes))))?;
            (header, Back::To(Box::new(std::mem::replace(&mut self.source, memory))))
        } else {
            self.source.go(element.place)?;
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
                self.source.go(after)?;
                return Ok(Some(element));
            };
            header.start += element.place;
            (header, Back::At(after))
        };
        self.open(header, back, place)?;
        Ok(None)
    }

    fn open(&mut self, header: Header, back: Back, place: &str) -> io::Result<()> {
        let Header { mut object, cutting, start, closed, dropped } = header;
        if dropped > 0 {
            let why = format!("{dropped} bytes around its messages were cut");
            self.notes.skip(place, why);
        }
        let mapping = cutting == Cutting::Object;
        let unit = if mapping { "node" } else { "message" };
        let shape = Shape { cutting, element: unit, unit, start, account: false };
        let prefix = format!("{place}, ");
        let (mut chat, mut nodes) = (None, None);
        let pile = if mapping {
            let pile = self.mapped(&mut object, &prefix, place);
            nodes = Some(Nodes::of(&mut self.source, start, &pile.flow.prefix, &mut self.notes)?);
            pile
        } else if self.reader.shape.account || telegram::is_chat(&object) {
            let telegram::About { source, title, chat: read } = telegram::about(&mut object);
            chat = Some(read);
            let prefix = if self.reader.shape.account { format!("{place} ({title}), ") } else { prefix };
            let flow = Flow::new(unit, &prefix, false);
            Pile { source: Some(source), title: Some(title), flow, format: Some(telegram::FORMAT), ..Pile::default() }
        } else {
            let session = json::id(&mut object, "id").or_else(|| json::id(&mut object, "conversation_id"));
            let title = json::text(&mut object, "title").or_else(|| json::text(&mut object, "name"));
            let flow = Flow::new(unit, &prefix, survey::is_tree(&mut self.source, shape)?);
            Pile { session, title, flow, format: Some(MESSAGES), ..Pile::default() }
        };
        self.format.get_or_insert(pile.format.unwrap_or(MESSAGES));
        self.source.go(start)?;
        let outer = std::mem::replace(&mut self.reader, Reader { shape, inside: true, nodes });
        let current = if mapping { json::id(&mut object, "current_node") } else { None };
        self.inside = Some(Box::new(Inside {
            outer,
            back,
            place: place.to_owned(),
            pile,
            current,
            chat,
            messages: 0,
            number: 0,
            settled: true,
            over: false,
            torn: !closed,
        }));
        Ok(())
    }

    /// The fields of a `ChatGPT` conversation.
    fn mapped(&self, object: &mut Object, prefix: &str, place: &str) -> Pile {
        let id = json::id(object, "conversation_id").or_else(|| json::id(object, "id"));
        let title = json::text(object, "title").filter(|title| !title.trim().is_empty());
        let title = title.unwrap_or_else(|| if self.stem.is_empty() { "Imported".into() } else { self.stem.clone() });
        let prefix = id.as_ref().map_or_else(|| prefix.to_owned(), |id| format!("{place} ({id}), "));
        let source = id.map(|id| format!("{}:{id}", chatgpt::FORMAT));
        let flow = Flow::new("node", &prefix, true);
        Pile { source, title: Some(title), flow, format: Some(chatgpt::FORMAT), ..Pile::default() }
    }

    /// Reads one message of the conversation, or places those that were read, or ends the conversation.
    pub(super) fn step_inside(&mut self, mut inside: Box<Inside>) -> io::Result<()> {
        if !inside.settled {
            inside.settled = self.advance(&mut inside.pile)?;
        } else if !inside.over {
            self.read_inside(&mut inside)?;
        } else if self.end(&mut inside.pile)? {
            return self.leave(*inside);
        }
        self.inside = Some(inside);
        Ok(())
    }

    fn read_inside(&mut self, inside: &mut Inside) -> io::Result<()> {
        let draft = if let Some(nodes) = &mut self.reader.nodes {
            let Some(spot) = nodes.next() else {
                inside.over = true;
                return Ok(());
            };
            nodes.draft(&mut self.source, spot, &inside.pile.flow.prefix, &mut self.notes)?.map(|draft| (draft, spot))
        } else {
            if self.messages + inside.messages >= MESSAGES_MOST {
                let more = split::count(&mut self.source, Cutting::Array)?;
                if more > 0 {
                    let why = format!(
                        "{more} messages were skipped: pleach reads {MESSAGES_MOST}; split the \
                        file for the rest"
                    );
                    self.notes.skip(format!("{}message {}", inside.pile.flow.prefix, inside.number + 1), why);
                }
                inside.over = true;
                return Ok(());
            }
            let Some(element) = split::next(&mut self.source, Cutting::Array)? else {
                inside.over = true;
                return Ok(());
            };
            inside.number += 1;
            self.draft_inside(&element, inside).map(|draft| {
                let draft = super::message::Draft { weight: element.weight, ..draft };
                (draft, FilePosition { place: element.place, number: inside.number })
            })
        };
        let Some((draft, spot)) = draft else { return Ok(()) };
        inside.messages += 1;
        inside.pile.holds |= !(draft.record.content.parts.is_empty() && draft.record.hidden);
        inside.pile.flow.put(draft, spot, &mut self.notes);
        inside.settled = false;
        Ok(())
    }

    fn draft_inside(&mut self, element: &Element, inside: &mut Inside) -> Option<super::message::Draft> {
        let prefix = &inside.pile.flow.prefix;
        let place = format!("{prefix}message {}", inside.number);
        match self.value(element, &place)? {
            Value::Object(object) => match &mut inside.chat {
                Some(chat) => chat.draft(object, inside.number).map_err(|why| self.notes.skip(place, why)).ok(),
                None => Some(drafted(object, inside.number, "message", prefix, &mut self.notes)),
            },
            other => {
                self.notes.skip(place, format!("it is {}, not an object", json::kind(&other)));
                None
            }
        }
    }

    fn leave(&mut self, inside: Inside) -> io::Result<()> {
        let Inside { outer, back, place, pile, current, torn, .. } = inside;
        self.reader = outer;
        match back {
            Back::To(source) => self.source = *source,
            Back::At(after) => {
                self.source.end_at(None);
                self.source.go(after)?;
            }
        }
        if torn {
            self.notes.skip(&*place, "the file breaks off; the messages before that point were read");
        }
        let Some(session) = pile.begun else {
            if pile.format == Some(chatgpt::FORMAT) {
                self.notes.skip(place, "the conversation has no messages");
            }
            return Ok(());
        };
        let current = current.and_then(|id| pile.flow.number(&id)).or(pile.flow.current);
        let current = current.or_else(|| pile.flow.count.checked_sub(1));
        self.out.push_back(Piece::End { session, current, branches: Vec::new() });
        Ok(())
    }
}

impl Pile {
    /// Identifies a conversation of an export without an id by its first node.
    pub(super) fn name_by_first(&mut self) {
        if self.format == Some(chatgpt::FORMAT)
            && self.source.is_none()
            && let Some(first) = self.flow.ready.first()
        {
            let hash = Fields::new("chatgpt").text(&first.record.id).finish().to_string();
            self.source = Some(format!("{}:{}", chatgpt::FORMAT, &hash[..20]));
        }
    }
}

/// Whether the element may be a conversation: an object with such a field somewhere.
fn may_be_one(element: &Element) -> bool {
    let has = |word: &str| memmem::find(&element.bytes, word.as_bytes()).is_some();
    element.kept == Kept::Nothing || has("\"messages\"") || has("\"mapping\"")
}

/// `None` if it is not a conversation.
fn header(found: Found) -> Option<Header> {
    let Found { around, dropped, list, closed } = found;
    let (start, cutting) = list?;
    let text = String::from_utf8_lossy(&around);
    let Ok(Value::Object(object)) = json::parse(trimmed(&text)) else { return None };
    let there = match cutting {
        Cutting::Object => object.get("mapping").is_some_and(Value::is_object),
        _ => {
            object.get("messages").is_some_and(Value::is_array) && !object.get("mapping").is_some_and(Value::is_object)
        }
    };
    there.then_some(Header { object, cutting, start, closed, dropped })
}
