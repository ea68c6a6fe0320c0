//! Reads the bytes of a file, or of a part of it, through a small buffer: forwards, and again from any offset.
//! Not for: what the bytes mean.

use std::io::{self, Read, Seek, SeekFrom};

/// Most bytes read at once.
const STEP: usize = 256 << 10;

/// Bytes of the first read after a jump, so that single values in any order are cheap. Doubles with every further read.
const FIRST: usize = 8 << 10;

/// An input that can be read from any offset.
pub trait Input: Read + Seek + Send {}

impl<T: Read + Seek + Send> Input for T {}

/// See the module.
pub(super) struct Source {
    input: Box<dyn Input>,
    buffer: Vec<u8>,
    /// How much of `buffer` was consumed.
    at: usize,
    /// The file offset of the end of `buffer`.
    end: u64,
    /// Size of the next read in bytes.
    step: usize,
    /// Offset at which reading ends.
    limit: u64,
}

impl Source {
    /// Begins at the start of an input.
    pub(super) fn new(input: Box<dyn Input>) -> io::Result<Self> {
        let mut source = Self { input, buffer: Vec::new(), at: 0, end: 0, step: STEP, limit: u64::MAX };
        source.jump(0)?;
        source.step = STEP;
        Ok(source)
    }

    /// The file offset of the next byte.
    pub(super) fn place(&self) -> u64 {
        self.end - (self.buffer.len() - self.at) as u64
    }

    /// Goes to an offset.
    pub(super) fn go(&mut self, place: u64) -> io::Result<()> {
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
        (self.at, self.step) = (0, FIRST);
        Ok(())
    }

    /// Ends at an offset from now on, or with `None` at the end of the file.
    pub(super) fn end_at(&mut self, limit: Option<u64>) {
        self.limit = limit.unwrap_or(u64::MAX);
    }

    /// The next bytes; empty at the end.
    pub(super) fn next(&mut self) -> io::Result<&[u8]> {
        let room = usize::try_from(self.limit.saturating_sub(self.place())).unwrap_or(usize::MAX);
        if self.at == self.buffer.len() && room > 0 {
            self.buffer.clear();
            self.at = 0;
            (&mut self.input).take(self.step as u64).read_to_end(&mut self.buffer)?;
            self.end += self.buffer.len() as u64;
            self.step = (self.step * 2).min(STEP);
        }
        let rest = &self.buffer[self.at..];
        Ok(&rest[..rest.len().min(room)])
    }

    /// Consumes this many bytes.
    pub(super) fn pass(&mut self, count: usize) {
        self.at = (self.at + count).min(self.buffer.len());
    }

    /// The next bytes without consuming them.
    pub(super) fn prefix(&mut self, most: u64) -> io::Result<Vec<u8>> {
        let place = self.place();
        let mut bytes = Vec::new();
        self.input.seek(SeekFrom::Start(place))?;
        (&mut self.input).take(most).read_to_end(&mut bytes)?;
        self.jump(place)?;
        Ok(bytes)
    }
}
