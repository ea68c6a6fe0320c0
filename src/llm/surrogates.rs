//! Joins characters that a server split in two. JSON writes a character beyond the basic multilingual plane as two
//! escaped surrogate halves. A server that splits its text by UTF-16 units sends one half in one object and the other
//! half in the next.
//! Not for: the meaning of an object (`chunk`).
//!
//! `serde_json` rejects an object with a lone half. Such an object is read again with each lone half written as two
//! characters: `MARK`, which should not occur in any text, and a private-use character for the half. A [`Joiner`] for
//! each text that grows over several objects joins the halves.

use serde_json::Value;
use std::borrow::Cow;

/// A noncharacter. If a text contains it anyway, it is written twice.
const MARK: char = '\u{FDD0}';
/// The private-use character for U+D800; the others follow.
const FIRST: u32 = 0x10_0000;

/// A parsed object.
pub struct Parsed {
    value: Value,
    marked: bool,
}

impl From<Value> for Parsed {
    fn from(value: Value) -> Self {
        Self { value, marked: false }
    }
}

impl Parsed {
    /// Reads one JSON value; `None` if it is invalid even with its lone halves marked.
    pub fn read(text: &str) -> Option<Self> {
        if let Ok(value) = serde_json::from_str(text) {
            Some(Self { value, marked: false })
        } else {
            let value = serde_json::from_str(&marked(text)?).ok()?;
            Some(Self { value, marked: true })
        }
    }

    /// Returns the value. If [`Self::marked`], its texts must pass through a [`Joiner`] or [`lossy`].
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns whether it contained lone halves.
    pub fn marked(&self) -> bool {
        self.marked
    }

    /// Returns the value with U+FFFD for each lone half.
    pub fn plain(&self) -> Cow<'_, Value> {
        if !self.marked {
            return Cow::Borrowed(&self.value);
        }
        let mut value = self.value.clone();
        each_text(&mut value, &|text| *text = lossy(text));
        Cow::Owned(value)
    }

    /// Returns the elements of an array, or the value alone if it is not an array.
    pub fn elements(self) -> Vec<Self> {
        let marked = self.marked;
        match self.value {
            Value::Array(list) => list.into_iter().map(|value| Self { value, marked }).collect(),
            value => vec![Self { value, marked }],
        }
    }
}

fn each_text(value: &mut Value, change: &dyn Fn(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(list) => list.iter_mut().for_each(|value| each_text(value, change)),
        Value::Object(fields) => fields.values_mut().for_each(|value| each_text(value, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the JSON with each lone half marked; `None` if it contains no lone half.
fn marked(json: &str) -> Option<String> {
    let mut out = String::with_capacity(json.len() + 16);
    let (mut rest, mut any) = (json, false);
    while let Some(at) = rest.find(['\\', MARK]) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = if rest.starts_with(MARK) {
            out.extend([MARK, MARK]);
            MARK.len_utf8()
        } else {
            match (escaped(rest), rest.get(6..).and_then(escaped)) {
                (Some(high), Some(low)) if is_high(high) && is_low(low) => {
                    out.push_str(&rest[..12]);
                    12
                }
                (Some(half), _) if is_high(half) || is_low(half) => {
                    any = true;
                    out.push(MARK);
                    out.extend(char::from_u32(FIRST + u32::from(half) - 0xD800));
                    6
                }
                (Some(unit), _) if u32::from(unit) == u32::from(MARK) => {
                    out.extend([MARK, MARK]);
                    6
                }
                // Skips the backslash and the character it escapes, so that `\\\\u` is not taken for an escape.
                _ => {
                    let taken = rest.chars().take(2).map(char::len_utf8).sum();
                    out.push_str(&rest[..taken]);
                    taken
                }
            }
        };
        rest = &rest[taken..];
    }
    out.push_str(rest);
    any.then_some(out)
}

/// Returns the UTF-16 unit of the escape at the beginning of a text.
fn escaped(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}

fn is_high(unit: u16) -> bool {
    (0xD800..0xDC00).contains(&unit)
}

fn is_low(unit: u16) -> bool {
    (0xDC00..0xE000).contains(&unit)
}

/// Returns a marked text with U+FFFD for each lone half.
pub fn lossy(text: &str) -> String {
    let mut joiner = Joiner::default();
    let mut plain = joiner.push(text, true);
    plain.push_str(joiner.end());
    plain
}

/// Joins the pieces of a text.
#[derive(Default)]
pub struct Joiner {
    high: Option<u16>,
    lost: u32,
}

impl Joiner {
    /// Adds the next piece and returns the text that is complete so far. A first half at its end waits for the next
    /// piece.
    pub fn push(&mut self, piece: &str, marked: bool) -> String {
        if !marked && self.high.is_none() {
            return piece.to_owned();
        }
        let mut whole = String::with_capacity(piece.len() + 4);
        let mut chars = piece.chars();
        while let Some(c) = chars.next() {
            let next = (marked && c == MARK).then(|| chars.next()).flatten();
            let half = next.and_then(|c| u32::from(c).checked_sub(FIRST)).filter(|half| *half < 0x800);
            if let Some(half) = half.and_then(|half| u16::try_from(0xD800 + half).ok()) {
                self.half(half, &mut whole);
            } else {
                self.drop_half(&mut whole);
                whole.push(c);
            }
        }
        whole
    }

    /// Ends the text. Returns a replacement character if a first half is still waiting.
    pub fn end(&mut self) -> &'static str {
        let is_waiting = self.high.take().is_some();
        self.lost += u32::from(is_waiting);
        if is_waiting { "\u{FFFD}" } else { "" }
    }

    /// Returns the number of unpaired halves so far; each was replaced with U+FFFD.
    pub fn lost(&self) -> u32 {
        self.lost
    }

    fn half(&mut self, half: u16, whole: &mut String) {
        if let Some(high) = self.high.filter(|_| is_low(half)) {
            self.high = None;
            whole.extend(char::decode_utf16([high, half]).flatten());
        } else {
            self.drop_half(whole);
            if is_high(half) {
                self.high = Some(half);
            } else {
                whole.push(char::REPLACEMENT_CHARACTER);
                self.lost += 1;
            }
        }
    }

    fn drop_half(&mut self, whole: &mut String) {
        if self.high.take().is_some() {
            whole.push(char::REPLACEMENT_CHARACTER);
            self.lost += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// UTF-16 units as a JSON string.
    fn json(units: &[u16]) -> String {
        let escaped: Vec<String> = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
        format!("\"{}\"", escaped.concat())
    }

    fn joined(pieces: &[Vec<u16>]) -> (String, u32) {
        let mut joiner = Joiner::default();
        let mut whole = String::new();
        for piece in pieces {
            let parsed = Parsed::read(&json(piece)).unwrap();
            whole.push_str(&joiner.push(parsed.value().as_str().unwrap(), parsed.marked()));
        }
        whole.push_str(joiner.end());
        (whole, joiner.lost())
    }

    #[test]
    fn other_escapes_are_unchanged() {
        for text in [r#"{"a":"\\ud83d"}"#, r#"{"a":"\ud83d\ude00"}"#, r#"["\ufdd0","x"]"#] {
            let parsed = Parsed::read(text).unwrap();
            assert!(!parsed.marked());
            assert_eq!(*parsed.plain(), serde_json::from_str::<Value>(text).unwrap(), "{text}");
        }
        let mixed = Parsed::read("{\"a\":\"\\\\ud83d \\ud83d \\ufdd0\u{fdd0}\u{100000}\"}").unwrap();
        assert_eq!(mixed.plain()["a"], "\\ud83d \u{fffd} \u{fdd0}\u{fdd0}\u{100000}");
        for text in ["{\"a\":\"\\ud83d", "{\"a\":\"\\ud83", "\\ud83d", "{\"a\":\"\\ud83d\\", ""] {
            assert!(Parsed::read(text).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_cut_between_units_gives_the_same_text(
            text in "[a🙂日𝄞\u{fdd0}\u{100000}\u{10ffff}\"\\\\]{0,24}", cuts in proptest::collection::vec(0_usize..48, 0..8)
        ) {
            let units: Vec<u16> = text.encode_utf16().collect();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % (units.len() + 1)).collect();
            cuts.extend([0, units.len()]);
            cuts.sort_unstable();
            let pieces: Vec<Vec<u16>> = cuts.windows(2).map(|two| units[two[0]..two[1]].to_vec()).collect();
            prop_assert_eq!(joined(&pieces), (text, 0));
        }

        #[test]
        fn a_lone_surrogate_is_replaced_and_counted(units in proptest::collection::vec(prop_oneof![
            Just(0x61_u16), Just(0xD83D), Just(0xDE00), Just(0xFDD0), any::<u16>()
        ], 0..12), at in 0_usize..12) {
            let at = at.min(units.len());
            let expected = String::from_utf16_lossy(&units);
            let lost = char::decode_utf16(units.iter().copied()).filter(Result::is_err).count();
            let (text, counted) = joined(&[units[..at].to_vec(), units[at..].to_vec()]);
            prop_assert_eq!((text, counted as usize), (expected, lost));
        }
    }
}
