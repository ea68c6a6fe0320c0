//! Splits a stream into lines, or a JSON array into its elements, without parsing them, so that one malformed element
//! does not affect the rest. Large elements are shortened.
//! Not for: parsing the elements, or shortening them (`shorten`).

use super::shorten::{MAX_VALUE_BYTES, MAX_VALUE_WEIGHT, Shortener, weight};
use super::source::Source;
use memchr::{memchr, memchr2};
use std::io;

/// The separator between elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Separator {
    /// Line ends.
    Lines,
    /// The commas of an array whose `[` was consumed.
    Array,
    /// The commas of an object whose `{` was consumed. An element is a key with its value.
    Object,
    /// Nothing: everything is one element.
    Nothing,
}

/// An element.
pub(super) struct Element {
    /// The element's offset in the file.
    pub(super) place: u64,
    /// The element's size in the file in bytes.
    pub(super) size: u64,
    /// The element's bytes, or its kept part.
    pub(super) bytes: Vec<u8>,
    /// The weight of these bytes in memory.
    pub(super) weight: u64,
    /// How much was kept.
    pub(super) kept: KeptPart,
}

/// The kept part of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum KeptPart {
    Whole,
    /// A shortened form.
    Part,
    Nothing,
}

/// Returns the next element, or `None` at the end. The last element can be incomplete.
pub(super) fn next(source: &mut Source, separator: Separator) -> io::Result<Option<Element>> {
    let inner = matches!(separator, Separator::Array | Separator::Object);
    if inner && !skip_separators(source)? {
        return Ok(None);
    }
    let place = source.place();
    let mut ends = EndFinder::new(separator);
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
        if short.is_none() && bytes.len() > MAX_VALUE_BYTES {
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
    if separator == Separator::Lines {
        source.pass(1);
    }
    let whole = weight(&bytes);
    if short.is_none() && whole <= MAX_VALUE_WEIGHT {
        return Ok(Some(Element { place, size, bytes, weight: whole, kept: KeptPart::Whole }));
    }
    let mut short = short.unwrap_or_default();
    short.feed(&bytes);
    drop(bytes);
    let (bytes, lost, dropped) = short.finish();
    let kept = match (lost, dropped) {
        (true, _) => KeptPart::Nothing,
        (false, 0) => KeptPart::Whole,
        (false, _) => KeptPart::Part,
    };
    Ok(Some(Element { place, size, weight: weight(&bytes), bytes, kept }))
}

/// Skips the remaining elements and returns their number.
pub(super) fn count(source: &mut Source, separator: Separator) -> io::Result<u64> {
    let inner = matches!(separator, Separator::Array | Separator::Object);
    let mut count = 0;
    while !inner || skip_separators(source)? {
        let (mut ends, mut empty) = (EndFinder::new(separator), true);
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

/// Whether the value that begins here ends with the file. Consumes nothing.
pub(super) fn is_whole(source: &mut Source) -> io::Result<bool> {
    let place = source.place();
    let mut ends = EndFinder::new(Separator::Array);
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
    source.seek_to(place)?;
    Ok(whole && ends.closed)
}

/// Returns the offset after the `[` of the list with this name in the outermost object.
pub(super) fn list_of(text: &[u8], name: &str) -> Option<usize> {
    let quoted = format!("\"{name}\"");
    memchr::memmem::find_iter(text, quoted.as_bytes()).find_map(|at| {
        let mut ends = EndFinder::new(Separator::Array);
        ends.walk(&text[..at], |_, _| false);
        let rest = text[at + quoted.len()..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        let rest = rest.strip_prefix(b"[").filter(|_| ends.depth == 1 && !ends.strings.quoted)?;
        Some(text.len() - rest.len())
    })
}

/// Returns the offsets of the first elements of all lists with the field name `list` inside the given `fields` of the
/// outermost object. Stops at the end of that object and keeps nothing else in memory.
pub(super) fn find_lists(source: &mut Source, lists: ([&str; 2], &str)) -> io::Result<Vec<u64>> {
    let place = source.place();
    let mut names = Names::default();
    let mut found = Vec::new();
    while !names.closed {
        let (at, fresh) = (source.place(), source.next()?);
        if fresh.is_empty() {
            break;
        }
        names.feed(fresh, |names, offset| found.extend(names.are(lists).then_some(at + offset as u64 + 1)));
        let count = fresh.len();
        source.pass(count);
    }
    source.seek_to(place)?;
    Ok(found)
}

/// The number of bytes of a field's name that are compared.
const COMPARED_BYTES: usize = 16;

/// Finds the bytes of JSON outside strings, over several reads.
#[derive(Default)]
pub(super) struct StringScanner {
    quoted: bool,
    escaped: bool,
    keeps: bool,
    /// The first bytes of the last string, if they are kept.
    pub(super) word: Vec<u8>,
}

impl StringScanner {
    /// Begins a string after its quote. With `keeps`, its first bytes are kept.
    pub(super) fn begin(&mut self, keeps: bool) {
        (self.quoted, self.keeps) = (true, keeps);
        self.word.clear();
    }

    /// Returns the index of the next byte outside strings, from `at` on.
    pub(super) fn outside(&mut self, bytes: &[u8], mut at: usize) -> Option<usize> {
        while at < bytes.len() {
            if self.escaped {
                self.escaped = false;
                at += 1;
            } else if self.quoted {
                let end = memchr2(b'"', b'\\', &bytes[at..]).map_or(bytes.len(), |mark| at + mark);
                if self.keeps {
                    let room = COMPARED_BYTES - self.word.len();
                    self.word.extend(bytes[at..end].iter().take(room));
                }
                at = end;
                if let Some(byte) = bytes.get(at) {
                    self.quoted = *byte != b'"';
                    self.escaped = self.quoted;
                    at += 1;
                }
            } else {
                return Some(at);
            }
        }
        None
    }
}

/// The names of the fields that contain the current position, for the two outermost levels.
#[derive(Default)]
struct Names {
    depth: usize,
    strings: StringScanner,
    closed: bool,
    of: [Vec<u8>; 2],
}

impl Names {
    /// Returns whether the position is in a field of the second level with this name, inside one of these fields.
    fn are(&self, (fields, list): ([&str; 2], &str)) -> bool {
        let [outer, inner] = &self.of;
        *inner == list.as_bytes() && fields.iter().any(|field| *outer == field.as_bytes())
    }

    /// Scans more bytes. Calls `list` with the offset of each `[` that begins the value of a field of the second level.
    fn feed(&mut self, bytes: &[u8], mut list: impl FnMut(&Self, usize)) {
        let mut at = 0;
        while !self.closed
            && let Some(here) = self.strings.outside(bytes, at)
        {
            if bytes[here] == b'[' && self.depth == 2 {
                list(self, here);
            }
            self.mark(bytes[here]);
            at = here + 1;
        }
    }

    fn mark(&mut self, byte: u8) {
        match byte {
            b'"' => self.strings.begin(true),
            b':' if (1..=2).contains(&self.depth) => self.of[self.depth - 1] = std::mem::take(&mut self.strings.word),
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

/// Skips separators between elements. Returns false at the end of the list.
fn skip_separators(source: &mut Source) -> io::Result<bool> {
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

/// Finds the end of an element over several reads. All delimiters are ASCII, so the end is always at a character
/// boundary.
struct EndFinder {
    separator: Separator,
    depth: usize,
    strings: StringScanner,
    /// For a single value: whether it is complete.
    closed: bool,
}

impl EndFinder {
    fn new(separator: Separator) -> Self {
        Self { separator, depth: 0, strings: StringScanner::default(), closed: false }
    }

    fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        match self.separator {
            Separator::Lines => memchr(b'\n', bytes),
            Separator::Nothing => None,
            Separator::Array => self.walk(bytes, |ends, byte| ends.depth == 0 && matches!(byte, b']' | b',')),
            Separator::Object => self.walk(bytes, |ends, byte| ends.depth == 0 && matches!(byte, b'}' | b',')),
        }
    }

    /// Returns the offset after the byte that closes a value.
    fn close(&mut self, bytes: &[u8]) -> Option<usize> {
        let at = self.walk(bytes, |ends, byte| ends.depth == 1 && matches!(byte, b'}' | b']'))?;
        self.closed = true;
        Some(at + 1)
    }

    fn walk(&mut self, bytes: &[u8], stop: impl Fn(&Self, u8) -> bool) -> Option<usize> {
        let mut at = 0;
        while let Some(here) = self.strings.outside(bytes, at) {
            let byte = bytes[here];
            if stop(self, byte) {
                return Some(here);
            }
            match byte {
                b'"' => self.strings.begin(false),
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            at = here + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(text: &str, separator: Separator) -> Vec<String> {
        let mut source = Source::new(Box::new(std::io::Cursor::new(text.as_bytes().to_vec()))).unwrap();
        std::iter::from_fn(|| next(&mut source, separator).unwrap())
            .map(|element| String::from_utf8(element.bytes).unwrap().trim_end().to_owned())
            .collect()
    }

    #[test]
    fn elements_are_split_at_separators() {
        let found = elements(r#" {"a":"],\"{"}, [1,[2]] ,3,, {"cut": "off"#, Separator::Array);
        assert_eq!(found, [r#"{"a":"],\"{"}"#, "[1,[2]]", "3", r#"{"cut": "off"#]);
        assert_eq!(elements("]", Separator::Array).len(), 0);
        assert_eq!(elements("1] trailing", Separator::Array), ["1"]);
        assert_eq!(elements("a\n\nb", Separator::Lines), ["a", "", "b"]);
        assert_eq!(elements("a\n", Separator::Lines), ["a"]);
    }

    #[test]
    fn lists_are_found_two_levels_deep_in_any_split() {
        let lists = (["chats", "left_chats"], "list");
        let text = r#" {"about":"\"chats\":{\"list\":[","list":[{"chats":[1]}],"contacts":{"list":[2]},
            "chats": {"about":{"list":[3]}, "list" : [ {"list":[4],"x":"]"} ]}, "left_chats":{"list":[5]}} {"chats":{"list":[6]}}"#;
        let torn = &text[..text.find("left_chats").unwrap()];
        for (text, count) in [(text, 2), (torn, 1), (r#"{"role":"user","content":"x"}"#, 0)] {
            let mut source = Source::new(Box::new(std::io::Cursor::new(text.as_bytes().to_vec()))).unwrap();
            let found = find_lists(&mut source, lists).unwrap();
            assert_eq!((found.len(), source.place()), (count, 0), "{text}");
            for step in [1, 2, 7] {
                let (mut names, mut again) = (Names::default(), Vec::new());
                for (number, part) in text.as_bytes().chunks(step).enumerate() {
                    names.feed(part, |names, at| {
                        again.extend(names.are(lists).then_some((number * step + at + 1) as u64));
                    });
                }
                assert_eq!(again, found, "{step} bytes at a time");
            }
            let rest: Vec<&str> = found.iter().map(|at| text[usize::try_from(*at).unwrap()..].trim_start()).collect();
            let begins = [r#"{"list":[4]"#, "5]}}"];
            assert!(rest.iter().zip(begins).all(|(rest, begins)| rest.starts_with(begins)), "{rest:?}");
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
