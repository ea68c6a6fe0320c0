//! Reads the bytes of a file, or of a part of it, through a small buffer: forward, and again from any offset.
//! Not for: the meaning of the bytes.

use std::io::{self, Read, Seek, SeekFrom};

/// The maximum number of bytes read at once.
const MAX_READ: usize = 256 << 10;

/// The size of the first read after a jump in bytes, so that reading single values in any order is cheap. The size
/// doubles with every subsequent read.
const FIRST_READ: usize = 8 << 10;

/// An input that can be read from any offset.
pub trait Input: Read + Seek + Send {}

impl<T: Read + Seek + Send> Input for T {}

/// A buffered reader over an input.
pub(super) struct Source {
    input: Box<dyn Input>,
    buffer: Vec<u8>,
    /// The number of bytes of `buffer` that were consumed.
    at: usize,
    /// The file offset of the end of `buffer`.
    end: u64,
    /// The size of the next read in bytes.
    step: usize,
    /// The offset at which reading ends.
    limit: u64,
}

impl Source {
    /// Begins at the start of an input.
    pub(super) fn new(input: Box<dyn Input>) -> io::Result<Self> {
        let mut source = Self { input, buffer: Vec::new(), at: 0, end: 0, step: MAX_READ, limit: u64::MAX };
        source.jump(0)?;
        source.step = MAX_READ;
        Ok(source)
    }

    /// Returns the file offset of the next byte.
    pub(super) fn place(&self) -> u64 {
        self.end - (self.buffer.len() - self.at) as u64
    }

    /// Continues at this offset.
    pub(super) fn seek_to(&mut self, place: u64) -> io::Result<()> {
        let start = self.end - self.buffer.len() as u64;
        match place.checked_sub(start).and_then(|at| usize::try_from(at).ok()) {
            Some(at) if at <= self.buffer.len() => self.at = at,
            _ => self.jump(place)?,
        }
        Ok(())
    }

    fn jump(&mut self, place: u64) -> io::Result<()> {
        self.end = self.input.seek(SeekFrom::Start(place))?;
        self.buffer.clear();
        (self.at, self.step) = (0, FIRST_READ);
        Ok(())
    }

    /// Sets the offset where reading ends; `None` means the end of the file.
    pub(super) fn end_at(&mut self, limit: Option<u64>) {
        self.limit = limit.unwrap_or(u64::MAX);
    }

    /// Returns the next bytes; empty at the end.
    pub(super) fn next(&mut self) -> io::Result<&[u8]> {
        let room = usize::try_from(self.limit.saturating_sub(self.place())).unwrap_or(usize::MAX);
        if self.at == self.buffer.len() && room > 0 {
            self.buffer.clear();
            self.at = 0;
            (&mut self.input).take(self.step as u64).read_to_end(&mut self.buffer)?;
            self.end += self.buffer.len() as u64;
            self.step = (self.step * 2).min(MAX_READ);
        }
        let rest = &self.buffer[self.at..];
        Ok(&rest[..rest.len().min(room)])
    }

    /// Consumes this many bytes.
    pub(super) fn pass(&mut self, count: usize) {
        self.at = (self.at + count).min(self.buffer.len());
    }

    /// Returns the next bytes, at most `most`, without consuming them.
    pub(super) fn prefix(&mut self, most: u64) -> io::Result<Vec<u8>> {
        let place = self.place();
        let mut bytes = Vec::new();
        self.input.seek(SeekFrom::Start(place))?;
        (&mut self.input).take(most).read_to_end(&mut bytes)?;
        self.jump(place)?;
        Ok(bytes)
    }
}
