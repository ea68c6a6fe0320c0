//! Decodes server-sent events byte by byte. Accepts the formats that servers send, even beyond the specification.
//! Not for: the meaning of an event (`chunk`) or the end of a stream (`stream`).
//!
//! LF, CR LF, and CR end a line. A BOM at the start, comments, a missing space after the colon, and data in several
//! lines are accepted. A line with invalid UTF-8 is kept with U+FFFD. The last event needs no blank line. Each byte is
//! examined once and copied at most twice.

use std::borrow::Cow;

/// Limit of an event's data in bytes; the rest is dropped and the event is marked as cut.
pub const MAX_EVENT: usize = 16 * 1024 * 1024;
/// Limit of a line in bytes: any longer line exceeds the data limit too.
const MAX_LINE: usize = MAX_EVENT + 64;
/// Bytes kept of a line that is not UTF-8, in addition to its text.
const MAX_BROKEN: usize = 4096;

/// One event.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Event {
    /// The `event:` field; empty if absent.
    pub name: String,
    /// The `data:` lines, joined by `\n`.
    pub data: String,
    /// Whether the event exceeded [`MAX_EVENT`]; if so, its data is only the beginning.
    pub cut: bool,
    /// The original beginning of its first line that is not UTF-8; `data` has U+FFFD for the bytes.
    pub broken: Vec<u8>,
}

/// Turns bytes, however they are split, into events.
#[derive(Default)]
pub struct Decoder {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    past_bom: bool,
    after_cr: bool,
    work: u64,
}

impl Decoder {
    /// Takes the next bytes and returns the events that they complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_cr) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            match rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
                None => {
                    self.keep(rest);
                    break;
                }
                Some(end) => {
                    self.keep(&rest[..end]);
                    self.after_cr = rest[end] == b'\r';
                    rest = &rest[end + 1..];
                    events.extend(self.end_line());
                }
            }
        }
        events
    }

    /// Ends the stream. Returns the last event if no blank line ended it.
    pub fn finish(&mut self) -> Option<Event> {
        if !self.line.is_empty() {
            let _ = self.end_line();
        }
        self.dispatch()
    }

    /// Returns the bytes examined and copied so far; proportional to the bytes fed.
    pub fn work(&self) -> u64 {
        self.work
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.work += bytes.len() as u64 + 1;
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        self.work += line.len() as u64;
        let first = !std::mem::replace(&mut self.past_bom, true);
        let raw = if first { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line) } else { &line };
        let event = if raw.is_empty() {
            self.dispatch()
        } else {
            let text = String::from_utf8_lossy(raw);
            if matches!(text, Cow::Owned(_)) && self.event.broken.is_empty() {
                self.event.broken = raw[..raw.len().min(MAX_BROKEN)].to_vec();
            }
            self.field(&text);
            None
        };
        self.line = line;
        self.line.clear();
        self.line.shrink_to(64 * 1024);
        event
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => self.data(value),
            "event" => value.clone_into(&mut self.event.name),
            _ => {}
        }
    }

    fn data(&mut self, value: &str) {
        if std::mem::replace(&mut self.has_data, true) {
            self.event.data.push('\n');
        }
        let room = MAX_EVENT.saturating_sub(self.event.data.len());
        let end = value.floor_char_boundary(room);
        self.event.cut |= end < value.len();
        self.event.data.push_str(&value[..end]);
        self.work += end as u64;
    }

    fn dispatch(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.event);
        std::mem::take(&mut self.has_data).then_some(event).filter(|event| !event.data.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(bytes: &[u8]) -> Vec<Event> {
        split(bytes, bytes.len().max(1))
    }

    fn split(bytes: &[u8], size: usize) -> Vec<Event> {
        let mut decoder = Decoder::default();
        let mut events: Vec<Event> = bytes.chunks(size).flat_map(|chunk| decoder.feed(chunk)).collect();
        events.extend(decoder.finish());
        events
    }

    fn data(bytes: &[u8]) -> Vec<String> {
        whole(bytes).into_iter().map(|event| event.data).collect()
    }

    #[test]
    fn reads_what_servers_send() {
        assert_eq!(data(b"\xEF\xBB\xBFdata: a\n\ndata:b\r\n\r\ndata: c\r\r"), ["a", "b", "c"]);
        assert_eq!(data(b": keep-alive\n\nid: 1\nretry: 5\ndata: x\ndata: y\n\n"), ["x\ny"]);
        assert_eq!(data(b"data: last without a blank line"), ["last without a blank line"]);
        assert_eq!(data(b"data\n\ndata:\n\n:only\n\n"), Vec::<String>::new());
        assert_eq!(whole(b"event: error\ndata: {}\n\n")[0].name, "error");
        assert_eq!(data(b"data:  two spaces\n\n"), [" two spaces"]);
    }

    #[test]
    fn invalid_utf8_affects_only_its_line() {
        assert_eq!(data(b"data: a\xFFb\n\ndata: fine\n\n"), ["a\u{fffd}b", "fine"]);
    }

    #[test]
    fn an_endless_event_is_cut() {
        let mut decoder = Decoder::default();
        let piece = "é".repeat(512 * 1024).into_bytes();
        let mut events = decoder.feed(b"data: a");
        for _ in 0..20 {
            events.extend(decoder.feed(&piece));
        }
        events.extend(decoder.feed(b"\n\ndata: next\n\n"));
        assert!(events[0].cut && events[0].data.len() == MAX_EVENT - 1, "before the character that does not fit");
        assert!((64 * 1024..1024 * 1024).contains(&decoder.line.capacity()), "the memory of a long line is released");
        assert_eq!(events[1], Event { data: "next".into(), ..Event::default() });
    }

    #[test]
    fn work_is_linear_in_the_bytes() {
        let line = [b"data: ".as_slice(), &vec![b'x'; 1_000_000], b"\n\n"].concat();
        let lines = b"data: x\n\n".repeat(50_000);
        for (bytes, size) in [(&line, 16), (&line, 16_384), (&lines, 1), (&lines, 1_000_000)] {
            let mut decoder = Decoder::default();
            bytes.chunks(size).for_each(|chunk| {
                decoder.feed(chunk);
            });
            assert!(decoder.work() <= 5 * bytes.len() as u64, "{} for {}", decoder.work(), bytes.len());
        }
    }

    #[test]
    fn every_split_of_a_stream_gives_the_same() {
        let stream =
            "\u{feff}: hi\r\n\r\ndata: {\"日\":\"🙂\"}\r\n\r\nevent: x\rdata: a\rdata:b\r\rdata: [DONE]\n\n".as_bytes();
        let expected = whole(stream);
        for at in 0..=stream.len() {
            let mut decoder = Decoder::default();
            let mut events = decoder.feed(&stream[..at]);
            events.extend(decoder.feed(&stream[at..]));
            events.extend(decoder.finish());
            assert_eq!(events, expected, "split at {at}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_any_split(bytes in proptest::collection::vec(prop_oneof![
            Just(b'\n'), Just(b'\r'), Just(b':'), Just(b'd'), Just(b'a'), Just(b't'), Just(b' '), Just(0xEF), any::<u8>()
        ], 0..400), size in 1_usize..40) {
            prop_assert_eq!(split(&bytes, size), whole(&bytes));
        }

        #[test]
        fn fields_in_any_split(lines in proptest::collection::vec(prop_oneof![
            Just("data: é日\n"), Just("data:x\r\n"), Just("\n"), Just("\r"), Just("event: e\r"), Just(":c\n"), Just("data\n")
        ], 0..40), size in 1_usize..12) {
            let bytes = lines.concat().into_bytes();
            prop_assert_eq!(split(&bytes, size), whole(&bytes));
        }
    }
}
