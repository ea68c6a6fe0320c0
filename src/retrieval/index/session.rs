//! The index of one session: data about each message and passage, and the postings in segments. The index grows one
//! message at a time.
//! Not for: which messages a branch may find (`scope`), scores (`search`), or texts (none are kept).

use super::codec::Reader;
use super::passages::{estimate, passages};
use super::segment::{SEGMENT_PASSAGES, Segment, Source};
use super::words::{Analyzer, Term, hash, words_of};
use crate::domain::base::Hash;
use crate::domain::base::varint::put;
use crate::domain::conversation::Role;
use crate::retrieval::RetrievalError;
use crate::retrieval::hints::marks;
use std::collections::HashMap;
use std::ops::Range;

/// Version of the byte format and of the conversion of words to terms; any other version requires a rebuild.
const VERSION: u64 = 1;
/// The speaker of a message without a known name.
pub const NOBODY: u16 = u16::MAX;

/// A message to be indexed.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The node's key.
    pub key: Hash,
    /// The role of the speaker.
    pub role: Role,
    /// The name of the speaker, if known.
    pub speaker: Option<&'a str>,
    /// Time in seconds since 1970, if known.
    pub at: Option<i64>,
    pub lane: u32,
    pub text: &'a str,
}

/// An indexed message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexedMessage {
    /// The node's key.
    pub key: Hash,
    /// Time in seconds since 1970; `i64::MIN` if unknown.
    pub at: i64,
    pub lane: u32,
    /// Number of its first passage.
    pub first: u32,
    /// Number of passages; 0 for an empty message.
    pub passages: u16,
    /// Number of its speaker, or [`NOBODY`].
    pub speaker: u16,
    /// Estimated tokens, at most 65,535.
    pub tokens: u16,
    /// The role of the speaker.
    pub role: Role,
}

/// A speaker: the hash of the name and the terms of its words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Speaker {
    /// Hash of the whole name.
    pub name: Term,
    /// Terms of its words.
    pub terms: Vec<Term>,
}

/// A sealed segment as stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sealed {
    /// The keys of the messages whose words are in it.
    pub keys: Vec<Hash>,
    /// Messages, lengths, and speakers.
    pub header: Vec<u8>,
    /// Each term's postings, sorted by term.
    pub lists: Vec<(Term, Vec<u8>)>,
}

/// The open segment, stored so that it can be resumed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenSegment {
    pub passages: u32,
    /// The keys of the messages whose words are in it.
    pub keys: Vec<Hash>,
    pub bytes: Vec<u8>,
}

/// The index of one session.
#[derive(Default)]
pub struct Index {
    analyzer: Analyzer,
    messages: Vec<IndexedMessage>,
    by_key: HashMap<Hash, u32>,
    lengths: Vec<u16>,
    segments: Vec<Segment>,
    /// Number of the first message of each segment.
    starts: Vec<u32>,
    speakers: Vec<Speaker>,
}

impl Index {
    /// Creates an empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a message, unless its key is known, and returns its number.
    pub fn add(&mut self, entry: &Entry<'_>) -> u32 {
        if let Some(&known) = self.by_key.get(&entry.key) {
            return known;
        }
        let number = small(self.messages.len());
        if self.segments.last().is_none_or(|last| last.is_sealed() || last.passages >= SEGMENT_PASSAGES) {
            self.seal();
            self.segments.push(Segment::open(small(self.lengths.len())));
            self.starts.push(number);
        }
        let speaker = self.speaker(entry.speaker);
        let first = small(self.lengths.len());
        let spans = passages(entry.text);
        for span in &spans {
            let mut terms = self.analyzer.terms(&entry.text[span.clone()]);
            if let Some(speaker) = self.speakers.get(usize::from(speaker)) {
                terms.extend_from_slice(&speaker.terms);
            }
            self.lengths.push(u16::try_from(terms.len()).unwrap_or(u16::MAX));
            terms.extend(marks(&entry.text[span.clone()]));
            if let Some(open) = self.segments.last_mut() {
                open.add(terms);
            }
        }
        self.messages.push(IndexedMessage {
            key: entry.key,
            at: entry.at.unwrap_or(i64::MIN),
            lane: entry.lane,
            first,
            passages: u16::try_from(spans.len()).unwrap_or(u16::MAX),
            speaker,
            tokens: u16::try_from(estimate(entry.text)).unwrap_or(u16::MAX),
            role: entry.role,
        });
        self.by_key.insert(entry.key, number);
        number
    }

    fn speaker(&mut self, name: Option<&str>) -> u16 {
        let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) else { return NOBODY };
        let id = hash(&name.to_lowercase());
        if let Some(at) = self.speakers.iter().position(|speaker| speaker.name == id) {
            return u16::try_from(at).unwrap_or(NOBODY);
        }
        if self.speakers.len() >= usize::from(NOBODY) {
            return NOBODY;
        }
        let terms = words_of(name).flat_map(|word| self.analyzer.terms(word)).collect();
        self.speakers.push(Speaker { name: id, terms });
        u16::try_from(self.speakers.len() - 1).unwrap_or(NOBODY)
    }

    /// Seals the open segment, if there is one.
    pub fn seal(&mut self) {
        if let Some(last) = self.segments.last_mut() {
            last.seal();
        }
    }

    /// Returns the number of segments, including the open one.
    pub fn segments(&self) -> u32 {
        small(self.segments.len())
    }

    /// Returns a sealed segment for the store; `None` if `number` is open or unknown.
    pub fn sealed(&self, number: u32) -> Option<Sealed> {
        let segment = self.segments.get(number as usize).filter(|segment| segment.is_sealed())?;
        Some(Sealed { keys: self.keys_with_text(number), header: self.header(number)?, lists: segment.lists() })
    }

    /// Drops a sealed segment's postings from memory once the store has them.
    pub fn forget(&mut self, number: u32) {
        if let Some(segment) = self.segments.get_mut(number as usize) {
            segment.forget();
        }
    }

    /// Adds the next sealed segment from the store by its header alone; its postings are read from the [`Source`] on
    /// demand.
    ///
    /// # Errors
    /// If the header cannot be read, has another version, or does not follow the current segments; nothing is changed
    /// then.
    pub fn attach(&mut self, header: &[u8]) -> Result<(), RetrievalError> {
        let header_data = read_header(header)?;
        if header_data.first != small(self.lengths.len()) || header_data.start != small(self.messages.len()) {
            return Err(RetrievalError::Damaged("its segments are not consecutive"));
        }
        self.seal();
        self.segments.push(Segment::stored(header_data.first, small(header_data.lengths.len())));
        self.starts.push(header_data.start);
        let map: Vec<u16> = header_data.speakers.into_iter().map(|speaker| self.merge(speaker)).collect();
        for mut known in header_data.messages {
            known.speaker = map.get(usize::from(known.speaker)).copied().unwrap_or(NOBODY);
            if known.key != Hash::default() {
                self.by_key.insert(known.key, small(self.messages.len()));
            }
            self.messages.push(known);
        }
        self.lengths.extend(header_data.lengths);
        Ok(())
    }

    /// Returns the open segment: its passages, the messages whose words are in it, and the bytes that [`Index::resume`]
    /// continues from. `None` if the last segment is sealed.
    pub fn tail(&self) -> Option<OpenSegment> {
        let number = self.segments.len().checked_sub(1)?;
        let segment = &self.segments[number];
        if segment.is_sealed() {
            return None;
        }
        let number = small(number);
        let header = self.header(number)?;
        let mut bytes = Vec::with_capacity(header.len() + segment.bytes());
        put(&mut bytes, header.len() as u64);
        bytes.extend_from_slice(&header);
        segment.write_open(&mut bytes);
        Some(OpenSegment { passages: segment.passages, keys: self.keys_with_text(number), bytes })
    }

    /// Returns the numbers of the messages of a segment.
    fn messages_of(&self, number: u32) -> Option<Range<usize>> {
        let (at, start) = (number as usize, *self.starts.get(number as usize)?);
        let end = self.starts.get(at + 1).copied().unwrap_or_else(|| self.messages());
        Some(start as usize..end as usize)
    }

    /// Returns the keys of the messages whose words are in a segment.
    fn keys_with_text(&self, number: u32) -> Vec<Hash> {
        let messages = &self.messages[self.messages_of(number).unwrap_or_default()];
        messages.iter().filter(|known| known.passages > 0).map(|known| known.key).collect()
    }

    /// Returns the number of passages in the open segment.
    pub fn growing(&self) -> u32 {
        self.segments.last().filter(|last| !last.is_sealed()).map_or(0, |last| last.passages)
    }

    /// Continues from a stored open segment, after the segments before it.
    ///
    /// # Errors
    /// If the bytes cannot be read or do not follow the current segments; nothing is changed then.
    pub fn resume(&mut self, bytes: &[u8]) -> Result<(), RetrievalError> {
        let mut reader = Reader::new(bytes);
        let length = reader.small()? as usize;
        let header = reader.take(length)?;
        let header_data = read_header(header)?;
        let segment = Segment::read_open(header_data.first, small(header_data.lengths.len()), &mut reader)?;
        if !reader.is_empty() {
            return Err(RetrievalError::Damaged("data follows its end"));
        }
        self.attach(header)?;
        if let Some(last) = self.segments.last_mut() {
            *last = segment;
        }
        Ok(())
    }

    fn merge(&mut self, speaker: Speaker) -> u16 {
        let at = self.speakers.iter().position(|known| known.name == speaker.name).unwrap_or_else(|| {
            self.speakers.push(speaker);
            self.speakers.len() - 1
        });
        u16::try_from(at).unwrap_or(NOBODY)
    }

    /// Returns a message's number, by its key.
    pub fn number(&self, key: &Hash) -> Option<u32> {
        self.by_key.get(key).copied()
    }

    /// Returns the message with this number.
    pub fn known(&self, number: u32) -> Option<&IndexedMessage> {
        self.messages.get(number as usize)
    }

    /// Returns the number of messages.
    pub fn messages(&self) -> u32 {
        small(self.messages.len())
    }

    /// Returns the number of passages.
    pub fn passages(&self) -> u32 {
        small(self.lengths.len())
    }

    /// Returns the number of terms in a passage.
    pub fn length(&self, passage: u32) -> u16 {
        self.lengths.get(passage as usize).copied().unwrap_or(0)
    }

    /// Returns all speakers, by their numbers.
    pub fn speakers(&self) -> &[Speaker] {
        &self.speakers
    }

    /// Returns the analyzer that makes terms.
    pub fn analyzer(&self) -> &Analyzer {
        &self.analyzer
    }

    /// Returns the bytes in memory: of postings, and of data about messages.
    pub fn footprint(&self) -> (usize, usize) {
        let table = size_of::<IndexedMessage>() + size_of::<(Hash, u32)>() * 8 / 7 + 1;
        (self.segments.iter().map(Segment::bytes).sum(), self.messages.len() * table + self.lengths.len() * 2)
    }

    /// Calls `found` with each list of the terms (sorted, without duplicates): the index of the term in `terms`, the
    /// first passage of the segment, the bytes.
    pub(crate) fn lists(
        &self,
        terms: &[Term],
        source: &dyn Source,
        found: &mut dyn FnMut(usize, u32, &[u8]),
    ) -> Result<(), RetrievalError> {
        for (number, segment) in self.segments.iter().enumerate() {
            let mut each = |term: Term, bytes: &[u8]| {
                if let Ok(at) = terms.binary_search(&term) {
                    found(at, segment.first, bytes);
                }
            };
            segment.each(small(number), terms, source, &mut each).map_err(RetrievalError::Source)?;
        }
        Ok(())
    }

    /// Returns the header of a segment.
    pub fn header(&self, number: u32) -> Option<Vec<u8>> {
        let (segment, messages) = (self.segments.get(number as usize)?, self.messages_of(number)?);
        let mut bytes = Vec::new();
        put(&mut bytes, VERSION);
        put(&mut bytes, messages.start as u64);
        put(&mut bytes, u64::from(segment.first));
        put(&mut bytes, messages.len() as u64);
        put(&mut bytes, u64::from(segment.passages));
        put(&mut bytes, self.speakers.len() as u64);
        for speaker in &self.speakers {
            bytes.extend_from_slice(&speaker.name.to_le_bytes());
            put(&mut bytes, speaker.terms.len() as u64);
            speaker.terms.iter().for_each(|term| bytes.extend_from_slice(&term.to_le_bytes()));
        }
        for known in &self.messages[messages] {
            bytes.extend_from_slice(&known.key.0);
            bytes.extend_from_slice(&known.at.to_le_bytes());
            for value in
                [known.lane, known.passages.into(), known.speaker.into(), known.tokens.into(), known.role as u32]
            {
                put(&mut bytes, u64::from(value));
            }
            put(&mut bytes, u64::from(known.first - segment.first));
        }
        let span = segment.first as usize..(segment.first + segment.passages) as usize;
        self.lengths[span].iter().for_each(|length| put(&mut bytes, u64::from(*length)));
        Some(bytes)
    }
}

/// The contents of a header.
struct Header {
    start: u32,
    first: u32,
    speakers: Vec<Speaker>,
    messages: Vec<IndexedMessage>,
    lengths: Vec<u16>,
}

fn read_header(bytes: &[u8]) -> Result<Header, RetrievalError> {
    let mut reader = Reader::new(bytes);
    if reader.number()? != VERSION {
        return Err(RetrievalError::Damaged("it has another version"));
    }
    let (start, first, messages, passages) = (reader.small()?, reader.small()?, reader.small()?, reader.small()?);
    let narrow = |value: u32| u16::try_from(value).map_err(|_| RetrievalError::Damaged("a number is too large"));
    let mut speakers = Vec::new();
    for _ in 0..reader.small()? {
        let name = Term::from_le_bytes(reader.bytes()?);
        let terms = (0..reader.small()?).map(|_| reader.bytes().map(Term::from_le_bytes)).collect::<Result<_, _>>()?;
        speakers.push(Speaker { name, terms });
    }
    let mut known = Vec::new();
    for _ in 0..messages {
        let (key, at) = (Hash(reader.bytes()?), i64::from_le_bytes(reader.bytes()?));
        let (lane, count, speaker, tokens) = (reader.small()?, reader.small()?, reader.small()?, reader.small()?);
        let roles = [Role::System, Role::User, Role::Assistant, Role::Tool];
        let role = *roles.get(reader.small()? as usize).ok_or(RetrievalError::Damaged("unknown role"))?;
        let local = reader.small()?;
        if u64::from(local) + u64::from(count) > u64::from(passages) {
            return Err(RetrievalError::Damaged("a message lies outside its segment"));
        }
        let (passages, speaker, tokens) = (narrow(count)?, narrow(speaker)?, narrow(tokens)?);
        known.push(IndexedMessage { key, at, lane, first: first + local, passages, speaker, tokens, role });
    }
    let lengths = (0..passages).map(|_| reader.small().and_then(narrow)).collect::<Result<_, _>>()?;
    if !reader.is_empty() {
        return Err(RetrievalError::Damaged("data follows its end"));
    }
    Ok(Header { start, first, speakers, messages: known, lengths })
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
