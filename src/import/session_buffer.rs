//! Collects the messages of one session as they arrive, and decides when the session begins and when to pass on
//! finished messages.
//! Not for: reading messages (`reader`), or their order (`tree_builder`).

use super::chatgpt;
use super::fingerprint::Fingerprint;
use super::lines::{JSONL_FORMAT, Stream};
use super::message::Draft;
use super::notes::Notes;
use super::split;
use super::telegram;
use super::tree_builder::{FilePosition, TreeBuilder};
use crate::domain::conversation::record::PORTION;
use crate::domain::conversation::{BranchPointer, Piece};
use std::io;

/// The maximum weight of the finished messages of all sessions that may wait to be passed on.
const MAX_HELD_WEIGHT: u64 = 4 * PORTION;

/// The messages of one session as they arrive.
#[derive(Default)]
pub(super) struct SessionBuffer {
    pub(super) session: Option<String>,
    pub(super) source: Option<String>,
    pub(super) title: Option<String>,
    /// The session's format, if it differs from the file's.
    pub(super) format: Option<&'static str>,
    /// Whether anything in the session is readable.
    pub(super) holds: bool,
    /// The session's number, after it has begun.
    pub(super) begun: Option<usize>,
    pub(super) tree_builder: TreeBuilder,
    pub(super) branches: Vec<BranchPointer>,
}

impl SessionBuffer {
    /// Adds the next message of the session.
    pub(super) fn put(&mut self, draft: Draft, position: FilePosition, notes: &mut Notes) {
        self.holds |= !(draft.record.content.parts.is_empty() && draft.record.hidden);
        self.tree_builder.put(draft, position, notes);
    }
}

impl Stream {
    /// Places messages until a portion is full. Returns whether all are placed.
    pub(super) fn advance(&mut self, session_buffer: &mut SessionBuffer) -> io::Result<bool> {
        let before = session_buffer.tree_builder.weight;
        let done = session_buffer.tree_builder.run(&mut |position| self.reader.fetch(&mut self.source, position))?;
        self.weight += session_buffer.tree_builder.weight - before;
        self.begin(session_buffer)?;
        if session_buffer.tree_builder.is_full() {
            self.flush(session_buffer);
        } else if self.weight > MAX_HELD_WEIGHT {
            self.flush(session_buffer);
            for at in 0..self.buffers.len() {
                let mut other = std::mem::take(&mut self.buffers[at]);
                self.flush(&mut other);
                self.buffers[at] = other;
            }
        }
        Ok(done)
    }

    /// Ends a session, up to one portion. Returns whether it is complete.
    pub(super) fn end(&mut self, session_buffer: &mut SessionBuffer) -> io::Result<bool> {
        let before = session_buffer.tree_builder.weight;
        let done = session_buffer
            .tree_builder
            .end(&mut self.notes, &mut |position| self.reader.fetch(&mut self.source, position))?;
        self.weight += session_buffer.tree_builder.weight - before;
        self.begin(session_buffer)?;
        self.flush(session_buffer);
        if done {
            self.weight -= std::mem::take(&mut session_buffer.tree_builder.weight);
        }
        Ok(done)
    }

    /// Passes on the messages that are ready.
    fn flush(&mut self, session_buffer: &mut SessionBuffer) {
        if let Some(session) = session_buffer.begun.filter(|_| !session_buffer.tree_builder.ready.is_empty()) {
            self.weight -= std::mem::take(&mut session_buffer.tree_builder.weight);
            let records = std::mem::take(&mut session_buffer.tree_builder.ready);
            self.out.push_back(Piece::Records { session, records });
        }
    }

    /// Begins a session as soon as it has content.
    pub(super) fn begin(&mut self, session_buffer: &mut SessionBuffer) -> io::Result<()> {
        session_buffer.name_by_first();
        let holds = match session_buffer.format {
            Some(chatgpt::FORMAT | telegram::FORMAT) => !session_buffer.tree_builder.ready.is_empty(),
            _ => session_buffer.source.is_some() || session_buffer.holds || session_buffer.tree_builder.is_full(),
        };
        if session_buffer.begun.is_some() || !holds {
            return Ok(());
        }
        let format = session_buffer.format.or(self.format).unwrap_or(JSONL_FORMAT);
        let (session, title) = (session_buffer.session.take(), session_buffer.title.take());
        let nameless =
            session.is_none() && (session_buffer.source.is_none() || (title.is_none() && self.stem.is_empty()));
        let begun = if nameless { Some(self.fingerprint(session_buffer)?) } else { None };
        let source = match (&session_buffer.source, &session, &begun) {
            (Some(source), ..) => source.clone(),
            (None, Some(id), _) => format!("{format}:{id}"),
            (None, None, begun) => format!("{format}:{}", begun.as_ref().map_or("", |(hash, _)| hash.as_str())),
        };
        let first = begun.and_then(|(_, first)| first).unwrap_or_else(|| "Imported".into());
        let title = title.or(session).unwrap_or_else(|| if self.stem.is_empty() { first } else { self.stem.clone() });
        // From here on, only its presence matters.
        if let Some(source) = &mut session_buffer.source {
            *source = String::new();
        }
        session_buffer.begun = Some(self.sessions);
        self.out.push_back(Piece::Begin { session: self.sessions, source, title });
        self.sessions += 1;
        Ok(())
    }

    /// Returns a hash that identifies a session without a name, and the session's first question. Reads its messages
    /// again, up to the first answer or the maximum number of messages, because a file with only questions may have no
    /// end.
    fn fingerprint(&mut self, session_buffer: &SessionBuffer) -> io::Result<(String, Option<String>)> {
        let mut tree_builder = TreeBuilder::new("", "", session_buffer.tree_builder.tree);
        let (here, shape) = (self.source.place(), self.reader.shape);
        self.source.seek_to(shape.start)?;
        let (mut hash, mut number, mut notes) = (Fingerprint::default(), 0, Notes::default());
        let mut over = false;
        while !hash.over {
            let more = !over && number < u64::from(self.most);
            if more && let Some(element) = split::next(&mut self.source, shape.separator)? {
                number += 1;
                let position = FilePosition { place: element.place, number };
                let Some(draft) = self.reader.nameless(&element, number) else { continue };
                drop(element);
                tree_builder.put(draft, position, &mut notes);
            } else {
                over = true;
            }
            loop {
                let fetch = &mut |position| self.reader.fetch(&mut self.source, position);
                let done = if over { tree_builder.end(&mut notes, fetch)? } else { tree_builder.run(fetch)? };
                tree_builder.weight = 0;
                if tree_builder.ready.drain(..).any(|placed| hash.add(&placed.record)) || done {
                    break;
                }
            }
            if over {
                break;
            }
        }
        self.source.seek_to(here)?;
        Ok(hash.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::conversation::record::PieceReader as _;
    use std::io::Cursor;

    #[test]
    fn a_fingerprint_without_an_answer_stops_at_the_message_limit() {
        let known_as = |last: &str| {
            let line = |text: &str| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n");
            let text = (0..30).map(|number| line(&number.to_string())).collect::<String>() + &line(last);
            let mut stream = crate::import::open(Box::new(Cursor::new(text.into_bytes())), "").unwrap();
            stream.most = 20;
            let mut pieces = std::iter::from_fn(|| stream.next().unwrap());
            let begun = pieces.find_map(|piece| match piece {
                Piece::Begin { source, .. } => Some(source),
                _ => None,
            });
            begun.unwrap()
        };
        assert_eq!(known_as("one"), known_as("another"), "what is not read of a file does not say which it is");
    }
}
