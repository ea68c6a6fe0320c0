//! Encodes records as bytes and decodes them. Every number is checked, so invalid bytes are refused.
//! Not for: the cache file (`cache`).

use super::record::{Counts, FileStamp, Record, Words};
use crate::code::symbol::{Span, Symbol};
use crate::domain::base::{Hash, varint};
use crate::domain::code::{Kind, Language, ParseOutcome};
use std::path::{Path, PathBuf};

/// Maximum entries of one list that are accepted.
const MAX_ENTRIES: usize = 1 << 24;

/// Bytes being written.
#[derive(Default)]
pub(crate) struct ByteWriter(pub(crate) Vec<u8>);

impl ByteWriter {
    pub(crate) fn number(&mut self, number: u64) {
        varint::put(&mut self.0, number);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn span(&mut self, span: Span) {
        self.number(u64::from(span.start));
        self.number(u64::from(span.end.saturating_sub(span.start)));
    }

    pub(crate) fn path(&mut self, path: &Path) {
        #[cfg(unix)]
        self.bytes(std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()));
        #[cfg(not(unix))]
        self.bytes(path.to_string_lossy().as_bytes());
    }

    pub(crate) fn stamp(&mut self, stamp: FileStamp) {
        self.number(stamp.size);
        self.0.extend_from_slice(&stamp.changed.to_le_bytes());
    }

    pub(crate) fn record(&mut self, record: &Record) {
        self.path(&record.path);
        self.stamp(record.stamp);
        self.0.extend_from_slice(&record.hash.0);
        let place = |found: Option<usize>| found.map_or(0, |at| at as u64 + 1);
        self.number(place(ParseOutcome::ALL.iter().position(|outcome| *outcome == record.outcome)));
        self.number(place(Language::ALL.iter().position(|language| Some(*language) == record.language)));
        self.number(u64::from(record.errors));
        self.number(u64::from(record.lines));
        self.number(record.symbols.len() as u64);
        for symbol in &record.symbols {
            self.symbol(symbol);
        }
        self.words(&record.words);
    }

    fn symbol(&mut self, symbol: &Symbol) {
        self.0.push(symbol.kind as u8);
        self.0.push(u8::from(symbol.test));
        self.bytes(symbol.name.as_bytes());
        self.number(symbol.parent.map_or(0, |parent| u64::from(parent) + 1));
        for span in [symbol.span, symbol.head, symbol.doc, symbol.attrs] {
            self.span(span);
        }
        for line in [symbol.lines.0, symbol.lines.1, symbol.line] {
            self.number(u64::from(line));
        }
    }

    fn words(&mut self, words: &Words) {
        for table in [&words.terms, &words.names] {
            self.number(table.len() as u64);
            for word in table {
                self.bytes(word.as_bytes());
            }
        }
        self.number(words.term_counts.len() as u64);
        let mut before = 0;
        for (symbol, term, counts) in &words.term_counts {
            self.number(u64::from(symbol - before));
            before = *symbol;
            self.number(u64::from(*term));
            self.0.push(counts.iter().enumerate().map(|(at, count)| u8::from(*count > 0) << at).sum());
            self.0.extend(counts.iter().filter(|count| **count > 0));
        }
        self.number(words.uses.len() as u64);
        before = 0;
        for (symbol, name, shape) in &words.uses {
            self.number(u64::from(symbol - before));
            before = *symbol;
            self.number(u64::from(*name));
            self.number(u64::from(*shape));
        }
    }
}

/// Bytes being read.
pub(crate) struct ByteReader<'a>(pub(crate) &'a [u8]);

impl<'a> ByteReader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<u64> {
        varint::take(&mut self.0)
    }

    fn number_u32(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    fn count(&mut self) -> Option<usize> {
        // Every entry takes at least one byte.
        usize::try_from(self.number()?).ok().filter(|count| *count <= MAX_ENTRIES.min(self.0.len()))
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.count()?;
        self.take(count)
    }

    fn text(&mut self) -> Option<Box<str>> {
        std::str::from_utf8(self.bytes()?).ok().map(Into::into)
    }

    fn span(&mut self) -> Option<Span> {
        let start = self.number_u32()?;
        Some(Span { start, end: start.checked_add(self.number_u32()?)? })
    }

    pub(crate) fn path(&mut self) -> Option<PathBuf> {
        let bytes = self.bytes()?;
        #[cfg(unix)]
        let path = PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes));
        #[cfg(not(unix))]
        let path = PathBuf::from(std::str::from_utf8(bytes).ok()?);
        Some(path)
    }

    pub(crate) fn stamp(&mut self) -> Option<FileStamp> {
        let size = self.number()?;
        Some(FileStamp { size, changed: i64::from_le_bytes(self.take(8)?.try_into().ok()?) })
    }

    pub(crate) fn record(&mut self) -> Option<Record> {
        let path = self.path()?;
        let stamp = self.stamp()?;
        let hash = Hash(self.take(32)?.try_into().ok()?);
        let outcome = *ParseOutcome::ALL.get(usize::try_from(self.number()?.checked_sub(1)?).ok()?)?;
        let language = match self.number()? {
            0 => None,
            place => Some(*Language::ALL.get(usize::try_from(place - 1).ok()?)?),
        };
        let errors = self.number()? != 0;
        let lines = self.number_u32()?;
        let count = self.count()?;
        let mut symbols: Vec<Symbol> = Vec::with_capacity(count);
        for at in 0..count {
            let symbol = self.symbol()?;
            let placed = symbol.parent.map_or(at == 0, |parent| (parent as usize) < at);
            symbols.push(Some(symbol).filter(|_| placed)?);
        }
        let words = self.words(count)?;
        self.0.is_empty().then_some(Record { path, stamp, hash, outcome, language, errors, lines, symbols, words })
    }

    fn symbol(&mut self) -> Option<Symbol> {
        let kind = Kind::from_number(self.byte()?)?;
        let test = self.byte()? != 0;
        let name = self.text()?;
        let parent = self.number_u32()?.checked_sub(1);
        let (span, head, doc, attrs) = (self.span()?, self.span()?, self.span()?, self.span()?);
        let lines = (self.number_u32()?, self.number_u32()?);
        Some(Symbol { kind, name, parent, span, lines, head, line: self.number_u32()?, doc, attrs, test })
    }

    fn words(&mut self, symbols: usize) -> Option<Words> {
        let mut words = Words::default();
        for table in [&mut words.terms, &mut words.names] {
            let count = self.count()?;
            table.reserve(count);
            for _ in 0..count {
                table.push(self.text()?);
            }
        }
        let within = |number: u32, count: usize| Some(number).filter(|number| (*number as usize) < count);
        let mut symbol = 0_u32;
        for _ in 0..self.count()? {
            symbol = within(symbol.checked_add(self.number_u32()?)?, symbols)?;
            let term = within(self.number_u32()?, words.terms.len())?;
            let which = self.byte()?;
            let mut counts: Counts = [0; 4];
            for (at, count) in counts.iter_mut().enumerate() {
                if which & (1 << at) != 0 {
                    *count = self.byte()?;
                }
            }
            words.term_counts.push((symbol, term, counts));
        }
        symbol = 0;
        for _ in 0..self.count()? {
            symbol = within(symbol.checked_add(self.number_u32()?)?, symbols)?;
            let name = within(self.number_u32()?, words.names.len())?;
            let shape = within(self.number_u32()?, words.names.len() + 3)?;
            words.uses.push((symbol, name, shape));
        }
        Some(words)
    }
}
