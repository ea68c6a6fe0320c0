//! The bytes of a file through a small buffer: read forwards, with a look back at any place.
//! Not for: what the bytes mean.

use std::io::{self, Read, Seek, SeekFrom};

/// Bytes read at once.
const STEP: usize = 256 << 10;

/// What can be read from any place.
pub trait Input: Read + Seek + Send {}

impl<T: Read + Seek + Send> Input for T {}

/// See the module.
pub(super) struct Source {
    input: Box<dyn Input>,
    buffer: Vec<u8>,
    /// How much of `buffer` is behind.
    at: usize,
    /// The place in the file of the end of `buffer`.
    end: u64,
}

impl Source {
    /// Begins at the start of an input.
    pub(super) fn new(input: Box<dyn Input>) -> io::Result<Self> {
        let mut source = Self { input, buffer: Vec::new(), at: 0, end: 0 };
        source.go(0)?;
        Ok(source)
    }

    /// The place in the file of the next byte.
    pub(super) fn place(&self) -> u64 {
        self.end - (self.buffer.len() - self.at) as u64
    }

    /// Goes to a place.
    pub(super) fn go(&mut self, place: u64) -> io::Result<()> {
        self.end = self.input.seek(SeekFrom::Start(place))?;
        self.buffer.clear();
        self.at = 0;
        Ok(())
    }

    /// The bytes that come next; none at the end.
    pub(super) fn next(&mut self) -> io::Result<&[u8]> {
        if self.at == self.buffer.len() {
            self.buffer.clear();
            self.at = 0;
            (&mut self.input).take(STEP as u64).read_to_end(&mut self.buffer)?;
            self.end += self.buffer.len() as u64;
        }
        Ok(&self.buffer[self.at..])
    }

    /// Leaves so many of them behind.
    pub(super) fn pass(&mut self, count: usize) {
        self.at = (self.at + count).min(self.buffer.len());
    }

    /// So many bytes at a place behind, and back to where it was.
    pub(super) fn again(&mut self, place: u64, size: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; size];
        self.input.seek(SeekFrom::Start(place))?;
        self.input.read_exact(&mut bytes)?;
        self.input.seek(SeekFrom::Start(self.end))?;
        Ok(bytes)
    }

    /// The next bytes without leaving them behind to where it was.
    pub(super) fn prefix(&mut self, most: u64) -> io::Result<Vec<u8>> {
        let place = self.place();
        let mut bytes = Vec::new();
        self.input.seek(SeekFrom::Start(place))?;
        (&mut self.input).take(most).read_to_end(&mut bytes)?;
        self.go(place)?;
        Ok(bytes)
    }
}
