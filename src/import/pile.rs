//! One session's messages as they arrive: when the session begins, and when finished messages are passed on.
//! Not for: reading messages (`reader`), or their order (`flow`).

use super::beginning::Beginning;
use super::chatgpt;
use super::flow::{FilePosition, Flow};
use super::lines::{LINES, Stream};
use super::notes::Notes;
use super::split;
use super::telegram;
use crate::domain::conversation::record::{BranchPointer, PORTION, Piece};
use std::io;

/// Weight of all sessions' finished messages that may wait to be passed on.
const HELD: u64 = 4 * PORTION;

/// One session's messages as they arrive.
#[derive(Default)]
pub(super) struct Pile {
    pub(super) session: Option<String>,
    pub(super) source: Option<String>,
    pub(super) title: Option<String>,
    /// Its format, if it differs from the file's.
    pub(super) format: Option<&'static str>,
    /// Whether anything in it is readable.
    pub(super) holds: bool,
    /// Its number, once it has begun.
    pub(super) begun: Option<usize>,
    pub(super) flow: Flow,
    pub(super) branches: Vec<BranchPointer>,
}

impl Stream {
    /// Places messages until a portion is full. Returns whether all are placed.
    pub(super) fn advance(&mut self, pile: &mut Pile) -> io::Result<bool> {
        let before = pile.flow.weight;
        let done = pile.flow.run(&mut |spot| self.reader.fetch(&mut self.source, spot))?;
        self.weight += pile.flow.weight - before;
        self.begin(pile)?;
        if pile.flow.is_full() {
            self.flush(pile);
        } else if self.weight > HELD {
            self.flush(pile);
            for at in 0..self.piles.len() {
                let mut other = std::mem::take(&mut self.piles[at]);
                self.flush(&mut other);
                self.piles[at] = other;
            }
        }
        Ok(done)
    }

    /// Ends a session, up to one portion. Returns whether it is complete.
    pub(super) fn end(&mut self, pile: &mut Pile) -> io::Result<bool> {
        let before = pile.flow.weight;
        let done = pile.flow.end(&mut self.notes, &mut |spot| self.reader.fetch(&mut self.source, spot))?;
        self.weight += pile.flow.weight - before;
        self.begin(pile)?;
        self.flush(pile);
        if done {
            self.weight -= std::mem::take(&mut pile.flow.weight);
        }
        Ok(done)
    }

    /// Passes on what is ready.
    fn flush(&mut self, pile: &mut Pile) {
        if let Some(session) = pile.begun.filter(|_| !pile.flow.ready.is_empty()) {
            self.weight -= std::mem::take(&mut pile.flow.weight);
            let records = std::mem::take(&mut pile.flow.ready);
            self.out.push_back(Piece::Records { session, records });
        }
    }

    /// Begins a session once it has content.
    pub(super) fn begin(&mut self, pile: &mut Pile) -> io::Result<()> {
        pile.name_by_first();
        let holds = match pile.format {
            Some(chatgpt::FORMAT | telegram::FORMAT) => !pile.flow.ready.is_empty(),
            _ => pile.source.is_some() || pile.holds || pile.flow.is_full(),
        };
        if pile.begun.is_some() || !holds {
            return Ok(());
        }
        let format = pile.format.or(self.format).unwrap_or(LINES);
        let (session, title) = (pile.session.take(), pile.title.take());
        let nameless = session.is_none() && (pile.source.is_none() || (title.is_none() && self.stem.is_empty()));
        let begun = if nameless { Some(self.beginning(pile)?) } else { None };
        let source = match (&pile.source, &session, &begun) {
            (Some(source), ..) => source.clone(),
            (None, Some(id), _) => format!("{format}:{id}"),
            (None, None, begun) => format!("{format}:{}", begun.as_ref().map_or("", |(hash, _)| hash.as_str())),
        };
        let first = begun.and_then(|(_, first)| first).unwrap_or_else(|| "Imported".into());
        let title = title.or(session).unwrap_or_else(|| if self.stem.is_empty() { first } else { self.stem.clone() });
        // From here on only its presence matters.
        if let Some(source) = &mut pile.source {
            *source = String::new();
        }
        pile.begun = Some(self.sessions);
        self.out.push_back(Piece::Begin { session: self.sessions, source, title });
        self.sessions += 1;
        Ok(())
    }

    /// The beginning of a session without a name: a hash of it, and its first question. Reads its messages once more,
    /// up to the first answer or the limit of messages: a file with only questions may have no end.
    fn beginning(&mut self, pile: &Pile) -> io::Result<(String, Option<String>)> {
        let mut flow = Flow::new("", "", pile.flow.tree);
        let (here, shape) = (self.source.place(), self.reader.shape);
        self.source.go(shape.start)?;
        let (mut hash, mut number, mut notes) = (Beginning::default(), 0, Notes::default());
        let mut over = false;
        while !hash.over {
            let more = !over && number < u64::from(self.most);
            if more && let Some(element) = split::next(&mut self.source, shape.cutting)? {
                number += 1;
                let spot = FilePosition { place: element.place, number };
                let Some(draft) = self.reader.nameless(&element, number) else { continue };
                drop(element);
                flow.put(draft, spot, &mut notes);
            } else {
                over = true;
            }
            loop {
                let fetch = &mut |spot| self.reader.fetch(&mut self.source, spot);
                let done = if over { flow.end(&mut notes, fetch)? } else { flow.run(fetch)? };
                flow.weight = 0;
                if flow.ready.drain(..).any(|placed| hash.add(&placed.record)) || done {
                    break;
                }
            }
            if over {
                break;
            }
        }
        self.source.go(here)?;
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
