//! Splits a stream into lines, or a JSON array into its elements, without parsing them, so that one broken element does
//! not affect the rest. Large elements are shortened.
//! Not for: reading the elements, or how they are shortened (`shorten`).

use super::shorten::{LIGHT, Shortener, WHOLE, weight};
use super::source::Source;
use memchr::{memchr, memchr2};
use std::io;

/// The separator of the elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cutting {
    /// Line ends.
    Lines,
    /// The commas of an array whose `[` was consumed.
    Array,
    /// The commas of an object whose `{` was consumed; an element is a key with its value.
    Object,
    /// None: everything is one element.
    Nothing,
}

/// One element.
pub(super) struct Element {
    /// Its offset in the file.
    pub(super) place: u64,
    /// Its size in the file in bytes.
    pub(super) size: u64,
    /// Its bytes, or those that were kept.
    pub(super) bytes: Vec<u8>,
    /// Their weight in memory.
    pub(super) weight: u64,
    /// How much was kept.
    pub(super) kept: Kept,
}

/// How much of an element was kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kept {
    /// All of it.
    Whole,
    /// A shortened form.
    Part,
    /// None given.
    Nothing,
}

/// The next element; `None` at the end. A truncated last one is returned as far as it goes.
pub(super) fn next(source: &mut Source, cutting: Cutting) -> io::Result<Option<Element>> {
    let inner = matches!(cutting, Cutting::Array | Cutting::Object);
    if inner && !begins(source)? {
        return Ok(None);
    }
    let place = source.place();
    let mut ends = Ends::new(cutting);
    let (mut bytes, mut short): (Vec<u8>, Option<Shortener>) = (Vec::new(), None);
    loop {
        let fresh = source.next()?;
        if fresh.is_empty() {
            break;
        }
        let end = ends.find(fresh);
        let taken = end.unwrap_or(fresh.len());
        match &mut short {
            Some(short) => short.feed(&fresh[..taken]),
            None => bytes.extend_from_slice(&fresh[..taken]),
        }
        source.pass(taken);
        if short.is_none() && bytes.len() > WHOLE {
            let mut begun = Shortener::default();
            begun.feed(&std::mem::take(&mut bytes));
            short = Some(begun);
        }
        if end.is_some() {
            break;
        }
    }
    let size = source.place() - place;
    if !inner && source.next()?.is_empty() && size == 0 {
        return Ok(None);
    }
    if cutting == Cutting::Lines {
        source.pass(1);
    }
    let whole = weight(&bytes);
    if short.is_none() && whole <= LIGHT {
        return Ok(Some(Element { place, size, bytes, weight: whole, kept: Kept::Whole }));
    }
    let mut short = short.unwrap_or_default();
    short.feed(&bytes);
    drop(bytes);
    let (bytes, lost, dropped) = short.finish();
    let kept = match (lost, dropped) {
        (true, _) => Kept::Nothing,
        (false, 0) => Kept::Whole,
        (false, _) => Kept::Part,
    };
    Ok(Some(Element { place, size, weight: weight(&bytes), bytes, kept }))
}

/// Skips the remaining elements and counts them.
pub(super) fn count(source: &mut Source, cutting: Cutting) -> io::Result<u64> {
    let inner = matches!(cutting, Cutting::Array | Cutting::Object);
    let mut count = 0;
    while !inner || begins(source)? {
        let (mut ends, mut empty) = (Ends::new(cutting), true);
        loop {
            let fresh = source.next()?;
            if fresh.is_empty() {
                return Ok(count + u64::from(!empty));
            }
            let end = ends.find(fresh);
            let taken = end.unwrap_or(fresh.len());
            empty &= fresh[..taken].trim_ascii().is_empty();
            source.pass(taken);
            if end.is_some() {
                break;
            }
        }
        count += u64::from(!empty);
        if !inner {
            source.pass(1);
        }
    }
    Ok(count)
}

/// Whether the value that begins here ends with the file. Keeps nothing of it.
pub(super) fn is_whole(source: &mut Source) -> io::Result<bool> {
    let place = source.place();
    let mut ends = Ends { cutting: Cutting::Array, depth: 0, quoted: false, escaped: false, closed: false };
    let mut whole = true;
    loop {
        let fresh = source.next()?;
        if fresh.is_empty() {
            break;
        }
        let mut rest = fresh;
        if !ends.closed {
            let at = ends.close(rest).unwrap_or(rest.len());
            rest = &rest[at..];
        }
        whole = rest.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0);
        if !whole {
            break;
        }
        let count = fresh.len();
        source.pass(count);
    }
    source.go(place)?;
    Ok(whole && ends.closed)
}

/// The offset after the `[` of the list that the outermost object holds under this name.
pub(super) fn list_of(text: &[u8], name: &str) -> Option<usize> {
    let quoted = format!("\"{name}\"");
    memchr::memmem::find_iter(text, quoted.as_bytes()).find_map(|at| {
        let mut ends = Ends::new(Cutting::Array);
        ends.walk(&text[..at], |_, _| false);
        let rest = text[at + quoted.len()..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        let rest = rest.strip_prefix(b"[").filter(|_| ends.depth == 1 && !ends.quoted)?;
        Some(text.len() - rest.len())
    })
}

/// The offsets after the `[` of the lists that fields of the outermost object hold under a name. Keeps nothing else, and
/// ends with that object.
pub(super) fn find_lists(source: &mut Source, (fields, list): ([&str; 2], &str)) -> io::Result<Vec<u64>> {
    let place = source.place();
    let mut names = Names::default();
    let mut found = Vec::new();
    while !names.closed {
        let (at, fresh) = (source.place(), source.next()?);
        if fresh.is_empty() {
            break;
        }
        names.feed(fresh, |names, offset| {
            let [outer, inner] = &names.of;
            if *inner == list.as_bytes() && fields.iter().any(|field| *outer == field.as_bytes()) {
                found.push(at + offset as u64 + 1);
            }
        });
        let count = fresh.len();
        source.pass(count);
    }
    source.go(place)?;
    Ok(found)
}

/// Bytes of a field's name that are compared.
const NAME: usize = 16;

/// The names of the fields that a place in a document is in, of the two outermost levels.
#[derive(Default)]
struct Names {
    depth: usize,
    quoted: bool,
    escaped: bool,
    closed: bool,
    /// The last string.
    word: Vec<u8>,
    of: [Vec<u8>; 2],
}

impl Names {
    /// Takes more bytes; `list` gets the offset of each `[` that begins the value of a field of the second level.
    fn feed(&mut self, bytes: &[u8], mut list: impl FnMut(&Self, usize)) {
        let mut at = 0;
        while at < bytes.len() && !self.closed {
            if self.escaped {
                self.escaped = false;
                at += 1;
            } else if self.quoted {
                let end = memchr2(b'"', b'\\', &bytes[at..]).map_or(bytes.len(), |mark| at + mark);
                let room = NAME - self.word.len();
                self.word.extend(bytes[at..end].iter().take(room));
                at = end;
                if let Some(byte) = bytes.get(at) {
                    self.quoted = *byte != b'"';
                    self.escaped = self.quoted;
                    at += 1;
                }
            } else {
                if bytes[at] == b'[' && self.depth == 2 {
                    list(self, at);
                }
                self.mark(bytes[at]);
                at += 1;
            }
        }
    }

    fn mark(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.quoted = true;
                self.word.clear();
            }
            b':' if (1..=2).contains(&self.depth) => self.of[self.depth - 1] = std::mem::take(&mut self.word),
            b'{' | b'[' => {
                self.depth += 1;
                if self.depth == 2 {
                    self.of[1].clear();
                }
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.closed = self.depth == 0;
            }
            _ => {}
        }
    }
}

/// Skips separators between elements; false at the array's end.
fn begins(source: &mut Source) -> io::Result<bool> {
    loop {
        let fresh = source.next()?;
        if fresh.is_empty() {
            return Ok(false);
        }
        let gap = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
        let count = fresh.iter().position(|byte| !gap(byte)).unwrap_or(fresh.len());
        let there = fresh.get(count).copied();
        source.pass(count);
        if let Some(byte) = there {
            return Ok(byte != b']' && byte != b'}');
        }
    }
}

/// Finds the end of an element over several reads. All delimiters are ASCII, so the offset is always a character
/// boundary.
struct Ends {
    cutting: Cutting,
    depth: usize,
    quoted: bool,
    escaped: bool,
    /// For a single value: it is complete.
    closed: bool,
}

impl Ends {
    fn new(cutting: Cutting) -> Self {
        Self { cutting, depth: 0, quoted: false, escaped: false, closed: false }
    }

    fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        match self.cutting {
            Cutting::Lines => memchr(b'\n', bytes),
            Cutting::Nothing => None,
            Cutting::Array => self.walk(bytes, |ends, byte| ends.depth == 0 && matches!(byte, b']' | b',')),
            Cutting::Object => self.walk(bytes, |ends, byte| ends.depth == 0 && matches!(byte, b'}' | b',')),
        }
    }

    /// The offset after the byte that closes a value.
    fn close(&mut self, bytes: &[u8]) -> Option<usize> {
        let at = self.walk(bytes, |ends, byte| ends.depth == 1 && matches!(byte, b'}' | b']'))?;
        self.closed = true;
        Some(at + 1)
    }

    fn walk(&mut self, bytes: &[u8], stop: impl Fn(&Self, u8) -> bool) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            if self.escaped {
                self.escaped = false;
                at += 1;
            } else if self.quoted {
                at += memchr2(b'"', b'\\', &bytes[at..])?;
                self.quoted = bytes[at] != b'"';
                self.escaped = self.quoted;
                at += 1;
            } else {
                let byte = bytes[at];
                if stop(self, byte) {
                    return Some(at);
                }
                match byte {
                    b'"' => self.quoted = true,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
                at += 1;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(text: &str, cutting: Cutting) -> Vec<String> {
        let mut source = Source::new(Box::new(std::io::Cursor::new(text.as_bytes().to_vec()))).unwrap();
        std::iter::from_fn(|| next(&mut source, cutting).unwrap())
            .map(|element| String::from_utf8(element.bytes).unwrap().trim_end().to_owned())
            .collect()
    }

    #[test]
    fn elements_are_split_at_separators() {
        let found = elements(r#" {"a":"],\"{"}, [1,[2]] ,3,, {"cut": "off"#, Cutting::Array);
        assert_eq!(found, [r#"{"a":"],\"{"}"#, "[1,[2]]", "3", r#"{"cut": "off"#]);
        assert_eq!(elements("]", Cutting::Array).len(), 0);
        assert_eq!(elements("1] trailing", Cutting::Array), ["1"]);
        assert_eq!(elements("a\n\nb", Cutting::Lines), ["a", "", "b"]);
        assert_eq!(elements("a\n", Cutting::Lines), ["a"]);
    }

    #[test]
    fn lists_are_found_two_levels_deep_in_any_split() {
        let text = r#" {"about":"\"chats\":{\"list\":[","list":[{"chats":[1]}],"contacts":{"list":[2]},
            "chats": {"about":{"list":[3]}, "list" : [ {"list":[4],"x":"]"} ]}, "left_chats":{"list":[5]}} {"chats":{"list":[6]}}"#;
        let starts = |text: &str, reads: usize| {
            let slow = Slow { bytes: std::io::Cursor::new(text.as_bytes().to_vec()), reads };
            let mut source = Source::new(Box::new(slow)).unwrap();
            let found = find_lists(&mut source, (["chats", "left_chats"], "list")).unwrap();
            assert_eq!(source.place(), 0);
            found
        };
        for reads in [1, 3, 1_000] {
            let found = starts(text, reads);
            let rest: Vec<&str> = found.iter().map(|at| text[usize::try_from(*at).unwrap()..].trim_start()).collect();
            assert_eq!(rest.len(), 2);
            assert!(rest[0].starts_with(r#"{"list":[4]"#) && rest[1].starts_with("5]}}"), "{rest:?}");
            assert_eq!(starts(&text[..text.find("left_chats").unwrap()], reads).len(), 1, "the file breaks off");
        }
        assert!(starts(r#"{"role":"user","content":"x"}"#, 9).is_empty());
    }

    /// Returns few bytes at a time.
    struct Slow {
        bytes: std::io::Cursor<Vec<u8>>,
        reads: usize,
    }

    impl std::io::Read for Slow {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let most = into.len().min(self.reads);
            self.bytes.read(&mut into[..most])
        }
    }

    impl std::io::Seek for Slow {
        fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
            self.bytes.seek(to)
        }
    }

    #[test]
    fn a_document_is_exactly_one_value() {
        let whole = |text: &str| {
            let mut source = Source::new(Box::new(std::io::Cursor::new(text.as_bytes().to_vec()))).unwrap();
            is_whole(&mut source).unwrap()
        };
        assert!(whole("{\"a\": \"}\",\n\"b\": [1]}\n \0"));
        assert!(!whole("{\"a\": 1}\n{\"b\": 2}"));
        assert!(!whole("{\"a\": 1"));
    }
}
