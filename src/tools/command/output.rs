//! What a command says: its first and last parts for the model, and pieces of it for whoever watches. Bounded, however much
//! comes.
//! Not for: running anything (`run`).

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// How often pieces are handed on, and how much at once.
const PACE: Duration = Duration::from_millis(50);
const PIECE: usize = 8 << 10;

/// Keeps the first and the last bytes.
pub(crate) struct OutputBuffer {
    half: usize,
    first: Vec<u8>,
    last: VecDeque<u8>,
    total: u64,
}

impl OutputBuffer {
    /// Keeps about `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { half: limit / 2, first: Vec::new(), last: VecDeque::new(), total: 0 }
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = (self.half - self.first.len()).min(bytes.len());
        let (begin, rest) = bytes.split_at(room);
        self.first.extend_from_slice(begin);
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let over = (self.last.len() + rest.len()).saturating_sub(self.half);
        self.last.drain(..over);
        self.last.extend(rest);
    }

    /// Whether something in the middle is gone.
    pub(crate) fn is_cut(&self) -> bool {
        (self.first.len() + self.last.len()) as u64 != self.total
    }

    /// Bytes that came.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// What the model reads of it; `rest` says how what is missing is reached.
    pub(crate) fn text(mut self, rest: &str) -> String {
        let last = self.last.make_contiguous();
        let kept = (self.first.len() + last.len()) as u64;
        if kept == self.total {
            return lossy(&[&self.first[..], last].concat(), 2 * self.half, true);
        }
        // Whole lines, where there are some near the cut.
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
        let _ = writeln!(text, "[{gone} bytes of output in between {rest}]");
        text.push_str(&lossy(last, self.half, false));
        text
    }
}

/// As text, of about so many bytes at most: what is not UTF-8 grows when it is shown, and then there is less of it.
fn lossy(bytes: &[u8], most: usize, from_start: bool) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.len() <= most + 8 {
        return text.into_owned();
    }
    if from_start {
        let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text[..end].to_owned()
    } else {
        let start = (text.len() - most..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        text[start..].to_owned()
    }
}

/// Hands on what comes, at a pace, never cutting a character.
pub(crate) struct OutputPieces<'a> {
    say: &'a dyn Fn(&str),
    waiting: Vec<u8>,
    passed: u64,
    since: Instant,
}

impl<'a> OutputPieces<'a> {
    pub(crate) fn new(say: &'a dyn Fn(&str)) -> Self {
        Self { say, waiting: Vec::new(), passed: 0, since: Instant::now() }
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() > PIECE {
            let over = self.waiting.len() - PIECE;
            self.waiting.drain(..over);
            self.passed += over as u64;
        }
        self.tick();
    }

    /// Hands on what waits, when it is time.
    pub(crate) fn tick(&mut self) {
        if self.since.elapsed() >= PACE {
            self.flush(false);
        }
    }

    /// Hands on what waits; at the end also half a character.
    pub(crate) fn flush(&mut self, end: bool) {
        self.since = Instant::now();
        let whole = if end { self.waiting.len() } else { whole(&self.waiting) };
        if whole == 0 {
            return;
        }
        let mut text = String::new();
        if self.passed > 0 {
            let _ = writeln!(text, "\n[{} bytes went by]", self.passed);
            self.passed = 0;
        }
        text.push_str(&String::from_utf8_lossy(&self.waiting[..whole]));
        self.waiting.drain(..whole);
        (self.say)(&text);
    }
}

/// How many bytes stand before a character that is not all there yet.
fn whole(bytes: &[u8]) -> usize {
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
    fn the_first_and_the_last_lines_stay() {
        let mut heard = OutputBuffer::new(200);
        for n in 0..1_000 {
            heard.take(format!("line {n}\n").as_bytes());
        }
        let total = heard.total();
        let text = heard.text("went by");
        let (first, rest) = text.split_once('[').unwrap();
        let (note, last) = rest.split_once("]\n").unwrap();
        assert!(first.starts_with("line 0\nline 1\n") && first.ends_with('\n'), "{text}");
        assert!(last.starts_with("line 9") && last.ends_with("line 999\n"), "{text}");
        let gone: u64 = note.split(' ').next().unwrap().parse().unwrap();
        assert_eq!(gone + (first.len() + last.len()) as u64, total);
    }

    #[test]
    fn what_is_not_text_does_not_grow() {
        let mut heard = OutputBuffer::new(300);
        heard.take(&vec![0xff; 100_000]);
        assert!(heard.text("went by").len() < 500);
    }

    proptest! {
        #[test]
        fn what_fits_is_kept_as_it_is(pieces in prop::collection::vec("\\PC{0,20}", 0..20)) {
            let all = pieces.concat();
            let mut heard = OutputBuffer::new(2 * all.len().max(1));
            for piece in &pieces {
                heard.take(piece.as_bytes());
            }
            prop_assert_eq!(heard.total(), all.len() as u64);
            prop_assert_eq!(heard.text("went by"), all);
        }

        #[test]
        fn pieces_are_the_whole_and_cut_no_character(text in "[aä日🙂]{0,200}", cuts in prop::collection::vec(1_usize..7, 1..50)) {
            let got = RefCell::new(String::new());
            let say = |piece: &str| got.borrow_mut().push_str(piece);
            let mut pieces = OutputPieces::new(&say);
            let mut rest = text.as_bytes();
            for cut in cuts.iter().cycle() {
                let (now, then) = rest.split_at((*cut).min(rest.len()));
                pieces.take(now);
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
        fn bounded_whatever_comes(bytes in prop::collection::vec(any::<u8>(), 0..5_000), limit in 256_usize..1_000) {
            let mut heard = OutputBuffer::new(limit);
            for chunk in bytes.chunks(700) {
                heard.take(chunk);
            }
            prop_assert_eq!(heard.total(), bytes.len() as u64);
            prop_assert!(heard.text("went by").len() < limit + 200);
        }
    }

    /// What is shown of a text of which so many bytes fit, in pieces.
    fn shown(text: &[u8], limit: usize, piece: usize) -> (String, bool) {
        let mut heard = OutputBuffer::new(limit);
        for part in text.chunks(piece) {
            heard.take(part);
        }
        let cut = heard.is_cut();
        (heard.text("X"), cut)
    }

    #[test]
    fn whole_lines_stay_where_some_end_near_the_cut() {
        let note = |gone: usize| format!("[{gone} bytes of output in between X]\n");
        for (text, limit, expected) in [
            ("0123456789", 10, "0123456789".to_owned()),
            ("0123456789012345678901234567890123456789", 40, "0123456789".repeat(4)),
            ("0123456789a", 10, format!("01234\n{}6789a", note(1))),
            ("0123456789abcdef", 16, "0123456789abcdef".to_owned()),
            // A line ends two bytes before the cut, and one begins a byte after it.
            ("01234\n6789abcde\nhijklmn", 16, format!("01234\n{}hijklmn", note(10))),
            // Farther from it a line is cut.
            ("0123\n56789abcd\nfghijkl", 16, format!("0123\n567\n{}fghijkl", note(7))),
            ("ab\ncdefghijklmnopqrs\ntu", 8, format!("ab\n{}s\ntu", note(16))),
        ] {
            for piece in [1, 3, 100] {
                let (said, cut) = shown(text.as_bytes(), limit, piece);
                assert_eq!((said.as_str(), cut), (expected.as_str(), text.len() > limit), "{text:?} by {piece}");
            }
        }
    }

    #[test]
    fn a_cut_character_waits_for_its_rest() {
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
            assert_eq!(whole(bytes), ready, "{bytes:?}");
        }
    }

    #[test]
    fn what_goes_by_unheard_is_counted() {
        let got = RefCell::new(Vec::new());
        let say = |piece: &str| got.borrow_mut().push(piece.to_owned());
        let mut pieces = OutputPieces::new(&say);
        pieces.flush(true);
        pieces.waiting = vec![b'a'; PIECE];
        pieces.since = Instant::now();
        pieces.take(b"bcd");
        pieces.flush(true);
        pieces.take(b"e");
        pieces.flush(false);
        let rest: String = std::iter::repeat_n('a', PIECE - 3).collect();
        let all = got.borrow().concat();
        assert_eq!(all, format!("\n[3 bytes went by]\n{rest}bcde"));
    }
}
