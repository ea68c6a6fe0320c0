//! The output of a command: its beginning and its end for the model, and pieces for an observer while it runs. Memory
//! use is bounded.
//! Not for: running commands (`run`).

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// The minimum interval between two pieces, and the maximum size of a piece in bytes.
const PIECE_INTERVAL: Duration = Duration::from_millis(50);
const MAX_PIECE: usize = 8 << 10;

/// Keeps the first and the last bytes of an output.
pub(crate) struct OutputBuffer {
    half: usize,
    first: Vec<u8>,
    last: VecDeque<u8>,
    total: u64,
}

impl OutputBuffer {
    /// Makes a buffer that keeps about `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { half: limit / 2, first: Vec::new(), last: VecDeque::new(), total: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = (self.half - self.first.len()).min(bytes.len());
        let (begin, rest) = bytes.split_at(room);
        self.first.extend_from_slice(begin);
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let over = (self.last.len() + rest.len()).saturating_sub(self.half);
        self.last.drain(..over);
        self.last.extend(rest);
    }

    /// Whether bytes in the middle were dropped.
    pub(crate) fn is_cut(&self) -> bool {
        (self.first.len() + self.last.len()) as u64 != self.total
    }

    /// Returns the number of bytes that were received.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the text for the model. `rest` completes the note about the missing middle and says how to read it.
    pub(crate) fn text(mut self, rest: &str) -> String {
        let last = self.last.make_contiguous();
        let kept = (self.first.len() + last.len()) as u64;
        if kept == self.total {
            return lossy(&[&self.first[..], last].concat(), 2 * self.half, true);
        }
        // Cut at line ends if there are any near the cut.
        let near = self.half / 4;
        let end = self.first.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
        let end = end.filter(|end| self.first.len() - end <= near).unwrap_or(self.first.len());
        let start = last.iter().position(|byte| *byte == b'\n').map(|at| at + 1).filter(|start| *start <= near);
        let (first, last) = (&self.first[..end], &last[start.unwrap_or(0)..]);
        let mut text = lossy(first, self.half, true);
        let gone = self.total - (first.len() + last.len()) as u64;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let _ = writeln!(text, "[{gone} bytes of output in the middle {rest}]");
        text.push_str(&lossy(last, self.half, false));
        text
    }
}

/// Decodes at most about `most` bytes. Invalid UTF-8 grows when it is decoded, so less of it is kept.
fn lossy(bytes: &[u8], most: usize, from_start: bool) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.len() <= most + 8 {
        return text.into_owned();
    }
    if from_start {
        text[..text.floor_char_boundary(most)].to_owned()
    } else {
        text[text.ceil_char_boundary(text.len() - most)..].to_owned()
    }
}

/// Sends output in pieces at a limited rate and never splits a character.
pub(crate) struct OutputPieces<'a> {
    send: &'a dyn Fn(&str),
    waiting: Vec<u8>,
    dropped: u64,
    sent_at: Instant,
}

impl<'a> OutputPieces<'a> {
    pub(crate) fn new(send: &'a dyn Fn(&str)) -> Self {
        Self { send, waiting: Vec::new(), dropped: 0, sent_at: Instant::now() }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() > MAX_PIECE {
            let over = self.waiting.len() - MAX_PIECE;
            self.waiting.drain(..over);
            self.dropped += over as u64;
        }
        self.tick();
    }

    /// Sends the waiting bytes if the interval has passed.
    pub(crate) fn tick(&mut self) {
        if self.sent_at.elapsed() >= PIECE_INTERVAL {
            self.flush(false);
        }
    }

    /// Sends the waiting bytes. With `end`, also sends an incomplete character.
    pub(crate) fn flush(&mut self, end: bool) {
        self.sent_at = Instant::now();
        let complete_len = if end { self.waiting.len() } else { complete_len(&self.waiting) };
        if complete_len == 0 {
            return;
        }
        let mut text = String::new();
        if self.dropped > 0 {
            let _ = writeln!(text, "\n[{} bytes omitted]", self.dropped);
            self.dropped = 0;
        }
        text.push_str(&String::from_utf8_lossy(&self.waiting[..complete_len]));
        self.waiting.drain(..complete_len);
        (self.send)(&text);
    }
}

/// Returns the number of bytes before an incomplete character at the end.
fn complete_len(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(3);
    for at in (tail..bytes.len()).rev() {
        let wanted = match bytes[at] {
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF7 => 4,
            0x80..=0xBF => continue,
            _ => 1,
        };
        return if bytes.len() - at < wanted { at } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::RefCell;

    #[test]
    fn first_and_last_lines_are_kept() {
        let mut buffer = OutputBuffer::new(200);
        for n in 0..1_000 {
            buffer.push(format!("line {n}\n").as_bytes());
        }
        let total = buffer.total();
        let text = buffer.text("went by");
        let (first, rest) = text.split_once('[').unwrap();
        let (note, last) = rest.split_once("]\n").unwrap();
        assert!(first.starts_with("line 0\nline 1\n") && first.ends_with('\n'), "{text}");
        assert!(last.starts_with("line 9") && last.ends_with("line 999\n"), "{text}");
        let gone: u64 = note.split(' ').next().unwrap().parse().unwrap();
        assert_eq!(gone + (first.len() + last.len()) as u64, total);
    }

    #[test]
    fn pieces_wait_for_their_time() {
        let sent = RefCell::new(String::new());
        let add = |text: &str| sent.borrow_mut().push_str(text);
        let mut pieces = OutputPieces::new(&add);
        pieces.sent_at = Instant::now() + PIECE_INTERVAL * 1_000;
        pieces.push(b"a");
        assert_eq!(*sent.borrow(), "");
        pieces.sent_at = Instant::now().checked_sub(PIECE_INTERVAL).unwrap();
        pieces.push(b"b");
        assert_eq!(*sent.borrow(), "ab");
    }

    #[test]
    fn invalid_utf8_stays_bounded() {
        let mut buffer = OutputBuffer::new(300);
        buffer.push(&vec![0xff; 100_000]);
        buffer.push(b"end");
        let text = buffer.text("went by");
        assert!(text.len() < 500 && text.ends_with("end"), "{text}");
    }

    proptest! {
        #[test]
        fn short_output_is_unchanged(pieces in prop::collection::vec("\\PC{0,20}", 0..20)) {
            let all = pieces.concat();
            let mut buffer = OutputBuffer::new(2 * all.len().max(1));
            for piece in &pieces {
                buffer.push(piece.as_bytes());
            }
            prop_assert_eq!(buffer.total(), all.len() as u64);
            prop_assert_eq!(buffer.text("went by"), all);
        }

        #[test]
        fn pieces_join_to_the_whole_without_split_characters(text in "[aä日🙂]{0,200}", cuts in prop::collection::vec(1_usize..7, 1..50)) {
            let got = RefCell::new(String::new());
            let send = |piece: &str| got.borrow_mut().push_str(piece);
            let mut pieces = OutputPieces::new(&send);
            let mut rest = text.as_bytes();
            for cut in cuts.iter().cycle() {
                let (now, then) = rest.split_at((*cut).min(rest.len()));
                pieces.push(now);
                pieces.flush(false);
                rest = then;
                if rest.is_empty() {
                    break;
                }
            }
            pieces.flush(true);
            prop_assert_eq!(got.into_inner(), text);
        }

        #[test]
        fn output_is_bounded(bytes in prop::collection::vec(any::<u8>(), 0..5_000), limit in 256_usize..1_000) {
            let mut buffer = OutputBuffer::new(limit);
            for chunk in bytes.chunks(700) {
                buffer.push(chunk);
            }
            prop_assert_eq!(buffer.total(), bytes.len() as u64);
            prop_assert!(buffer.text("went by").len() < limit + 200);
        }
    }

    /// Returns the text of an output that was received in pieces of this size, and whether it was cut.
    fn shown(text: &[u8], limit: usize, piece: usize) -> (String, bool) {
        let mut buffer = OutputBuffer::new(limit);
        for part in text.chunks(piece) {
            buffer.push(part);
        }
        let cut = buffer.is_cut();
        (buffer.text("X"), cut)
    }

    #[test]
    fn lines_near_the_cut_stay_whole() {
        let note = |gone: usize| format!("[{gone} bytes of output in the middle X]\n");
        for (text, limit, expected) in [
            ("0123456789", 10, "0123456789".to_owned()),
            ("0123456789012345678901234567890123456789", 40, "0123456789".repeat(4)),
            ("0123456789a", 10, format!("01234\n{}6789a", note(1))),
            ("0123456789abcdef", 16, "0123456789abcdef".to_owned()),
            // A line ends two bytes before the cut, and a line begins one byte after the cut.
            ("01234\n6789abcde\nhijklmn", 16, format!("01234\n{}hijklmn", note(10))),
            // Lines that end farther from the cut are split.
            ("0123\n56789abcd\nfghijkl", 16, format!("0123\n567\n{}fghijkl", note(7))),
            ("ab\ncdefghijklmnopqrs\ntu", 8, format!("ab\n{}s\ntu", note(16))),
        ] {
            for piece in [1, 3, 100] {
                let (shown_text, cut) = shown(text.as_bytes(), limit, piece);
                assert_eq!((shown_text.as_str(), cut), (expected.as_str(), text.len() > limit), "{text:?} by {piece}");
            }
        }
    }

    #[test]
    fn incomplete_character_waits() {
        for (bytes, ready) in [
            (&b""[..], 0),
            (b"a", 1),
            ("é".as_bytes(), 2),
            (&"é".as_bytes()[..1], 0),
            (&"a日".as_bytes()[..2], 1),
            (&"a日".as_bytes()[..3], 1),
            ("a日".as_bytes(), 4),
            (&"a🙂".as_bytes()[..2], 1),
            (&"a🙂".as_bytes()[..3], 1),
            (&"a🙂".as_bytes()[..4], 1),
            ("a🙂".as_bytes(), 5),
            (b"a\xFF", 2),
            (b"\x80\x80\x80\x80", 4),
            (b"ab\xC3", 2),
        ] {
            assert_eq!(complete_len(bytes), ready, "{bytes:?}");
        }
    }

    #[test]
    fn dropped_bytes_are_counted() {
        let got = RefCell::new(Vec::new());
        let send = |piece: &str| got.borrow_mut().push(piece.to_owned());
        let mut pieces = OutputPieces::new(&send);
        pieces.flush(true);
        pieces.waiting = vec![b'a'; MAX_PIECE];
        pieces.sent_at = Instant::now();
        pieces.push(b"bcd");
        pieces.flush(true);
        pieces.push(b"e");
        pieces.flush(false);
        let rest: String = std::iter::repeat_n('a', MAX_PIECE - 3).collect();
        let all = got.borrow().concat();
        assert_eq!(all, format!("\n[3 bytes omitted]\n{rest}bcde"));
    }
}
